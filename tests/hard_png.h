/* PNGs of every colour type and depth from random samples, and what they must decode to, worked out
 * here from the samples alone. */
#ifndef STAVE_TESTS_HARD_PNG_H
#define STAVE_TESTS_HARD_PNG_H

#include <zlib.h>

#include "hard_data.h"

UNUSED_FUNCTION void put_be32(uint8_t *p, uint32_t v)
{
    for (int i = 0; i < 4; i++)
        p[i] = (uint8_t)(v >> (24 - 8 * i));
}

/* Puts a chunk in front of the first one of the given type. */
UNUSED_FUNCTION void png_insert(struct bytes *b, const char *before, const char *type,
                                const uint8_t *data, size_t n)
{
    uint8_t chunk[64];
    size_t at = 8;

    assert_true(n + 12 <= sizeof(chunk));
    while (memcmp(b->data + at + 4, before, 4) != 0)
        at += 12 + ((size_t)b->data[at + 1] << 16 | (size_t)b->data[at + 2] << 8 | b->data[at + 3]);
    put_be32(chunk, (uint32_t)n);
    memcpy(chunk + 4, type, 4);
    memcpy(chunk + 8, data, n);
    put_be32(chunk + 8 + n, (uint32_t)crc32(0, chunk + 4, (unsigned)n + 4));
    bytes_resize(b, b->n + n + 12);
    memmove(b->data + at + n + 12, b->data + at, b->n - (n + 12) - at);
    memcpy(b->data + at, chunk, n + 12);
}

struct png_kind {
    int color, depth;
    int trns; /* grey and RGB: the colour of the first pixel is transparent */
    int interlaced;
    uint64_t seed;
};

static const struct png_kind png_kinds[] __attribute__((unused)) = {
    {.color = PNG_COLOR_TYPE_GRAY, .depth = 1},
    {.color = PNG_COLOR_TYPE_GRAY, .depth = 2},
    {.color = PNG_COLOR_TYPE_GRAY, .depth = 4},
    {.color = PNG_COLOR_TYPE_GRAY, .depth = 8},
    {.color = PNG_COLOR_TYPE_GRAY, .depth = 16},
    {.color = PNG_COLOR_TYPE_RGB, .depth = 8},
    {.color = PNG_COLOR_TYPE_RGB, .depth = 16},
    {.color = PNG_COLOR_TYPE_GRAY_ALPHA, .depth = 8},
    {.color = PNG_COLOR_TYPE_GRAY_ALPHA, .depth = 16},
    {.color = PNG_COLOR_TYPE_RGB_ALPHA, .depth = 8},
    {.color = PNG_COLOR_TYPE_RGB_ALPHA, .depth = 16},
    {.color = PNG_COLOR_TYPE_PALETTE, .depth = 1, .trns = 1},
    {.color = PNG_COLOR_TYPE_PALETTE, .depth = 2, .trns = 1},
    {.color = PNG_COLOR_TYPE_PALETTE, .depth = 4, .trns = 1},
    {.color = PNG_COLOR_TYPE_PALETTE, .depth = 8, .trns = 1},
    {.color = PNG_COLOR_TYPE_GRAY, .depth = 1, .trns = 1},
    {.color = PNG_COLOR_TYPE_GRAY, .depth = 4, .trns = 1},
    {.color = PNG_COLOR_TYPE_GRAY, .depth = 8, .trns = 1},
    {.color = PNG_COLOR_TYPE_GRAY, .depth = 16, .trns = 1},
    {.color = PNG_COLOR_TYPE_RGB, .depth = 8, .trns = 1},
    {.color = PNG_COLOR_TYPE_RGB, .depth = 16, .trns = 1},
};
enum { N_PNG_KINDS = COUNT_OF(png_kinds) };

UNUSED_FUNCTION int png_channels(const struct png_kind *k)
{
    return k->color == PNG_COLOR_TYPE_RGB_ALPHA    ? 4
           : k->color == PNG_COLOR_TYPE_RGB        ? 3
           : k->color == PNG_COLOR_TYPE_GRAY_ALPHA ? 2
                                                   : 1;
}

