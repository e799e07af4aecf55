/* Softmax cross entropy with label smoothing and one weight per row, and top-1.
 * p = softmax(logits[n]); target[c] = (1-s)*[c == label] + s/C; loss_sum = sum_n weight[n] * -sum_c
 * target[c] log p[c]; weight_sum = sum_n weight[n], both over rows with weight > 0 and label >= 0.
 */
#include "base/err.h"
#include "ops/op.h"
#include "ops/ops.h"

static int rows_shape(const struct node *n)
{
    const struct shape per_row = SHAPE(n->in[0]->shape.dim[0]);

    TRY(op_want_rank(n, 0, 2));
    TRY(op_want_shape(n, 0, DT_F32, n->in[0]->shape));
    TRY(op_want_shape(n, 1, DT_I32, per_row));
    return op_want_shape(n, 2, DT_F32, per_row);
}

static int xent_shape(struct node *n)
{
    const double s = n->attr.loss.smoothing;

    if (s < 0 || s >= 1)
        return err(E_SHAPE, "label smoothing %g is outside of [0, 1)", s);
    n->out[0]->shape = n->out[1]->shape = shape_scalar();
    return rows_shape(n);
}

static void xent_gradient(struct graph *g, const struct grad *gr)
{
    const struct node *const n = gr->node;

    if (gr->dout[0])
        gr->din[0] = node_out(GRAPH_NODE(g, &op_softmax_xent_grad, n->attr, n->in[0], n->in[1],
                                         n->in[2], gr->dout[0]),
                              0);
}

static void xent_cost(const struct node *n, struct cost *c)
{
    c->flops = 5.0 * (double)tensor_count(n->in[0]);
}

const struct op op_softmax_xent = {OP_HEAD(softmax_xent), .n_out = 2, .shape = xent_shape,
                                   .grad = xent_gradient, .cost = xent_cost};

/* Inputs: logits, labels, weights, dsum (scalar). dlogits[n,c] = dsum * weight[n] * (p[c] -
 * target[c]). */
static int xent_grad_shape(struct node *n)
{
    op_out_like(n, 0, 0);
    TRY(rows_shape(n));
    return op_want_shape(n, 3, DT_F32, shape_scalar());
}

const struct op op_softmax_xent_grad = {OP_HEAD(softmax_xent_grad), .n_out = 1,
                                        .shape = xent_grad_shape, .cost = xent_cost};

struct sum_weight softmax_xent(struct graph *g, struct tensor *logits, struct tensor *labels,
                               struct tensor *weights, struct loss c)
{
    struct node *const n =
        GRAPH_NODE(g, &op_softmax_xent, (union attr){.loss = c}, logits, labels, weights);

    return (struct sum_weight){node_out(n, 0), node_out(n, 1)};
}

static int top1_shape(struct node *n)
{
    n->out[0]->shape = shape_scalar();
    return rows_shape(n);
}

static void top1_cost(const struct node *n, struct cost *c)
{
    c->flops = (double)tensor_count(n->in[0]);
}

const struct op op_top1 = {OP_HEAD(top1), .n_out = 1, .shape = top1_shape, .cost = top1_cost};

struct tensor *top1(struct graph *g, struct tensor *logits, struct tensor *labels,
                    struct tensor *weights)
{
    return node_out(GRAPH_NODE(g, &op_top1, (union attr){0}, logits, labels, weights), 0);
}
