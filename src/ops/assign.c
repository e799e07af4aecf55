/* What a run leaves for the next: a carry or a state takes a new value. */
#include "base/err.h"
#include "ops/op.h"
#include "ops/ops.h"

/* Inputs: to, x. to = x, in place: nodes made before this one see the old value, later ones the
 * new. */
static int assign_shape(struct node *n)
{
    const struct tensor *const to = n->in[0];
    char text[SHAPE_TEXT];

    if (to->kind != T_CARRY && to->kind != T_STATE)
        return err(E_SHAPE, "%s %s is neither carry nor state and can not be assigned to",
                   to->name ? to->name : "a value", shape_text(to->shape, text));
    return op_want_same(n, 0, 1);
}

static void assign_cost(const struct node *n, struct cost *c)
{
    *c = (struct cost){.bytes = 2.0 * (double)tensor_bytes(n->in[0])};
}

const struct op op_assign = {OP_HEAD(assign), .n_out = 0, .shape = assign_shape,
                             .cost = assign_cost, .writes = 1u << 0};

void assign(struct graph *g, struct tensor *to, struct tensor *x)
{
    GRAPH_NODE(g, &op_assign, (union attr){0}, to, x);
}
