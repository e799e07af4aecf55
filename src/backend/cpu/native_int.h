/* What the kernels_*.c files share: how a function is compiled for the processor, and the sizes
 * that shares of work are cut to. */
#ifndef STAVE_BACKEND_CPU_NATIVE_INT_H
#define STAVE_BACKEND_CPU_NATIVE_INT_H

#include <stddef.h>

/* Two versions of one function, chosen by the loader. Both give the same bits: AVX2 without fused
 * multiply-add only widens. Elsewhere the plain build's own vectors do. */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define VECTORISED __attribute__((target_clones("avx2", "default")))
#else
#define VECTORISED
#endif

#define INLINE static inline __attribute__((always_inline))

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
