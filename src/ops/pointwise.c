/* Element by element with gradients: what recurrent cells and squared errors are made of. */
#include "base/err.h"
#include "ops/op.h"
#include "ops/ops.h"

static int like_first(struct node *n)
{
    op_out_like(n, 0, 0);
    return op_want_shape(n, 0, DT_F32, n->in[0]->shape);
}

static int like_both(struct node *n)
{
    TRY(like_first(n));
    return op_want_same(n, 0, 1);
}

static void curve_cost(const struct node *n, struct cost *c)
{
    c->flops = 4.0 * (double)tensor_count(n->in[0]);
}

/* y = 1 / (1 + exp(-x)) */
static void sigmoid_gradient(struct graph *g, const struct grad *gr)
{
    gr->din[0] = node_out(
        GRAPH_NODE(g, &op_sigmoid_grad, (union attr){0}, gr->dout[0], gr->node->out[0]), 0);
}

const struct op op_sigmoid = {OP_HEAD(sigmoid),         .n_out = 1,         .shape = like_first,
                              .grad = sigmoid_gradient, .cost = curve_cost, .in_place = 1u << 0};

/* Inputs: dy, y. dx = dy * y * (1 - y) */
const struct op op_sigmoid_grad = {OP_HEAD(sigmoid_grad), .n_out = 1, .shape = like_both,
                                   .cost = curve_cost, .in_place = 1u << 0};

struct tensor *sigmoid(struct graph *g, struct tensor *x)
{
    return node_out(GRAPH_NODE(g, &op_sigmoid, (union attr){0}, x), 0);
}

/* y = (exp(x) - exp(-x)) / (exp(x) + exp(-x)) */
static void tanh_gradient(struct graph *g, const struct grad *gr)
{
    gr->din[0] =
        node_out(GRAPH_NODE(g, &op_tanh_grad, (union attr){0}, gr->dout[0], gr->node->out[0]), 0);
}

const struct op op_tanh = {OP_HEAD(tanh),         .n_out = 1,         .shape = like_first,
                           .grad = tanh_gradient, .cost = curve_cost, .in_place = 1u << 0};

/* Inputs: dy, y. dx = dy * (1 - y^2) */
const struct op op_tanh_grad = {OP_HEAD(tanh_grad), .n_out = 1, .shape = like_both,
                                .cost = curve_cost, .in_place = 1u << 0};

struct tensor *tanh_of(struct graph *g, struct tensor *x)
{
    return node_out(GRAPH_NODE(g, &op_tanh, (union attr){0}, x), 0);
}

/* y = a * b */
static void mul_gradient(struct graph *g, const struct grad *gr)
{
    struct tensor *const *const in = gr->node->in;

    for (int i = 0; i < 2; i++)
        if (gr->want[i])
            gr->din[i] = mul(g, gr->dout[0], in[!i]);
}

const struct op op_mul = {OP_HEAD(mul), .n_out = 1, .shape = like_both, .grad = mul_gradient,
                          .in_place = 1u << 0 | 1u << 1};

struct tensor *mul(struct graph *g, struct tensor *a, struct tensor *b)
{
    return node_out(GRAPH_NODE(g, &op_mul, (union attr){0}, a, b), 0);
}

/* y = factor * x; the attribute's a is the factor */
static void scale_gradient(struct graph *g, const struct grad *gr)
{
    gr->din[0] = scale(g, gr->dout[0], gr->node->attr.reals.a);
}

const struct op op_scale = {OP_HEAD(scale), .n_out = 1, .shape = like_first, .grad = scale_gradient,
                            .in_place = 1u << 0};

struct tensor *scale(struct graph *g, struct tensor *x, double factor)
{
    return node_out(GRAPH_NODE(g, &op_scale, (union attr){.reals = {.a = factor}}, x), 0);
}
