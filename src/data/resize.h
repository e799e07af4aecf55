/* Bilinear resize with antialiasing, separable, 8-bit in and out: the triangle filter, widened by
 * the scale when shrinking. Output pixel i of an axis looks at centre = first + (i + 1/2) * scale
 * source pixels; the source pixel j + 1/2 weighs triangle((j + 1/2 - centre) / max(scale, 1)), the
 * weights being normalised over the pixels that exist. The row pass comes first and rounds to 8
 * bits. Equal sizes give the source back unchanged. A resizer belongs to one thread and only grows.
 *
 * The bits are the same with any of the kernels (resize_kernels.h). */
#ifndef STAVE_DATA_RESIZE_H
#define STAVE_DATA_RESIZE_H

#include "data/image.h"

/* One direction: scale source pixels for each output pixel, the first output pixel's left edge at
 * first (may lie inside the source: a window of a larger resize). */
struct axis {
    double first, scale;
    int n;        /* output pixels */
    int mirrored; /* nonzero: they come out from the last to the first; columns only */
};

/* What each output pixel is made of. Every row of weights has room for a multiple of TAP_GROUP and
 * ends in zeros. */
enum { TAP_GROUP = 4, TAP_SHIFT = 14 };
struct taps {
    int *start;      /* per output pixel: first source pixel */
    int *count;      /* per output pixel: how many */
    int16_t *weight; /* stride entries per output pixel, in 1 / 2^TAP_SHIFT */
    double *part;    /* while filling: weights of one output pixel before they are rounded */
    int stride, n;
    int n_even; /* taps that vector code may take of each */
    size_t cap_pixels, cap_weights, cap_parts;
};

struct resizer {
    const struct resize_kernels *kernels; /* NULL: the fastest that the processor has */
    struct taps x, y;
    struct bytes ring; /* rows after the row pass, as many as an output row looks at */
    const uint8_t **rows;
    int cap_rows;
};

/* dst holds x.n * y.n pixels. */
void resize(struct resizer *r, const struct image *src, struct axis x, struct axis y, uint8_t *dst);
void resizer_release(struct resizer *r);

/* The source pixels that output pixels of an axis can look at: [*from, *end) within 0..n_src. */
void axis_reach(struct axis a, int n_src, int *from, int *end);

#endif
