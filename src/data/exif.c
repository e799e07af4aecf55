#include "data/exif.h"

#include <string.h>

/* A run of bytes in one byte order; reads beyond its end give 0. */
struct tiff {
    const uint8_t *p;
    size_t n;
    int little;
};

static unsigned read_be(const uint8_t *p, size_t n)
{
    unsigned v = 0;

    for (size_t i = 0; i < n; i++)
        v = v << 8 | p[i];
    return v;
}

static unsigned tiff_read(const struct tiff *t, size_t at, size_t n)
{
    unsigned v = 0;

    if (at > t->n || n > t->n - at)
        return 0;
    if (!t->little)
        return read_be(t->p + at, n);
    for (size_t i = n; i > 0; i--)
        v = v << 8 | t->p[at + i - 1];
    return v;
}

/* Tag 0x0112 of the first directory, one 16-bit number. */
static int tiff_orientation(const uint8_t *p, size_t n)
{
    const struct tiff t = {p, n, n > 0 && p[0] == 'I'};
    const size_t first = tiff_read(&t, 4, 4);
    const unsigned n_entries = tiff_read(&t, first, 2);

    if (tiff_read(&t, 2, 2) != 42)
        return EXIF_UPRIGHT;
    for (unsigned i = 0; i < n_entries; i++) {
        const size_t at = first + 2 + (size_t)i * 12;
        const unsigned v = tiff_read(&t, at + 8, 2);

        if (at + 12 > n)
            break;
        if (tiff_read(&t, at, 2) == 0x0112 && tiff_read(&t, at + 2, 2) == 3)
            return v >= 1 && v <= 8 ? (int)v : EXIF_UPRIGHT;
    }
    return EXIF_UPRIGHT;
}

/* Walks the segments in front of the picture data. */
static int jpeg_orientation(const uint8_t *p, size_t n)
{
    for (size_t at = 2; at + 4 <= n && p[at] == 0xFF && p[at + 1] != 0xDA;) {
        const size_t length = read_be(p + at + 2, 2);

        if (p[at + 1] == 0xFF) { /* a fill byte */
            at++;
            continue;
        }
        if (length < 2 || length > n - at - 2)
            break;
        if (p[at + 1] == 0xE1 && length >= 8 && memcmp(p + at + 4, "Exif\0\0", 6) == 0)
            return tiff_orientation(p + at + 10, length - 8);
        at += 2 + length;
    }
    return EXIF_UPRIGHT;
}

/* The chunk may stand before or after the picture data. */
static int png_orientation(const uint8_t *p, size_t n)
{
    for (size_t at = 8; at + 12 <= n;) {
        const size_t length = read_be(p + at, 4);

        if (length > n - at - 12)
            break;
        if (memcmp(p + at + 4, "eXIf", 4) == 0)
            return tiff_orientation(p + at + 8, length);
        at += 12 + length;
    }
    return EXIF_UPRIGHT;
}

int exif_orientation(const uint8_t *bytes, size_t n)
{
    return n > 0 && bytes[0] == 0xFF ? jpeg_orientation(bytes, n) : png_orientation(bytes, n);
}

/* Pixel (x, y) of the upright picture is the stored pixel (x, y), or (y, x) when swapped, counted
 * from the right or from below where mirrored. */
static const struct {
    int swap, mirror_x, mirror_y;
} turns[9] = {[1] = {0, 0, 0}, [2] = {0, 1, 0}, [3] = {0, 1, 1}, [4] = {0, 0, 1},
              [5] = {1, 0, 0}, [6] = {1, 0, 1}, [7] = {1, 1, 1}, [8] = {1, 1, 0}};

struct rect exif_upright(int orientation, struct rect stored)
{
    const struct rect swapped = {.width = stored.height, .height = stored.width};

    return turns[orientation].swap ? swapped : stored;
}

struct rect exif_stored_rect(int orientation, struct rect stored, struct rect r)
{
    struct rect s = r;

    if (turns[orientation].swap)
        s = (struct rect){r.y, r.x, r.height, r.width};
    if (turns[orientation].mirror_x)
        s.x = stored.width - s.x - s.width;
    if (turns[orientation].mirror_y)
        s.y = stored.height - s.y - s.height;
    return s;
}

void exif_turn(int orientation, const struct image *src, struct image *dst)
{
    const struct rect size =
        exif_upright(orientation, (struct rect){.width = src->width, .height = src->height});

    image_resize(dst, size.width, size.height);
    for (int y = 0; y < size.height; y++)
        for (int x = 0; x < size.width; x++) {
            int sx = turns[orientation].swap ? y : x, sy = turns[orientation].swap ? x : y;

            if (turns[orientation].mirror_x)
                sx = src->width - 1 - sx;
            if (turns[orientation].mirror_y)
                sy = src->height - 1 - sy;
            memcpy(image_row(dst, y) + (size_t)x * IMAGE_CHANNELS,
                   image_row(src, sy) + (size_t)sx * IMAGE_CHANNELS, IMAGE_CHANNELS);
        }
}
