/* Nodes: one use of an op. An op is a descriptor, a constant that ops/ defines and this header only
 * describes; a node has typed inputs and one or several outputs. */
#ifndef STAVE_GRAPH_NODE_H
#define STAVE_GRAPH_NODE_H

#include "graph/attr.h"
#include "graph/tensor.h"

struct graph;
struct node;

enum { MAX_OUT = 3 };

/* What one run of a node costs: floating-point operations (a multiply-add is two) and the fewest
 * bytes moved. */
struct cost {
    double flops, bytes;
};

/* The gradient of a node being built. dout[i] is NULL when output i has no influence on the loss.
 * The rule sets din[i] for each i with want[i]; a NULL there means the gradient is zero. */
struct grad {
    const struct node *node;
    struct tensor *dout[MAX_OUT];
    const int *want;
    struct tensor **din;
};

struct op {
    int id; /* OP_name of ops/op.h */
    const char *name;
    int n_out;
    /* Checks the inputs and sets shape and type of every output; E_SHAPE with a reason otherwise.
     */
    int (*shape)(struct node *n);
    /* NULL: no gradient flows through this op. */
    void (*grad)(struct graph *g, const struct grad *gr);
    /* NULL: one operation per output element, each input read once, each output written once. */
    void (*cost)(const struct node *n, struct cost *c);
    /* NULL unless composite: appends nodes that do the same and take over this node's outputs. */
    void (*lower)(struct graph *g, struct node *n);
    unsigned
        writes; /* bit i: input i is updated in place; such a node runs even if nobody reads it */
    unsigned in_place; /* bit i: output 0 may take over the memory of input i */
    /* What the precision pass may do: bit i of narrow_in, input i may be bf16; of narrow_out,
     * output i is bf16 then. narrow_follows: only when every input of narrow_in is bf16 already;
     * else the op is worth narrowing its inputs for. Sums and statistics stay float32 inside. */
    unsigned narrow_in, narrow_out;
    int narrow_follows;
};

/* Whether a mask of an op names input or output i; an op may have more of them than a mask has
 * bits. */
static inline int op_bit(unsigned mask, int i)
{
    return i < 32 && (mask >> i & 1);
}

struct node {
    int id; /* position in graph->nodes */
    const struct op *op;
    const char *scope;
    int backward; /* made by a gradient rule */
    union attr attr;
    struct tensor **in;
    int n_in;
    struct tensor *out[MAX_OUT];
    const char *declined; /* why a backend refused to fuse this node, for explain; or NULL */
};

int node_is_narrow(const struct node *n); /* some input or output is bf16 */
void node_cost(const struct node *n, struct cost *c);

#endif
