/* Softmax and its logarithm over the last dimension. */
#include "base/err.h"
#include "ops/op.h"
#include "ops/ops.h"

static int rows_shape(struct node *n)
{
    if (n->in[0]->shape.rank < 1)
        return op_want_rank(n, 0, 1);
    op_out_like(n, 0, 0);
    return op_want_shape(n, 0, DT_F32, n->in[0]->shape);
}

static int rows_grad_shape(struct node *n)
{
    TRY(rows_shape(n));
    return op_want_same(n, 0, 1);
}

static void rows_cost(const struct node *n, struct cost *c)
{
    c->flops = 5.0 * (double)tensor_count(n->in[0]);
}

static void rows_grad_cost(const struct node *n, struct cost *c)
{
    c->flops = 4.0 * (double)tensor_count(n->in[0]);
}

/* y[..,c] = exp(x[..,c]) / sum_k exp(x[..,k]) */
static void softmax_gradient(struct graph *g, const struct grad *gr)
{
    gr->din[0] = node_out(
        GRAPH_NODE(g, &op_softmax_grad, (union attr){0}, gr->dout[0], gr->node->out[0]), 0);
}

const struct op op_softmax = {OP_HEAD(softmax), .n_out = 1, .shape = rows_shape,
                              .grad = softmax_gradient, .cost = rows_cost};

/* Inputs: dy, y. dx[..,c] = y[..,c] * (dy[..,c] - sum_k dy[..,k] * y[..,k]) */
const struct op op_softmax_grad = {OP_HEAD(softmax_grad), .n_out = 1, .shape = rows_grad_shape,
                                   .cost = rows_grad_cost};

struct tensor *softmax(struct graph *g, struct tensor *x)
{
    return node_out(GRAPH_NODE(g, &op_softmax, (union attr){0}, x), 0);
}

/* y[..,c] = x[..,c] - log sum_k exp(x[..,k]) */
static void log_softmax_gradient(struct graph *g, const struct grad *gr)
{
    gr->din[0] = node_out(
        GRAPH_NODE(g, &op_log_softmax_grad, (union attr){0}, gr->dout[0], gr->node->out[0]), 0);
}

const struct op op_log_softmax = {OP_HEAD(log_softmax), .n_out = 1, .shape = rows_shape,
                                  .grad = log_softmax_gradient, .cost = rows_cost};

/* Inputs: dy, y. dx[..,c] = dy[..,c] - exp(y[..,c]) * sum_k dy[..,k] */
const struct op op_log_softmax_grad = {OP_HEAD(log_softmax_grad), .n_out = 1,
                                       .shape = rows_grad_shape, .cost = rows_grad_cost};

struct tensor *log_softmax(struct graph *g, struct tensor *x)
{
    return node_out(GRAPH_NODE(g, &op_log_softmax, (union attr){0}, x), 0);
}
