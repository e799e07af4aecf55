/* How fast a step could be: the least time that its operations and its bytes need on a device whose
 * ceilings were measured. A step whose operands stay in the caches can beat the memory's ceiling.
 */
#ifndef STAVE_PLAN_BOUND_H
#define STAVE_PLAN_BOUND_H

#include "backend/backend.h"

struct bound {
    double flops_ns, bytes_ns; /* 0 when there is no ceiling */
};

/* narrow: the products are of bfloat16. */
struct bound cost_bound(struct cost cost, int narrow, const struct ceilings *c);
double bound_ns(struct bound b);         /* the larger of the two */
const char *bound_limit(struct bound b); /* "FLOPs", "bytes", or "-" when there is none */
double ceilings_bytes_per_s(const struct ceilings *c); /* the better of copy and triad */
/* "204.3 GFLOP/s float32; 21.0 GB/s copy, 19.5 GB/s triad" */
void ceilings_text(const struct ceilings *c, struct str *out);
/* A JSON object; what was not measured is absent. */
void ceilings_json(const struct ceilings *c, struct str *out);

#endif
