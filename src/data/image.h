/* Pixels between decoding and augmentation: 8-bit RGB. The buffer grows and is reused; zeroed is
 * empty. Use image_row: a decoder may have left more columns in the buffer than were asked for.
 * IMAGE_SLACK bytes behind the last row belong to the buffer, so that vector code may load a pixel
 * more than there is. */
#ifndef STAVE_DATA_IMAGE_H
#define STAVE_DATA_IMAGE_H

#include "data/bytes.h"

enum { IMAGE_CHANNELS = 3, IMAGE_SLACK = 4 };

struct rect {
    int x, y, width, height;
};

struct image {
    struct bytes px;
    int width, height;
    size_t first, stride; /* bytes: the first pixel's place, from row to row */
};

/* Room for r.height rows of n_columns pixels; the image is r.width of them, from column r.x on. */
static inline void image_resize_within(struct image *m, struct rect r, int n_columns)
{
    m->width = r.width;
    m->height = r.height;
    m->first = (size_t)r.x * IMAGE_CHANNELS;
    m->stride = (size_t)n_columns * IMAGE_CHANNELS;
    bytes_resize(&m->px, m->stride * (size_t)r.height + IMAGE_SLACK);
    m->px.n -= IMAGE_SLACK;
}

static inline void image_resize(struct image *m, int width, int height)
{
    image_resize_within(m, (struct rect){.width = width, .height = height}, width);
}

static inline uint8_t *image_row(const struct image *m, int y)
{
    return m->px.data + m->first + (size_t)y * m->stride;
}

static inline void image_release(struct image *m)
{
    bytes_release(&m->px);
    *m = (struct image){0};
}

#endif
