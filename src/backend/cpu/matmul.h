/* A matrix product prepared once for a shape; see cpu_matmul_shape. dst is overwritten.
 * Owner: whoever prepared it; release it before the library closes. Thread: see dnnl_call.h. */
#ifndef STAVE_BACKEND_CPU_MATMUL_H
#define STAVE_BACKEND_CPU_MATMUL_H

#include "backend/cpu/dnnl_api.h"
#include "backend/cpu/dnnl_call.h"

struct cpu_matmul {
    const struct cpu_dnnl *lib;
    struct dnnl_call call;
    size_t scratch_bytes; /* what run needs, 64-byte aligned */
};

struct cpu_matmul_args {
    const void *a, *b;
    void *dst;
    void *scratch;
};

int cpu_matmul_prepare(struct cpu_matmul *m, const struct cpu_dnnl *lib,
                       const struct cpu_matmul_shape *shape);
int cpu_matmul_run(const struct cpu_matmul *m, const struct cpu_matmul_args *args);
void cpu_matmul_release(struct cpu_matmul *m);

#endif
