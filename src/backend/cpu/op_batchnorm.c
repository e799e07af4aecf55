#include <math.h>

#include "backend/cpu/cpu.h"
#include "backend/cpu/native.h"
#include "backend/host.h"
#include "base/err.h"

/* Reductions over rows; all have x or its like as input 0. */
static int columns_prepare(struct device *d, struct step *s)
{
    const struct tensor *const x = s->node->in[0];

    TRY(cpu_wide_or_narrow(d, s));
    s->scratch_bytes = cpu_columns_scratch(rows_of(x), columns_of(x));
    return 0;
}

/* Constants of each column. */
static int apply_prepare(struct device *d, struct step *s)
{
    TRY(cpu_wide_or_narrow(d, s));
    s->scratch_bytes = columns_of(s->node->in[0]) * sizeof(float);
    return 0;
}

static int grad_apply_prepare(struct device *d, struct step *s)
{
    TRY(apply_prepare(d, s));
    s->scratch_bytes *= 3;
    return 0;
}

static int sum_rows_prepare(struct device *d, struct step *s)
{
    TRY(cpu_wide_only(d, s));
    return columns_prepare(d, s);
}

static int stats_run(struct device *d, const struct step *s)
{
    const struct tensor *const x = s->node->in[0];
    const struct cpu_bn_stats a = {rows_of(x), columns_of(x), s->in[0], s->out[0],
                                   s->out[1],  s->scratch,    x->dtype};

    cpu_bn_stats(d->lib.threads, &a);
    return 0;
}

static int finalise_run(struct device *d, const struct step *s)
{
    const struct norm *const a = &s->node->attr.norm;
    const size_t c_n = columns_of(s->node->in[0]);
    const double m = (double)rows_of(s->node->in[4]), unbias = m > 1 ? m / (m - 1) : 1;
    const float *const mean = s->in[0], *const var = s->in[1];
    float *const running_mean = s->in[2], *const running_var = s->in[3], *const invstd = s->out[0];

    (void)d;
    for (size_t c = 0; c < c_n; c++) {
        const double v = (double)var[c];

        invstd[c] = (float)(1 / sqrt(v + a->eps));
        running_mean[c] =
            (float)((1 - a->momentum) * (double)running_mean[c] + a->momentum * (double)mean[c]);
        running_var[c] =
            (float)((1 - a->momentum) * (double)running_var[c] + a->momentum * v * unbias);
    }
    return 0;
}

static int apply_run(struct device *d, const struct step *s)
{
    const struct tensor *const x = s->node->in[0];
    const struct bn_apply *const fused = &s->node->attr.bn_apply;
    const struct cpu_bn_apply a = {.m = rows_of(x),
                                   .c = columns_of(x),
                                   .x = s->in[0],
                                   .mean = s->in[1],
                                   .invstd = s->in[2],
                                   .gamma = s->in[3],
                                   .beta = s->in[4],
                                   .residual = fused->residual ? s->in[5] : NULL,
                                   .relu = fused->relu,
                                   .y = s->out[0],
                                   .scratch = s->scratch,
                                   .type = x->dtype};

    cpu_bn_apply(d->lib.threads, &a);
    return 0;
}

static int grad_reduce_run(struct device *d, const struct step *s)
{
    const struct tensor *const x = s->node->in[0];
    const int relu = s->node->attr.norm.relu;
    const struct cpu_bn_grad_reduce a = {.m = rows_of(x),
                                         .c = columns_of(x),
                                         .x = s->in[0],
                                         .dy = s->in[1],
                                         .mean = s->in[2],
                                         .invstd = s->in[3],
                                         .dgamma = s->out[0],
                                         .dbeta = s->out[1],
                                         .scratch = s->scratch,
                                         .type = x->dtype,
                                         .gamma = relu ? s->in[4] : NULL,
                                         .beta = relu ? s->in[5] : NULL};

    cpu_bn_grad_reduce(d->lib.threads, &a);
    return 0;
}

static int grad_apply_run(struct device *d, const struct step *s)
{
    const struct tensor *const x = s->node->in[1];
    const int relu = s->node->attr.norm.relu;
    const struct cpu_bn_grad_apply a = {.m = rows_of(x),
                                        .c = columns_of(x),
                                        .frozen = s->node->attr.norm.frozen,
                                        .dy = s->in[0],
                                        .x = s->in[1],
                                        .mean = s->in[2],
                                        .invstd = s->in[3],
                                        .gamma = s->in[4],
                                        .dgamma = s->in[5],
                                        .dbeta = s->in[6],
                                        .dx = s->out[0],
                                        .scratch = s->scratch,
                                        .type = x->dtype,
                                        .beta = relu ? s->in[7] : NULL};

    cpu_bn_grad_apply(d->lib.threads, &a);
    return 0;
}

static int sum_rows_run(struct device *d, const struct step *s)
{
    const struct tensor *const x = s->node->in[0];
    const struct cpu_column_sum a = {rows_of(x), columns_of(x), s->in[0], s->out[0], s->scratch};

    cpu_column_sum(d->lib.threads, &a);
    return 0;
}

const struct kernel cpu_kernel_bn_stats = {
    .name = "own", .prepare = columns_prepare, .run = stats_run};
CPU_KERNEL_BOTH(bn_finalise, finalise_run);
const struct kernel cpu_kernel_bn_apply = {
    .name = "own", .accepts = host_accepts, .prepare = apply_prepare, .run = apply_run};
const struct kernel cpu_kernel_bn_grad_reduce = {
    .name = "own", .accepts = host_accepts, .prepare = columns_prepare, .run = grad_reduce_run};
const struct kernel cpu_kernel_bn_grad_apply = {
    .name = "own", .accepts = host_accepts, .prepare = grad_apply_prepare, .run = grad_apply_run};
const struct kernel cpu_kernel_sum_rows = {
    .name = "own", .prepare = sum_rows_prepare, .run = sum_rows_run};
