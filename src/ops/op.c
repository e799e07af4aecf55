#include "ops/op.h"

#include <string.h>

#include "base/err.h"

/* clang-format off */
const struct op *const ops[N_OPS] = {
#define OP(name) [OP_##name] = &op_##name,
#include "ops/list.h"
#undef OP
};
/* clang-format on */

const struct op *op_find(const char *name)
{
    for (int i = 0; i < N_OPS; i++)
        if (strcmp(ops[i]->name, name) == 0)
            return ops[i];
    return NULL;
}

int op_want_rank(const struct node *n, int input, int rank)
{
    char text[SHAPE_TEXT];

    if (n->in[input]->shape.rank != rank)
        return err(E_SHAPE, "input %d has shape %s, wanted %d dimensions", input,
                   shape_text(n->in[input]->shape, text), rank);
    return 0;
}

int op_want_shape(const struct node *n, int input, enum dtype dtype, struct shape shape)
{
    char have[SHAPE_TEXT], want[SHAPE_TEXT];
    const struct tensor *const t = n->in[input];

    if (t->dtype != dtype || !shape_equal(t->shape, shape))
        return err(E_SHAPE, "input %d is %s %s, wanted %s %s", input, dtype_name(t->dtype),
                   shape_text(t->shape, have), dtype_name(dtype), shape_text(shape, want));
    return 0;
}

int op_want_same(const struct node *n, int a, int b)
{
    return op_want_shape(n, b, n->in[a]->dtype, n->in[a]->shape);
}

int op_want_per_channel(const struct node *n, int x, int first, int last)
{
    const struct shape *const s = &n->in[x]->shape;

    if (s->rank < 1)
        return op_want_rank(n, x, 1);
    for (int i = first; i <= last; i++)
        TRY(op_want_shape(n, i, DT_F32, SHAPE(s->dim[s->rank - 1])));
    return 0;
}

void op_out_like(struct node *n, int i, int k)
{
    n->out[i]->shape = n->in[k]->shape;
    n->out[i]->dtype = n->in[k]->dtype;
}
