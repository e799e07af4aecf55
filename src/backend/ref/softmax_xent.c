#include <math.h>

#include "backend/ref/ref.h"
#include "base/err.h"

/* log of the sum of exp, shifted by the maximum so that it does not overflow. */
static double log_sum_exp(const float *z, int64_t n)
{
    double max = z[0], sum = 0;

    for (int64_t i = 1; i < n; i++)
        max = z[i] > max ? z[i] : max;
    for (int64_t i = 0; i < n; i++)
        sum += exp(z[i] - max);
    return max + log(sum);
}

static int counts(const int *labels, const float *weights, int64_t row)
{
    return weights[row] > 0 && labels[row] >= 0;
}

static int xent_run(struct device *d, const struct step *s)
{
    const int64_t rows = s->node->in[0]->shape.dim[0], c_n = s->node->in[0]->shape.dim[1];
    const float *const logits = s->in[0], *const weights = s->in[2];
    const int *const labels = s->in[1];
    const double smooth = s->node->attr.loss.smoothing;
    double loss = 0, weight = 0;

    (void)d;
    for (int64_t n = 0; n < rows; n++) {
        const float *const z = logits + n * c_n;
        double lse, mean = 0;
        if (!counts(labels, weights, n))
            continue;
        if (labels[n] >= c_n)
            return err(E_DATA, "%s: label %d in row %lld, but there are %lld classes",
                       s->node->scope, labels[n], (long long)n, (long long)c_n);
        lse = log_sum_exp(z, c_n);
        for (int64_t c = 0; c < c_n; c++)
            mean += z[c] / (double)c_n;
        loss += weights[n] * ((1 - smooth) * (lse - z[labels[n]]) + smooth * (lse - mean));
        weight += weights[n];
    }
    *(float *)s->out[0] = (float)loss;
    *(float *)s->out[1] = (float)weight;
    return 0;
}

static int xent_grad_run(struct device *d, const struct step *s)
{
    const int64_t rows = s->node->in[0]->shape.dim[0], c_n = s->node->in[0]->shape.dim[1];
    const float *const logits = s->in[0], *const weights = s->in[2], *const dsum = s->in[3];
    const int *const labels = s->in[1];
    const double smooth = s->node->attr.loss.smoothing;
    float *const dx = s->out[0];

    (void)d;
    for (int64_t n = 0; n < rows; n++) {
        const double w = counts(labels, weights, n) ? (double)weights[n] * *dsum : 0;
        const double lse = w != 0 ? log_sum_exp(logits + n * c_n, c_n) : 0;
        for (int64_t c = 0; c < c_n; c++) {
            const double target = (c == labels[n] ? 1 - smooth : 0) + smooth / (double)c_n;
            dx[n * c_n + c] = w != 0 ? (float)(w * (exp(logits[n * c_n + c] - lse) - target)) : 0;
        }
    }
    return 0;
}

static int top1_run(struct device *d, const struct step *s)
{
    const int64_t rows = s->node->in[0]->shape.dim[0], c_n = s->node->in[0]->shape.dim[1];
    const float *const logits = s->in[0], *const weights = s->in[2];
    const int *const labels = s->in[1];
    int64_t correct = 0;

    (void)d;
    for (int64_t n = 0; n < rows; n++) {
        int64_t best = 0;
        for (int64_t c = 1; c < c_n; c++)
            if (logits[n * c_n + c] > logits[n * c_n + best])
                best = c;
        correct += counts(labels, weights, n) && best == labels[n];
    }
    *(float *)s->out[0] = (float)correct;
    return 0;
}

REF_KERNEL(softmax_xent, xent_run);
REF_KERNEL(softmax_xent_grad, xent_grad_run);
REF_KERNEL(top1, top1_run);
