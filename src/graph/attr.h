/* Parameters of ops: one structure per kind, a union of them in every node. Models write them as
 * compound literals in which zero means the default named here. */
#ifndef STAVE_GRAPH_ATTR_H
#define STAVE_GRAPH_ATTR_H

#include "graph/tensor.h"

struct conv {
    int out;    /* output channels */
    int k;      /* kernel height and width; default 1 */
    int stride; /* default 1 */
    int pad;    /* zeros on each side */
};

struct pool {
    int k, stride, pad; /* padding never wins a maximum */
};

struct norm {
    double eps;      /* default 1e-5 */
    double momentum; /* share of the new batch in the running statistics; default 0.1 */
    int frozen;      /* use the running statistics, as evaluation graphs always do */
    int relu;        /* set by fusion, in the parts of the gradient: dy is that of max(y, 0) */
};

/* What a fused application adds after the affine map: + residual (an extra input), then max(0, .).
 */
struct bn_apply {
    int residual, relu;
};

struct matmul {
    int transpose_a, transpose_b; /* the operand is stored transposed */
};

struct loss {
    double smoothing; /* label smoothing: target = (1 - s) * one-hot + s / classes */
};

struct image_norm {
    float mean[4], scale[4]; /* per channel: (x - mean) * scale */
};

struct reals {
    double a, b; /* constants; the op says which */
};

struct slice {
    int axis;
    int64_t begin, length;
};

struct topk {
    int k;
};

struct embed {
    int64_t rows, width;
    double sd;   /* of the normal that the table starts from; default 1 */
    int dense;   /* its gradient is a whole table after all */
    int sharded; /* this rank owns only these rows */
};

struct exchange {
    int ranks; /* default 1 */
};

/* Rates come as an input tensor; these stay fixed for the life of a plan. */
struct update {
    double momentum, weight_decay;
    double eta, eps;     /* LARS: trust coefficient, epsilon; Adam: eps */
    double beta1, beta2; /* Adam */
    int nesterov;
    int rate_outside; /* LARS: the learning rate multiplies the buffer when it is applied, not when
                         it is filled */
    int plain;        /* no weight decay, no trust ratio: batch norm and biases */
    double lr_mult;   /* 1 unless the weight says otherwise */
};

struct cast {
    enum dtype to; /* DT_F32 or DT_BF16 */
};

struct fill {
    struct shape shape;
    double value;
};

union attr {
    struct conv conv;
    struct pool pool;
    struct norm norm;
    struct bn_apply bn_apply;
    struct matmul matmul;
    struct loss loss;
    struct image_norm image_norm;
    struct reals reals;
    struct slice slice;
    struct topk topk;
    struct exchange exchange;
    struct update update;
    struct fill fill;
    struct cast cast;
};

#endif
