#include <math.h>

#include "backend/host.h"
#include "backend/ref/ref.h"

static int relu_run(struct device *d, const struct step *s)
{
    const int64_t n = tensor_count(s->node->out[0]);
    const float *const x = s->in[0];
    float *const y = s->out[0];

    (void)d;
    for (int64_t i = 0; i < n; i++)
        y[i] = x[i] < 0 ? 0 : x[i]; /* a NaN stays a NaN */
    return 0;
}

static int relu_grad_run(struct device *d, const struct step *s)
{
    const int64_t n = tensor_count(s->node->out[0]);
    const float *const dy = s->in[0], *const y = s->in[1];
    const float *const more = s->node->n_in > 2 ? s->in[2] : NULL;
    float *const dx = s->out[0];

    (void)d;
    for (int64_t i = 0; i < n; i++)
        dx[i] = y[i] > 0 ? dy[i] + (more ? more[i] : 0) : 0;
    return 0;
}

static int add_run(struct device *d, const struct step *s)
{
    const int64_t n = tensor_count(s->node->out[0]);
    const float *const a = s->in[0], *const b = s->in[1];
    float *const y = s->out[0];

    (void)d;
    for (int64_t i = 0; i < n; i++)
        y[i] = a[i] + b[i];
    return 0;
}

static int bias_add_run(struct device *d, const struct step *s)
{
    const int64_t n = tensor_count(s->node->out[0]), c_n = last_dim(s->node->out[0]);
    const float *const x = s->in[0], *const b = s->in[1];
    float *const y = s->out[0];

    (void)d;
    for (int64_t i = 0; i < n; i++)
        y[i] = x[i] + b[i % c_n];
    return 0;
}

static int sum_rows_run(struct device *d, const struct step *s)
{
    const int64_t c_n = last_dim(s->node->in[0]), m_n = rows_of(s->node->in[0]);
    const float *const x = s->in[0];
    float *const y = s->out[0];

    (void)d;
    for (int64_t c = 0; c < c_n; c++) {
        double sum = 0;
        for (int64_t m = 0; m < m_n; m++)
            sum += x[m * c_n + c];
        y[c] = (float)sum;
    }
    return 0;
}

static int rsqrt_run(struct device *d, const struct step *s)
{
    const int64_t n = tensor_count(s->node->out[0]);
    const float *const x = s->in[0];
    float *const y = s->out[0];

    (void)d;
    for (int64_t i = 0; i < n; i++)
        y[i] = (float)(1 / sqrt(x[i] + s->node->attr.reals.a));
    return 0;
}

static int constant_run(struct device *d, const struct step *s)
{
    const int64_t n = tensor_count(s->node->out[0]);
    float *const y = s->out[0];

    (void)d;
    for (int64_t i = 0; i < n; i++)
        y[i] = (float)s->node->attr.fill.value;
    return 0;
}

static int image_norm_run(struct device *d, const struct step *s)
{
    const int64_t n = tensor_count(s->node->out[0]), c_n = last_dim(s->node->out[0]);
    const struct image_norm *const a = &s->node->attr.image_norm;
    const unsigned char *const x = s->in[0];
    float *const y = s->out[0];

    (void)d;
    for (int64_t i = 0; i < n; i++)
        y[i] = ((float)x[i] - a->mean[i % c_n]) * a->scale[i % c_n];
    return 0;
}

REF_KERNEL(relu, relu_run);
REF_KERNEL_WITH(relu_grad, host_accepts, NULL, relu_grad_run);
REF_KERNEL(add, add_run);
REF_KERNEL(bias_add, bias_add_run);
REF_KERNEL(sum_rows, sum_rows_run);
REF_KERNEL(rsqrt, rsqrt_run);
REF_KERNEL(constant, constant_run);
REF_KERNEL(image_norm, image_norm_run);
