/* The cpu backend: oneDNN for convolutions and matrix products, our own kernels (native.h) for the
 * rest, both on one OpenMP team. Activations are NHWC, weights OHWI. The op_*.c files translate
 * steps into calls; sizes and types come from the node, addresses from the step. */
#ifndef STAVE_BACKEND_CPU_CPU_H
#define STAVE_BACKEND_CPU_CPU_H

#include "backend/backend.h"
#include "backend/cpu/dnnl_call.h"

struct device {
    struct cpu_dnnl lib;
};

/* clang-format off */
#define KERNEL(op) extern const struct kernel cpu_kernel_##op;
#include "backend/cpu/kernels.h"
#undef KERNEL
/* clang-format on */

/* 0, or E_UNSUPPORTED and why not. */
int cpu_has_bf16(void);

/* The prepare() of kernels that have nothing else to prepare, and the first line of the others':
 * E_UNSUPPORTED unless the node is float32 throughout; or, where the kernel has both types, has
 * bf16 wherever its op may be narrow. */
int cpu_wide_only(struct device *d, struct step *s);
int cpu_wide_or_narrow(struct device *d, struct step *s);

#define CPU_KERNEL(op, run_)                                                                       \
    const struct kernel cpu_kernel_##op = {.name = "own", .prepare = cpu_wide_only, .run = run_}
#define CPU_KERNEL_BOTH(op, run_)                                                                  \
    const struct kernel cpu_kernel_##op = {                                                        \
        .name = "own", .prepare = cpu_wide_or_narrow, .run = run_}

static inline size_t count_of(const struct tensor *t)
{
    return (size_t)tensor_count(t);
}

static inline size_t columns_of(const struct tensor *t)
{
    return (size_t)t->shape.dim[t->shape.rank - 1];
}

static inline size_t rows_of(const struct tensor *t)
{
    return count_of(t) / columns_of(t);
}

#endif
