#include <math.h>

#include "backend/cpu/cpu.h"
#include "backend/cpu/native.h"
#include "backend/host.h"

static struct cpu_map map_of(const struct step *s, const void *a, const void *b)
{
    const struct tensor *const y = s->node->out[0];

    return (struct cpu_map){count_of(y), a, b, s->out[0], y->dtype, NULL};
}

static int relu_run(struct device *d, const struct step *s)
{
    const struct cpu_map m = map_of(s, s->in[0], NULL);

    cpu_relu(d->lib.threads, &m);
    return 0;
}

static int relu_grad_run(struct device *d, const struct step *s)
{
    struct cpu_map m = map_of(s, s->in[1], s->in[0]);

    if (s->node->n_in > 2) {
        m.c = s->in[2];
        cpu_relu_grad_of_sum(d->lib.threads, &m);
    } else {
        cpu_relu_grad(d->lib.threads, &m);
    }
    return 0;
}

static int add_run(struct device *d, const struct step *s)
{
    const struct cpu_map m = map_of(s, s->in[0], s->in[1]);

    cpu_add(d->lib.threads, &m);
    return 0;
}

static int cast_run(struct device *d, const struct step *s)
{
    const struct tensor *const y = s->node->out[0];
    const struct cpu_cast a = {count_of(y), s->in[0], s->out[0], y->dtype};

    cpu_cast(d->lib.threads, &a);
    return 0;
}

static int mul_run(struct device *d, const struct step *s)
{
    const size_t n = count_of(s->node->out[0]);
    const float *const a = s->in[0], *const b = s->in[1];
    float *const y = s->out[0];

    (void)d;
    for (size_t i = 0; i < n; i++)
        y[i] = a[i] * b[i];
    return 0;
}

static int bias_add_run(struct device *d, const struct step *s)
{
    const struct tensor *const x = s->node->in[0];
    const struct cpu_bias_add a = {rows_of(x), columns_of(x), s->in[0], s->in[1], s->out[0]};

    cpu_bias_add(d->lib.threads, &a);
    return 0;
}

static int rsqrt_run(struct device *d, const struct step *s)
{
    const size_t n = count_of(s->node->out[0]);
    const float *const x = s->in[0];
    float *const y = s->out[0];

    (void)d;
    for (size_t i = 0; i < n; i++)
        y[i] = (float)(1 / sqrt((double)x[i] + s->node->attr.reals.a));
    return 0;
}

static int constant_run(struct device *d, const struct step *s)
{
    const size_t n = count_of(s->node->out[0]);
    float *const y = s->out[0];

    (void)d;
    for (size_t i = 0; i < n; i++)
        y[i] = (float)s->node->attr.fill.value;
    return 0;
}

static int image_norm_run(struct device *d, const struct step *s)
{
    const struct tensor *const x = s->node->in[0];
    const struct image_norm *const a = &s->node->attr.image_norm;
    const struct cpu_normalise n = {rows_of(x), columns_of(x),         s->in[0], a->mean, a->scale,
                                    s->out[0],  s->node->out[0]->dtype};

    cpu_normalise(d->lib.threads, &n);
    return 0;
}

CPU_KERNEL_BOTH(relu, relu_run);
const struct kernel cpu_kernel_relu_grad = {
    .name = "own", .accepts = host_accepts, .prepare = cpu_wide_or_narrow, .run = relu_grad_run};
CPU_KERNEL_BOTH(add, add_run);
CPU_KERNEL(mul, mul_run);
CPU_KERNEL(bias_add, bias_add_run);
CPU_KERNEL(rsqrt, rsqrt_run);
CPU_KERNEL(constant, constant_run);
CPU_KERNEL_BOTH(image_norm, image_norm_run);
const struct kernel cpu_kernel_cast = {.name = "own", .run = cast_run};
