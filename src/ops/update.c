/* Optimiser updates, in place, and the scalars they need. In all of them g = scale * grad, and
 * nothing is written when scale is not finite. Inputs name the tensors of ops.h in order. */
#include "base/err.h"
#include "ops/op.h"
#include "ops/ops.h"

static int scalars(const struct node *n, int first)
{
    for (int i = first; i < n->n_in; i++)
        TRY(op_want_shape(n, i, DT_F32, shape_scalar()));
    return 0;
}

/* w, grad and one moment, then scalars. */
static int one_moment_shape(struct node *n)
{
    TRY(op_want_same(n, 0, 1));
    TRY(op_want_same(n, 0, 2));
    return scalars(n, 3);
}

static double elements(const struct node *n)
{
    return (double)tensor_count(n->in[0]);
}

/* d = g + weight_decay * w (plain: g). m = momentum * m + d; w -= lr * (nesterov ? d + momentum * m
 * : m). PyTorch's SGD with dampening 0 and m starting from zero. */
static void sgd_cost(const struct node *n, struct cost *c)
{
    c->flops = 7.0 * elements(n);
}

const struct op op_sgd = {OP_HEAD(sgd), .n_out = 0, .shape = one_moment_shape, .cost = sgd_cost,
                          .writes = 1u << 0 | 1u << 2};

/* MLPerf's LARS (You, Gitman, Ginsburg 2017). trust = eta * |w| / (|g| + weight_decay * |w| + eps),
 * 1 if either norm is 0. Rate inside (the reference): m = momentum * m + lr * trust * (g +
 * weight_decay * w); w -= m. Rate outside (NVIDIA's form): m = momentum * m + trust * (g +
 * weight_decay * w); w -= lr * m. plain (batch norm, biases): trust = 1 and no decay. */
static void lars_cost(const struct node *n, struct cost *c)
{
    c->flops = 11.0 * elements(n);
    c->bytes +=
        2.0 * (double)tensor_bytes(n->in[0]); /* the norms need w and g before the update does */
}

const struct op op_lars = {OP_HEAD(lars), .n_out = 0, .shape = one_moment_shape, .cost = lars_cost,
                           .writes = 1u << 0 | 1u << 2};

/* Adam with decoupled weight decay (Loshchilov, Hutter 2019), t the step counted from 1: w -= lr *
 * weight_decay * w; m = b1 m + (1-b1) g; v = b2 v + (1-b2) g^2; w -= lr * (m / (1-b1^t)) / (sqrt(v
 * / (1-b2^t)) + eps). With weight_decay 0 it is Adam. */
static int adamw_shape(struct node *n)
{
    TRY(op_want_same(n, 0, 1));
    TRY(op_want_same(n, 0, 2));
    TRY(op_want_same(n, 0, 3));
    return scalars(n, 4);
}

static void adamw_cost(const struct node *n, struct cost *c)
{
    c->flops = 14.0 * elements(n);
}

const struct op op_adamw = {OP_HEAD(adamw), .n_out = 0, .shape = adamw_shape, .cost = adamw_cost,
                            .writes = 1u << 0 | 1u << 2 | 1u << 3};

/* sum += x */
static int accumulate_shape(struct node *n)
{
    return op_want_same(n, 0, 1);
}

static void accumulate_cost(const struct node *n, struct cost *c)
{
    c->flops = elements(n);
}

const struct op op_accumulate = {OP_HEAD(accumulate), .n_out = 0, .shape = accumulate_shape,
                                 .cost = accumulate_cost, .writes = 1u << 0};

/* x = 0 */
static int any_shape(struct node *n)
{
    (void)n;
    return 0;
}

static void clear_cost(const struct node *n, struct cost *c)
{
    c->bytes = (double)tensor_bytes(n->in[0]);
}

const struct op op_clear = {OP_HEAD(clear), .n_out = 0, .shape = any_shape, .cost = clear_cost,
                            .writes = 1u << 0};

/* y = sqrt(sum over all inputs and elements of x^2) */
static int global_norm_shape(struct node *n)
{
    n->out[0]->shape = shape_scalar();
    for (int i = 0; i < n->n_in; i++)
        TRY(op_want_shape(n, i, DT_F32, n->in[i]->shape));
    return 0;
}

static void global_norm_cost(const struct node *n, struct cost *c)
{
    for (int i = 0; i < n->n_in; i++)
        c->flops += 2.0 * (double)tensor_count(n->in[i]);
}

const struct op op_global_norm = {OP_HEAD(global_norm), .n_out = 1, .shape = global_norm_shape,
                                  .cost = global_norm_cost};

/* Inputs: scale, norm. y = scale * min(1, a / (norm * scale)) */
static int clip_scale_shape(struct node *n)
{
    n->out[0]->shape = shape_scalar();
    return scalars(n, 0);
}

const struct op op_clip_scale = {OP_HEAD(clip_scale), .n_out = 1, .shape = clip_scale_shape};

/* Inputs: x, guard. y = 1 / x, or NaN when guard is not finite or x is zero. */
const struct op op_reciprocal = {OP_HEAD(reciprocal), .n_out = 1, .shape = clip_scale_shape};

void sgd_update(struct graph *g, struct tensor *w, struct tensor *grad, struct tensor *momentum,
                struct tensor *lr, struct tensor *scale, struct update u)
{
    GRAPH_NODE(g, &op_sgd, (union attr){.update = u}, w, grad, momentum, lr, scale);
}

void lars_update(struct graph *g, struct tensor *w, struct tensor *grad, struct tensor *momentum,
                 struct tensor *lr, struct tensor *scale, struct update u)
{
    GRAPH_NODE(g, &op_lars, (union attr){.update = u}, w, grad, momentum, lr, scale);
}

void adamw_update(struct graph *g, struct tensor *w, struct tensor *grad, struct tensor *m,
                  struct tensor *v, struct tensor *lr, struct tensor *scale, struct tensor *step,
                  struct update u)
{
    GRAPH_NODE(g, &op_adamw, (union attr){.update = u}, w, grad, m, v, lr, scale, step);
}

struct tensor *global_norm(struct graph *g, struct tensor *const *x, int n)
{
    return node_out(graph_node(g, &op_global_norm, (union attr){0}, x, n), 0);
}

struct tensor *clip_scale(struct graph *g, struct tensor *scale, struct tensor *norm, double max)
{
    return node_out(GRAPH_NODE(g, &op_clip_scale, (union attr){.reals = {.a = max}}, scale, norm),
                    0);
}

struct tensor *reciprocal(struct graph *g, struct tensor *x, struct tensor *guard)
{
    return node_out(GRAPH_NODE(g, &op_reciprocal, (union attr){0}, x, guard), 0);
}

void accumulate(struct graph *g, struct tensor *sum, struct tensor *x)
{
    GRAPH_NODE(g, &op_accumulate, (union attr){0}, sum, x);
}

void clear(struct graph *g, struct tensor *x)
{
    GRAPH_NODE(g, &op_clear, (union attr){0}, x);
}
