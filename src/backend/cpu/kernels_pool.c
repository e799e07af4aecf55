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

INLINE void take_first(struct best *b, const void *restrict x, int32_t tap, size_t c,
                       enum dtype type)
{
    for (size_t j = 0; j < c; j++) {
        b->value[j] = load(x, j, type);
        b->place[j] = tap;
    }
}

/* NaN wins and stays. */
INLINE void take_greater(struct best *b, const void *restrict x, int32_t tap, size_t c,
                         enum dtype type)
{
    for (size_t j = 0; j < c; j++) {
        const float v = load(x, j, type), best = b->value[j];
        const int wins = !(v <= best) & (best == best);

        b->value[j] = wins ? v : best;
        b->place[j] = wins ? tap : b->place[j];
    }
}

/* The c channels from at[3] on of output pixel (at[1], at[2]) of image at[0]. */
INLINE void max_window(const struct cpu_max_pool *a, const size_t at[4], struct best *b, size_t c,
                       enum dtype type)
{
    const struct cpu_pool_shape *s = &a->shape;
    int first = 1;

    for (size_t ky = 0; ky < s->k; ky++)
        for (size_t kx = 0; kx < s->k; kx++) {
            const size_t iy = at[1] * s->stride + ky - s->pad, ix = at[2] * s->stride + kx - s->pad;
            const void *x;

            if (iy >= s->h || ix >= s->w) /* also below zero, by wrapping */
                continue;
            x = element(a->x, ((at[0] * s->h + iy) * s->w + ix) * s->c + at[3], type);
            if (first)
                take_first(b, x, (int32_t)(ky * s->k + kx), c, type);
            else
                take_greater(b, x, (int32_t)(ky * s->k + kx), c, type);
            first = 0;
        }
}

/* Output pixel (at[1], at[2]) of image at[0], whose channels begin at out. */
INLINE void max_pixel(const struct cpu_max_pool *a, const size_t at[3], size_t out, enum dtype type)
{
    const size_t all = a->shape.c;
    void *restrict y = a->y;
    uint8_t *restrict index = a->index;

    for (size_t from = 0; from < all; from += CHANNELS) {
        const size_t c = all - from < CHANNELS ? all - from : CHANNELS;
        const size_t first[] = {at[0], at[1], at[2], from};
        struct best b;

        if (c == CHANNELS) /* the constant count keeps the loops without a tail */
            max_window(a, first, &b, CHANNELS, type);
        else
            max_window(a, first, &b, c, type);
        for (size_t j = 0; j < c; j++)
            store(y, out + from + j, type, b.value[j]);
        for (size_t j = 0; j < c; j++)
            index[out + from + j] = (uint8_t)b.place[j];
    }
}

/* Rows of output pixels, over all images. */
INLINE void max_rows_of(const struct cpu_max_pool *a, size_t begin, size_t end, enum dtype type)
{
    const struct cpu_pool_shape *s = &a->shape;
    const size_t oh = cpu_pool_out(s->h, s), ow = cpu_pool_out(s->w, s);

    for (size_t row = begin; row < end; row++)
        for (size_t ox = 0; ox < ow; ox++)
            max_pixel(a, (const size_t[]){row / oh, row % oh, ox}, (row * ow + ox) * s->c, type);
}

TYPED(max_rows, cpu_max_pool)

void cpu_max_pool(int threads, const struct cpu_max_pool *a)
{
    const struct cpu_pool_shape *s = &a->shape;

    ASSERT(s->k >= 1 && s->k <= 16 && s->pad < s->k && s->stride >= 1);
    cpu_parallel((struct cpu_split){threads, s->n * cpu_pool_out(s->h, s), 1}, max_rows, (void *)a);
}

INLINE void add_won(const void *restrict dy, const uint8_t *restrict index, uint8_t tap,
                    float *restrict sum, size_t c, enum dtype type)
{
    for (size_t j = 0; j < c; j++) {
        const float d = load(dy, j, type);

        sum[j] += index[j] == tap ? d : 0;
    }
}

/* The c channels from at[3] on of input pixel (at[1], at[2]) of image at[0]: gathers from every
 * window that covers it, in the order of the taps. */
