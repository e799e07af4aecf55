/* The table of ops. Backends read descriptors through this header and no other of this folder. */
#ifndef STAVE_OPS_OP_H
#define STAVE_OPS_OP_H

#include "graph/node.h"

/* clang-format off */
enum op_id {
#define OP(name) OP_##name,
#include "ops/list.h"
#undef OP
    N_OPS
};

#define OP(name) extern const struct op op_##name;
#include "ops/list.h"
#undef OP
/* clang-format on */

extern const struct op *const ops[N_OPS];
const struct op *op_find(const char *name); /* NULL when there is none */

/* A descriptor's first two members: const struct op op_relu = { OP_HEAD(relu), ... }. */
#define OP_HEAD(name_) .id = OP_##name_, .name = #name_

/* A shape rule's tests; each returns E_SHAPE with a reason that holds the shapes. */
int op_want_rank(const struct node *n, int input, int rank);
int op_want_same(const struct node *n, int a, int b); /* inputs a and b agree in type and shape */
int op_want_shape(const struct node *n, int input, enum dtype dtype, struct shape shape);
/* Input x has a last dimension, and inputs first to last are float32 vectors of its size. */
int op_want_per_channel(const struct node *n, int x, int first, int last);
/* Output i gets the type and shape of input k. */
void op_out_like(struct node *n, int i, int k);

#endif
