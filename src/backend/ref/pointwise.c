#include <math.h>

#include "backend/ref/ref.h"

static int sigmoid_run(struct device *d, const struct step *s)
{
    const int64_t n = tensor_count(s->node->out[0]);
    const float *const x = s->in[0];
    float *const y = s->out[0];

    (void)d;
    for (int64_t i = 0; i < n; i++)
        y[i] = (float)(1 / (1 + exp(-(double)x[i])));
    return 0;
}

static int sigmoid_grad_run(struct device *d, const struct step *s)
{
    const int64_t n = tensor_count(s->node->out[0]);
    const float *const dy = s->in[0], *const y = s->in[1];
    float *const dx = s->out[0];

    (void)d;
    for (int64_t i = 0; i < n; i++)
        dx[i] = (float)((double)dy[i] * y[i] * (1 - (double)y[i]));
    return 0;
}

static int tanh_run(struct device *d, const struct step *s)
{
    const int64_t n = tensor_count(s->node->out[0]);
    const float *const x = s->in[0];
    float *const y = s->out[0];

    (void)d;
    for (int64_t i = 0; i < n; i++)
        y[i] = (float)tanh((double)x[i]);
    return 0;
}

static int tanh_grad_run(struct device *d, const struct step *s)
{
    const int64_t n = tensor_count(s->node->out[0]);
    const float *const dy = s->in[0], *const y = s->in[1];
    float *const dx = s->out[0];

    (void)d;
    for (int64_t i = 0; i < n; i++)
        dx[i] = (float)(dy[i] * (1 - (double)y[i] * y[i]));
    return 0;
}

static int mul_run(struct device *d, const struct step *s)
{
    const int64_t n = tensor_count(s->node->out[0]);
    const float *const a = s->in[0], *const b = s->in[1];
    float *const y = s->out[0];

    (void)d;
    for (int64_t i = 0; i < n; i++)
        y[i] = a[i] * b[i];
    return 0;
}

static int scale_run(struct device *d, const struct step *s)
{
    const int64_t n = tensor_count(s->node->out[0]);
    const float *const x = s->in[0];
    float *const y = s->out[0];

    (void)d;
    for (int64_t i = 0; i < n; i++)
        y[i] = (float)(s->node->attr.reals.a * x[i]);
    return 0;
}

static int sum_run(struct device *d, const struct step *s)
{
    const int64_t n = tensor_count(s->node->in[0]);
    const float *const x = s->in[0];
    double total = 0;

    (void)d;
    for (int64_t i = 0; i < n; i++)
        total += x[i];
    *(float *)s->out[0] = (float)total;
    return 0;
}

static int sum_grad_run(struct device *d, const struct step *s)
{
    const int64_t n = tensor_count(s->node->out[0]);
    float *const dx = s->out[0];

    (void)d;
    for (int64_t i = 0; i < n; i++)
        dx[i] = *(const float *)s->in[0];
    return 0;
}

REF_KERNEL(sigmoid, sigmoid_run);
REF_KERNEL(sigmoid_grad, sigmoid_grad_run);
REF_KERNEL(tanh, tanh_run);
REF_KERNEL(tanh_grad, tanh_grad_run);
REF_KERNEL(mul, mul_run);
REF_KERNEL(scale, scale_run);
REF_KERNEL(sum, sum_run);
REF_KERNEL(sum_grad, sum_grad_run);
