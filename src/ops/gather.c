/* Rows of a table by index (an embedding), and the sparse gradient this gives: the rows that were
 * read and no others. */
#include "base/err.h"
#include "ops/op.h"
#include "ops/ops.h"

/* index.shape + the shape of a table row */
static struct shape looked_up(const struct tensor *index, const struct tensor *table)
{
    struct shape s = index->shape;

    for (int i = 1; i < table->shape.rank && s.rank < MAX_RANK; i++)
        s.dim[s.rank++] = table->shape.dim[i];
    return s;
}

/* y[i.., :] = table[index[i..], :], or 0 where the index is negative (padding; a fresh sequence).
 * An index past the table is an error in the data. */
static int gather_shape(struct node *n)
{
    const struct tensor *const table = n->in[0], *const index = n->in[1];
    char ta[SHAPE_TEXT], tb[SHAPE_TEXT];

    TRY(op_want_shape(n, 0, DT_F32, table->shape));
    TRY(op_want_shape(n, 1, DT_I32, index->shape));
    if (table->shape.rank < 2 || table->shape.rank + index->shape.rank - 1 > MAX_RANK)
        return err(E_SHAPE, "table %s looked up at %s: wanted rows, and at most %d dimensions",
                   shape_text(table->shape, ta), shape_text(index->shape, tb), MAX_RANK);
    n->out[0]->shape = looked_up(index, table);
    return 0;
}

/* A sparse weight's gradient stays rows; anything else gets a dense one. */
static void gather_gradient(struct graph *g, const struct grad *gr)
{
    const struct node *const n = gr->node;
    struct tensor *const table = n->in[0];
    struct node *d;
    struct sparse_grad s;

    if (!gr->want[0])
        return;
    d = GRAPH_NODE(g, &op_gather_grad, (union attr){0}, n->in[1], gr->dout[0], table);
    s = (struct sparse_grad){table, node_out(d, 0), node_out(d, 1), node_out(d, 2)};
    if (table->weight && table->weight->attr.sparse)
        graph_add_sparse_grad(g, s);
    else
        gr->din[0] = sparse_to_dense(g, s);
}

static void gather_cost(const struct node *n, struct cost *c)
{
    c->flops = 0;
    c->bytes = (double)tensor_bytes(n->in[1]) + 2.0 * (double)tensor_bytes(n->out[0]);
}

const struct op op_gather = {OP_HEAD(gather), .n_out = 1, .shape = gather_shape,
                             .grad = gather_gradient, .cost = gather_cost};

struct tensor *gather(struct graph *g, struct tensor *table, struct tensor *index)
{
    return node_out(GRAPH_NODE(g, &op_gather, (union attr){0}, table, index), 0);
}

struct tensor *embedding(struct graph *g, struct tensor *index, const char *name, struct embed c)
{
    struct tensor *table;

    scope_begin(g, "%s", name);
    table = graph_weight(g, "weight", T_PARAM, SHAPE(c.rows, c.width),
                         (struct init){INIT_NORMAL, c.sd > 0 ? c.sd : 1},
                         (struct weight_attr){.sparse = !c.dense, .sharded = c.sharded});
    index = gather(g, table, index);
    scope_end(g);
    return index;
}

/* Inputs: index, dy, the table for its shape. With n the most rows that can differ (the smaller of
 * the number of indices and of table rows): indices[n], distinct, rising, padded with -1;
 * rows[n,:], the sum of the dy of each, added in the order of the lookups, padded with 0; count,
 * how many. */
static int gather_grad_shape(struct node *n)
{
    const struct tensor *const table = n->in[2];
    const int64_t looked = tensor_count(n->in[0]), rows = table->shape.dim[0];
    const int64_t most = looked < rows ? looked : rows;

    TRY(op_want_shape(n, 0, DT_I32, n->in[0]->shape));
    TRY(op_want_shape(n, 1, DT_F32, looked_up(n->in[0], table)));
    n->out[0]->shape = SHAPE(most);
    n->out[0]->dtype = n->out[2]->dtype = DT_I32;
    n->out[1]->shape = table->shape;
    n->out[1]->shape.dim[0] = most;
    n->out[2]->shape = shape_scalar();
    return 0;
}

static void gather_grad_cost(const struct node *n, struct cost *c)
{
    c->flops = (double)tensor_count(n->in[1]);
    c->bytes -= (double)tensor_bytes(n->in[2]);
}

const struct op op_gather_grad = {OP_HEAD(gather_grad), .n_out = 3, .shape = gather_grad_shape,
                                  .cost = gather_grad_cost};
