/* The loops of resize.c, once for each kind of processor. All give the same bits: sums of integers
 * do not care about their order. */
#ifndef STAVE_DATA_RESIZE_KERNELS_H
#define STAVE_DATA_RESIZE_KERNELS_H

#include "data/resize.h"

enum { ROW_BLOCK = 4, ROW_SLACK = 8 };

struct resize_kernels {
    const char *name;
    int (*usable)(void);
    /* ROW_BLOCK rows at once, each t->n pixels long; up to ROW_SLACK bytes behind an output row may
     * be written and IMAGE_SLACK bytes behind a source row read. The t->n_even taps of each pixel
     * lie inside the row. */
    void (*rows)(const struct taps *t, const uint8_t *const *src, uint8_t *const *dst);
    /* dst[i] = sum of weight[k] * row[k][i] for k < count, rounded, for i < n. count is a multiple
     * of two; reads and writes nothing outside n. */
    void (*column)(const int16_t *weight, int count, const uint8_t *const *row, uint8_t *dst,
                   size_t n);
};

/* From the fastest to the one for every processor, which comes last; NULL behind it. */
extern const struct resize_kernels *const resize_kernels[];

extern const struct resize_kernels resize_plain;
#ifdef __x86_64__
extern const struct resize_kernels resize_avx2;
#endif

#endif
