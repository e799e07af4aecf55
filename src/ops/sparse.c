/* What becomes of a sparse gradient (indices[n], rows[n,:], count): an update, or a dense one. */
#include "base/err.h"
#include "ops/op.h"
#include "ops/ops.h"

/* rows are rows of the table, one index each, and count is an int32 scalar; they are inputs
 * first .. first + 2. */
static int want_sparse(const struct node *n, int first, const struct tensor *table)
{
    struct shape rows = table->shape;

    TRY(op_want_rank(n, first, 1));
    rows.dim[0] = n->in[first]->shape.dim[0];
    TRY(op_want_shape(n, first, DT_I32, SHAPE(rows.dim[0])));
    TRY(op_want_shape(n, first + 1, DT_F32, rows));
    return op_want_shape(n, first + 2, DT_I32, shape_scalar());
}

/* Inputs: indices, rows, count, the table for its shape. y[indices[i],:] = rows[i,:] for i < count;
 * 0 elsewhere. */
static int to_dense_shape(struct node *n)
{
    op_out_like(n, 0, 3);
    return want_sparse(n, 0, n->in[3]);
}

static void to_dense_cost(const struct node *n, struct cost *c)
{
    c->flops = 0;
    c->bytes -= (double)tensor_bytes(n->in[3]);
}

const struct op op_sparse_to_dense = {OP_HEAD(sparse_to_dense), .n_out = 1, .shape = to_dense_shape,
                                      .cost = to_dense_cost};

struct tensor *sparse_to_dense(struct graph *g, struct sparse_grad s)
{
    return node_out(
        GRAPH_NODE(g, &op_sparse_to_dense, (union attr){0}, s.indices, s.rows, s.count, s.table),
        0);
}

/* Inputs: table, indices, rows, count, lr, scale. table[indices[i],:] -= lr * lr_mult * scale *
 * rows[i,:] for i < count, in place; no other row is touched. Without momentum and decay the update
 * is linear, so that one node for each lookup adds up to one update by their sum. */
static int sparse_sgd_shape(struct node *n)
{
    TRY(want_sparse(n, 1, n->in[0]));
    TRY(op_want_shape(n, 4, DT_F32, shape_scalar()));
    return op_want_shape(n, 5, DT_F32, shape_scalar());
}

static void sparse_sgd_cost(const struct node *n, struct cost *c)
{
    c->flops = 2.0 * (double)tensor_count(n->in[2]);
    c->bytes = (double)tensor_bytes(n->in[1]) + 3.0 * (double)tensor_bytes(n->in[2]);
}

const struct op op_sparse_sgd = {OP_HEAD(sparse_sgd), .n_out = 0, .shape = sparse_sgd_shape,
                                 .cost = sparse_sgd_cost, .writes = 1u << 0};

void sparse_sgd_update(struct graph *g, struct sparse_grad s, struct tensor *lr,
                       struct tensor *scale_by, struct update u)
{
    GRAPH_NODE(g, &op_sparse_sgd, (union attr){.update = u}, s.table, s.indices, s.rows, s.count,
               lr, scale_by);
}
