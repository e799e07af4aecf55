#include "backend/cpu/cpu.h"
#include "backend/cpu/native.h"

static struct cpu_pool_shape pool_shape(const struct node *n, const struct tensor *x)
{
    const struct pool *const p = &n->attr.pool;
    const int64_t *const dim = x->shape.dim;

    return (struct cpu_pool_shape){(size_t)dim[0], (size_t)dim[1], (size_t)dim[2],
                                   (size_t)dim[3], (size_t)p->k,   (size_t)p->stride,
                                   (size_t)p->pad};
}

static int maxpool_run(struct device *d, const struct step *s)
{
    const struct cpu_max_pool a = {pool_shape(s->node, s->node->in[0]), s->in[0], s->out[0],
                                   s->out[1]};

    cpu_max_pool(d->lib.threads, &a);
    return 0;
}

static int maxpool_grad_run(struct device *d, const struct step *s)
{
    const struct cpu_max_pool_grad a = {pool_shape(s->node, s->node->out[0]), s->in[0], s->in[1],
                                        s->out[0]};

    cpu_max_pool_grad(d->lib.threads, &a);
    return 0;
}

static struct cpu_global_pool global_pool(const struct step *s, const struct tensor *x)
{
    const int64_t *const dim = x->shape.dim;

    return (struct cpu_global_pool){(size_t)dim[0], (size_t)(dim[1] * dim[2]), (size_t)dim[3],
                                    s->in[0], s->out[0]};
}

static int avgpool_run(struct device *d, const struct step *s)
{
    const struct cpu_global_pool a = global_pool(s, s->node->in[0]);

    cpu_global_average(d->lib.threads, &a);
    return 0;
}

static int avgpool_grad_run(struct device *d, const struct step *s)
{
    const struct cpu_global_pool a = global_pool(s, s->node->out[0]);

    cpu_global_average_grad(d->lib.threads, &a);
    return 0;
}

CPU_KERNEL(maxpool, maxpool_run);
CPU_KERNEL(maxpool_grad, maxpool_grad_run);
CPU_KERNEL(avgpool, avgpool_run);
CPU_KERNEL(avgpool_grad, avgpool_grad_run);
