/* Whole pictures made hard: an orientation tag, a header that lies about the size. */
#ifndef STAVE_TESTS_HARD_PATCH_H
#define STAVE_TESTS_HARD_PATCH_H

#include "hard_png.h"

enum { TIFF_BYTES = 26 };

UNUSED_FUNCTION void make_tiff(uint8_t out[TIFF_BYTES], int little, int orientation)
{
    static const uint8_t big_end[TIFF_BYTES] = {'M', 'M', 0, 42, 0, 0, 0, 8, 0, 1, 1, 0x12, 0,
                                                3,   0,   0, 0,  1, 0, 0, 0, 0, 0, 0, 0,    0};
    static const uint8_t little_end[TIFF_BYTES] = {'I', 'I', 42, 0, 8, 0, 0, 0, 1, 0, 0x12, 1, 3,
                                                   0,   1,   0,  0, 0, 0, 0, 0, 0, 0, 0,    0, 0};

    memcpy(out, little ? little_end : big_end, TIFF_BYTES);
    out[little ? 18 : 19] = (uint8_t)orientation;
}

/* carrier 0: JPEG, big-endian; 1: JPEG, little-endian; 2: PNG before, 3: PNG behind the pixels. */
UNUSED_FUNCTION void add_orientation(struct bytes *b, int carrier, int orientation)
{
    uint8_t segment[10 + TIFF_BYTES] = {0xFF, 0xE1, 0, 8 + TIFF_BYTES, 'E', 'x', 'i', 'f', 0, 0};
    const size_t n = sizeof(segment);

    make_tiff(segment + 10, carrier != 0, orientation);
    if (carrier >= 2) {
        png_insert(b, carrier == 2 ? "IDAT" : "IEND", "eXIf", segment + 10, TIFF_BYTES);
        return;
    }
    bytes_resize(b, b->n + n);
    memmove(b->data + 2 + n, b->data + 2, b->n - n - 2);
    memcpy(b->data + 2, segment, n);
}

UNUSED_FUNCTION void patch_size(struct bytes *b, uint32_t width, uint32_t height)
{
    if (b->data[0] == 0x89) {
        put_be32(b->data + 16, width);
        put_be32(b->data + 20, height);
        put_be32(b->data + 29, (uint32_t)crc32(0, b->data + 12, 17));
        return;
    }
    for (size_t i = 2; i + 8 < b->n; i++)
        if (b->data[i] == 0xFF && b->data[i + 1] >= 0xC0 && b->data[i + 1] <= 0xCA &&
            b->data[i + 1] != 0xC4) {
            const uint8_t size[4] = {(uint8_t)(height >> 8), (uint8_t)height, (uint8_t)(width >> 8),
                                     (uint8_t)width};
            memcpy(b->data + i + 5, size, 4);
            return;
        }
    fail_msg("no frame header");
}

#endif
