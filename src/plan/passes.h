/* Passes edit a graph before a plan is made of it. Each is a function of graph and target, safe to
 * leave out: the plan then has more steps or wider tensors or, without lowering, names the op that
 * the backend lacks. */
#ifndef STAVE_PLAN_PASSES_H
#define STAVE_PLAN_PASSES_H

#include "backend/backend.h"
#include "graph/graph.h"

/* What a plan is made for. */
struct target {
    const struct backend *backend;
    enum dtype precision; /* of activations and their gradients; weights and sums stay float32 */
};

/* clang-format off */
enum pass_id {
#define PASS(name, help) PASS_##name,
#include "plan/list.h"
#undef PASS
    N_PASSES
};

#define PASS(name, help) void pass_##name(struct graph *g, const struct target *t);
#include "plan/list.h"
#undef PASS
/* clang-format on */

struct pass {
    const char *name, *help;
    void (*run)(struct graph *g, const struct target *t);
};
extern const struct pass passes[N_PASSES];

/* The results of n that may be narrow become it: what the precision pass does to a node whose
 * inputs are. */
void node_narrow(struct node *n, enum dtype type);
/* How often each tensor is read, by id; an output counts once. Heap; the caller frees it. */
int *graph_uses(const struct graph *g);
/* Drops the nodes that a pass replaced by NULL and numbers the rest. */
void graph_compact(struct graph *g);

#endif
