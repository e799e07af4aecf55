#include <math.h>

#include "backend/cpu/cpu.h"
#include "backend/cpu/native.h"

static int relu_run(struct device *d, const struct step *s)
{
    cpu_relu(d->lib.threads,
             &(struct cpu_map){.n = count_of(s->node->out[0]), .a = s->in[0], .dst = s->out[0]});
    return 0;
}

static int relu_grad_run(struct device *d, const struct step *s)
{
    cpu_relu_grad(d->lib.threads, &(struct cpu_map){.n = count_of(s->node->out[0]),
                                                    .a = s->in[1],
                                                    .b = s->in[0],
                                                    .dst = s->out[0]});
    return 0;
}

static int add_run(struct device *d, const struct step *s)
{
    cpu_add(d->lib.threads,
            &(struct cpu_map){
                .n = count_of(s->node->out[0]), .a = s->in[0], .b = s->in[1], .dst = s->out[0]});
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
    const struct cpu_normalise n = {rows_of(x), columns_of(x), s->in[0],
                                    a->mean,    a->scale,      s->out[0]};

    cpu_normalise(d->lib.threads, &n);
    return 0;
}

CPU_KERNEL(relu, relu_run);
CPU_KERNEL(relu_grad, relu_grad_run);
CPU_KERNEL(add, add_run);
CPU_KERNEL(mul, mul_run);
CPU_KERNEL(bias_add, bias_add_run);
CPU_KERNEL(rsqrt, rsqrt_run);
CPU_KERNEL(constant, constant_run);
CPU_KERNEL(image_norm, image_norm_run);