INLINE void gather_window(const struct cpu_max_pool_grad *a, const size_t at[4],
                          float *restrict sum, size_t c, enum dtype type)
{
    const struct cpu_pool_shape *s = &a->shape;
    const size_t oh = cpu_pool_out(s->h, s), ow = cpu_pool_out(s->w, s);

    memset(sum, 0, c * sizeof(float));
    for (size_t ky = 0; ky < s->k && ky <= at[1] + s->pad; ky++)
        for (size_t kx = 0; kx < s->k && kx <= at[2] + s->pad; kx++) {
            const size_t y = at[1] + s->pad - ky, x = at[2] + s->pad - kx;
            const size_t from = ((at[0] * oh + y / s->stride) * ow + x / s->stride) * s->c + at[3];

            if (y % s->stride == 0 && x % s->stride == 0 && y / s->stride < oh &&
                x / s->stride < ow)
                add_won(element(a->dy, from, type), a->index + from, (uint8_t)(ky * s->k + kx), sum,
                        c, type);
        }
}

/* float32 is summed in place. */
INLINE void gather_pixel(const struct cpu_max_pool_grad *a, const size_t at[3], enum dtype type)
{
    const struct cpu_pool_shape *s = &a->shape;
    void *const dx = element(a->dx, ((at[0] * s->h + at[1]) * s->w + at[2]) * s->c, type);
    float sum[CHANNELS];

    if (type == DT_F32)
        gather_window(a, (const size_t[]){at[0], at[1], at[2], 0}, dx, s->c, type);
    for (size_t from = 0; type == DT_BF16 && from < s->c; from += CHANNELS) {
        const size_t c = s->c - from < CHANNELS ? s->c - from : CHANNELS;

        gather_window(a, (const size_t[]){at[0], at[1], at[2], from}, sum, c, type);
        for (size_t j = 0; j < c; j++)
            store(dx, from + j, type, sum[j]);
    }
}

INLINE void max_grad_rows_of(const struct cpu_max_pool_grad *a, size_t begin, size_t end,
                             enum dtype type)
{
    const struct cpu_pool_shape *s = &a->shape;

    for (size_t row = begin; row < end; row++)
        for (size_t ix = 0; ix < s->w; ix++)
            gather_pixel(a, (const size_t[]){row / s->h, row % s->h, ix}, type);
}

TYPED(max_grad_rows, cpu_max_pool_grad)

void cpu_max_pool_grad(int threads, const struct cpu_max_pool_grad *a)
{
    cpu_parallel((struct cpu_split){threads, a->shape.n * a->shape.h, 1}, max_grad_rows, (void *)a);
}

INLINE void average_images_of(const struct cpu_global_pool *a, size_t begin, size_t end,
                              enum dtype type)
{
    const float share = 1.0F / (float)a->pixels;

    for (size_t i = begin; i < end; i++) {
        const void *restrict src = element(a->src, i * a->pixels * a->c, type);
        float *restrict dst = a->dst + i * a->c;

        memset(dst, 0, a->c * sizeof(float));
        for (size_t p = 0; p < a->pixels; p++)
            for (size_t j = 0; j < a->c; j++)
                dst[j] += load(src, p * a->c + j, type);
        for (size_t j = 0; j < a->c; j++)
            dst[j] *= share;
    }
}

TYPED(average_images, cpu_global_pool)

INLINE void average_grad_images_of(const struct cpu_global_pool_grad *a, size_t begin, size_t end,
                                   enum dtype type)
{
    const float share = 1.0F / (float)a->pixels;

    for (size_t i = begin; i < end; i++) {
        const float *restrict src = a->src + i * a->c;
        void *restrict dst = element(a->dst, i * a->pixels * a->c, type);

        for (size_t p = 0; p < a->pixels; p++)
            for (size_t j = 0; j < a->c; j++)
                store(dst, p * a->c + j, type, share * src[j]);
    }
}

TYPED(average_grad_images, cpu_global_pool_grad)

void cpu_global_average(int threads, const struct cpu_global_pool *a)
{
    cpu_parallel((struct cpu_split){threads, a->n, row_grain(a->pixels * a->c)}, average_images,
                 (void *)a);
}

void cpu_global_average_grad(int threads, const struct cpu_global_pool_grad *a)
{
    cpu_parallel((struct cpu_split){threads, a->n, row_grain(a->pixels * a->c)},
                 average_grad_images, (void *)a);
}
