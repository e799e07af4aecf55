#include "data/resize.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "data/resize_kernels.h"

const struct resize_kernels *const resize_kernels[] = {
#ifdef __x86_64__
    &resize_avx2,
#endif
    &resize_plain,
    NULL,
};

static const struct resize_kernels *fastest(void)
{
    int i = 0;

    while (!resize_kernels[i]->usable())
        i++;
    return resize_kernels[i];
}

static double triangle(double t)
{
    t = fabs(t);
    return t < 1.0 ? 1.0 - t : 0.0;
}

static int clamp_int(double v, int max)
{
    return v < 0.0 ? 0 : v > (double)max ? max : (int)v;
}

/* Half the width of the filter in source pixels. */
static double reach(struct axis a)
{
    return a.scale > 1.0 ? a.scale : 1.0;
}

static void span(struct axis a, int i, int n_src, int *from, int *end)
{
    const double centre = a.first + (i + 0.5) * a.scale;

    *from = clamp_int(floor(centre - reach(a) + 0.5), n_src - 1);
    *end = clamp_int(floor(centre + reach(a) + 0.5), n_src);
    if (*end <= *from)
        *end = *from + 1;
}

void axis_reach(struct axis a, int n_src, int *from, int *end)
{
    int unused;

    span(a, 0, n_src, from, &unused);
    span(a, a.n - 1, n_src, &unused, end);
}

static void taps_reserve(struct taps *t, struct axis a)
{
    const size_t n = (size_t)a.n;
    const int widest = (int)ceil(reach(a)) * 2 + 1;

    t->n = a.n;
    t->stride = (widest + TAP_GROUP - 1) / TAP_GROUP * TAP_GROUP;
    if (n > t->cap_pixels) {
        t->cap_pixels = n;
        t->start = xrealloc(t->start, n * sizeof(*t->start));
        t->count = xrealloc(t->count, n * sizeof(*t->count));
    }
    if (n * (size_t)t->stride > t->cap_weights) {
        t->cap_weights = n * (size_t)t->stride * 3 / 2;
        t->weight = xrealloc(t->weight, t->cap_weights * sizeof(*t->weight));
    }
    if ((size_t)t->stride > t->cap_parts) {
        t->cap_parts = (size_t)t->stride * 2;
        t->part = xrealloc(t->part, t->cap_parts * sizeof(*t->part));
    }
}

/* Parts of a sum in whole parts of 1 << TAP_SHIFT. What rounding leaves over goes to the largest,
 * so that a constant stays that constant. */
static void quantise(const double *part, double sum, int n, int16_t *weight)
{
    int left = 1 << TAP_SHIFT, largest = 0;

    for (int j = 0; j < n; j++) {
        const double share = sum > 0.0 ? part[j] / sum : 1.0;

        weight[j] = (int16_t)(share * (1 << TAP_SHIFT) + 0.5);
        left -= weight[j];
        largest = weight[j] > weight[largest] ? j : largest;
    }
    weight[largest] = (int16_t)(weight[largest] + left);
}

/* The taps of output pixel i, at place `at` of t. */
static void fill_one(struct taps *t, struct axis a, int n_src, int i)
{
    const int at = a.mirrored ? a.n - 1 - i : i;
    int16_t *const weight = t->weight + (size_t)at * (size_t)t->stride;
    const double centre = a.first + (i + 0.5) * a.scale, wide = reach(a);
    double sum = 0.0;
    int from, end;

    span(a, i, n_src, &from, &end);
    ASSERT(end - from <= t->stride);
    for (int j = from; j < end; j++)
        sum += t->part[j - from] = triangle((j + 0.5 - centre) / wide);
    quantise(t->part, sum, end - from, weight);
    for (int k = end - from; k < t->stride; k++)
        weight[k] = 0;
    t->start[at] = from;
    t->count[at] = end - from;
}

static void taps_fill(struct taps *t, struct axis a, int n_src)
{
    taps_reserve(t, a);
    for (int i = 0; i < a.n; i++)
        fill_one(t, a, n_src, i);
}

