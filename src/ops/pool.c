/* Pooling over images [N,H,W,C]. */
#include "base/err.h"
#include "ops/op.h"
#include "ops/ops.h"

/* y[n,p,q,c] = max over the k x k window at (p*stride-pad, q*stride-pad), outside the image
 * excluded; the second output is the place of the first maximum inside its window, r*k+s, so that
 * the gradient goes to one pixel. */
/* What the pooling makes of input `image`. */
static int pool_result(const struct node *n, int image, struct shape *y)
{
    const struct pool *const p = &n->attr.pool;
    const struct shape *const x = &n->in[image]->shape;
    char text[SHAPE_TEXT];

    TRY(op_want_rank(n, image, 4));
    TRY(op_want_shape(n, image, DT_F32, *x));
    if (p->k < 1 || p->k > 15 || p->stride < 1 || p->pad < 0 || 2 * p->pad >= p->k + 1)
        return err(E_SHAPE,
                   "window %d, stride %d, pad %d: wanted a window of 1 to 15, a positive stride "
                   "and a pad of at "
                   "most half the window",
                   p->k, p->stride, p->pad);
    if (x->dim[1] + 2 * p->pad < p->k || x->dim[2] + 2 * p->pad < p->k)
        return err(E_SHAPE, "image %s is smaller than the %dx%d window", shape_text(*x, text), p->k,
                   p->k);
    *y = SHAPE(x->dim[0], (x->dim[1] + 2 * p->pad - p->k) / p->stride + 1,
               (x->dim[2] + 2 * p->pad - p->k) / p->stride + 1, x->dim[3]);
    return 0;
}

static int maxpool_shape(struct node *n)
{
    TRY(pool_result(n, 0, &n->out[0]->shape));
    n->out[1]->shape = n->out[0]->shape;
    n->out[1]->dtype = DT_U8;
    return 0;
}

static void maxpool_gradient(struct graph *g, const struct grad *gr)
{
    const struct node *const n = gr->node;

    gr->din[0] =
        node_out(GRAPH_NODE(g, &op_maxpool_grad, n->attr, gr->dout[0], n->out[1], n->in[0]), 0);
}

static void window_cost(const struct node *n, struct cost *c)
{
    c->flops = (double)n->attr.pool.k * n->attr.pool.k * (double)tensor_count(n->out[0]);
}

const struct op op_maxpool = {OP_HEAD(maxpool),         .n_out = 2,          .shape = maxpool_shape,
                              .grad = maxpool_gradient, .cost = window_cost, .narrow_in = 1,
                              .narrow_out = 1,          .narrow_follows = 1};

struct tensor *maxpool(struct graph *g, struct tensor *x, struct pool p)
{
    return node_out(GRAPH_NODE(g, &op_maxpool, (union attr){.pool = p}, x), 0);
}

/* Inputs: dy, the places of the maxima, x for its shape. dx = the sum of the dy whose maximum was
 * here. */
static int maxpool_grad_shape(struct node *n)
{
    struct shape y;

    TRY(pool_result(n, 2, &y));
    TRY(op_want_shape(n, 0, DT_F32, y));
    op_out_like(n, 0, 2);
    return op_want_shape(n, 1, DT_U8, y);
}

static void maxpool_grad_cost(const struct node *n, struct cost *c)
{
    c->flops = (double)tensor_count(n->in[0]);
    c->bytes -= (double)tensor_bytes(n->in[2]);
}

const struct op op_maxpool_grad = {OP_HEAD(maxpool_grad),
                                   .n_out = 1,
                                   .shape = maxpool_grad_shape,
                                   .cost = maxpool_grad_cost,
                                   .narrow_in = 1u << 0 | 1u << 2,
                                   .narrow_out = 1,
                                   .narrow_follows = 1};

/* y[n,c] = mean over h, w of x[n,h,w,c] */
static int avgpool_shape(struct node *n)
{
    TRY(op_want_rank(n, 0, 4));
    TRY(op_want_shape(n, 0, DT_F32, n->in[0]->shape));
    n->out[0]->shape = SHAPE(n->in[0]->shape.dim[0], n->in[0]->shape.dim[3]);
    return 0;
}

static void avgpool_gradient(struct graph *g, const struct grad *gr)
{
    gr->din[0] =
        node_out(GRAPH_NODE(g, &op_avgpool_grad, (union attr){0}, gr->dout[0], gr->node->in[0]), 0);
}

static void avgpool_cost(const struct node *n, struct cost *c)
{
    c->flops = (double)tensor_count(n->in[0]);
}

const struct op op_avgpool = {
    OP_HEAD(avgpool),     .n_out = 1,     .shape = avgpool_shape, .grad = avgpool_gradient,
    .cost = avgpool_cost, .narrow_in = 1, .narrow_follows = 1};

/* Inputs: dy, x for its shape. dx[n,h,w,c] = dy[n,c] / (H*W) */
static int avgpool_grad_shape(struct node *n)
{
    TRY(op_want_rank(n, 1, 4));
    op_out_like(n, 0, 1);
    return op_want_shape(n, 0, DT_F32, SHAPE(n->in[1]->shape.dim[0], n->in[1]->shape.dim[3]));
}

static void avgpool_grad_cost(const struct node *n, struct cost *c)
{
    c->bytes -= (double)tensor_bytes(n->in[1]);
}

const struct op op_avgpool_grad = {
    OP_HEAD(avgpool_grad), .n_out = 1,      .shape = avgpool_grad_shape, .cost = avgpool_grad_cost,
    .narrow_in = 1u << 1,  .narrow_out = 1, .narrow_follows = 1};

struct tensor *avgpool_all(struct graph *g, struct tensor *x)
{
    return node_out(GRAPH_NODE(g, &op_avgpool, (union attr){0}, x), 0);
}
