#include <math.h>
#include <string.h>

#include "backend/ref/ref.h"

/* The maximum of one window and its place. A NaN wins, so that it is not hidden. */
static float window_max(const float *x, const struct node *n, const int64_t at[4],
                        unsigned char *place)
{
    const struct pool *const a = &n->attr.pool;
    const int64_t *const dim = n->in[0]->shape.dim;
    float best = -INFINITY;

    *place = 255;
    for (int r = 0; r < a->k; r++)
        for (int c = 0; c < a->k; c++) {
            const int64_t h = at[1] * a->stride + r - a->pad, w = at[2] * a->stride + c - a->pad;
            float v;
            if (h < 0 || h >= dim[1] || w < 0 || w >= dim[2])
                continue;
            v = x[((at[0] * dim[1] + h) * dim[2] + w) * dim[3] + at[3]];
            if (*place == 255 || v > best || (isnan(v) && !isnan(best))) {
                best = v;
                *place = (unsigned char)(r * a->k + c);
            }
        }
    return best;
}

static int maxpool_run(struct device *d, const struct step *s)
{
    const int64_t *const dim = s->node->out[0]->shape.dim;
    float *const y = s->out[0];
    unsigned char *const place = s->out[1];
    int64_t i = 0, at[4];

    (void)d;
    for (at[0] = 0; at[0] < dim[0]; at[0]++)
        for (at[1] = 0; at[1] < dim[1]; at[1]++)
            for (at[2] = 0; at[2] < dim[2]; at[2]++)
                for (at[3] = 0; at[3] < dim[3]; at[3]++, i++)
                    y[i] = window_max(s->in[0], s->node, at, &place[i]);
    return 0;
}

static int maxpool_grad_run(struct device *d, const struct step *s)
{
    const struct pool *const a = &s->node->attr.pool;
    const int64_t *const out = s->node->in[0]->shape.dim, *const in = s->node->out[0]->shape.dim;
    const float *const dy = s->in[0];
    const unsigned char *const place = s->in[1];
    float *const dx = s->out[0];
    const int64_t n = tensor_count(s->node->in[0]);

    (void)d;
    memset(dx, 0, tensor_bytes(s->node->out[0]));
    for (int64_t i = 0; i < n; i++) {
        const int64_t c = i % out[3], q = i / out[3] % out[2], p = i / out[3] / out[2] % out[1],
                      b = i / out[3] / out[2] / out[1];
        const int64_t h = p * a->stride + place[i] / a->k - a->pad,
                      w = q * a->stride + place[i] % a->k - a->pad;
        dx[((b * in[1] + h) * in[2] + w) * in[3] + c] += dy[i];
    }
    return 0;
}

static int avgpool_run(struct device *d, const struct step *s)
{
    const int64_t *const dim = s->node->in[0]->shape.dim;
    const int64_t pixels = dim[1] * dim[2];
    const float *const x = s->in[0];
    float *const y = s->out[0];

    (void)d;
    for (int64_t n = 0; n < dim[0]; n++)
        for (int64_t c = 0; c < dim[3]; c++) {
            double sum = 0;
            for (int64_t i = 0; i < pixels; i++)
                sum += x[(n * pixels + i) * dim[3] + c];
            y[n * dim[3] + c] = (float)(sum / (double)pixels);
        }
    return 0;
}

static int avgpool_grad_run(struct device *d, const struct step *s)
{
    const int64_t *const dim = s->node->out[0]->shape.dim;
    const int64_t pixels = dim[1] * dim[2], n = tensor_count(s->node->out[0]);
    const float *const dy = s->in[0];
    float *const dx = s->out[0];

    (void)d;
    for (int64_t i = 0; i < n; i++)
        dx[i] = (float)((double)dy[i / (pixels * dim[3]) * dim[3] + i % dim[3]] / (double)pixels);
    return 0;
}

REF_KERNEL(maxpool, maxpool_run);
REF_KERNEL(maxpool_grad, maxpool_grad_run);
REF_KERNEL(avgpool, avgpool_run);
REF_KERNEL(avgpool_grad, avgpool_grad_run);