/* Every output pixel gets t->n_even taps, zeros behind its own. Where they would reach beyond the
 * end of the row they begin earlier, with zeros in front. 0 when the row is too short for that. */
static int make_even(struct taps *t, int n_src)
{
    int most = 0;

    for (int i = 0; i < t->n; i++)
        most = t->count[i] > most ? t->count[i] : most;
    t->n_even = (most + TAP_GROUP - 1) / TAP_GROUP * TAP_GROUP;
    if (t->n_even > n_src)
        return 0;
    for (int i = 0; i < t->n; i++) {
        int16_t *const weight = t->weight + (size_t)i * (size_t)t->stride;
        const int beyond = t->start[i] + t->n_even - n_src;

        if (beyond <= 0)
            continue;
        memmove(weight + beyond, weight, (size_t)t->count[i] * sizeof(*weight));
        memset(weight, 0, (size_t)beyond * sizeof(*weight));
        t->start[i] -= beyond;
        t->count[i] += beyond;
    }
    return 1;
}

/* Rows of the source after the row pass. Row y lies in place y % n_rows. */
struct ring {
    uint8_t *data;
    size_t stride;
    int n_rows;
    int done; /* rows below it have been made */
};

static struct ring make_ring(struct resizer *r)
{
    struct ring g = {.n_rows = r->y.stride + ROW_BLOCK};

    g.stride = (size_t)r->x.n * IMAGE_CHANNELS + ROW_SLACK;
    bytes_resize(&r->ring, g.stride * (size_t)g.n_rows);
    g.data = r->ring.data;
    if (g.n_rows > r->cap_rows) {
        r->cap_rows = g.n_rows;
        r->rows = xrealloc(r->rows, (size_t)g.n_rows * sizeof(*r->rows));
    }
    return g;
}

static uint8_t *ring_row(const struct ring *g, int y)
{
    return g->data + (size_t)(y % g->n_rows) * g->stride;
}

/* The next ROW_BLOCK rows; below the last row of the source it is repeated. */
static void advance(struct ring *g, const struct resize_kernels *kernels, const struct taps *x,
                    const struct image *src)
{
    const uint8_t *from[ROW_BLOCK];
    uint8_t *to[ROW_BLOCK];

    for (int k = 0; k < ROW_BLOCK; k++) {
        const int y = g->done + k;

        from[k] = image_row(src, y < src->height ? y : src->height - 1);
        to[k] = ring_row(g, y);
    }
    kernels->rows(x, from, to);
    g->done += ROW_BLOCK;
}

void resize(struct resizer *r, const struct image *src, struct axis x, struct axis y, uint8_t *dst)
{
    const size_t stride = (size_t)x.n * IMAGE_CHANNELS;
    const struct resize_kernels *kernels = r->kernels ? r->kernels : fastest();
    struct ring g;

    ASSERT(src->width > 0 && src->height > 0 && x.n > 0 && y.n > 0 && !y.mirrored);
    taps_fill(&r->x, x, src->width);
    taps_fill(&r->y, y, src->height);
    if (!make_even(&r->x, src->width))
        kernels = &resize_plain;
    g = make_ring(r);
    for (int i = 0; i < y.n; i++, dst += stride) {
        const int start = r->y.start[i], count = (r->y.count[i] + 1) / 2 * 2;

        if (g.done < start)
            g.done = start;
        while (g.done < start + r->y.count[i])
            advance(&g, kernels, &r->x, src);
        for (int k = 0; k < count; k++)
            r->rows[k] = ring_row(&g, k < r->y.count[i] ? start + k : start);
        kernels->column(r->y.weight + (size_t)i * (size_t)r->y.stride, count, r->rows, dst, stride);
    }
}

static void taps_release(struct taps *t)
{
    free(t->start);
    free(t->count);
    free(t->weight);
    free(t->part);
}

void resizer_release(struct resizer *r)
{
    taps_release(&r->x);
    taps_release(&r->y);
    bytes_release(&r->ring);
    free(r->rows);
    *r = (struct resizer){0};
}