/* Sample c of pixel i, of k->depth bits. */
UNUSED_FUNCTION unsigned png_sample(const struct png_kind *k, int i, int c)
{
    uint64_t key = k->seed << 32 | (uint64_t)i << 8 | (uint64_t)c;

    return (unsigned)(random_mix(key + 1) & ((1u << k->depth) - 1));
}

UNUSED_FUNCTION uint8_t *png_rows(const struct png_kind *k)
{
    const int n = png_channels(k), row = (SIZE * n * k->depth + 7) / 8;
    uint8_t *const rows = xcalloc(SIZE, (size_t)row);

    for (int i = 0; i < SIZE * SIZE; i++)
        for (int c = 0; c < n; c++) {
            const unsigned v = png_sample(k, i, c);
            const int bit = (i % SIZE * n + c) * k->depth;
            uint8_t *const p = rows + i / SIZE * row + bit / 8;

            if (k->depth == 16) {
                p[0] = (uint8_t)(v >> 8);
                p[1] = (uint8_t)v;
            } else {
                p[0] = (uint8_t)(p[0] | v << (8 - k->depth - bit % 8));
            }
        }
    return rows;
}

UNUSED_FUNCTION void png_kind_add(struct variants *v, const struct png_kind *k)
{
    uint8_t *const rows = png_rows(k);
    struct bytes b = {0};
    uint8_t key[6];

    make_png(SIZE, SIZE, k->color, k->depth, k->interlaced, rows, &b);
    for (int c = 0; c < 3; c++) {
        const unsigned s = png_sample(k, 0, png_channels(k) == 1 ? 0 : c);

        key[2 * c] = (uint8_t)(s >> 8);
        key[2 * c + 1] = (uint8_t)s;
    }
    if (k->trns && k->color != PNG_COLOR_TYPE_PALETTE)
        png_insert(&b, "IDAT", "tRNS", key, k->color == PNG_COLOR_TYPE_GRAY ? 2 : 6);
    variants_add(v, b.data, b.n);
    bytes_release(&b);
    free(rows);
}

/* v of the file's depth to 8 bits. */
UNUSED_FUNCTION int png_to_8(const struct png_kind *k, unsigned v)
{
    return k->depth == 16 ? (int)(v + 128) / 257 : (int)(v * 255 / ((1u << k->depth) - 1));
}

/* The colour of pixel i before alpha, and its alpha; the palette is make_png's. */
UNUSED_FUNCTION int png_colour(const struct png_kind *k, int i, int rgb[3])
{
    const int n = png_channels(k);
    int same = 1;

    if (k->color == PNG_COLOR_TYPE_PALETTE) {
        const int p = (int)png_sample(k, i, 0);

        rgb[0] = p;
        rgb[1] = 255 - p;
        rgb[2] = p / 2;
        return k->depth == 8 && p == 7 ? 0 : 255;
    }
    for (int c = 0; c < 3; c++) {
        const int from = n < 3 ? 0 : c;

        rgb[c] = png_to_8(k, png_sample(k, i, from));
        same &= png_sample(k, i, from) == png_sample(k, 0, from);
    }
    if (k->color & PNG_COLOR_MASK_ALPHA)
        return png_to_8(k, png_sample(k, i, n - 1));
    return k->trns && same ? 0 : 255;
}

UNUSED_FUNCTION void png_kind_check(const struct png_kind *k, const uint8_t *got)
{
    for (int i = 0; i < SIZE * SIZE; i++) {
        int rgb[3];
        const int alpha = png_colour(k, i, rgb);

        for (int c = 0; c < 3; c++) {
            const int want = (rgb[c] * alpha + 255 * (255 - alpha) + 127) / 255;

            if (got[i * 3 + c] != want)
                fail_msg("colour type %d, depth %d, pixel %d: %d, expected %d", k->color, k->depth,
                         i, got[i * 3 + c], want);
        }
    }
}

#endif
