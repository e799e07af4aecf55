/* The fusion pass: ReLU and the sum of a residual branch join batch norm, forward and backward, and
 * a sum of gradients joins ReLU's, where the backend accepts; its refusal is kept for explain. */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "plan/passes.h"

/* The batch-norm application that alone feeds t, or NULL. */
static struct node *sole_apply(const struct tensor *t, const int *uses)
{
    struct node *const m = t->maker;

    return m && m->op == &op_bn_apply && uses[t->id] == 1 && !m->attr.bn_apply.relu ? m : NULL;
}

/* Whether the backend takes `fused`; if not, its reason stays with the node that is not replaced.
 */
static int accepts(const struct target *t, struct graph *g, const struct node *fused,
                   struct node *instead_of)
{
    const struct kernel *const kernel = t->backend->kernels[fused->op->id];

    if (kernel && kernel->accepts && kernel->accepts(fused) == 0)
        return 1;
    instead_of->declined =
        kernel && kernel->accepts ? graph_text(g, err_reason()) : "no fused kernel";
    return 0;
}

/* Makes `apply` do what `last` ends: it takes last's output and its place in the order. Declined:
 * nothing changes. */
static int absorb(struct graph *g, const struct target *t, struct node *apply, struct node *last,
                  struct tensor *residual)
{
    struct node fused = *apply;
    struct tensor *in[6];

    memcpy(in, apply->in, 5 * sizeof(in[0]));
    in[5] = residual;
    fused.in = in;
    fused.n_in = residual ? 6 : 5;
    fused.attr.bn_apply.residual = residual != NULL;
    fused.attr.bn_apply.relu = 1;
    if (!accepts(t, g, &fused, apply))
        return 0;
    g->nodes[apply->id] = NULL;
    fused.in = graph_alloc(g, sizeof(in));
    memcpy(fused.in, in, sizeof(in));
    fused.id = last->id;
    *apply = fused;
    node_take(apply, 0, last->out[0]);
    g->nodes[last->id] = apply;
    return 1;
}

/* relu(bn_apply) and relu(bn_apply + skip), each into one application. The sum stands where the
 * ReLU stood, because the skip may be computed after the application. */
static void fuse_forward(struct graph *g, const struct target *t)
{
    int *const uses = graph_uses(g);

    for (int i = 0; i < g->n_nodes; i++) {
        struct node *const n = g->nodes[i];
        struct node *sum, *apply;

        if (!n || n->op != &op_relu)
            continue;
        sum = n->in[0]->maker;
        apply = sole_apply(n->in[0], uses);
        if (apply) {
            absorb(g, t, apply, n, NULL);
            continue;
        }
        if (!sum || sum->op != &op_add || uses[n->in[0]->id] != 1)
            continue;
        for (int k = 0; k < 2; k++) {
            apply = sole_apply(sum->in[k], uses);
            if (apply && absorb(g, t, apply, n, sum->in[!k])) {
                g->nodes[sum->id] = NULL;
                break;
            }
        }
    }
    graph_compact(g);
    free(uses);
}

/* The reader of t that is this op and reads it as input k, or NULL. */
static struct node *reader(const struct graph *g, const struct tensor *t, const struct op *op,
                           int k)
{
    for (int i = 0; i < g->n_nodes; i++)
        if (g->nodes[i] && g->nodes[i]->op == op && g->nodes[i]->in[k] == t)
            return g->nodes[i];
    return NULL;
}

/* n with other inputs, for dy as it was before the ReLU's gradient. */
static struct node with_relu(struct graph *g, const struct node *n, struct tensor *const *in,
                             int n_in)
{
    struct node fused = *n;

    fused.in = graph_alloc(g, (size_t)n_in * sizeof(*in));
    memcpy(fused.in, in, (size_t)n_in * sizeof(*in));
    fused.n_in = n_in;
    fused.attr.norm.relu = 1;
    return fused;
}

/* bn_grad_reduce and bn_grad_apply of relu_grad(dy, y), y = bn_apply+relu: both find out for
 * themselves where y was positive, so that dx of the ReLU is neither written nor read. */
static void fuse_gradient(struct graph *g, const struct target *t, struct node *relu,
                          const int *uses)
{
    const struct tensor *const masked = relu->out[0];
    const struct node *const y = relu->in[1]->maker;
    struct node *const reduce = reader(g, masked, &op_bn_grad_reduce, 1);
    struct node *const apply = reader(g, masked, &op_bn_grad_apply, 0);
    struct node r, a;

    if (!y || y->op != &op_bn_apply || !y->attr.bn_apply.relu || y->attr.bn_apply.residual ||
        !reduce || !apply || uses[masked->id] != 2 || reduce->in[0] != y->in[0])
        return;
    r = with_relu(
        g, reduce,
        (struct tensor *const[]){y->in[0], relu->in[0], y->in[1], y->in[2], y->in[3], y->in[4]}, 6);
    a = with_relu(g, apply,
                  (struct tensor *const[]){relu->in[0], y->in[0], y->in[1], y->in[2], y->in[3],
                                           apply->in[5], apply->in[6], y->in[4]},
                  8);
    if (!accepts(t, g, &r, reduce) || !accepts(t, g, &a, apply))
        return;
    *reduce = r;
    *apply = a;
    g->nodes[relu->id] = NULL;
}

/* relu_grad(a + b, y), the sum of the gradients of two branches, adds them itself. */
static void fuse_sum(struct graph *g, const struct target *t, struct node *relu, const int *uses)
{
    struct node *const sum = relu->in[0]->maker;
    struct node fused = *relu;

    if (!sum || sum->op != &op_add || uses[relu->in[0]->id] != 1)
        return;
    fused.in = graph_alloc(g, 3 * sizeof(fused.in[0]));
    fused.in[0] = sum->in[0];
    fused.in[1] = relu->in[1];
    fused.in[2] = sum->in[1];
    fused.n_in = 3;
    if (!accepts(t, g, &fused, relu))
        return;
    *relu = fused;
    g->nodes[sum->id] = NULL;
}

static void fuse_backward(struct graph *g, const struct target *t)
{
    int *const uses = graph_uses(g);

    for (int i = 0; i < g->n_nodes; i++)
        if (g->nodes[i] && g->nodes[i]->op == &op_relu_grad)
            fuse_gradient(g, t, g->nodes[i], uses);
    for (int i = 0; i < g->n_nodes; i++)
        if (g->nodes[i] && g->nodes[i]->op == &op_relu_grad)
            fuse_sum(g, t, g->nodes[i], uses);
    graph_compact(g);
    free(uses);
}

void pass_fuse(struct graph *g, const struct target *t)
{
    fuse_forward(g, t);
    fuse_backward(g, t);
}
