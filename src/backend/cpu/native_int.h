/* What the kernels_*.c files share: how a function is compiled for the processor and for each type
 * of elements, and the sizes that shares of work are cut to. */
#ifndef STAVE_BACKEND_CPU_NATIVE_INT_H
#define STAVE_BACKEND_CPU_NATIVE_INT_H

#include <stddef.h>

#include "base/bf16.h"
#include "graph/tensor.h"

/* Versions of one function, chosen by the loader. All give the same bits: without fused
 * multiply-add wider vectors are only wider. Elsewhere the plain build's own vectors do. */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define VECTORISED __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define VECTORISED
#endif

#define INLINE static inline __attribute__((always_inline))

/* A share of work, name(arg, begin, end), for both types of arg's arrays: name_of is inlined twice,
 * with a constant for its last parameter, so that its loops know their elements. */
#define TYPED(name, arguments)                                                                     \
    VECTORISED                                                                                     \
    static void name(void *arg, size_t begin, size_t end)                                          \
    {                                                                                              \
        const struct arguments *a = arg;                                                           \
                                                                                                   \
        if (a->type == DT_BF16)                                                                    \
            name##_of(a, begin, end, DT_BF16);                                                     \
        else                                                                                       \
            name##_of(a, begin, end, DT_F32);                                                      \
    }

INLINE float load(const void *x, size_t i, enum dtype type)
{
    return type == DT_BF16 ? bf16_to_float(((const uint16_t *)x)[i]) : ((const float *)x)[i];
}

INLINE void store(void *y, size_t i, enum dtype type, float v)
{
    if (type == DT_BF16)
        ((uint16_t *)y)[i] = bf16_from_float(v);
    else
        ((float *)y)[i] = v;
}

/* The address of element i. */
INLINE void *element(const void *x, size_t i, enum dtype type)
{
    return (char *)x + i * (type == DT_BF16 ? sizeof(uint16_t) : sizeof(float));
}

enum {
    MAP_GRAIN = 16384, /* elements of an elementwise kernel that are worth a thread */
    BLOCK_ROWS = 32,   /* rows summed in float before the sum moves to double */
    MAX_CHUNKS = 64,   /* of rows, in a reduction over rows */
    COLUMN_GRAIN = 64, /* columns, when chunks are combined */
};

/* Rows in as many pieces as are worth a thread of MAP_GRAIN elements. */
INLINE size_t row_grain(size_t c)
{
    return c >= MAP_GRAIN ? 1 : MAP_GRAIN / c;
}

#endif
