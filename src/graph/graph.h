/* A graph: the symbolic program of one step. Nodes stand in the order in which they were made,
 * which is an order in which they can run. Models, losses, gradients and optimisers all append to
 * the same graph; passes of plan/ edit it; then a plan runs it. The graph owns nodes and tensors,
 * borrows the store, and must outlive its plan. One thread.
 *
 * Errors are sticky: the first failure is kept in the graph with its scope, builders return NULL
 * from then on and accept NULL, and graph_status() or plan_new() reports it. Model code handles no
 * errors. */
#ifndef STAVE_GRAPH_GRAPH_H
#define STAVE_GRAPH_GRAPH_H

#include "base/arena.h"
#include "base/str.h"
#include "graph/node.h"
#include "graph/store.h"

enum graph_mode { GRAPH_EVAL, GRAPH_TRAIN };

struct output {
    const char *name;
    struct tensor *tensor;
};

/* The gradient of one lookup in a table whose weight is sparse: rows[i,:] belongs to table row
 * indices[i], for i < count; the indices rise, none twice. */
struct sparse_grad {
    struct tensor *table, *indices, *rows, *count;
};

struct scope {
    const struct scope *outer;
    const char *name; /* full, with those around it */
};

struct graph {
    struct arena arena;
    struct store *store;
    enum graph_mode mode;
    struct node **nodes;
    int n_nodes, cap_nodes;
    struct tensor **tensors;
    int n_tensors, cap_tensors;
    struct output *outputs;
    int n_outputs;
    struct tensor *
        *grads; /* after backward() of ops/ops.h: by tensor id, NULL where there is none */
    int n_grads;
    /* After backward(): one entry for each lookup in a table with the attribute sparse, for which
     * graph_grad() has nothing. A table with several lookups has several entries and its gradient
     * is their sum; the optimiser applies them one after the other. */
    struct sparse_grad *sparse_grads;
    int n_sparse_grads;
    const struct scope *scopes;
    const char *scope; /* the name of the innermost, "" outside all */
    int building_backward;
    int code; /* the sticky error; 0 while all is well */
    char reason[1024];
};

void graph_init(struct graph *g, struct store *store, enum graph_mode mode);
void graph_release(struct graph *g);
/* 0, or the sticky error, its reason recorded again. */
int graph_status(const struct graph *g);
/* Records the first failure, with the scope in front; returns code. */
int graph_fail(struct graph *g, int code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Names of weights are scope + "." + name. Scopes nest; the model states them. */
void scope_begin(struct graph *g, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void scope_end(struct graph *g);

/* What the host writes before a run, under this name. */
struct tensor *graph_input(struct graph *g, const char *name, enum dtype dtype, struct shape shape);
/* NULL when there is no such input. */
struct tensor *graph_input_find(const struct graph *g, const char *name);
/* Keeps a value alive to the end of the run, readable under this name. */
void graph_output(struct graph *g, const char *name, struct tensor *t);
/* NULL when there is no such output. */
struct tensor *graph_output_find(const struct graph *g, const char *name);
/* A weight of the store by scope and name; the same tensor each time. kind: T_PARAM, T_STATE or
 * T_CARRY. */
struct tensor *graph_weight(struct graph *g, const char *name, enum tensor_kind kind,
                            struct shape shape, struct init init, struct weight_attr attr);
/* The tensor of a weight that already exists, by its full name. */
struct tensor *graph_bind(struct graph *g, struct weight *w);

/* The same if this graph uses it already, else NULL. */
struct tensor *graph_bound(const struct graph *g, const struct weight *w);

/* Appends a node; NULL after an error. Inputs that are NULL count as an earlier error. */
struct node *graph_node(struct graph *g, const struct op *op, union attr attr,
                        struct tensor *const *in, int n_in);
#define GRAPH_NODE(g, op, attr, ...)                                                               \
    graph_node(g, op, attr, (struct tensor *const[]){__VA_ARGS__},                                 \
               (int)(sizeof((struct tensor *const[]){__VA_ARGS__}) / sizeof(struct tensor *)))
struct tensor *node_out(const struct node *n, int i); /* NULL when n is NULL */
/* Makes n the maker of t in place of its own output i: how a lowering or a fusion takes over. */
void node_take(struct node *n, int i, struct tensor *t);

/* The gradient that ops/backward.c built for t; NULL: t has no influence on the loss. */
struct tensor *graph_grad(const struct graph *g, const struct tensor *t);
/* For gradient rules: one more entry of graph->sparse_grads. */
void graph_add_sparse_grad(struct graph *g, struct sparse_grad s);

/* For passes: puts a node that exists at the end of the order; memory and text with the graph's
 * lifetime. */
void graph_append(struct graph *g, struct node *n);
void *graph_alloc(struct graph *g, size_t bytes);
const char *graph_text(struct graph *g, const char *s);
const char *graph_format(struct graph *g, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* One line per node: id, op, scope, inputs, outputs and shapes. */
void graph_print(const struct graph *g, struct str *out);

#endif
