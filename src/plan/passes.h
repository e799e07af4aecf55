/* Passes edit a graph before a plan is made of it. Each is a function of graph and backend, safe to
 * leave out: the plan then has more steps or, without lowering, names the op that the backend
 * lacks. */
#ifndef STAVE_PLAN_PASSES_H
#define STAVE_PLAN_PASSES_H

#include "backend/backend.h"
#include "graph/graph.h"

/* clang-format off */
enum pass_id {
#define PASS(name, help) PASS_##name,
#include "plan/list.h"
#undef PASS
    N_PASSES
};

#define PASS(name, help) void pass_##name(struct graph *g, const struct backend *b);
#include "plan/list.h"
#undef PASS
/* clang-format on */

struct pass {
    const char *name, *help;
    void (*run)(struct graph *g, const struct backend *b);
};
extern const struct pass passes[N_PASSES];

/* How often each tensor is read, by id; an output counts once. Heap; the caller frees it. */
int *graph_uses(const struct graph *g);

#endif
