/* The k largest of every row, in a fixed shape: rows that hold fewer are padded and masked. */
#include "base/err.h"
#include "ops/op.h"
#include "ops/ops.h"

/* Inputs: x[n,m], and how many elements of each row are valid, int32 [n]. Outputs [n,k]: values in
 * falling order, the first of equals first; their places in the row, int32; mask, 1 for a value and
 * 0 for padding, whose value is 0 and place -1. */
static int topk_shape(struct node *n)
{
    const int k = n->attr.topk.k;

    TRY(op_want_rank(n, 0, 2));
    TRY(op_want_shape(n, 0, DT_F32, n->in[0]->shape));
    TRY(op_want_shape(n, 1, DT_I32, SHAPE(n->in[0]->shape.dim[0])));
    if (k < 1)
        return err(E_SHAPE, "k is %d, wanted at least 1", k);
    for (int i = 0; i < 3; i++)
        n->out[i]->shape = SHAPE(n->in[0]->shape.dim[0], k);
    n->out[1]->dtype = DT_I32;
    return 0;
}

static void topk_gradient(struct graph *g, const struct grad *gr)
{
    const struct node *const n = gr->node;

    if (gr->dout[0])
        gr->din[0] =
            node_out(GRAPH_NODE(g, &op_topk_grad, n->attr, gr->dout[0], n->out[1], n->in[0]), 0);
}

static void topk_cost(const struct node *n, struct cost *c)
{
    c->flops = (double)tensor_count(n->in[0]);
}

const struct op op_topk = {OP_HEAD(topk), .n_out = 3, .shape = topk_shape, .grad = topk_gradient,
                           .cost = topk_cost};

struct topk_out topk(struct graph *g, struct tensor *x, struct tensor *count, int k)
{
    const struct node *const n = GRAPH_NODE(g, &op_topk, (union attr){.topk = {.k = k}}, x, count);

    return (struct topk_out){node_out(n, 0), node_out(n, 1), node_out(n, 2)};
}

/* Inputs: dvalues, places, x for its shape. dx[n, place] = dvalues; 0 elsewhere. A row's places are
 * distinct, so nothing is added twice and the order does not matter. */
static int topk_grad_shape(struct node *n)
{
    TRY(op_want_rank(n, 2, 2));
    TRY(op_want_shape(n, 0, DT_F32, SHAPE(n->in[2]->shape.dim[0], n->attr.topk.k)));
    op_out_like(n, 0, 2);
    return op_want_shape(n, 1, DT_I32, n->in[0]->shape);
}

static void topk_grad_cost(const struct node *n, struct cost *c)
{
    c->flops = (double)tensor_count(n->in[0]);
    c->bytes -= (double)tensor_bytes(n->in[2]);
}

const struct op op_topk_grad = {OP_HEAD(topk_grad), .n_out = 1, .shape = topk_grad_shape,
                                .cost = topk_grad_cost};
