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
    const struct tensor *const x = s->node->in[0];
    const struct cpu_max_pool a = {pool_shape(s->node, x), s->in[0], s->out[0], s->out[1],
                                   x->dtype};

    cpu_max_pool(d->lib.threads, &a);
    return 0;
}

static int maxpool_grad_run(struct device *d, const struct step *s)
{
    const struct tensor *const dx = s->node->out[0];
    const struct cpu_max_pool_grad a = {pool_shape(s->node, dx), s->in[0], s->in[1], s->out[0],
                                        dx->dtype};

    cpu_max_pool_grad(d->lib.threads, &a);
    return 0;
}

static size_t pixels_of(const struct tensor *x)
{
    return (size_t)(x->shape.dim[1] * x->shape.dim[2]);
}

static int avgpool_run(struct device *d, const struct step *s)
{
    const struct tensor *const x = s->node->in[0];
    const struct cpu_global_pool a = {
        (size_t)x->shape.dim[0], pixels_of(x), columns_of(x), s->in[0], s->out[0], x->dtype};

    cpu_global_average(d->lib.threads, &a);
    return 0;
}

static int avgpool_grad_run(struct device *d, const struct step *s)
{
    const struct tensor *const dx = s->node->out[0];
    const struct cpu_global_pool_grad a = {
        (size_t)dx->shape.dim[0], pixels_of(dx), columns_of(dx), s->in[0], s->out[0], dx->dtype};

    cpu_global_average_grad(d->lib.threads, &a);
    return 0;
}

CPU_KERNEL_BOTH(maxpool, maxpool_run);
CPU_KERNEL_BOTH(maxpool_grad, maxpool_grad_run);
CPU_KERNEL_BOTH(avgpool, avgpool_run);
CPU_KERNEL_BOTH(avgpool_grad, avgpool_grad_run);
