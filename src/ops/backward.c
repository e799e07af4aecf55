/* Reverse-mode differentiation: walks the nodes backwards and lets each op's rule append the nodes
 * that compute the gradients of its inputs. Several readers of one tensor give several gradients,
 * which are added in reader order. */
#include <stdlib.h>

#include "base/err.h"
#include "ops/op.h"
#include "ops/ops.h"

/* needs[id]: does tensor id depend on a parameter that trains? */
static char *tensors_that_need(const struct graph *g)
{
    char *const needs = xcalloc((size_t)g->n_tensors, 1);

    for (int i = 0; i < g->n_tensors; i++) {
        const struct weight *const w = g->tensors[i]->weight;
        needs[i] = w && w->kind == T_PARAM && !w->attr.frozen;
    }
    for (int i = 0; i < g->n_nodes; i++) {
        const struct node *const n = g->nodes[i];
        int any = 0;
        for (int k = 0; k < n->n_in; k++)
            any |= needs[n->in[k]->id];
        for (int k = 0; n->op->grad && k < n->op->n_out; k++)
            needs[n->out[k]->id] = (char)any;
    }
    return needs;
}

static void add_grad(struct graph *g, const struct tensor *t, struct tensor *d)
{
    if (!d)
        return;
    g->grads[t->id] = g->grads[t->id] ? add(g, g->grads[t->id], d) : d;
}

static void node_backward(struct graph *g, const struct node *n, const char *needs)
{
    struct tensor *din[16] = {0};
    int want[16] = {0}, live = 0, wanted = 0;
    struct grad gr = {.node = n, .want = want, .din = din};

    ASSERT(n->n_in <= (int)COUNT_OF(din) || !n->op->grad);
    for (int k = 0; n->op->grad && k < n->op->n_out; k++) {
        gr.dout[k] = g->grads[n->out[k]->id];
        live |= gr.dout[k] != NULL;
    }
    for (int k = 0; live && k < n->n_in; k++)
        wanted |= want[k] = needs[n->in[k]->id];
    if (!live || !wanted)
        return;
    g->scope = n->scope; /* a backward node says which layer it belongs to */
    n->op->grad(g, &gr);
    for (int k = 0; k < n->n_in; k++)
        if (want[k])
            add_grad(g, n->in[k], din[k]);
}

/* A gradient that reads a tensor after a forward node has overwritten it would be wrong in silence.
 * Only nodes that do nothing but write are meant: batch normalisation's own gradient knows what it
 * changed. */
static void refuse_overwritten(struct graph *g, int n_forward)
{
    char *const written = xcalloc((size_t)g->n_tensors, 1);

    for (int i = 0; i < n_forward; i++)
        for (int k = 0; k < g->nodes[i]->n_in; k++)
            if (g->nodes[i]->op->n_out == 0 && op_bit(g->nodes[i]->op->writes, k))
                written[g->nodes[i]->in[k]->id] = 1;
    for (int i = n_forward; i < g->n_nodes; i++)
        for (int k = 0; k < g->nodes[i]->n_in; k++)
            if (written[g->nodes[i]->in[k]->id])
                graph_fail(g, E_SHAPE,
                           "%s is overwritten before %s, in the backward pass, reads it; "
                           "overwrite it after backward()",
                           g->nodes[i]->in[k]->name, g->nodes[i]->op->name);
    free(written);
}

void backward(struct graph *g, struct tensor *loss)
{
    const int n_forward = g->n_nodes;
    const char *const outer = g->scope;
    char *needs;

    if (g->code || !loss)
        return;
    ASSERT(!g->grads && loss->shape.rank == 0);
    needs = tensors_that_need(g);
    g->n_grads = g->n_tensors;
    g->grads = xcalloc((size_t)g->n_grads, sizeof(struct tensor *));
    g->building_backward = 1;
    g->grads[loss->id] = constant(g, shape_scalar(), 1.0);
    for (int i = n_forward - 1; i >= 0 && !g->code; i--)
        node_backward(g, g->nodes[i], needs);
    g->building_backward = 0;
    g->scope = outer;
    refuse_overwritten(g, n_forward);
    free(needs);
}
