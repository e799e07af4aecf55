/* What DEBUG (base/debug.h) makes a plan tell on stderr. Lines start with the words that `stave
 * bench-op` takes, or with "#": a whole output can be pasted into a shell. */
#ifndef STAVE_PLAN_DEBUG_H
#define STAVE_PLAN_DEBUG_H

#include "plan/plan.h"

void debug_engine(const struct engine *e); /* level 1 */
void debug_plan(const struct plan *p);     /* level 1 */
/* After step i has run, which took ns: levels 2 and above. */
int debug_step(const struct plan *p, int i, int64_t ns);

#endif
