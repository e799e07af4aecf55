#include <string.h>

#include "backend/cpu/native.h"
#include "backend/cpu/native_int.h"
#include "backend/cpu/parallel.h"
#include "base/err.h"

size_t cpu_pool_out(size_t in, const struct cpu_pool_shape *s)
{
    return (in + 2 * s->pad - s->k) / s->stride + 1;
}

/* The running maximum of a few channels: places are as wide as values, so that one comparison
 * selects both. */
enum { CHANNELS = 64 };
struct best {
    float value[CHANNELS];
    int32_t place[CHANNELS];
};

INLINE void take_first(struct best *b, const float *restrict x, int32_t tap, size_t c)
{
    for (size_t j = 0; j < c; j++) {
        b->value[j] = x[j];
        b->place[j] = tap;
    }
}

/* NaN wins and stays. */
INLINE void take_greater(struct best *b, const float *restrict x, int32_t tap, size_t c)
{
    for (size_t j = 0; j < c; j++) {
        const float v = x[j], best = b->value[j];
        const int wins = !(v <= best) & (best == best);

        b->value[j] = wins ? v : best;
        b->place[j] = wins ? tap : b->place[j];
    }
}

/* The c channels from at[2] on of output pixel (at[0], at[1]). */
INLINE void max_window(const struct cpu_pool_shape *s, const float *image, const size_t at[3],
                       struct best *b, size_t c)
{
    int first = 1;

    for (size_t ky = 0; ky < s->k; ky++)
        for (size_t kx = 0; kx < s->k; kx++) {
            const size_t iy = at[0] * s->stride + ky - s->pad, ix = at[1] * s->stride + kx - s->pad;
            const float *const x = image + (iy * s->w + ix) * s->c + at[2];

            if (iy >= s->h || ix >= s->w) /* also below zero, by wrapping */
                continue;
            if (first)
                take_first(b, x, (int32_t)(ky * s->k + kx), c);
            else
                take_greater(b, x, (int32_t)(ky * s->k + kx), c);
            first = 0;
        }
}

INLINE void max_pixel(const struct cpu_pool_shape *s, const float *image, const size_t at[2],
                      float *restrict y, uint8_t *restrict index)
{
    for (size_t from = 0; from < s->c; from += CHANNELS) {
        const size_t c = s->c - from < CHANNELS ? s->c - from : CHANNELS;
        struct best b;

        if (c == CHANNELS) /* the constant count keeps the loops without a tail */
            max_window(s, image, (const size_t[]){at[0], at[1], from}, &b, CHANNELS);
        else
            max_window(s, image, (const size_t[]){at[0], at[1], from}, &b, c);
        memcpy(y + from, b.value, c * sizeof(float));
        for (size_t j = 0; j < c; j++)
            index[from + j] = (uint8_t)b.place[j];
    }
}

/* Rows of output pixels, over all images. */
VECTORISED
static void max_rows(void *arg, size_t begin, size_t end)
{
    const struct cpu_max_pool *a = arg;
    const struct cpu_pool_shape *s = &a->shape;
    const size_t oh = cpu_pool_out(s->h, s), ow = cpu_pool_out(s->w, s);

    for (size_t row = begin; row < end; row++)
        for (size_t ox = 0; ox < ow; ox++)
            max_pixel(s, a->x + row / oh * s->h * s->w * s->c, (const size_t[]){row % oh, ox},
                      a->y + (row * ow + ox) * s->c, a->index + (row * ow + ox) * s->c);
}

void cpu_max_pool(int threads, const struct cpu_max_pool *a)
{
    const struct cpu_pool_shape *s = &a->shape;

    ASSERT(s->k >= 1 && s->k <= 16 && s->pad < s->k && s->stride >= 1);
    cpu_parallel((struct cpu_split){threads, s->n * cpu_pool_out(s->h, s), 1}, max_rows, (void *)a);
}

INLINE void add_won(const float *restrict dy, const uint8_t *restrict index, uint8_t tap,
                    float *restrict dx, size_t c)
{
    for (size_t j = 0; j < c; j++)
        dx[j] += index[j] == tap ? dy[j] : 0;
}

/* Gathers from every window that covers input pixel (iy, ix), in the order of the taps. */
INLINE void gather_window(const struct cpu_max_pool_grad *a, size_t image, size_t iy, size_t ix,
                          float *dx)
{
    const struct cpu_pool_shape *s = &a->shape;
    const size_t oh = cpu_pool_out(s->h, s), ow = cpu_pool_out(s->w, s);

    memset(dx, 0, s->c * sizeof(float));
    for (size_t ky = 0; ky < s->k && ky <= iy + s->pad; ky++)
        for (size_t kx = 0; kx < s->k && kx <= ix + s->pad; kx++) {
            const size_t y = iy + s->pad - ky, x = ix + s->pad - kx;
            const size_t at = ((image * oh + y / s->stride) * ow + x / s->stride) * s->c;

            if (y % s->stride == 0 && x % s->stride == 0 && y / s->stride < oh &&
                x / s->stride < ow)
                add_won(a->dy + at, a->index + at, (uint8_t)(ky * s->k + kx), dx, s->c);
        }
}

VECTORISED
static void max_grad_rows(void *arg, size_t begin, size_t end)
{
    const struct cpu_max_pool_grad *a = arg;
    const struct cpu_pool_shape *s = &a->shape;

    for (size_t row = begin; row < end; row++)
        for (size_t ix = 0; ix < s->w; ix++)
            gather_window(a, row / s->h, row % s->h, ix, a->dx + (row * s->w + ix) * s->c);
}

void cpu_max_pool_grad(int threads, const struct cpu_max_pool_grad *a)
{
    cpu_parallel((struct cpu_split){threads, a->shape.n * a->shape.h, 1}, max_grad_rows, (void *)a);
}

VECTORISED
static void average_images(void *arg, size_t begin, size_t end)
{
    const struct cpu_global_pool *a = arg;
    const float share = 1.0F / (float)a->pixels;

    for (size_t i = begin; i < end; i++) {
        const float *restrict src = a->src + i * a->pixels * a->c;
        float *restrict dst = a->dst + i * a->c;

        memset(dst, 0, a->c * sizeof(float));
        for (size_t p = 0; p < a->pixels; p++)
            for (size_t j = 0; j < a->c; j++)
                dst[j] += src[p * a->c + j];
        for (size_t j = 0; j < a->c; j++)
            dst[j] *= share;
    }
}

VECTORISED
static void average_grad_images(void *arg, size_t begin, size_t end)
{
    const struct cpu_global_pool *a = arg;
    const float share = 1.0F / (float)a->pixels;

    for (size_t i = begin; i < end; i++) {
        const float *restrict src = a->src + i * a->c;
        float *restrict dst = a->dst + i * a->pixels * a->c;

        for (size_t p = 0; p < a->pixels; p++)
            for (size_t j = 0; j < a->c; j++)
                dst[p * a->c + j] = share * src[j];
    }
}

void cpu_global_average(int threads, const struct cpu_global_pool *a)
{
    cpu_parallel((struct cpu_split){threads, a->n, row_grain(a->pixels * a->c)}, average_images,
                 (void *)a);
}

void cpu_global_average_grad(int threads, const struct cpu_global_pool *a)
{
    cpu_parallel((struct cpu_split){threads, a->n, row_grain(a->pixels * a->c)},
                 average_grad_images, (void *)a);
}
