/* MLPerf rulesets as data: what a round demands of a benchmark, and whether given settings satisfy
 * the closed division. A round is a row of list.h and a table in a file of its own; nothing here
 * knows any workload.
 *
 * All tables are constant. Threads: any. */
#ifndef STAVE_RULES_RULESET_H
#define STAVE_RULES_RULESET_H

#include <stddef.h>

struct str;

/* The reference's convergence at one global batch size. A closed result whose mean epochs lie below
 * the floor is refused. */
struct rule_point {
    long long batch;
    double mean_epochs, floor_epochs;
};

enum rule_check {
    RULE_PRESENT,      /* any value */
    RULE_POSITIVE,     /* > 0 */
    RULE_NOT_NEGATIVE, /* >= 0 */
    RULE_EQUALS,       /* a */
    RULE_AT_LEAST,     /* a */
    RULE_BETWEEN,      /* a and b, both allowed */
    RULE_ONE_OF,       /* a or b */
    RULE_MULTIPLE,     /* a whole number of times a */
    RULE_WHOLE,        /* a whole number, not negative */
    RULE_POWER_OF_TWO, /* a times 2^N, N whole */
    RULE_TEXT,         /* text, or one of several with | between */
};

struct rule_constraint {
    const char *key;
    enum rule_check check;
    double a, b;
    const char *text;
    long long below_batch; /* holds only for global batches below this; 0: always */
};

/* Constraints and required keys that depend on the optimiser. */
struct rule_optimizer {
    const char *name; /* value of opt_name */
    const struct rule_constraint *constraints;
    size_t n_constraints;
};

struct rule_benchmark {
    const char *name;   /* submission_benchmark: "resnet" */
    const char *metric; /* for people */
    double target;
    long long eval_every;            /* epochs; the first evaluation after epoch 1..eval_every */
    int n_runs;                      /* that make one result */
    int published_weights;           /* the closed division starts from given weights */
    const struct rule_point *points; /* by rising batch */
    size_t n_points;
    const struct rule_constraint *constraints;
    size_t n_constraints;
    const struct rule_optimizer *optimizers;
    size_t n_optimizers;
};

struct ruleset {
    const char *version;     /* "4.0.0" */
    const char *const *keys; /* every log must hold these; NULL-terminated */
    const char *const *closed_keys;
    const struct rule_benchmark *benchmarks;
    size_t n_benchmarks;
};

/* NULL: no such ruleset or benchmark. */
const struct ruleset *ruleset_find(const char *version);
const struct rule_benchmark *ruleset_benchmark(const struct ruleset *r, const char *name);

/* What the run was asked to do, by log key (and model_image_size, eval_every, ...: see the table).
 * text NULL means a number. */
struct rule_setting {
    const char *key;
    double number;
    const char *text;
};

/* Appends one line in words per deviation from the closed division, each ending in a newline, and
 * returns how many. With any the run's division is "open". A setting the rules need and that is
 * missing is a deviation. */
size_t rules_deviations(const struct rule_benchmark *b, const struct rule_setting *settings,
                        size_t n, struct str *words);
const char *rules_division(size_t n_deviations); /* "closed", "open" */

enum rule_convergence {
    RULE_POINT_EXACT,        /* the reference ran this batch */
    RULE_POINT_INTERPOLATED, /* between two points */
    RULE_POINT_BELOW,        /* smaller than the smallest: may not be faster than that one */
    RULE_POINT_ABOVE,        /* larger than the largest: needs new reference runs */
    RULE_POINT_NONE,         /* the benchmark has none */
};
/* Which reference convergence holds for a global batch; appends it as one sentence. */
enum rule_convergence rules_convergence(const struct rule_benchmark *b, long long batch,
                                        struct str *words);

#endif
