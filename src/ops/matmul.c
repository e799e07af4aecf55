/* Matrix product y = op(a) op(b), op transposing where the attribute says so; all four gradients
 * are products too. */
#include "base/err.h"
#include "ops/op.h"
#include "ops/ops.h"

static int matmul_shape(struct node *n)
{
    const struct matmul *const m = &n->attr.matmul;
    const int64_t *const a = n->in[0]->shape.dim, *const b = n->in[1]->shape.dim;
    char ta[SHAPE_TEXT], tb[SHAPE_TEXT];

    TRY(op_want_rank(n, 0, 2));
    TRY(op_want_rank(n, 1, 2));
    TRY(op_want_shape(n, 0, DT_F32, n->in[0]->shape));
    TRY(op_want_shape(n, 1, DT_F32, n->in[1]->shape));
    if (a[!m->transpose_a] != b[m->transpose_b])
        return err(E_SHAPE, "%s%s times %s%s: the inner sizes differ",
                   shape_text(n->in[0]->shape, ta), m->transpose_a ? "^T" : "",
                   shape_text(n->in[1]->shape, tb), m->transpose_b ? "^T" : "");
    n->out[0]->shape = SHAPE(a[m->transpose_a], b[!m->transpose_b]);
    return 0;
}

/* With A = op(a), B = op(b): dA = dy B^T and dB = A^T dy; where an operand is stored transposed, so
 * is its gradient. */
static void matmul_gradient(struct graph *g, const struct grad *gr)
{
    const struct matmul m = gr->node->attr.matmul;
    struct tensor *const a = gr->node->in[0], *const b = gr->node->in[1], *const dy = gr->dout[0];

    if (gr->want[0])
        gr->din[0] = m.transpose_a ? matmul(g, b, dy, (struct matmul){m.transpose_b, 1})
                                   : matmul(g, dy, b, (struct matmul){0, !m.transpose_b});
    if (gr->want[1])
        gr->din[1] = m.transpose_b ? matmul(g, dy, a, (struct matmul){1, m.transpose_a})
                                   : matmul(g, a, dy, (struct matmul){!m.transpose_a, 0});
}

static void matmul_cost(const struct node *n, struct cost *c)
{
    const int64_t inner = n->in[0]->shape.dim[!n->attr.matmul.transpose_a];

    c->flops = 2.0 * (double)tensor_count(n->out[0]) * (double)inner;
}

const struct op op_matmul = {OP_HEAD(matmul),         .n_out = 1,          .shape = matmul_shape,
                             .grad = matmul_gradient, .cost = matmul_cost, .narrow_in = 3};

struct tensor *matmul(struct graph *g, struct tensor *a, struct tensor *b, struct matmul m)
{
    return node_out(GRAPH_NODE(g, &op_matmul, (union attr){.matmul = m}, a, b), 0);
}

struct tensor *linear(struct graph *g, struct tensor *x, const char *name, int out, double sd)
{
    struct tensor *w, *b;

    scope_begin(g, "%s", name);
    w = graph_weight(g, "weight", T_PARAM, SHAPE(out, channels(x)), (struct init){INIT_NORMAL, sd},
                     (struct weight_attr){0});
    b = graph_weight(g, "bias", T_PARAM, SHAPE(out), (struct init){INIT_ZERO, 0},
                     (struct weight_attr){.no_decay = 1});
    x = bias_add(g, matmul(g, x, w, (struct matmul){.transpose_b = 1}), b);
    scope_end(g);
    return x;
}
