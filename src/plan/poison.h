/* Overwriting what a plan may not read any more; see base/hostile.h. */
#ifndef STAVE_PLAN_POISON_H
#define STAVE_PLAN_POISON_H

#include "plan/plan.h"

/* Both leave a device alone that computes nothing: what it finds in memory is its result.
 * A whole block of device memory. */
int poison_block(const struct engine *e, void *p, size_t bytes);
/* After step i: its scratch, and every value that it was the last to touch. */
int poison_dead(struct plan *p, int i);

#endif
