/* The reference backend: plain loops in plain C, the oracle of all others. Storage is float32, sums
 * are float64, one thread; bf16 is widened. Clear before fast; it is never tuned. Every kernel is
 * the formula in its op's comment. */
#ifndef STAVE_BACKEND_REF_REF_H
#define STAVE_BACKEND_REF_REF_H

#include "backend/backend.h"

/* clang-format off */
#define KERNEL(op) extern const struct kernel ref_##op;
#include "backend/ref/kernels.h"
#undef KERNEL
/* clang-format on */

/* A kernel is written for float32. Where the plan narrowed a tensor to bf16, these run it on
 * float32 copies in scratch and round what it wrote: bf16 is a matter of storage here, never of
 * sums. prepare is the kernel's own, or NULL. */
int ref_prepare(struct device *d, struct step *s, int (*prepare)(struct device *, struct step *));
int ref_run(struct device *d, const struct step *s,
            int (*run)(struct device *, const struct step *));
void ref_release(struct device *d, struct step *s);

#define REF_KERNEL_WITH(op, accepts_, prepare_, run_)                                              \
    static int op##_any_prepare(struct device *d, struct step *s)                                  \
    {                                                                                              \
        return ref_prepare(d, s, prepare_);                                                        \
    }                                                                                              \
    static int op##_any_run(struct device *d, const struct step *s)                                \
    {                                                                                              \
        return ref_run(d, s, run_);                                                                \
    }                                                                                              \
    const struct kernel ref_##op = {.name = "ref",                                                 \
                                    .accepts = accepts_,                                           \
                                    .prepare = op##_any_prepare,                                   \
                                    .run = op##_any_run,                                           \
                                    .release = ref_release}
#define REF_KERNEL(op, run_) REF_KERNEL_WITH(op, NULL, NULL, run_)

static inline int64_t last_dim(const struct tensor *t)
{
    return t->shape.dim[t->shape.rank - 1];
}

static inline int64_t rows_of(const struct tensor *t)
{
    return tensor_count(t) / last_dim(t);
}

#endif
