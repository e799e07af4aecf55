#include "backend/cpu/cpu.h"
#include "backend/cpu/native.h"
#include "base/err.h"

static int xent_prepare(struct device *d, struct step *s)
{
    TRY(cpu_wide_only(d, s));
    s->scratch_bytes = cpu_cross_entropy_scratch(rows_of(s->node->in[0]));
    return 0;
}

static struct cpu_cross_entropy arguments(const struct step *s)
{
    const struct tensor *const logits = s->node->in[0];

    return (struct cpu_cross_entropy){.n = rows_of(logits),
                                      .classes = columns_of(logits),
                                      .logits = s->in[0],
                                      .labels = s->in[1],
                                      .weights = s->in[2],
                                      .smoothing = (float)s->node->attr.loss.smoothing,
                                      .scratch = s->scratch};
}

static int xent_run(struct device *d, const struct step *s)
{
    struct cpu_cross_entropy a = arguments(s);

    a.sum = s->out[0];
    a.weight = s->out[1];
    cpu_cross_entropy(d->lib.threads, &a);
    return 0;
}

static int xent_grad_run(struct device *d, const struct step *s)
{
    struct cpu_cross_entropy a = arguments(s);

    a.scale = *(const float *)s->in[3];
    a.dlogits = s->out[0];
    cpu_cross_entropy(d->lib.threads, &a);
    return 0;
}

static int top1_run(struct device *d, const struct step *s)
{
    const struct tensor *const logits = s->node->in[0];
    const struct cpu_top1 a = {.n = rows_of(logits),
                               .classes = columns_of(logits),
                               .logits = s->in[0],
                               .labels = s->in[1],
                               .weights = s->in[2]};

    (void)d;
    *(float *)s->out[0] = (float)cpu_top1(&a);
    return 0;
}

const struct kernel cpu_kernel_softmax_xent = {
    .name = "own", .prepare = xent_prepare, .run = xent_run};
const struct kernel cpu_kernel_softmax_xent_grad = {
    .name = "own", .prepare = xent_prepare, .run = xent_grad_run};
CPU_KERNEL(top1, top1_run);
