#include <string.h>

#include "backend/cpu/native.h"
#include "backend/cpu/native_int.h"
#include "backend/cpu/parallel.h"
#include "base/err.h"

size_t cpu_pool_out(size_t in, const struct cpu_pool_shape *s)
{
    return (in + 2 * s->pad - s->k) / s->stride + 1;
}

INLINE void take_first(const float *restrict x, float *restrict y, uint8_t *restrict index,
                       uint8_t tap, size_t c)
{
    memcpy(y, x, c * sizeof(float));
    memset(index, tap, c);
}

/* NaN wins and stays. */
INLINE void take_greater(const float *restrict x, float *restrict y, uint8_t *restrict index,
                         uint8_t tap, size_t c)
{
    for (size_t j = 0; j < c; j++) {
        const int wins = x[j] > y[j] || x[j] != x[j];

        index[j] = wins ? tap : index[j];
        y[j] = wins ? x[j] : y[j];
    }
}

/* The window of output pixel (oy, ox) of one image. */
INLINE void max_window(const struct cpu_pool_shape *s, const float *image, size_t oy, size_t ox,
                       float *y, uint8_t *index)
{
    int first = 1;

    for (size_t ky = 0; ky < s->k; ky++)
        for (size_t kx = 0; kx < s->k; kx++) {
            const size_t iy = oy * s->stride + ky - s->pad, ix = ox * s->stride + kx - s->pad;
            const float *x = image + (iy * s->w + ix) * s->c;

            if (iy >= s->h || ix >= s->w) /* also below zero, by wrapping */
                continue;
            if (first)
                take_first(x, y, index, (uint8_t)(ky * s->k + kx), s->c);
            else
                take_greater(x, y, index, (uint8_t)(ky * s->k + kx), s->c);
            first = 0;
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
            max_window(s, a->x + row / oh * s->h * s->w * s->c, row % oh, ox,
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
