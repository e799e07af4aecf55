/* The precision pass: activations and their gradients become bf16 where the ops say that they may,
 * and casts are put where a narrow tensor meets an op that wants float32 or a weight meets one that
 * wants bf16. Weights, statistics, losses and the gradients of weights stay float32. Each tensor is
 * cast once, before its first reader. */
#include <stdlib.h>

#include "base/err.h"
#include "ops/op.h"
#include "ops/ops.h"
#include "plan/passes.h"

/* The other form of each tensor that had one made, by id. */
struct casts {
    struct graph *graph;
    enum dtype narrow;
    struct tensor **other;
    int n;
};

static int may_be_narrow(const struct node *n, int k)
{
    return op_bit(n->op->narrow_in, k);
}

/* Whether this node is to work on narrow tensors. */
static int narrows(const struct casts *c, const struct node *n)
{
    if (!n->op->narrow_in && !n->op->narrow_out)
        return 0;
    for (int k = 0; n->op->narrow_follows && k < n->n_in; k++)
        if (may_be_narrow(n, k) && n->in[k]->dtype != c->narrow)
            return 0;
    return 1;
}

/* t in the other type, made before the node that is about to be appended. */
static struct tensor *other_form(struct casts *c, struct tensor *t, enum dtype to)
{
    ASSERT(t->id < c->n);
    if (!c->other[t->id])
        c->other[t->id] = cast(c->graph, t, to);
    return c->other[t->id];
}

static void settle_inputs(struct casts *c, struct node *n, int narrow)
{
    for (int k = 0; k < n->n_in; k++) {
        const int wanted = narrow && may_be_narrow(n, k);
        struct tensor *const t = n->in[k];

        if (wanted && t->dtype == DT_F32)
            n->in[k] = other_form(c, t, c->narrow);
        else if (!wanted && t->dtype == c->narrow)
            n->in[k] = other_form(c, t, DT_F32);
    }
}

/* Copies of what this node overwrites are out of date. */
static void forget_written(struct casts *c, const struct node *n)
{
    for (int k = 0; k < n->n_in; k++)
        if (op_bit(n->op->writes, k)) {
            ASSERT(n->in[k]->id < c->n); /* weights are never given as a copy to be written */
            c->other[n->in[k]->id] = NULL;
        }
}

void node_narrow(struct node *n, enum dtype type)
{
    for (int k = 0; k < n->op->n_out; k++)
        if (op_bit(n->op->narrow_out, k))
            n->out[k]->dtype = type;
}

static void settle(struct casts *c, struct node *n)
{
    const int narrow = narrows(c, n);

    settle_inputs(c, n, narrow);
    graph_append(c->graph, n);
    if (narrow)
        node_narrow(n, c->narrow);
    forget_written(c, n);
}

void pass_precision(struct graph *g, const struct target *t)
{
    struct node **const old = g->nodes;
    const int n_old = g->n_nodes;
    const char *const outer = g->scope;
    struct casts c = {.graph = g, .narrow = t->precision, .n = g->n_tensors};

    if (t->precision == DT_F32)
        return;
    c.other = xcalloc((size_t)c.n, sizeof(struct tensor *));
    g->nodes = NULL;
    g->n_nodes = g->cap_nodes = 0;
    for (int i = 0; i < n_old; i++) {
        g->scope = old[i]->scope;
        g->building_backward = old[i]->backward;
        settle(&c, old[i]);
    }
    g->scope = outer;
    g->building_backward = 0;
    for (int i = 0; i < g->n_outputs; i++)
        if (g->outputs[i].tensor->dtype == c.narrow)
            g->outputs[i].tensor = other_form(&c, g->outputs[i].tensor, DT_F32);
    free(old);
    free(c.other);
}
