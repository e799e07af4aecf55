/* Ops that move data and compute nothing: slice, concat, assign, all-to-all. */
#include <string.h>

#include "backend/ref/ref.h"
#include "base/err.h"

/* A slice as copies of `run` neighbouring floats: `outer` of them, `stride` apart in the whole. */
struct stretch {
    int64_t outer, run, stride, begin;
};

static struct stretch stretch_of(const struct node *n, const struct tensor *whole)
{
    const struct slice *const c = &n->attr.slice;
    struct stretch r = {.outer = 1, .run = 1};

    for (int i = 0; i < c->axis; i++)
        r.outer *= whole->shape.dim[i];
    for (int i = c->axis + 1; i < whole->shape.rank; i++)
        r.run *= whole->shape.dim[i];
    r.stride = r.run * whole->shape.dim[c->axis];
    r.begin = r.run * c->begin;
    r.run *= c->length;
    return r;
}

static int slice_run(struct device *d, const struct step *s)
{
    const struct stretch r = stretch_of(s->node, s->node->in[0]);
    const float *const x = s->in[0];
    float *const y = s->out[0];

    (void)d;
    for (int64_t i = 0; i < r.outer; i++)
        memcpy(y + i * r.run, x + i * r.stride + r.begin, (size_t)r.run * sizeof(float));
    return 0;
}

static int slice_grad_run(struct device *d, const struct step *s)
{
    const struct stretch r = stretch_of(s->node, s->node->out[0]);
    const float *const dy = s->in[0];
    float *const dx = s->out[0];

    (void)d;
    memset(dx, 0, tensor_bytes(s->node->out[0]));
    for (int64_t i = 0; i < r.outer; i++)
        memcpy(dx + i * r.stride + r.begin, dy + i * r.run, (size_t)r.run * sizeof(float));
    return 0;
}

static int concat_run(struct device *d, const struct step *s)
{
    const int64_t wide = last_dim(s->node->out[0]), rows = rows_of(s->node->out[0]);
    float *y = s->out[0];

    (void)d;
    for (int k = 0; k < s->node->n_in; k++) {
        const int64_t part = last_dim(s->node->in[k]);
        const float *const x = s->in[k];
        for (int64_t i = 0; i < rows; i++)
            memcpy(y + i * wide, x + i * part, (size_t)part * sizeof(float));
        y += part;
    }
    return 0;
}

static int assign_run(struct device *d, const struct step *s)
{
    (void)d;
    memcpy(s->in[0], s->in[1], tensor_bytes(s->node->in[0]));
    return 0;
}

static int all_to_all_prepare(struct device *d, struct step *s)
{
    (void)d;
    if (s->node->attr.exchange.ranks != 1)
        return err(E_UNSUPPORTED, "it is asked for %d ranks and this backend is a single one",
                   s->node->attr.exchange.ranks);
    return 0;
}

static int all_to_all_run(struct device *d, const struct step *s)
{
    (void)d;
    memcpy(s->out[0], s->in[0], tensor_bytes(s->node->out[0]));
    return 0;
}

REF_KERNEL(slice, slice_run);
REF_KERNEL(slice_grad, slice_grad_run);
REF_KERNEL(concat, concat_run);
REF_KERNEL(assign, assign_run);
const struct kernel ref_all_to_all = {
    .name = "ref", .prepare = all_to_all_prepare, .run = all_to_all_run};
