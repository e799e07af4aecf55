#include "plan/passes.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"

/* clang-format off */
const struct pass passes[N_PASSES] = {
#define PASS(name, help) [PASS_##name] = {#name, help, pass_##name},
#include "plan/list.h"
#undef PASS
};
/* clang-format on */

int *graph_uses(const struct graph *g)
{
    int *const uses = xcalloc((size_t)g->n_tensors, sizeof(*uses));

    for (int i = 0; i < g->n_nodes; i++)
        for (int k = 0; k < g->nodes[i]->n_in; k++)
            uses[g->nodes[i]->in[k]->id]++;
    for (int i = 0; i < g->n_outputs; i++)
        uses[g->outputs[i].tensor->id]++;
    return uses;
}

/* Drops the nodes marked by a NULL and numbers the rest. */
static void compact(struct graph *g)
{
    int kept = 0;

    for (int i = 0; i < g->n_nodes; i++)
        if (g->nodes[i]) {
            g->nodes[i]->id = kept;
            g->nodes[kept++] = g->nodes[i];
        }
    g->n_nodes = kept;
}

void pass_lower(struct graph *g, const struct target *t)
{
    struct node **const old = g->nodes;
    const int n_old = g->n_nodes;
    const char *const outer = g->scope;

    (void)t;
    g->nodes = NULL;
    g->n_nodes = g->cap_nodes = 0;
    for (int i = 0; i < n_old; i++) {
        g->scope = old[i]->scope;
        g->building_backward = old[i]->backward;
        if (old[i]->op->lower)
            old[i]->op->lower(g, old[i]);
        else
            graph_append(g, old[i]);
    }
    g->scope = outer;
    g->building_backward = 0;
    free(old);
}

void pass_prune(struct graph *g, const struct target *t)
{
    int *const uses = graph_uses(g);

    (void)t;
    for (int i = g->n_nodes - 1; i >= 0; i--) {
        const struct node *const n = g->nodes[i];
        int live = n->op->writes != 0;

        for (int k = 0; k < n->op->n_out; k++)
            live |= uses[n->out[k]->id] > 0;
        if (live)
            continue;
        for (int k = 0; k < n->n_in; k++)
            uses[n->in[k]->id]--;
        g->nodes[i] = NULL;
    }
    compact(g);
    free(uses);
}

/* The batch-norm application that alone feeds t, or NULL. */
static struct node *sole_apply(const struct tensor *t, const int *uses)
{
    struct node *const m = t->maker;

    return m && m->op == &op_bn_apply && uses[t->id] == 1 && !m->attr.bn_apply.relu ? m : NULL;
}

/* Makes `apply` do what `last` ends: it takes last's output and its place in the order. Declined:
 * nothing changes. */
static int absorb(struct graph *g, const struct backend *b, struct node *apply, struct node *last,
                  struct tensor *residual)
{
    const struct kernel *const kernel = b->kernels[OP_bn_apply];
    struct node fused = *apply;
    struct tensor *in[6];

    memcpy(in, apply->in, 5 * sizeof(in[0]));
    in[5] = residual;
    fused.in = in;
    fused.n_in = residual ? 6 : 5;
    fused.attr.bn_apply.residual = residual != NULL;
    fused.attr.bn_apply.relu = 1;
    if (!kernel || !kernel->accepts || kernel->accepts(&fused) < 0) {
        apply->declined =
            kernel && kernel->accepts ? graph_text(g, err_reason()) : "no fused kernel";
        return 0;
    }
    g->nodes[apply->id] = NULL;
    fused.in = graph_alloc(g, sizeof(in));
    memcpy(fused.in, in, sizeof(in));
    fused.id = last->id;
    *apply = fused;
    node_take(apply, 0, last->out[0]);
    g->nodes[last->id] = apply;
    return 1;
}

/* relu(bn_apply) and relu(bn_apply + skip), each into one application. The sum stands where the
 * ReLU stood, because the skip may be computed after the application. */
void pass_fuse(struct graph *g, const struct target *t)
{
    int *const uses = graph_uses(g);

    for (int i = 0; i < g->n_nodes; i++) {
        struct node *const n = g->nodes[i];
        struct node *sum, *apply;

        if (!n || n->op != &op_relu)
            continue;
        sum = n->in[0]->maker;
        apply = sole_apply(n->in[0], uses);
        if (apply) {
            absorb(g, t->backend, apply, n, NULL);
            continue;
        }
        if (!sum || sum->op != &op_add || uses[n->in[0]->id] != 1)
            continue;
        for (int k = 0; k < 2; k++) {
            apply = sole_apply(sum->in[k], uses);
            if (apply && absorb(g, t->backend, apply, n, sum->in[!k])) {
                g->nodes[sum->id] = NULL;
                break;
            }
        }
    }
    compact(g);
    free(uses);
}
