#include <math.h>

#include "backend/host.h"
#include "backend/ref/ref.h"

static int stats_run(struct device *d, const struct step *s)
{
    const int64_t c_n = last_dim(s->node->in[0]), m_n = rows_of(s->node->in[0]);
    const float *const x = s->in[0];
    float *const mean = s->out[0], *const var = s->out[1];

    (void)d;
    for (int64_t c = 0; c < c_n; c++) {
        double sum = 0, squares = 0;
        for (int64_t m = 0; m < m_n; m++)
            sum += x[m * c_n + c];
        for (int64_t m = 0; m < m_n; m++) {
            const double r = x[m * c_n + c] - sum / (double)m_n;
            squares += r * r;
        }
        mean[c] = (float)(sum / (double)m_n);
        var[c] = (float)(squares / (double)m_n);
    }
    return 0;
}

static int finalise_run(struct device *d, const struct step *s)
{
    const int64_t c_n = last_dim(s->node->in[0]), m_n = rows_of(s->node->in[4]);
    const struct norm *const a = &s->node->attr.norm;
    const float *const mean = s->in[0], *const var = s->in[1];
    float *const running_mean = s->in[2], *const running_var = s->in[3], *const invstd = s->out[0];
    const double unbias = m_n > 1 ? (double)m_n / (double)(m_n - 1) : 1;

    (void)d;
    for (int64_t c = 0; c < c_n; c++) {
        invstd[c] = (float)(1 / sqrt(var[c] + a->eps));
        running_mean[c] = (float)((1 - a->momentum) * running_mean[c] + a->momentum * mean[c]);
        running_var[c] =
            (float)((1 - a->momentum) * running_var[c] + a->momentum * var[c] * unbias);
    }
    return 0;
}

static int apply_run(struct device *d, const struct step *s)
{
    const int64_t c_n = last_dim(s->node->in[0]), n = tensor_count(s->node->in[0]);
    const struct bn_apply *const a = &s->node->attr.bn_apply;
    const float *const x = s->in[0], *const mean = s->in[1], *const invstd = s->in[2],
                       *const gamma = s->in[3], *const beta = s->in[4],
                       *const residual = a->residual ? s->in[5] : NULL;
    float *const y = s->out[0];

    (void)d;
    for (int64_t i = 0; i < n; i++) {
        const int64_t c = i % c_n;
        double v = (double)gamma[c] * ((double)x[i] - mean[c]) * invstd[c] + beta[c];
        if (residual)
            v += residual[i];
        y[i] = (float)(a->relu && v < 0 ? 0 : v);
    }
    return 0;
}

/* Element i of dy as the parts of the gradient count it: with relu, only where y was positive. */
static double counted(const struct step *s, const float *dy, const float *x, int64_t i)
{
    const int reduces = s->node->op == &op_bn_grad_reduce;
    const float *const mean = s->in[2], *const invstd = s->in[3], *gamma, *beta;
    const int64_t c = i % last_dim(s->node->in[0]);

    if (!s->node->attr.norm.relu)
        return dy[i];
    gamma = s->in[4];
    beta = s->in[reduces ? 5 : 7];
    return (float)((double)gamma[c] * ((double)x[i] - mean[c]) * invstd[c] + beta[c]) > 0 ? dy[i]
                                                                                          : 0;
}

static int grad_reduce_run(struct device *d, const struct step *s)
{
    const int64_t c_n = last_dim(s->node->in[0]), m_n = rows_of(s->node->in[0]);
    const float *const x = s->in[0], *const dy = s->in[1], *const mean = s->in[2],
                       *const invstd = s->in[3];
    float *const dgamma = s->out[0], *const dbeta = s->out[1];

    (void)d;
    for (int64_t c = 0; c < c_n; c++) {
        double scale = 0, shift = 0;
        for (int64_t m = 0; m < m_n; m++) {
            const double dy_m = counted(s, dy, x, m * c_n + c);
            scale += dy_m * ((double)x[m * c_n + c] - mean[c]) * invstd[c];
            shift += dy_m;
        }
        dgamma[c] = (float)scale;
        dbeta[c] = (float)shift;
    }
    return 0;
}

static int grad_apply_run(struct device *d, const struct step *s)
{
    const int64_t c_n = last_dim(s->node->in[0]), n = tensor_count(s->node->in[0]);
    const double share = s->node->attr.norm.frozen ? 0 : 1.0 / (double)(n / c_n);
    const float *const dy = s->in[0], *const x = s->in[1], *const mean = s->in[2],
                       *const invstd = s->in[3], *const gamma = s->in[4], *const dgamma = s->in[5],
                       *const dbeta = s->in[6];
    float *const dx = s->out[0];

    (void)d;
    for (int64_t i = 0; i < n; i++) {
        const int64_t c = i % c_n;
        const double xhat = ((double)x[i] - mean[c]) * invstd[c];
        dx[i] = (float)((double)gamma[c] * invstd[c] *
                        (counted(s, dy, x, i) - share * dbeta[c] - xhat * share * dgamma[c]));
    }
    return 0;
}

REF_KERNEL(bn_stats, stats_run);
REF_KERNEL(bn_finalise, finalise_run);
REF_KERNEL_WITH(bn_apply, host_accepts, NULL, apply_run);
REF_KERNEL_WITH(bn_grad_reduce, host_accepts, NULL, grad_reduce_run);
REF_KERNEL_WITH(bn_grad_apply, host_accepts, NULL, grad_apply_run);
