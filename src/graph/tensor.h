/* Tensors: what a graph computes with. A tensor is symbolic: a type, a static shape, a kind and the
 * node that makes it. It has no memory; a plan gives it an address. Tensors live in their graph's
 * arena and are never freed alone.
 * Logical order of dimensions: images N,H,W,C; volumes N,D,H,W,C; convolution weights O,KH,KW,I;
 * linear weights O,I. The physical layout is a matter of the plan and the backend. */
#ifndef STAVE_GRAPH_TENSOR_H
#define STAVE_GRAPH_TENSOR_H

#include <stddef.h>
#include <stdint.h>

enum { MAX_RANK = 6 };

/* bf16 is the upper half of a float32: what plans store activations and gradients in when asked for
 * less precision. Models never make one; the precision pass does. */
enum dtype { DT_F32, DT_I32, DT_U8, DT_BF16, N_DTYPES };

struct shape {
    int rank; /* 0: a scalar, one element */
    int64_t dim[MAX_RANK];
};

/* How long a tensor lives and who keeps it. A value lives from its node to its last reader. */
enum tensor_kind {
    T_VALUE,
    T_INPUT, /* a value that the host writes before each run */
    T_PARAM, /* saved and trained */
    T_STATE, /* saved and changed, not trained: running statistics, momentum */
    T_CARRY, /* survives from run to run, not saved: a decoder's cell, accumulated gradients */
};

struct node;
struct weight;

struct tensor {
    int id; /* position in graph->tensors */
    enum tensor_kind kind;
    enum dtype dtype;
    struct shape shape;
    const char *name;      /* inputs, outputs and weights; else NULL */
    struct node *maker;    /* NULL for inputs and weights */
    int maker_out;         /* which output of the maker */
    struct weight *weight; /* parameters, state and carry: the handle in the store */
};

size_t dtype_size(enum dtype t);
const char *dtype_name(enum dtype t);
/* Element i of an array in host memory. */
double dtype_value(const void *data, enum dtype type, int64_t i);

/* SHAPE(2, 3) is a shape of rank 2. */
#define SHAPE(...)                                                                                 \
    shape_of((const int64_t[]){__VA_ARGS__}, sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t))
struct shape shape_of(const int64_t *dim, size_t rank);
struct shape shape_scalar(void);
int64_t shape_count(struct shape s); /* elements */
int shape_equal(struct shape a, struct shape b);
/* "[8,56,56,64]" into out, which it returns. */
enum { SHAPE_TEXT = 96 };
const char *shape_text(struct shape s, char out[SHAPE_TEXT]);

size_t tensor_bytes(const struct tensor *t);
int64_t tensor_count(const struct tensor *t);

#endif
