/* What batch normalisation is lowered to. */
#include "base/err.h"
#include "ops/op.h"
#include "ops/ops.h"

/* mean[c] = sum_m x[m,c] / M; var[c] = sum_m (x[m,c] - mean[c])^2 / M (biased). */
static int stats_shape(struct node *n)
{
    TRY(op_want_per_channel(n, 0, 1, 0));
    n->out[0]->shape = n->out[1]->shape = SHAPE(channels(n->in[0]));
    return 0;
}

static void stats_cost(const struct node *n, struct cost *c)
{
    c->flops = 3.0 * (double)tensor_count(n->in[0]);
}

const struct op op_bn_stats = {OP_HEAD(bn_stats),  .n_out = 2,     .shape = stats_shape,
                               .cost = stats_cost, .narrow_in = 1, .narrow_follows = 1};

/* Inputs: mean, var, running mean, running var, and x for M. invstd = 1/sqrt(var+eps);
 * running = (1-momentum)*running + momentum*(mean, var*M/(M-1)). */
static int finalise_shape(struct node *n)
{
    op_out_like(n, 0, 0);
    return op_want_per_channel(n, 4, 0, 3);
}

static void finalise_cost(const struct node *n, struct cost *c)
{
    c->bytes -= (double)tensor_bytes(n->in[4]);
}

const struct op op_bn_finalise = {OP_HEAD(bn_finalise),        .n_out = 1,
                                  .shape = finalise_shape,     .cost = finalise_cost,
                                  .writes = 1u << 2 | 1u << 3, .narrow_in = 1u << 4,
                                  .narrow_follows = 1};

/* Inputs: x, mean, invstd, gamma, beta, [residual]. y = gamma*(x-mean)*invstd + beta [+ residual]
 * [, max 0]. */
static int apply_shape(struct node *n)
{
    TRY(op_want_per_channel(n, 0, 1, 4));
    if (n->n_in != 5 + (n->attr.bn_apply.residual != 0))
        return err(E_SHAPE, "%d inputs; the sixth is the residual, and residual is %d", n->n_in,
                   n->attr.bn_apply.residual);
    if (n->attr.bn_apply.residual)
        TRY(op_want_same(n, 0, 5));
    op_out_like(n, 0, 0);
    return 0;
}

static void apply_cost(const struct node *n, struct cost *c)
{
    const int per_element = 2 + n->attr.bn_apply.residual + n->attr.bn_apply.relu;

    c->flops = per_element * (double)tensor_count(n->in[0]);
}

const struct op op_bn_apply = {OP_HEAD(bn_apply),    .n_out = 1,
                               .shape = apply_shape, .cost = apply_cost,
                               .in_place = 1u << 5,  .narrow_in = 1u << 0 | 1u << 5,
                               .narrow_out = 1,      .narrow_follows = 1};

/* Inputs: x, dy, mean, invstd, [gamma, beta]. dgamma[c] = sum_m dy*(x-mean)*invstd; dbeta[c] =
 * sum_m dy. With relu, dy counts only where y = gamma*(x-mean)*invstd + beta > 0: y itself is not
 * read. */
/* With relu the last of the parameters come on top of `plain` inputs. */
static int want_relu_inputs(const struct node *n, int plain, int more)
{
    const int wanted = plain + (n->attr.norm.relu ? more : 0);

    return n->n_in == wanted ? 0
                             : err(E_SHAPE, "%d inputs, wanted %d with relu=%d", n->n_in, wanted,
                                   n->attr.norm.relu);
}

static int grad_reduce_shape(struct node *n)
{
    TRY(want_relu_inputs(n, 4, 2));
    op_out_like(n, 0, 2);
    op_out_like(n, 1, 2);
    TRY(op_want_per_channel(n, 0, 2, n->n_in - 1));
    return op_want_same(n, 0, 1);
}

static void grad_reduce_cost(const struct node *n, struct cost *c)
{
    c->flops = (4.0 + 3 * n->attr.norm.relu) * (double)tensor_count(n->in[0]);
}

const struct op op_bn_grad_reduce = {
    OP_HEAD(bn_grad_reduce),  .n_out = 2,     .shape = grad_reduce_shape,
    .cost = grad_reduce_cost, .narrow_in = 3, .narrow_follows = 1};

/* Inputs: dy, x, mean, invstd, gamma, dgamma, dbeta, [beta].
 * dx = gamma*invstd * (dy - dbeta/M - (x-mean)*invstd * dgamma/M); frozen: dx = gamma*invstd * dy.
 * With relu, dy counts as above. */
static int grad_apply_shape(struct node *n)
{
    TRY(want_relu_inputs(n, 7, 1));
    op_out_like(n, 0, 0);
    TRY(op_want_per_channel(n, 0, 2, n->n_in - 1));
    return op_want_same(n, 0, 1);
}

static void grad_apply_cost(const struct node *n, struct cost *c)
{
    c->flops = (5.0 + 3 * n->attr.norm.relu) * (double)tensor_count(n->in[0]);
}

const struct op op_bn_grad_apply = {
    OP_HEAD(bn_grad_apply), .n_out = 1,     .shape = grad_apply_shape, .cost = grad_apply_cost,
    .in_place = 1u << 0,    .narrow_in = 3, .narrow_out = 1,           .narrow_follows = 1};
