#include <math.h>
#include <string.h>

#include "backend/ref/ref.h"

static double scalar(const struct step *s, int i)
{
    return *(const float *)s->in[i];
}

static double norm(const float *x, int64_t n)
{
    double sum = 0;

    for (int64_t i = 0; i < n; i++)
        sum += (double)x[i] * x[i];
    return sqrt(sum);
}

static int sgd_run(struct device *d, const struct step *s)
{
    const struct update *const u = &s->node->attr.update;
    const int64_t n = tensor_count(s->node->in[0]);
    const double lr = scalar(s, 3) * u->lr_mult, scale = scalar(s, 4),
                 decay = u->plain ? 0 : u->weight_decay;
    float *const w = s->in[0], *const m = s->in[2];
    const float *const g = s->in[1];

    (void)d;
    for (int64_t i = 0; i < n && isfinite(scale); i++) {
        const double step = scale * g[i] + decay * w[i];
        m[i] = (float)(u->momentum * m[i] + step);
        w[i] = (float)(w[i] - lr * (u->nesterov ? step + u->momentum * m[i] : m[i]));
    }
    return 0;
}

static double lars_trust(const struct update *u, double w, double g)
{
    const double trust = u->eta * w / (g + u->weight_decay * w + u->eps);

    return u->plain || w == 0 || g == 0 ? 1 : trust;
}

static int lars_run(struct device *d, const struct step *s)
{
    const struct update *const u = &s->node->attr.update;
    const int64_t n = tensor_count(s->node->in[0]);
    const double lr = scalar(s, 3) * u->lr_mult, scale = scalar(s, 4),
                 decay = u->plain ? 0 : u->weight_decay;
    float *const w = s->in[0], *const m = s->in[2];
    const float *const g = s->in[1];
    const double trust = isfinite(scale) ? lars_trust(u, norm(w, n), fabs(scale) * norm(g, n)) : 0;
    const double into = u->rate_outside ? trust : lr * trust, out_of = u->rate_outside ? lr : 1;

    (void)d;
    for (int64_t i = 0; i < n && isfinite(scale); i++) {
        m[i] = (float)(u->momentum * m[i] + into * (scale * g[i] + decay * w[i]));
        w[i] = (float)(w[i] - out_of * m[i]);
    }
    return 0;
}

static int adamw_run(struct device *d, const struct step *s)
{
    const struct update *const u = &s->node->attr.update;
    const int64_t n = tensor_count(s->node->in[0]);
    const double lr = scalar(s, 4) * u->lr_mult, scale = scalar(s, 5), t = scalar(s, 6);
    const double decay = u->plain ? 0 : u->weight_decay;
    const double c1 = 1 - pow(u->beta1, t), c2 = 1 - pow(u->beta2, t);
    float *const w = s->in[0], *const m = s->in[2], *const v = s->in[3];
    const float *const grad = s->in[1];

    (void)d;
    for (int64_t i = 0; i < n && isfinite(scale); i++) {
        const double g = scale * grad[i];
        m[i] = (float)(u->beta1 * m[i] + (1 - u->beta1) * g);
        v[i] = (float)(u->beta2 * v[i] + (1 - u->beta2) * g * g);
        w[i] = (float)(w[i] * (1 - lr * decay) - lr * (m[i] / c1) / (sqrt(v[i] / c2) + u->eps));
    }
    return 0;
}

static int accumulate_run(struct device *d, const struct step *s)
{
    const int64_t n = tensor_count(s->node->in[0]);
    float *const sum = s->in[0];
    const float *const x = s->in[1];

    (void)d;
    for (int64_t i = 0; i < n; i++)
        sum[i] += x[i];
    return 0;
}

static int clear_run(struct device *d, const struct step *s)
{
    (void)d;
    memset(s->in[0], 0, tensor_bytes(s->node->in[0]));
    return 0;
}

static int global_norm_run(struct device *d, const struct step *s)
{
    double sum = 0;

    (void)d;
    for (int k = 0; k < s->node->n_in; k++) {
        const double one = norm(s->in[k], tensor_count(s->node->in[k]));
        sum += one * one;
    }
    *(float *)s->out[0] = (float)sqrt(sum);
    return 0;
}

static int clip_scale_run(struct device *d, const struct step *s)
{
    const double scale = scalar(s, 0), total = scalar(s, 1) * fabs(scale),
                 max = s->node->attr.reals.a;

    (void)d;
    *(float *)s->out[0] = (float)(total > max ? scale * max / total : total <= max ? scale : NAN);
    return 0;
}

static int reciprocal_run(struct device *d, const struct step *s)
{
    const double x = scalar(s, 0);

    (void)d;
    *(float *)s->out[0] = (float)(isfinite(scalar(s, 1)) && x != 0 ? 1 / x : NAN);
    return 0;
}

REF_KERNEL(sgd, sgd_run);
REF_KERNEL(lars, lars_run);
REF_KERNEL(adamw, adamw_run);
REF_KERNEL(accumulate, accumulate_run);
REF_KERNEL(clear, clear_run);
REF_KERNEL(global_norm, global_norm_run);
REF_KERNEL(clip_scale, clip_scale_run);
REF_KERNEL(reciprocal, reciprocal_run);
