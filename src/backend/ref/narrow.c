/* bf16 for kernels that are written for float32, and the cast itself. */
#include <stdlib.h>

#include "backend/ref/ref.h"
#include "base/bf16.h"
#include "base/err.h"

enum { MAX_TENSORS = 20, ALIGN = 64 };

/* The same step with every bf16 tensor as float32; at[] places the copies in scratch, inputs first.
 */
struct widened {
    struct step step;
    struct node node;
    struct tensor tensors[MAX_TENSORS];
    struct tensor *in[MAX_TENSORS];
    void *in_at[MAX_TENSORS];
    size_t at[MAX_TENSORS];
};

static int is_narrow(const struct tensor *t)
{
    return t->dtype == DT_BF16;
}

/* t as float32, with room for it in scratch when that takes a copy. */
static struct tensor *widen(struct widened *w, int i, const struct tensor *t, size_t *scratch)
{
    w->tensors[i] = *t;
    if (is_narrow(t)) {
        w->tensors[i].dtype = DT_F32;
        w->at[i] = *scratch;
        *scratch += (tensor_bytes(&w->tensors[i]) + ALIGN - 1) / ALIGN * ALIGN;
    }
    return &w->tensors[i];
}

int ref_prepare(struct device *d, struct step *s, int (*prepare)(struct device *, struct step *))
{
    const struct node *const n = s->node;
    struct widened *w;
    size_t scratch = 0;

    if (!node_is_narrow(n))
        return prepare ? prepare(d, s) : 0;
    ASSERT(n->n_in + n->op->n_out <= MAX_TENSORS);
    w = s->state = xcalloc(1, sizeof(*w));
    w->node = *n;
    w->node.in = w->in;
    for (int k = 0; k < n->n_in; k++)
        w->in[k] = widen(w, k, n->in[k], &scratch);
    for (int k = 0; k < n->op->n_out; k++)
        w->node.out[k] = widen(w, n->n_in + k, n->out[k], &scratch);
    w->step = (struct step){.node = &w->node, .in = w->in_at};
    if (prepare)
        TRY(prepare(d, &w->step));
    s->scratch_bytes = scratch + w->step.scratch_bytes;
    return 0;
}

static void to_float(const uint16_t *from, float *to, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        to[i] = bf16_to_float(from[i]);
}

static void to_bf16(const float *from, uint16_t *to, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        to[i] = bf16_from_float(from[i]);
}

int ref_run(struct device *d, const struct step *s,
            int (*run)(struct device *, const struct step *))
{
    const struct node *const n = s->node;
    struct widened *const w = s->state;
    char *const scratch = s->scratch;

    if (!w)
        return run(d, s);
    w->step.scratch = scratch + (s->scratch_bytes - w->step.scratch_bytes);
    for (int k = 0; k < n->n_in; k++) {
        w->in_at[k] = is_narrow(n->in[k]) ? scratch + w->at[k] : s->in[k];
        if (is_narrow(n->in[k]))
            to_float(s->in[k], w->in_at[k], tensor_count(n->in[k]));
    }
    for (int k = 0; k < n->op->n_out; k++)
        w->step.out[k] = is_narrow(n->out[k]) ? scratch + w->at[n->n_in + k] : s->out[k];
    TRY(run(d, &w->step));
    for (int k = 0; k < n->op->n_out; k++)
        if (is_narrow(n->out[k]))
            to_bf16(w->step.out[k], s->out[k], tensor_count(n->out[k]));
    return 0;
}

void ref_release(struct device *d, struct step *s)
{
    (void)d;
    free(s->state);
    s->state = NULL;
}

static int cast_run(struct device *d, const struct step *s)
{
    const int64_t n = tensor_count(s->node->out[0]);

    (void)d;
    if (s->node->attr.cast.to == DT_BF16)
        to_bf16(s->in[0], s->out[0], n);
    else
        to_float(s->in[0], s->out[0], n);
    return 0;
}

/* The one kernel that reads and writes bf16 itself. */
const struct kernel ref_cast = {.name = "ref", .run = cast_run};
