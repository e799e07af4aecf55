#include <math.h>
#include <string.h>

#include "backend/ref/ref.h"

/* A NaN is above all, so that it is not hidden. */
static int above(float a, float b)
{
    return a > b || (isnan(a) && !isnan(b));
}

/* Of x[0 .. n-1], the largest below (last, at last_place) in the order of falling values, then
 * rising places; -1 when there is none. last_place -1 starts. */
static int next_best(const float *x, int64_t n, int last_place)
{
    int best = -1;

    for (int i = 0; i < n; i++) {
        if (last_place >= 0 &&
            (above(x[i], x[last_place]) || (!above(x[last_place], x[i]) && i <= last_place)))
            continue;
        if (best < 0 || above(x[i], x[best]))
            best = i;
    }
    return best;
}

static int topk_run(struct device *d, const struct step *s)
{
    const int64_t rows = s->node->in[0]->shape.dim[0], m = s->node->in[0]->shape.dim[1];
    const int64_t k = s->node->attr.topk.k;
    const int *const count = s->in[1];
    float *const values = s->out[0], *const mask = s->out[2];
    int *const places = s->out[1];

    (void)d;
    for (int64_t n = 0; n < rows; n++) {
        const float *const x = (const float *)s->in[0] + n * m;
        const int64_t valid = count[n] < m ? count[n] : m;
        int at = -1, more = 1;
        for (int64_t i = n * k; i < (n + 1) * k; i++) {
            if (more)
                at = next_best(x, valid, at);
            more &= at >= 0;
            values[i] = more ? x[at] : 0;
            places[i] = at;
            mask[i] = more ? 1 : 0;
        }
    }
    return 0;
}

static int topk_grad_run(struct device *d, const struct step *s)
{
    const int64_t k = s->node->attr.topk.k, m = s->node->out[0]->shape.dim[1];
    const int64_t n = tensor_count(s->node->in[0]);
    const float *const dy = s->in[0];
    const int *const places = s->in[1];
    float *const dx = s->out[0];

    (void)d;
    memset(dx, 0, tensor_bytes(s->node->out[0]));
    for (int64_t i = 0; i < n; i++)
        if (places[i] >= 0)
            dx[i / k * m + places[i]] = dy[i];
    return 0;
}

REF_KERNEL(topk, topk_run);
REF_KERNEL(topk_grad, topk_grad_run);
