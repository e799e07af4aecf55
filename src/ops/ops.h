/* The vocabulary of models: functions from tensors to tensors. Each appends one node (or a few) and
 * accepts NULL after an earlier error. Formulae use n for the sample, c for the channel; shapes are
 * in the logical order of graph/tensor.h. */
#ifndef STAVE_OPS_OPS_H
#define STAVE_OPS_OPS_H

#include "graph/graph.h"

int channels(const struct tensor *x); /* last dimension; 0 for NULL */

/* Layers: make or bind weights "<scope>.<name>.weight", ".bias". Structures: zero means default
 * (graph/attr.h). */

/* y[n,p,q,o] = sum_{r,s,i} x[n, p*stride+r-pad, q*stride+s-pad, i] * w[o,r,s,i]. No bias. Weights
 * start from a normal of deviation sqrt(2 / fan-in), truncated at two deviations (He et al. 2015;
 * MLPerf's reference). */
struct tensor *conv2d(struct graph *g, struct tensor *x, const char *name, struct conv c);
/* y = gamma * (x - mean) / sqrt(var + eps) + beta over all dimensions but the last. Training graphs
 * use the batch's biased variance and move running statistics: r = (1-momentum) * r + momentum *
 * batch, with the unbiased variance (PyTorch's convention). Weights, in the scope <name>.bn: weight
 * (1), bias (0), running_mean (0), running_var (1). Composite: lowered. */
struct tensor *batchnorm(struct graph *g, struct tensor *x, const char *name, struct norm c);
/* y = x w^T + b, w[out,in]. Weights start from a normal of deviation sd, bias zero. */
struct tensor *linear(struct graph *g, struct tensor *x, const char *name, int out, double sd);
/* Rows of a table by index: y[i..,:] = w[index[i..],:], 0 for a negative index. The table's
 * gradient is sparse unless asked otherwise: see graph->sparse_grads. */
struct tensor *embedding(struct graph *g, struct tensor *index, const char *name, struct embed c);

/* Functions without weights. */

struct tensor *relu(struct graph *g, struct tensor *x);                  /* max(x, 0) */
struct tensor *add(struct graph *g, struct tensor *a, struct tensor *b); /* a + b, equal shapes */
struct tensor *maxpool(struct graph *g, struct tensor *x, struct pool p);
struct tensor *avgpool_all(struct graph *g,
                           struct tensor *x); /* [N,H,W,C] -> [N,C], the mean over H and W */
/* y = op(a) op(b) for matrices, each optionally stored transposed. */
struct tensor *matmul(struct graph *g, struct tensor *a, struct tensor *b, struct matmul m);
struct tensor *bias_add(struct graph *g, struct tensor *x, struct tensor *b); /* x[..,c] + b[c] */
struct tensor *sum_rows(struct graph *g, struct tensor *x);                   /* [..,c] -> [c] */
struct tensor *rsqrt(struct graph *g, struct tensor *x, double eps); /* 1 / sqrt(x + eps) */
struct tensor *constant(struct graph *g, struct shape shape, double value);
struct tensor *cast(struct graph *g, struct tensor *x,
                    enum dtype to); /* f32 and bf16, to nearest */
/* uint8 [N,H,W,C] -> float32: (x - mean[c]) * scale[c]. C is 1 to 4. No gradient. */
struct tensor *image_norm(struct graph *g, struct tensor *x, struct image_norm c);

struct tensor *mul(struct graph *g, struct tensor *a, struct tensor *b); /* a * b, equal shapes */
struct tensor *scale(struct graph *g, struct tensor *x, double factor);
struct tensor *sigmoid(struct graph *g, struct tensor *x);
struct tensor *tanh_of(struct graph *g, struct tensor *x); /* C has taken the name tanh */
struct tensor *softmax(struct graph *g, struct tensor *x); /* over the last dimension */
struct tensor *log_softmax(struct graph *g, struct tensor *x);
struct tensor *sum(struct graph *g, struct tensor *x); /* of all elements, a scalar */
/* Elements begin .. begin + length - 1 along an axis. */
struct tensor *slice(struct graph *g, struct tensor *x, struct slice c);
/* n tensors, 1 to 16, side by side along the last dimension. */
struct tensor *concat(struct graph *g, struct tensor *const *x, int n);
/* table[index], rows; index int32 of any shape; a negative one gives zeros. Reorders a carry, too.
 */
