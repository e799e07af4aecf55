/* The weight store: every tensor that outlives a run, found by name. Symbolic, like the graph:
 * names, shapes, initial values and attributes; the memory is a bank's (plan/bank.h), which may
 * hold several sets of the same store. A training graph creates weights; evaluation and decoding
 * graphs bind to them by the same names. After store_seal() a name that is not there is an error,
 * so that no graph can quietly train or test something else. The store owns everything in it and
 * must outlive graphs, plans and banks. Names come from the scopes a model states
 * ("layer1.0.conv1.weight"), never from a count. */
#ifndef STAVE_GRAPH_STORE_H
#define STAVE_GRAPH_STORE_H

#include "base/arena.h"
#include "graph/tensor.h"

enum init_kind { INIT_ZERO, INIT_CONSTANT, INIT_NORMAL, INIT_TRUNCATED_NORMAL, INIT_UNIFORM };

/* How a weight starts. Values are a pure function of (seed, name, element index).
 * Normal: mean 0, deviation `scale`. Truncated: redrawn beyond two deviations of the underlying
 * normal, which is widened so that the deviation of what remains is `scale`. Uniform: [-scale,
 * scale). Constant: scale everywhere. */
struct init {
    enum init_kind kind;
    double scale;
};

/* What the optimiser must know of a weight; zero means the ordinary. */
struct weight_attr {
    int frozen;     /* never updated */
    int no_decay;   /* batch norm and biases: no weight decay, no LARS trust ratio */
    double lr_mult; /* 0 means 1 */
    int sparse;     /* its gradient is (indices, rows): an embedding table */
    int sharded;    /* each rank owns a part of the rows; its gradient is not all-reduced */
};

struct weight {
    int id; /* position in store->weights */
    const char *name;
    enum tensor_kind kind; /* T_PARAM, T_STATE or T_CARRY */
    enum dtype dtype;
    struct shape shape;
    struct init init;
    struct weight_attr attr;
    size_t offset; /* bytes from the start of its kind's block; 64-byte aligned */
};

enum { N_WEIGHT_BLOCKS = 3 }; /* parameters, state, carry */

struct store {
    struct arena arena;
    struct weight **weights;
    int n, cap;
    int sealed;
    size_t block_bytes[N_WEIGHT_BLOCKS];
};

void store_init(struct store *s);
void store_release(struct store *s);
void store_seal(struct store *s);
/* NULL when there is none. */
struct weight *store_find(const struct store *s, const char *name);
/* Finds or makes. A found weight must have the same kind, type and shape: E_SHAPE otherwise. *out
 * is set on success. */
int store_get(struct store *s, const struct weight *want, struct weight **out);
/* Which block a weight of this kind lives in: 0, 1, 2. */
int weight_block(enum tensor_kind kind);
/* Elements in all parameters. */
int64_t store_param_count(const struct store *s);

#endif
