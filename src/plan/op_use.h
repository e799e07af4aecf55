/* One use of an op as text, and back: "--op conv2d --in 32x56x56x64 --in 64x3x3x64 --attr
 * pad=1,...", the words that `bench-op` takes. */
#ifndef STAVE_PLAN_OP_USE_H
#define STAVE_PLAN_OP_USE_H

#include "plan/bench.h"

void op_use_add_text(const struct node *n, struct str *out);

struct op_words {
    const char *op;
    const char *inputs; /* types, a blank between; NULL for none */
    const char *attrs;  /* "name=value,..."; NULL for none */
};
/* E_USAGE for an unknown op, another number of inputs than it takes, integers where it wants none,
 * and whatever op_text.h refuses. What the op's own rule wants of the shapes is checked when it is
 * planned. The size of a convolution follows from its weights, if it has them and nothing else is
 * said. */
int op_use_parse(struct op_use *u, struct op_words w);

/* The built-in use of each op, by op_id. */
struct op_sample {
    struct op_words words;
    int more; /* inputs that it may take beyond those */
};
extern const struct op_sample op_samples[N_OPS];

#endif
