#include <string.h>

#include "backend/cpu/native.h"
#include "backend/cpu/native_int.h"
#include "backend/cpu/parallel.h"

/* One elementwise kernel: EXPR of x = a[i] and y = LOAD_Y: b[i], b[i] + c[i], or 0 for kernels
 * without b. It is loaded whether EXPR needs it or not, since a load under a condition is not
 * vectorised. */
#define MAP(name, LOAD_Y, EXPR)                                                                    \
    INLINE void name##_range_of(const struct cpu_map *map, size_t begin, size_t end,               \
                                enum dtype type)                                                   \
    {                                                                                              \
        const void *a = map->a, *b = map->b, *c = map->c;                                          \
        void *dst = map->dst;                                                                      \
                                                                                                   \
        (void)b;                                                                                   \
        (void)c;                                                                                   \
        _Pragma("GCC ivdep") for (size_t i = begin; i < end; i++)                                  \
        {                                                                                          \
            const float x = load(a, i, type), y = (LOAD_Y);                                        \
                                                                                                   \
            (void)y;                                                                               \
            store(dst, i, type, (EXPR));                                                           \
        }                                                                                          \
    }                                                                                              \
                                                                                                   \
    TYPED(name##_range, cpu_map)                                                                   \
                                                                                                   \
    void name(int threads, const struct cpu_map *m)                                                \
    {                                                                                              \
        cpu_parallel((struct cpu_split){threads, m->n, MAP_GRAIN}, name##_range, (void *)m);       \
    }

#define SECOND load(b, i, type)

/* v or 0, without a branch, into which the compiler would move a sum: that is not vectorised. */
INLINE float where(int condition, float v)
{
    uint32_t bits;

    memcpy(&bits, &v, sizeof(bits));
    bits &= 0u - (uint32_t)condition;
    memcpy(&v, &bits, sizeof(v));
    return v;
}

MAP(cpu_relu, 0, x < 0 ? 0 : x)
MAP(cpu_relu_grad, SECOND, x > 0 ? y : 0)
MAP(cpu_relu_grad_of_sum, SECOND + load(c, i, type), where(x > 0, y))
MAP(cpu_add, SECOND, x + y)

/* type, of dst, is a constant; the source has the other. */
INLINE void cast_range_of(const struct cpu_cast *a, size_t begin, size_t end, enum dtype type)
{
    const void *restrict src = a->src;
    void *restrict dst = a->dst;

    for (size_t i = begin; i < end; i++)
        store(dst, i, type, load(src, i, type == DT_BF16 ? DT_F32 : DT_BF16));
}

TYPED(cast_range, cpu_cast)

void cpu_cast(int threads, const struct cpu_cast *a)
{
    cpu_parallel((struct cpu_split){threads, a->n, MAP_GRAIN}, cast_range, (void *)a);
}

VECTORISED
static void bias_rows(void *arg, size_t begin, size_t end)
{
    const struct cpu_bias_add *a = arg;

    for (size_t i = begin; i < end; i++) {
        const float *src = a->src + i * a->c, *restrict bias = a->bias;
        float *dst = a->dst + i * a->c;

#pragma GCC ivdep
        for (size_t j = 0; j < a->c; j++)
            dst[j] = src[j] + bias[j];
    }
}

void cpu_bias_add(int threads, const struct cpu_bias_add *a)
{
    cpu_parallel((struct cpu_split){threads, a->m, row_grain(a->c)}, bias_rows, (void *)a);
}

/* Three channels do not fill a vector: mean and scale are repeated until REPEAT pixels make one
 * long row. */
enum { REPEAT = 16, MAX_REPEATED = 16 };

INLINE void normalise_run(const uint8_t *restrict src, const float *restrict mean,
                          const float *restrict scale, void *restrict dst, size_t n,
                          enum dtype type)
{
    for (size_t j = 0; j < n; j++)
        store(dst, j, type, ((float)src[j] - mean[j]) * scale[j]);
}

INLINE void normalise_rows_of(const struct cpu_normalise *a, size_t begin, size_t end,
                              enum dtype type)
{
    float mean[REPEAT * MAX_REPEATED], scale[REPEAT * MAX_REPEATED];
    const size_t c = a->c, step = c <= MAX_REPEATED ? REPEAT : 1;
    size_t i = begin;

    for (size_t r = 0; c <= MAX_REPEATED && r < REPEAT; r++) {
        memcpy(mean + r * c, a->mean, c * sizeof(float));
        memcpy(scale + r * c, a->inv_std, c * sizeof(float));
    }
    for (; step > 1 && i + step <= end; i += step)
        normalise_run(a->src + i * c, mean, scale, element(a->dst, i * c, type), step * c, type);
    for (; i < end; i++)
        normalise_run(a->src + i * c, a->mean, a->inv_std, element(a->dst, i * c, type), c, type);
}

TYPED(normalise_rows, cpu_normalise)

void cpu_normalise(int threads, const struct cpu_normalise *a)
{
    cpu_parallel((struct cpu_split){threads, a->m, row_grain(a->c)}, normalise_rows, (void *)a);
}
