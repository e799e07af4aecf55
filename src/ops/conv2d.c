/* Two-dimensional convolution (cross-correlation, as the field has it) and its two gradients.
 * y[n,p,q,o] = sum x[n, p*stride+r-pad, q*stride+s-pad, i] * w[o,r,s,i]; outside the image x is
 * zero. */
#include <math.h>

#include "base/err.h"
#include "ops/op.h"
#include "ops/ops.h"

static int64_t out_size(int64_t in, const struct conv *c)
{
    return (in + 2 * (int64_t)c->pad - c->k) / c->stride + 1;
}

/* What the convolution makes of input `image`. */
static int conv_result(const struct node *n, int image, struct shape *y)
{
    const struct conv *const c = &n->attr.conv;
    const struct shape *const x = &n->in[image]->shape;
    char text[SHAPE_TEXT];

    TRY(op_want_rank(n, image, 4));
    TRY(op_want_shape(n, image, DT_F32, *x));
    if (c->out < 1 || c->k < 1 || c->stride < 1 || c->pad < 0 || c->pad >= c->k)
        return err(E_SHAPE,
                   "out %d, kernel %d, stride %d, pad %d: each must be positive (pad may be zero), "
                   "and pad below kernel",
                   c->out, c->k, c->stride, c->pad);
    if (out_size(x->dim[1], c) < 1 || out_size(x->dim[2], c) < 1)
        return err(E_SHAPE, "image %s is smaller than the %dx%d kernel with pad %d",
                   shape_text(*x, text), c->k, c->k, c->pad);
    *y = SHAPE(x->dim[0], out_size(x->dim[1], c), out_size(x->dim[2], c), c->out);
    return 0;
}

static struct shape weights_shape(const struct node *n, int image)
{
    const struct conv *const c = &n->attr.conv;

    return SHAPE(c->out, c->k, c->k, n->in[image]->shape.dim[3]);
}

static int conv2d_shape(struct node *n)
{
    TRY(conv_result(n, 0, &n->out[0]->shape));
    return op_want_shape(n, 1, DT_F32, weights_shape(n, 0));
}

/* Along one axis, summed over the outputs: the taps that read the image and not its padding. */
static double count_taps(int64_t in, int64_t out, const struct conv *c)
{
    int64_t n = 0;

    for (int64_t o = 0; o < out; o++) {
        const int64_t first = o * c->stride - c->pad;

        n += (first + c->k < in ? first + c->k : in) - (first > 0 ? first : 0);
    }
    return (double)n;
}

/* A multiplication and an addition for each tap of each output, pair of channels and image; the
 * same in all three convolutions. */
static void conv_flops(const struct conv *v, struct shape x, struct shape y, struct cost *c)
{
    c->flops = 2.0 * (double)x.dim[0] * count_taps(x.dim[1], y.dim[1], v) *
               count_taps(x.dim[2], y.dim[2], v) * (double)x.dim[3] * (double)y.dim[3];
}

/* Along one axis, the taps that read the image for some output. */
static int64_t useful_taps(int64_t in, int64_t out, const struct conv *c)
{
    const int64_t last = (out - 1) * c->stride; /* where the last output starts, from the padding */

    return (in + c->pad < c->k ? in + c->pad : c->k) - (last < c->pad ? c->pad - last : 0);
}

/* The weights of the other taps need not be read. */
static void leave_out_weights(const struct conv *v, struct shape x, struct shape y,
                              const struct tensor *w, struct cost *c)
{
    const int64_t all = (int64_t)v->k * v->k;
    const int64_t useful = useful_taps(x.dim[1], y.dim[1], v) * useful_taps(x.dim[2], y.dim[2], v);

    c->bytes -= (double)tensor_bytes(w) / (double)all * (double)(all - useful);
}

static void conv2d_cost(const struct node *n, struct cost *c)
{
    conv_flops(&n->attr.conv, n->in[0]->shape, n->out[0]->shape, c);
    leave_out_weights(&n->attr.conv, n->in[0]->shape, n->out[0]->shape, n->in[1], c);
}

static void conv2d_grad(struct graph *g, const struct grad *gr)
{
    const struct node *const n = gr->node;

    if (gr->want[0])
        gr->din[0] =
            node_out(GRAPH_NODE(g, &op_conv2d_grad_x, n->attr, gr->dout[0], n->in[1], n->in[0]), 0);
    if (gr->want[1])
        gr->din[1] = node_out(GRAPH_NODE(g, &op_conv2d_grad_w, n->attr, n->in[0], gr->dout[0]), 0);
}

const struct op op_conv2d = {OP_HEAD(conv2d),     .n_out = 1,          .shape = conv2d_shape,
                             .grad = conv2d_grad, .cost = conv2d_cost, .narrow_in = 3,
                             .narrow_out = 1};

/* dx[n,h,w,i] = sum over (p,q,r,s) that touch (h,w) of dy[n,p,q,o] * w[o,r,s,i]. Inputs: dy, w, and
 * x for its shape. */
static int grad_x_shape(struct node *n)
{
    struct shape y;

    TRY(conv_result(n, 2, &y));
    TRY(op_want_shape(n, 0, DT_F32, y));
    op_out_like(n, 0, 2);
    return op_want_shape(n, 1, DT_F32, weights_shape(n, 2));
}

static void grad_x_cost(const struct node *n, struct cost *c)
{
    conv_flops(&n->attr.conv, n->in[2]->shape, n->in[0]->shape, c);
    leave_out_weights(&n->attr.conv, n->in[2]->shape, n->in[0]->shape, n->in[1], c);
    c->bytes -= (double)tensor_bytes(n->in[2]);
}

const struct op op_conv2d_grad_x = {OP_HEAD(conv2d_grad_x), .n_out = 1,     .shape = grad_x_shape,
                                    .cost = grad_x_cost,    .narrow_in = 7, .narrow_out = 1};

/* dw[o,r,s,i] = sum_{n,p,q} x[n, p*stride+r-pad, q*stride+s-pad, i] * dy[n,p,q,o]. Inputs: x, dy.
 */
static int grad_w_shape(struct node *n)
{
    struct shape y;

    TRY(conv_result(n, 0, &y));
    n->out[0]->shape = weights_shape(n, 0);
    return op_want_shape(n, 1, DT_F32, y);
}

static void grad_w_cost(const struct node *n, struct cost *c)
{
    conv_flops(&n->attr.conv, n->in[0]->shape, n->in[1]->shape, c);
}

const struct op op_conv2d_grad_w = {OP_HEAD(conv2d_grad_w), .n_out = 1, .shape = grad_w_shape,
                                    .cost = grad_w_cost, .narrow_in = 3};

struct tensor *conv2d(struct graph *g, struct tensor *x, const char *name, struct conv c)
{
    struct tensor *w;
    int64_t fan_in;

    if (!x)
        return NULL;
    c.k = c.k ? c.k : 1;
    c.stride = c.stride ? c.stride : 1;
    fan_in = (int64_t)c.k * c.k * channels(x);
    scope_begin(g, "%s", name);
    w = graph_weight(g, "weight", T_PARAM, SHAPE(c.out, c.k, c.k, channels(x)),
                     (struct init){INIT_TRUNCATED_NORMAL, sqrt(2.0 / (double)fan_in)},
                     (struct weight_attr){0});
    x = node_out(GRAPH_NODE(g, &op_conv2d, (union attr){.conv = c}, x, w), 0);
    scope_end(g);
    return x;
}