struct tensor *gather(struct graph *g, struct tensor *table, struct tensor *index);
/* The blocks of rows that ranks exchange; rank r receives every rank's block r. */
struct tensor *all_to_all(struct graph *g, struct tensor *x, struct exchange c);

/* The k largest of each row x[n, 0 .. count[n]-1] in falling order, padded to k. Padding has value
 * 0, place -1 and mask 0. Gradient flows through the values. */
struct topk_out {
    struct tensor *values, *places, *mask; /* [n,k]; places int32 */
};
struct topk_out topk(struct graph *g, struct tensor *x, struct tensor *count, int k);

/* to = x at this point of the order; `to` is carry or state. In a training graph assign after
 * backward(), whose nodes read the old values. */
void assign(struct graph *g, struct tensor *to, struct tensor *x);

/* Losses and metrics yield (sum, weight), both to be added over micro-batches and ranks before
 * dividing. A row whose weight is zero (padding) or whose label is negative (a sample that could
 * not be read) adds nothing to either. */
struct sum_weight {
    struct tensor *sum, *weight; /* scalars */
};
/* sum_n weight[n] * -sum_c target[n,c] * log softmax(logits)[n,c], target smoothed: (1-s)*onehot +
 * s/C. */
struct sum_weight softmax_xent(struct graph *g, struct tensor *logits, struct tensor *labels,
                               struct tensor *weights, struct loss c);
/* sum_n [weight[n] > 0 and argmax logits[n] == label[n]]; the first of equal maxima counts. A
 * scalar, exact below 2^24. A negative label counts as wrong. */
struct tensor *top1(struct graph *g, struct tensor *logits, struct tensor *labels,
                    struct tensor *weights);

/* (sum of x * mask, sum of mask) */
struct sum_weight masked_sum(struct graph *g, struct tensor *x, struct tensor *mask);

/* Builds the gradient of a scalar with respect to every parameter that is not frozen, and of
 * everything in between, by the ops' gradient rules; read them with graph_grad(). Once per graph.
 */
void backward(struct graph *g, struct tensor *loss);

/* What optimisers are made of; see optim/. `scale` multiplies the gradient first (one over the loss
 * weight, clipped); an update whose scale is not finite changes nothing, so that a broken step
 * leaves the weights whole. */
void sgd_update(struct graph *g, struct tensor *w, struct tensor *grad, struct tensor *momentum,
                struct tensor *lr, struct tensor *scale, struct update u);
void lars_update(struct graph *g, struct tensor *w, struct tensor *grad, struct tensor *momentum,
                 struct tensor *lr, struct tensor *scale, struct update u);
void adamw_update(struct graph *g, struct tensor *w, struct tensor *grad, struct tensor *m,
                  struct tensor *v, struct tensor *lr, struct tensor *scale, struct tensor *step,
                  struct update u);
/* Applies one entry of graph->sparse_grads; no momentum, no decay. */
void sparse_sgd_update(struct graph *g, struct sparse_grad s, struct tensor *lr,
                       struct tensor *scale, struct update u);
struct tensor *sparse_to_dense(struct graph *g, struct sparse_grad s); /* in the table's shape */
/* sqrt of the sum of squares over all elements of all tensors. */
struct tensor *global_norm(struct graph *g, struct tensor *const *x, int n);
/* scale * min(1, max / (norm * scale)): the scale that keeps the norm of the scaled gradient at
 * most max. */
struct tensor *clip_scale(struct graph *g, struct tensor *scale, struct tensor *norm, double max);
struct tensor *reciprocal(struct graph *g, struct tensor *x,
                          struct tensor *guard); /* 1/x; NaN when guard is not finite */
void accumulate(struct graph *g, struct tensor *sum, struct tensor *x); /* sum += x, in place */
void clear(struct graph *g, struct tensor *x);                          /* x = 0, in place */

#endif
