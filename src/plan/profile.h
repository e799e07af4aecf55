/* Where the time of a profiled plan went, by op, beside what the device reaches at best. Nothing is
 * borrowed but labels, which are constant. */
#ifndef STAVE_PLAN_PROFILE_H
#define STAVE_PLAN_PROFILE_H

#include "plan/bound.h"
#include "plan/plan.h"

struct profile_row {
    const char *label; /* as in the plan: the op and what it absorbed */
    int steps;
    double ns, flops, bytes;
    double bound_ns;           /* the sum of each step's own bound */
    double flops_ns, bytes_ns; /* the same for either ceiling alone */
};

struct profile {
    struct ceilings ceilings;
    struct profile_row *rows; /* by falling time */
    int n_rows;
    struct profile_row total;
};

/* The plan must have run at least once since plan_profile(); its time is that of one run. */
void profile_init(struct profile *f, const struct plan *p, const struct ceilings *c);
void profile_release(struct profile *f);
void profile_text(const struct profile *f, struct str *out);
/* "ceilings": {...}, "ops": [...], "total": {...}: members of an object. */
void profile_json(const struct profile *f, struct str *out);

#endif
