/* One op alone on an engine: a graph of a single node, planned (so a composite is lowered) and
 * timed. What `bench-op` prints, and what every op case proves to work. Nothing is kept. */
#ifndef STAVE_PLAN_BENCH_H
#define STAVE_PLAN_BENCH_H

#include "plan/plan.h"

struct op_input {
    enum dtype dtype;
    struct shape shape;
    const void *data; /* NULL: reals in [0.5, 1.5), int32 small indices, bytes 0 */
};

enum { OP_USE_INPUTS = 16 };

struct op_use {
    const struct op *op;
    union attr attr;
    struct op_input in[OP_USE_INPUTS];
    int n_in;
};

struct op_time {
    int64_t min_ns, median_ns;  /* of one run, the device synchronised */
    struct cost cost;           /* of the node by its cost rule */
    struct tensor out[MAX_OUT]; /* type and shape only */
    char impl[IMPL_BYTES];      /* of the first step */
    char why[IMPL_BYTES];       /* and why, or "" */
    int steps;
};

/* Whether the op can be planned, without running it: 0, or E_SHAPE, E_UNSUPPORTED as of
 * plan_init(). */
int op_check(const struct engine *e, const struct op_use *u);
/* Runs once to warm up, then `runs` times, 1 to 1000. Errors of op_check(), too. */
int op_bench(const struct engine *e, const struct op_use *u, int runs, struct op_time *out);

#endif
