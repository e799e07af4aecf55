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

void graph_compact(struct graph *g)
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
    graph_compact(g);
    free(uses);
}
