/* Every rank sends a part of its rows to every rank: how sharded tables are asked and answered. */
#include "base/err.h"
#include "ops/op.h"
#include "ops/ops.h"

/* x is `ranks` blocks of rows; block s of y on rank r is block r of x on rank s. One rank: y = x.
 * The exchange is its own inverse and its own transpose, so it is its own gradient. */
static int all_to_all_shape(struct node *n)
{
    const int ranks = n->attr.exchange.ranks;
    char text[SHAPE_TEXT];

    if (n->in[0]->shape.rank < 1)
        return op_want_rank(n, 0, 1);
    if (ranks < 1 || n->in[0]->shape.dim[0] % ranks)
        return err(E_SHAPE, "the rows of %s do not divide among %d ranks",
                   shape_text(n->in[0]->shape, text), ranks);
    op_out_like(n, 0, 0);
    return 0;
}

static void all_to_all_gradient(struct graph *g, const struct grad *gr)
{
    gr->din[0] = all_to_all(g, gr->dout[0], gr->node->attr.exchange);
}

static void all_to_all_cost(const struct node *n, struct cost *c)
{
    (void)n;
    c->flops = 0;
}

const struct op op_all_to_all = {OP_HEAD(all_to_all), .n_out = 1, .shape = all_to_all_shape,
                                 .grad = all_to_all_gradient, .cost = all_to_all_cost};

struct tensor *all_to_all(struct graph *g, struct tensor *x, struct exchange c)
{
    c.ranks = c.ranks ? c.ranks : 1;
    return node_out(GRAPH_NODE(g, &op_all_to_all, (union attr){.exchange = c}, x), 0);
}
