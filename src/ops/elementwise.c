/* Element by element, and the sums that are their gradients. */
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

/* y = max(x, 0) */
static void relu_gradient(struct graph *g, const struct grad *gr)
{
    gr->din[0] =
        node_out(GRAPH_NODE(g, &op_relu_grad, (union attr){0}, gr->dout[0], gr->node->out[0]), 0);
}

const struct op op_relu = {OP_HEAD(relu),         .n_out = 1,          .shape = like_first,
                           .grad = relu_gradient, .in_place = 1u << 0, .narrow_in = 1,
                           .narrow_out = 1,       .narrow_follows = 1};

struct tensor *relu(struct graph *g, struct tensor *x)
{
    return node_out(GRAPH_NODE(g, &op_relu, (union attr){0}, x), 0);
}

/* Inputs: dy, y, [more]. dx = y > 0 ? dy + more : 0; fusion adds the third. From y and not from x,
 * so that x need not be kept. */
static int relu_grad_shape(struct node *n)
{
    TRY(like_both(n));
    return n->n_in > 2 ? op_want_same(n, 0, 2) : 0;
}

const struct op op_relu_grad = {
    OP_HEAD(relu_grad), .n_out = 1,      .shape = relu_grad_shape, .in_place = 1u << 0 | 1u << 2,
    .narrow_in = 7,     .narrow_out = 1, .narrow_follows = 1};

/* y = a + b */
static void add_gradient(struct graph *g, const struct grad *gr)
{
    (void)g;
    gr->din[0] = gr->din[1] = gr->dout[0];
}

const struct op op_add = {OP_HEAD(add),
                          .n_out = 1,
                          .shape = like_both,
                          .grad = add_gradient,
                          .in_place = 1u << 0 | 1u << 1,
                          .narrow_in = 3,
                          .narrow_out = 1,
                          .narrow_follows = 1};

struct tensor *add(struct graph *g, struct tensor *a, struct tensor *b)
{
    return node_out(GRAPH_NODE(g, &op_add, (union attr){0}, a, b), 0);
}

/* y[..,c] = x[..,c] + b[c] */
static int bias_add_shape(struct node *n)
{
    TRY(like_first(n));
    return op_want_per_channel(n, 0, 1, 1);
}

static void bias_add_gradient(struct graph *g, const struct grad *gr)
{
    gr->din[0] = gr->dout[0];
    if (gr->want[1])
        gr->din[1] = sum_rows(g, gr->dout[0]);
}

const struct op op_bias_add = {OP_HEAD(bias_add), .n_out = 1, .shape = bias_add_shape,
                               .grad = bias_add_gradient, .in_place = 1u << 0};

struct tensor *bias_add(struct graph *g, struct tensor *x, struct tensor *b)
{
    return node_out(GRAPH_NODE(g, &op_bias_add, (union attr){0}, x, b), 0);
}

/* y[c] = sum over all other dimensions of x[..,c] */
static int sum_rows_shape(struct node *n)
{
    if (n->in[0]->shape.rank < 1)
        return op_want_rank(n, 0, 1);
    n->out[0]->shape = SHAPE(channels(n->in[0]));
    return op_want_shape(n, 0, DT_F32, n->in[0]->shape);
}

static void sum_rows_cost(const struct node *n, struct cost *c)
{
    c->flops = (double)tensor_count(n->in[0]);
}

const struct op op_sum_rows = {OP_HEAD(sum_rows), .n_out = 1, .shape = sum_rows_shape,
                               .cost = sum_rows_cost};

struct tensor *sum_rows(struct graph *g, struct tensor *x)
{
    return node_out(GRAPH_NODE(g, &op_sum_rows, (union attr){0}, x), 0);
}

/* y = 1 / sqrt(x + a) */
const struct op op_rsqrt = {OP_HEAD(rsqrt), .n_out = 1, .shape = like_first};

struct tensor *rsqrt(struct graph *g, struct tensor *x, double eps)
{
    return node_out(GRAPH_NODE(g, &op_rsqrt, (union attr){.reals = {.a = eps}}, x), 0);
}

/* y = value everywhere */
static int constant_shape(struct node *n)
{
    n->out[0]->shape = n->attr.fill.shape;
    return 0;
}

const struct op op_constant = {OP_HEAD(constant), .n_out = 1, .shape = constant_shape};

struct tensor *constant(struct graph *g, struct shape shape, double value)
{
    return node_out(graph_node(g, &op_constant, (union attr){.fill = {shape, value}}, NULL, 0), 0);
}

/* y[n,h,w,c] = (x[n,h,w,c] - mean[c]) * scale[c], from uint8. */
static int image_norm_shape(struct node *n)
{
    TRY(op_want_rank(n, 0, 4));
    TRY(op_want_shape(n, 0, DT_U8, n->in[0]->shape));
    if (channels(n->in[0]) > 4)
        return err(E_SHAPE, "images have %d channels, at most 4 can be normalised",
                   channels(n->in[0]));
    n->out[0]->shape = n->in[0]->shape;
    return 0;
}

static void image_norm_cost(const struct node *n, struct cost *c)
{
    c->flops = 2.0 * (double)tensor_count(n->in[0]);
}

const struct op op_image_norm = {OP_HEAD(image_norm), .n_out = 1, .shape = image_norm_shape,
                                 .cost = image_norm_cost, .narrow_out = 1};

struct tensor *image_norm(struct graph *g, struct tensor *x, struct image_norm c)
{
    return node_out(GRAPH_NODE(g, &op_image_norm, (union attr){.image_norm = c}, x), 0);
}

int channels(const struct tensor *x)
{
    return x && x->shape.rank > 0 ? (int)x->shape.dim[x->shape.rank - 1] : 0;
}
