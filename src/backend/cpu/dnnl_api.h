/* The one place where oneDNN 2.x (operation descriptors, memory descriptors by value) and 3.x
 * (primitive descriptors created at once, memory descriptors opaque) differ. Everything above sees
 * primitive descriptors only. Data is float32 or bf16, the gradient of weights always float32;
 * activations are NHWC, weights OHWI as given by the caller or, where a primitive is asked for
 * weights in "any" layout, whatever it likes best.
 * A shape that the library refuses is E_UNSUPPORTED with the library's words. Any thread. */
#ifndef STAVE_BACKEND_CPU_DNNL_API_H
#define STAVE_BACKEND_CPU_DNNL_API_H

#include <oneapi/dnnl/dnnl.h>
#include <stdint.h>

#include "base/err.h"
#include "graph/tensor.h"

/* Forwards a failed library call with its text and the status's name. */
#define DNNL_TRY(call)                                                                             \
    do {                                                                                           \
        const dnnl_status_t dnnl_status_ = (call);                                                 \
        if (dnnl_status_ != dnnl_success)                                                          \
            return dnnl_api_failed(dnnl_status_, #call);                                           \
    } while (0)

int dnnl_api_failed(dnnl_status_t status, const char *call);

enum cpu_conv_direction {
    CPU_CONV_FORWARD,          /* y = conv(x, w) */
    CPU_CONV_BACKWARD_DATA,    /* dx from dy, w */
    CPU_CONV_BACKWARD_WEIGHTS, /* dw from x, dy */
};

/* x is [n][h][w][c], weights are [out][kh][kw][c / groups], y is [n][oh][ow][out] with
 * oh = (h + 2 pad_h - kh) / stride_h + 1. */
struct cpu_conv_shape {
    int64_t n, h, w, c;
    int64_t out, kh, kw;
    int64_t stride_h, stride_w; /* zero means 1 */
    int64_t pad_h, pad_w;       /* the same before and after */
    int64_t groups;             /* zero means 1 */
    int swapped;                /* weights are [c][kh][kw][out]; forward without groups only */
    enum dtype type;            /* DT_F32 or DT_BF16: of x, w and y and of dx and dy */
};

/* dst[m][n] = a b, all row-major without gaps; a is [m][k], or [k][m] when trans_a; b is [k][n], or
 * [n][k] when trans_b. */
struct cpu_matmul_shape {
    int64_t m, n, k;
    int trans_a, trans_b;
    enum dtype type, dst_type; /* of a and b, of dst: DT_F32 or DT_BF16 */
    int accumulate;            /* dst += a b */
};

int64_t cpu_conv_out_h(const struct cpu_conv_shape *s);
int64_t cpu_conv_out_w(const struct cpu_conv_shape *s);

/* Both ask for a scratchpad given by the caller. The caller destroys *pd. */
int dnnl_api_conv(dnnl_primitive_desc_t *pd, dnnl_engine_t engine, const struct cpu_conv_shape *s,
                  enum cpu_conv_direction direction);
int dnnl_api_matmul(dnnl_primitive_desc_t *pd, dnnl_engine_t engine,
                    const struct cpu_matmul_shape *s);

/* The conversion between plain OHWI weights and the layout that conv_pd wants: to it in the first
 * two directions, from it for a weight gradient. *pd is NULL when the layouts are the same. */
int dnnl_api_conv_reorder(dnnl_primitive_desc_t *pd, dnnl_primitive_desc_t conv_pd,
                          const struct cpu_conv_shape *s, enum cpu_conv_direction direction);

#endif
