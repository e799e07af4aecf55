#include <math.h>

#include "backend/ref/ref.h"

/* The shift that keeps exp from overflowing, and the sum of the shifted exponentials. */
static double shifted_sum(const float *x, int64_t n, double *max)
{
    double total = 0;

    *max = x[0];
    for (int64_t i = 1; i < n; i++)
        *max = x[i] > *max ? x[i] : *max;
    for (int64_t i = 0; i < n; i++)
        total += exp(x[i] - *max);
    return total;
}

static int softmax_run(struct device *d, const struct step *s)
{
    const int64_t n = tensor_count(s->node->out[0]), c_n = last_dim(s->node->out[0]);
    const float *const x = s->in[0];
    float *const y = s->out[0];
    double max, total;

    (void)d;
    for (int64_t row = 0; row < n; row += c_n) {
        total = shifted_sum(x + row, c_n, &max);
        for (int64_t c = 0; c < c_n; c++)
            y[row + c] = (float)(exp(x[row + c] - max) / total);
    }
    return 0;
}

static int softmax_grad_run(struct device *d, const struct step *s)
{
    const int64_t n = tensor_count(s->node->out[0]), c_n = last_dim(s->node->out[0]);
    const float *const dy = s->in[0], *const y = s->in[1];
    float *const dx = s->out[0];

    (void)d;
    for (int64_t row = 0; row < n; row += c_n) {
        double dot = 0;
        for (int64_t c = 0; c < c_n; c++)
            dot += (double)dy[row + c] * y[row + c];
        for (int64_t c = 0; c < c_n; c++)
            dx[row + c] = (float)(y[row + c] * (dy[row + c] - dot));
    }
    return 0;
}

static int log_softmax_run(struct device *d, const struct step *s)
{
    const int64_t n = tensor_count(s->node->out[0]), c_n = last_dim(s->node->out[0]);
    const float *const x = s->in[0];
    float *const y = s->out[0];
    double max, total;

    (void)d;
    for (int64_t row = 0; row < n; row += c_n) {
        total = shifted_sum(x + row, c_n, &max);
        for (int64_t c = 0; c < c_n; c++)
            y[row + c] = (float)(x[row + c] - max - log(total));
    }
    return 0;
}

static int log_softmax_grad_run(struct device *d, const struct step *s)
{
    const int64_t n = tensor_count(s->node->out[0]), c_n = last_dim(s->node->out[0]);
    const float *const dy = s->in[0], *const y = s->in[1];
    float *const dx = s->out[0];

    (void)d;
    for (int64_t row = 0; row < n; row += c_n) {
        double total = 0;
        for (int64_t c = 0; c < c_n; c++)
            total += dy[row + c];
        for (int64_t c = 0; c < c_n; c++)
            dx[row + c] = (float)(dy[row + c] - exp((double)y[row + c]) * total);
    }
    return 0;
}

REF_KERNEL(softmax, softmax_run);
REF_KERNEL(softmax_grad, softmax_grad_run);
REF_KERNEL(log_softmax, log_softmax_run);
REF_KERNEL(log_softmax_grad, log_softmax_grad_run);
