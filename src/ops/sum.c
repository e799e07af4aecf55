/* Sums to a scalar. */
#include "base/err.h"
#include "ops/op.h"
#include "ops/ops.h"

/* y = sum over all elements of x */
static int sum_shape(struct node *n)
{
    n->out[0]->shape = shape_scalar();
    return op_want_shape(n, 0, DT_F32, n->in[0]->shape);
}

static void sum_gradient(struct graph *g, const struct grad *gr)
{
    gr->din[0] =
        node_out(GRAPH_NODE(g, &op_sum_grad, (union attr){0}, gr->dout[0], gr->node->in[0]), 0);
}

static void sum_cost(const struct node *n, struct cost *c)
{
    c->flops = (double)tensor_count(n->in[0]);
}

const struct op op_sum = {OP_HEAD(sum), .n_out = 1, .shape = sum_shape, .grad = sum_gradient,
                          .cost = sum_cost};

struct tensor *sum(struct graph *g, struct tensor *x)
{
    return node_out(GRAPH_NODE(g, &op_sum, (union attr){0}, x), 0);
}

struct sum_weight masked_sum(struct graph *g, struct tensor *x, struct tensor *mask)
{
    return (struct sum_weight){sum(g, mul(g, x, mask)), sum(g, mask)};
}

/* Inputs: dy (scalar), x for its shape. dx = dy everywhere */
static int sum_grad_shape(struct node *n)
{
    op_out_like(n, 0, 1);
    return op_want_shape(n, 0, DT_F32, shape_scalar());
}

static void sum_grad_cost(const struct node *n, struct cost *c)
{
    c->bytes -= (double)tensor_bytes(n->in[1]);
}

const struct op op_sum_grad = {OP_HEAD(sum_grad), .n_out = 1, .shape = sum_grad_shape,
                               .cost = sum_grad_cost};
