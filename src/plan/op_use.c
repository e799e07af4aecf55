#include "plan/op_use.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/opt.h"
#include "ops/op_text.h"

/* clang-format off */
const struct op_sample op_samples[N_OPS] = {
#define SAMPLE(op, inputs, attrs, more) [OP_##op] = {{#op, inputs, attrs}, more},
#include "plan/op_samples.h"
#undef SAMPLE
};
/* clang-format on */

void op_use_add_text(const struct node *n, struct str *out)
{
    struct str attrs = STR_INIT;

    str_printf(out, "--op %s", n->op->name);
    for (int i = 0; i < n->n_in; i++) {
        str_add(out, " --in ");
        type_add_text(n->in[i]->dtype, n->in[i]->shape, out);
    }
    attr_add_text(n->op, &n->attr, &attrs);
    if (attrs.len)
        str_printf(out, " --attr %s", attrs.s);
    str_release(&attrs);
}

static int parse_inputs(struct op_use *u, const char *inputs)
{
    char *const copy = xstrdup(inputs ? inputs : ""), *rest = copy, *word;
    int rc = 0;

    while (rc == 0 && (word = strsep(&rest, " ,"))) {
        if (!*word)
            continue;
        if (u->n_in == OP_USE_INPUTS)
            rc = err(E_USAGE, "%s: more than %d inputs", u->op->name, OP_USE_INPUTS);
        else
            rc = type_parse(word, &u->in[u->n_in].dtype, &u->in[u->n_in].shape);
        u->n_in += rc == 0;
    }
    free(copy);
    return rc;
}

static int is_integer(enum dtype t)
{
    return t == DT_I32 || t == DT_U8;
}

/* Against the sample, which is right by definition. */
static int check_inputs(const struct op_use *u)
{
    const struct op_sample *const s = &op_samples[u->op->id];
    struct op_use want = {.op = u->op};
    int rc = 0;

    if (parse_inputs(&want, s->words.inputs) < 0)
        BUG("sample of %s: %s", u->op->name, err_reason());
    if (u->n_in < want.n_in || u->n_in > want.n_in + s->more)
        return err(E_USAGE, "%s takes %d%s inputs and has %d here; such as: %s", u->op->name,
                   want.n_in, s->more ? " or more" : "", u->n_in, s->words.inputs);
    for (int i = 0; i < want.n_in && rc == 0; i++)
        if ((is_integer(want.in[i].dtype) || is_integer(u->in[i].dtype)) &&
            want.in[i].dtype != u->in[i].dtype)
            rc = err(E_USAGE, "%s: input %d is %s, it takes %s; such as: %s", u->op->name, i,
                     dtype_name(u->in[i].dtype), dtype_name(want.in[i].dtype), s->words.inputs);
    return rc;
}

static void conv_from_weights(struct op_use *u)
{
    const struct shape *const w = &u->in[1].shape;
    struct conv *const c = &u->attr.conv;
    const int has_weights = u->op == &op_conv2d || u->op == &op_conv2d_grad_x;

    if (!(has_weights || u->op == &op_conv2d_grad_w) || w->rank != 4)
        return;
    if (c->out == 0 && w->dim[0] <= INT_MAX && w->dim[3] <= INT_MAX)
        c->out = (int)(has_weights ? w->dim[0] : w->dim[3]);
    if (c->k == 0 && has_weights && w->dim[1] <= INT_MAX)
        c->k = (int)w->dim[1];
}

static int unknown_op(const char *name)
{
    const char *nearest = NULL;
    int best = INT_MAX;

    for (int i = 0; i < N_OPS; i++)
        if (opt_nearer(name, ops[i]->name, &best))
            nearest = ops[i]->name;
    if (nearest)
        return err(E_USAGE, "no op is called %.100s; did you mean %s?", name, nearest);
    return err(E_USAGE, "no op is called %.100s; stave bench-op --all shows them", name);
}

int op_use_parse(struct op_use *u, struct op_words w)
{
    *u = (struct op_use){.op = op_find(w.op)};
    if (!u->op)
        return unknown_op(w.op);
    TRY(parse_inputs(u, w.inputs));
    TRY(attr_parse(u->op, w.attrs ? w.attrs : "", &u->attr));
    TRY(check_inputs(u));
    conv_from_weights(u);
    return 0;
}
