#include "data/resize.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"

/* Weights are 14-bit fractions: 16 x 8 bits is what processors of every age multiply in vectors. */
enum { SHIFT = 14, LANES = 16 };

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

    t->n = a.n;
    t->widest = (int)ceil(reach(a)) * 2 + 1;
    if (n > t->cap_pixels) {
        t->cap_pixels = n;
        t->start = xrealloc(t->start, n * sizeof(*t->start));
        t->count = xrealloc(t->count, n * sizeof(*t->count));
    }
    if (n * (size_t)t->widest > t->cap_weights) {
        t->cap_weights = n * (size_t)t->widest * 3 / 2;
        t->weight = xrealloc(t->weight, t->cap_weights * sizeof(*t->weight));
    }
}

/* Weights of one output pixel in whole parts of 1 << SHIFT. What rounding leaves over goes to the
 * largest, so that a constant stays that constant. */
static void quantise(int32_t *weight, struct axis a, double centre, double sum, int from, int end)
{
    int32_t left = 1 << SHIFT;
    int largest = 0;

    for (int j = from; j < end; j++) {
        const double part = triangle((j + 0.5 - centre) / reach(a));

        weight[j - from] = (int32_t)lround((sum > 0.0 ? part / sum : 1.0) * (1 << SHIFT));
        left -= weight[j - from];
        largest = weight[j - from] > weight[largest] ? j - from : largest;
    }
    weight[largest] += left;
}

static void taps_fill(struct taps *t, struct axis a, int n_src)
{
    taps_reserve(t, a);
    for (int i = 0; i < a.n; i++) {
        int32_t *const weight = t->weight + (size_t)i * (size_t)t->widest;
        const double centre = a.first + (i + 0.5) * a.scale;
        double sum = 0.0;
        int from, end;

        span(a, i, n_src, &from, &end);
        ASSERT(end - from <= t->widest);
        for (int j = from; j < end; j++)
            sum += triangle((j + 0.5 - centre) / reach(a));
        quantise(weight, a, centre, sum, from, end);
        t->start[i] = from;
        t->count[i] = end - from;
    }
}

static uint8_t to_byte(int32_t sum)
{
    const int32_t v = (sum + (1 << (SHIFT - 1))) >> SHIFT;

    return (uint8_t)(v > 255 ? 255 : v);
}

static void row_pass(const struct taps *t, const uint8_t *src, uint8_t *dst)
{
    for (int i = 0; i < t->n; i++, dst += 3) {
        const int32_t *const weight = t->weight + (size_t)i * (size_t)t->widest;
        const uint8_t *p = src + (size_t)t->start[i] * 3;
        int32_t red = 0, green = 0, blue = 0;

        for (int k = 0; k < t->count[i]; k++, p += 3) {
            red += weight[k] * p[0];
            green += weight[k] * p[1];
            blue += weight[k] * p[2];
        }
        dst[0] = to_byte(red);
        dst[1] = to_byte(green);
        dst[2] = to_byte(blue);
    }
}

/* LANES neighbours at once: a constant count lets the compiler use vectors at -O2. */
static inline void column_lanes(const int32_t *weight, int count, const uint8_t *src, size_t stride,
                                uint8_t *dst)
{
    int32_t sum[LANES] = {0};

    for (int k = 0; k < count; k++)
        for (int x = 0; x < LANES; x++)
            sum[x] += (int16_t)weight[k] * (int16_t)src[(size_t)k * stride + (size_t)x];
    for (int x = 0; x < LANES; x++)
        dst[x] = to_byte(sum[x]);
}

/* One output row from the rows it looks at. */
static void column_pass(const int32_t *weight, int count, const uint8_t *src, size_t stride,
                        uint8_t *dst)
{
    size_t x = 0;

    for (; x + LANES <= stride; x += LANES)
        column_lanes(weight, count, src + x, stride, dst + x);
    for (; x < stride; x++) {
        int32_t sum = 0;

        for (int k = 0; k < count; k++)
            sum += weight[k] * src[(size_t)k * stride + x];
        dst[x] = to_byte(sum);
    }
}

void resize(struct resizer *r, const struct image *src, struct axis x, struct axis y, uint8_t *dst)
{
    const size_t stride = (size_t)x.n * IMAGE_CHANNELS;

    ASSERT(src->width > 0 && src->height > 0 && x.n > 0 && y.n > 0);
    taps_fill(&r->x, x, src->width);
    taps_fill(&r->y, y, src->height);
    bytes_resize(&r->rows, stride * (size_t)src->height);
    for (int row = 0; row < src->height; row++)
        row_pass(&r->x, image_row(src, row), r->rows.data + (size_t)row * stride);
    for (int i = 0; i < y.n; i++)
        column_pass(r->y.weight + (size_t)i * (size_t)r->y.widest, r->y.count[i],
                    r->rows.data + (size_t)r->y.start[i] * stride, stride,
                    dst + (size_t)i * stride);
}

static void taps_release(struct taps *t)
{
    free(t->start);
    free(t->count);
    free(t->weight);
}

void resizer_release(struct resizer *r)
{
    taps_release(&r->x);
    taps_release(&r->y);
    bytes_release(&r->rows);
    *r = (struct resizer){0};
}
