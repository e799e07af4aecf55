/* Taking a tensor apart along an axis, and putting tensors together along the last. */
#include "base/err.h"
#include "ops/op.h"
#include "ops/ops.h"

/* y[.., i, ..] = x[.., begin + i, ..] for i < length, along one axis */
static int slice_shape(struct node *n)
{
    const struct slice *const c = &n->attr.slice;
    const struct shape *const x = &n->in[0]->shape;
    char text[SHAPE_TEXT];

    TRY(op_want_shape(n, 0, DT_F32, *x));
    if (c->axis < 0 || c->axis >= x->rank)
        return err(E_SHAPE, "axis %d of %s, which has %d dimensions", c->axis, shape_text(*x, text),
                   x->rank);
    if (c->begin < 0 || c->length < 1 || c->length > x->dim[c->axis] - c->begin)
        return err(E_SHAPE, "elements %lld to %lld along axis %d of %s: they are not all there",
                   (long long)c->begin, (long long)(c->begin + c->length), c->axis,
                   shape_text(*x, text));
    n->out[0]->shape = *x;
    n->out[0]->shape.dim[c->axis] = c->length;
    return 0;
}

static void slice_gradient(struct graph *g, const struct grad *gr)
{
    const struct node *const n = gr->node;

    gr->din[0] = node_out(GRAPH_NODE(g, &op_slice_grad, n->attr, gr->dout[0], n->in[0]), 0);
}

static void slice_cost(const struct node *n, struct cost *c)
{
    *c = (struct cost){.bytes = 2.0 * (double)tensor_bytes(n->out[0])};
}

const struct op op_slice = {OP_HEAD(slice), .n_out = 1, .shape = slice_shape,
                            .grad = slice_gradient, .cost = slice_cost};

struct tensor *slice(struct graph *g, struct tensor *x, struct slice c)
{
    return node_out(GRAPH_NODE(g, &op_slice, (union attr){.slice = c}, x), 0);
}

/* Inputs: dy, x for its shape. dx = dy where the slice was, 0 elsewhere */
static int slice_grad_shape(struct node *n)
{
    const struct slice *const c = &n->attr.slice;
    struct shape part = n->in[1]->shape;

    if (c->axis < 0 || c->axis >= part.rank || c->begin < 0 || c->length < 1 ||
        c->length > part.dim[c->axis] - c->begin)
        return err(E_SHAPE, "elements %lld to %lld along axis %d: they are not all there",
                   (long long)c->begin, (long long)(c->begin + c->length), c->axis);
    part.dim[c->axis] = c->length;
    op_out_like(n, 0, 1);
    return op_want_shape(n, 0, DT_F32, part);
}

static void slice_grad_cost(const struct node *n, struct cost *c)
{
    *c = (struct cost){.bytes = (double)(tensor_bytes(n->in[0]) + tensor_bytes(n->out[0]))};
}

const struct op op_slice_grad = {OP_HEAD(slice_grad), .n_out = 1, .shape = slice_grad_shape,
                                 .cost = slice_grad_cost};

/* y[.., :] = x0[.., :], x1[.., :], ...: all dimensions but the last are equal */
static int concat_shape(struct node *n)
{
    struct shape *const y = &n->out[0]->shape;
    int64_t wide = 0;

    if (n->n_in > 16)
        return err(E_SHAPE, "%d tensors to concatenate, at most 16 can be", n->n_in);
    if (n->in[0]->shape.rank < 1)
        return op_want_rank(n, 0, 1);
    *y = n->in[0]->shape;
    for (int i = 0; i < n->n_in; i++) {
        y->dim[y->rank - 1] = channels(n->in[i]);
        TRY(op_want_shape(n, i, DT_F32, *y));
        wide += channels(n->in[i]);
    }
    y->dim[y->rank - 1] = wide;
    return 0;
}

static void concat_gradient(struct graph *g, const struct grad *gr)
{
    struct slice c = {.axis = gr->dout[0]->shape.rank - 1};

    for (int i = 0; i < gr->node->n_in; i++) {
        c.length = channels(gr->node->in[i]);
        if (gr->want[i])
            gr->din[i] = slice(g, gr->dout[0], c);
        c.begin += c.length;
    }
}

const struct op op_concat = {OP_HEAD(concat), .n_out = 1, .shape = concat_shape,
                             .grad = concat_gradient, .cost = slice_cost};

struct tensor *concat(struct graph *g, struct tensor *const *x, int n)
{
    return node_out(graph_node(g, &op_concat, (union attr){0}, x, n), 0);
}
