/* A 2-D convolution or one of its two gradients, prepared once for a shape and run many times:
 * by the library's own convolution, or as a matrix product where that is faster (conv_gemm.h).
 * Weights are plain OHWI outside; when the primitive wants them blocked, the conversion is part of
 * every run (training changes the weights each step), through the caller's scratch.
 * Owner: whoever prepared it; release it before the library closes. Thread: see dnnl_call.h. */
#ifndef STAVE_BACKEND_CPU_CONV_H
#define STAVE_BACKEND_CPU_CONV_H

#include "backend/cpu/conv_gemm.h"
#include "backend/cpu/dnnl_api.h"
#include "backend/cpu/dnnl_call.h"

struct cpu_conv {
    const struct cpu_dnnl *lib;
    enum cpu_conv_direction direction;
    struct cpu_conv_gemm gemm;      /* prepared when it is the way taken; else the rest is */
    struct dnnl_call conv, reorder; /* reorder.primitive is NULL when layouts agree */
    struct cpu_conv_shape turned;   /* of weights that a gradient of data turns round; kh 0: no */
    size_t weights_bytes;           /* of the blocked weights, at the start of scratch; maybe 0 */
    size_t turned_bytes;            /* of the turned ones, behind them; maybe 0 */
    size_t scratch_bytes;           /* what run needs: 64-byte aligned, contents irrelevant */
    char impl[64];                  /* for people: "jit:avx2", "patches+gemm:jit" */
    const char *why;                /* this way and not the other; NULL when the caller chose */
};

/* forward: a = x, b = w, dst = y; backward data: a = dy, b = w, dst = dx; backward weights: a = x,
 * b = dy, dst = dw. All of the shape's type, but dw of float32. dst is overwritten. All 64-byte
 * aligned. */
struct cpu_conv_args {
    const void *a, *b;
    void *dst;
    void *scratch;
};

int cpu_conv_prepare(struct cpu_conv *c, const struct cpu_dnnl *lib,
                     const struct cpu_conv_shape *shape, enum cpu_conv_direction direction);
/* The library's convolution of this direction, whatever would be faster. */
int cpu_conv_prepare_direct(struct cpu_conv *c, const struct cpu_dnnl *lib,
                            const struct cpu_conv_shape *shape, enum cpu_conv_direction direction);
/* The gradient of data as the library's forward convolution of dy with each kernel turned by half a
 * turn: dx[y][x] = sum over ky, kx of dy[y + pad - ky][x + pad - kx] w[ky][kx]. For stride 1 and
 * kernels larger than 1x1, whose padding is smaller than they; with AVX-512 the forward kernels are
 * the faster ones. */
int cpu_conv_turns(const struct cpu_conv_shape *s, enum cpu_conv_direction direction);
int cpu_conv_prepare_turned(struct cpu_conv *c, const struct cpu_dnnl *lib,
                            const struct cpu_conv_shape *shape);
int cpu_conv_run(const struct cpu_conv *c, const struct cpu_conv_args *args);
void cpu_conv_release(struct cpu_conv *c);

#endif
