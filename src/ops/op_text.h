/* Types and attributes of an op as text: "32x56x56x64", "i32:32", "stride=2,pad=1". What is printed
 * reads back as the same value. */
#ifndef STAVE_OPS_OP_TEXT_H
#define STAVE_OPS_OP_TEXT_H

#include "base/str.h"
#include "ops/op.h"

/* "TYPE:DIMxDIM..."; float32 goes without saying, and a scalar is "scalar". */
void type_add_text(enum dtype dtype, struct shape shape, struct str *out);
/* E_USAGE for anything that is not of this form, has no elements or more than 2^40. */
int type_parse(const char *text, enum dtype *dtype, struct shape *shape);

/* The attributes of the op that are not at their default, or nothing at all. */
void attr_add_text(const struct op *op, const union attr *a, struct str *out);
/* Sets every attribute: to what the text says, else to its default. E_USAGE names the attribute. */
int attr_parse(const struct op *op, const char *text, union attr *a);

#endif
