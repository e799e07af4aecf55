/* Pixels between decoding and augmentation: 8-bit RGB, rows one after the other without padding.
 * The buffer grows and is reused; zeroed is empty. */
#ifndef STAVE_DATA_IMAGE_H
#define STAVE_DATA_IMAGE_H

#include "data/bytes.h"

enum { IMAGE_CHANNELS = 3 };

struct rect {
    int x, y, width, height;
};

struct image {
    struct bytes px;
    int width, height;
};

static inline void image_resize(struct image *m, int width, int height)
{
    m->width = width;
    m->height = height;
    bytes_resize(&m->px, (size_t)width * (size_t)height * IMAGE_CHANNELS);
}

static inline uint8_t *image_row(const struct image *m, int y)
{
    return m->px.data + (size_t)y * (size_t)m->width * IMAGE_CHANNELS;
}

static inline void image_release(struct image *m)
{
    bytes_release(&m->px);
    *m = (struct image){0};
}

#endif
