/* y = x in another floating-point type: float32 to bf16 rounds to nearest, ties to even; back is
 * exact. The precision pass makes them, after the gradient was built, so there is no rule for one.
 */
#include "base/err.h"
#include "ops/op.h"
#include "ops/ops.h"

static int is_real(enum dtype t)
{
    return t == DT_F32 || t == DT_BF16;
}

static int cast_shape(struct node *n)
{
    const enum dtype from = n->in[0]->dtype, to = n->attr.cast.to;

    if (!is_real(from) || !is_real(to) || from == to)
        return err(E_SHAPE, "a cast from %s to %s; wanted f32 to bf16 or back", dtype_name(from),
                   dtype_name(to));
    n->out[0]->shape = n->in[0]->shape;
    n->out[0]->dtype = to;
    return 0;
}

const struct op op_cast = {
    OP_HEAD(cast),
    .n_out = 1,
    .shape = cast_shape,
};

struct tensor *cast(struct graph *g, struct tensor *x, enum dtype to)
{
    return node_out(GRAPH_NODE(g, &op_cast, (union attr){.cast = {to}}, x), 0);
}
