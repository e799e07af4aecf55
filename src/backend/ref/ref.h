/* The reference backend: plain loops in plain C, the oracle of all others. Storage is float32, sums
 * are float64, one thread. Clear before fast; it is never tuned. Every kernel is the formula in its
 * op's comment. */
#ifndef STAVE_BACKEND_REF_REF_H
#define STAVE_BACKEND_REF_REF_H

#include "backend/backend.h"

/* clang-format off */
#define KERNEL(op) extern const struct kernel ref_##op;
#include "backend/ref/kernels.h"
#undef KERNEL
/* clang-format on */

#define REF_KERNEL(op, run_) const struct kernel ref_##op = {.name = "ref", .run = run_}

static inline int64_t last_dim(const struct tensor *t)
{
    return t->shape.dim[t->shape.rank - 1];
}

static inline int64_t rows_of(const struct tensor *t)
{
    return tensor_count(t) / last_dim(t);
}

#endif
