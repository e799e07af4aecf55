/* Reference convergence points: how many epochs (or samples) the reference needs at a global batch
 * size, the floor that a closed submission may not beat, and the factor by which one that is faster
 * than the reference's mean is scaled. All numbers come out as those of MLPerf's rcp_checker, in
 * its default pass "pruned_rcps":
 *
 *   mean    of the reference's runs, sorted, without the best and the worst (unet3d: four each)
 *   stdev   of all of them, divided by n
 *   floor   the smallest mean that a one-sided two-sample t-test with pooled variance
 *           (the reference's stdev on both sides, 5 %) does not reject, by bisection from
 *           [0, mean] down to 1e-4; the mean itself where stdev is 0
 *   pruned  points with a batch below that of the fastest one, then points above the straight line
 *           between their neighbours; what lies between two points left is interpolated
 *
 * The runs are read from VERSION.points in src/rules/data. There are none before 1.0 and none for
 * minigo. Points own their list until release. Any thread may use its own. */
#ifndef STAVE_RULES_RCP_H
#define STAVE_RULES_RCP_H

#include <stddef.h>

struct str;

struct rcp_point {
    double batch;
    double mean, stdev, floor;
    int n_runs; /* of the reference; 0: interpolated */
    int pruned; /* not used by the test */
};

struct rcp_points {
    struct rcp_point *points; /* by rising batch */
    size_t n;
    int n_drop, n_submission; /* runs dropped at each end; runs of a submission */
};

/* n = 0 when the round has no points for this benchmark. E_DATA when the text carried along is
 * wrong. */
int rcp_load(struct rcp_points *p, const char *version, const char *benchmark);
/* The same from a text of that format. */
int rcp_parse(struct rcp_points *p, const char *text, const char *version, const char *benchmark);
void rcp_release(struct rcp_points *p);

/* The point that two others give for a batch between theirs. */
struct rcp_point rcp_between(const struct rcp_points *p, double batch, const struct rcp_point *low,
                             const struct rcp_point *high);

enum rcp_kind {
    RCP_NONE,          /* the round has no points for the benchmark */
    RCP_NO_BATCH,      /* the logs name no batch, or different ones */
    RCP_NOT_CONVERGED, /* more runs failed than may */
    RCP_FOUND,         /* the reference ran this batch */
    RCP_INTERPOLATED,  /* between two points */
    RCP_BELOW,         /* smaller than the smallest: held against that one */
    RCP_ABOVE          /* larger than the largest: needs new reference runs */
};

struct rcp_test {
    enum rcp_kind kind;
    int passed;
    double batch;
    struct rcp_point point; /* that it was held against, with FOUND, INTERPOLATED, BELOW */
    double epochs;          /* the submission's mean; NAN without a test */
    double factor; /* the score's: mean of the point / epochs where that is above 1, else 1 */
};

/* epochs of n runs, in any order, INFINITY for one that did not converge. batch NAN: none. */
struct rcp_test rcp_check(const struct rcp_points *p, double batch, const double *epochs, size_t n);
/* Which reference convergence holds for a global batch in a round; appends it as one sentence. */
enum rcp_kind rcp_say_batch(const char *version, const char *benchmark, long long batch,
                            struct str *words);
/* What convergence is counted in: "epochs", "samples", "steps". */
const char *rcp_unit(const char *benchmark, double mean);
/* Appends one sentence, without a full stop. */
void rcp_describe(const struct rcp_test *t, const char *benchmark, struct str *out);

#endif
