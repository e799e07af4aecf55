/* Batch normalisation (Ioffe, Szegedy 2015), a composite: models and gradients speak of it as one
 * node with its saved statistics; before fusion it becomes statistics, finalise and apply, and its
 * gradient becomes reduce and apply, so that each part can fuse with its neighbours and ranks can
 * share statistics between two parts. M below is the number of rows: all dimensions but the last.
 */
#include "base/err.h"
#include "ops/op.h"
#include "ops/ops.h"

/* Inputs: x, gamma, beta, running mean, running variance. Outputs: y, mean, 1/sqrt(var+eps). */
static int batchnorm_shape(struct node *n)
{
    if (n->in[0]->shape.rank < 2)
        return op_want_rank(n, 0, 2);
    TRY(op_want_shape(n, 0, DT_F32, n->in[0]->shape));
    TRY(op_want_per_channel(n, 0, 1, 4));
    op_out_like(n, 0, 0);
    op_out_like(n, 1, 1);
    op_out_like(n, 2, 1);
    return 0;
}

static void batchnorm_gradient(struct graph *g, const struct grad *gr)
{
    const struct node *const n = gr->node;
    struct tensor *const mean = n->attr.norm.frozen ? n->in[3] : n->out[1];
    struct node *const d = GRAPH_NODE(g, &op_batchnorm_grad, n->attr, n->in[0], gr->dout[0], mean,
                                      n->out[2], n->in[1]);

    for (int i = 0; i < 3; i++)
        gr->din[i] = node_out(d, i);
}

static void batchnorm_lower(struct graph *g, struct node *n)
{
    struct tensor *const x = n->in[0];
    struct tensor *mean = n->in[3];
    struct node *finalise, *apply;

    if (n->attr.norm.frozen) {
        finalise =
            GRAPH_NODE(g, &op_rsqrt, (union attr){.reals = {.a = n->attr.norm.eps}}, n->in[4]);
    } else {
        struct node *const stats = GRAPH_NODE(g, &op_bn_stats, n->attr, x);
        mean = node_out(stats, 0);
        if (mean)
            node_take(stats, 0, n->out[1]);
        mean = n->out[1];
        finalise = GRAPH_NODE(g, &op_bn_finalise, n->attr, mean, node_out(stats, 1), n->in[3],
                              n->in[4], x);
    }
    if (finalise)
        node_take(finalise, 0, n->out[2]);
    apply = GRAPH_NODE(g, &op_bn_apply, (union attr){0}, x, mean, n->out[2], n->in[1], n->in[2]);
    if (apply)
        node_take(apply, 0, n->out[0]);
}

const struct op op_batchnorm = {OP_HEAD(batchnorm),       .n_out = 3,
                                .shape = batchnorm_shape, .grad = batchnorm_gradient,
                                .lower = batchnorm_lower, .writes = 1u << 3 | 1u << 4};

/* Inputs: x, dy, mean, invstd, gamma. Outputs: dx, dgamma, dbeta. */
static int batchnorm_grad_shape(struct node *n)
{
    op_out_like(n, 0, 0);
    op_out_like(n, 1, 4);
    op_out_like(n, 2, 4);
    TRY(op_want_per_channel(n, 0, 2, 4));
    return op_want_same(n, 0, 1);
}

static void batchnorm_grad_lower(struct graph *g, struct node *n)
{
    struct node *const reduce =
        GRAPH_NODE(g, &op_bn_grad_reduce, n->attr, n->in[0], n->in[1], n->in[2], n->in[3]);
    struct node *apply;

    if (reduce) {
        node_take(reduce, 0, n->out[1]);
        node_take(reduce, 1, n->out[2]);
    }
    apply = GRAPH_NODE(g, &op_bn_grad_apply, n->attr, n->in[1], n->in[0], n->in[2], n->in[3],
                       n->in[4], n->out[1], n->out[2]);
    if (apply)
        node_take(apply, 0, n->out[0]);
}

const struct op op_batchnorm_grad = {OP_HEAD(batchnorm_grad), .n_out = 3,
                                     .shape = batchnorm_grad_shape, .lower = batchnorm_grad_lower};

struct tensor *batchnorm(struct graph *g, struct tensor *x, const char *name, struct norm c)
{
    const struct shape s = SHAPE(channels(x));
    const struct weight_attr plain = {.no_decay = 1};
    struct tensor *gamma, *beta, *mean, *var;

    if (!x)
        return NULL;
    c.eps = c.eps > 0 ? c.eps : 1e-5;
    c.momentum = c.momentum > 0 ? c.momentum : 0.1;
    c.frozen |= g->mode == GRAPH_EVAL;
    scope_begin(g, "%s.bn", name);
    gamma = graph_weight(g, "weight", T_PARAM, s, (struct init){INIT_CONSTANT, 1}, plain);
    beta = graph_weight(g, "bias", T_PARAM, s, (struct init){INIT_ZERO, 0}, plain);
    mean = graph_weight(g, "running_mean", T_STATE, s, (struct init){INIT_ZERO, 0}, plain);
    var = graph_weight(g, "running_var", T_STATE, s, (struct init){INIT_CONSTANT, 1}, plain);
    x = node_out(GRAPH_NODE(g, &op_batchnorm, (union attr){.norm = c}, x, gamma, beta, mean, var),
                 0);
    scope_end(g);
    return x;
}
