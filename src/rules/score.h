/* What several timed runs are worth: MLPerf's score, and statistics that the rules do not ask for.
 *
 * The rules: of N runs the fastest and the slowest are dropped (unet3d: four each) and the rest is
 * averaged; a run that did not converge counts as the slowest, and there may be as many of these as
 * are dropped at that end. NCF in 0.5: 100 runs, the first 50 that converge, averaged.
 *
 * The interval (score_estimate) is for the score that these runs estimate: the olympic mean is a
 * trimmed mean, so it is that of Tukey and McLaughlin (1963): Student's t with h-1 degrees of
 * freedom on the Winsorised deviation, s_w / ((1 - 2g) sqrt(n)), h = n - 2 drop runs kept, g = drop
 * / n. A run that did not converge takes the slowest kept time's place, as any dropped run does. It
 * needs two kept runs: with one dropped at each end, four. For normal times its coverage is that
 * promised; tests/test_score.c holds it against simulation. */
#ifndef STAVE_RULES_SCORE_H
#define STAVE_RULES_SCORE_H

#include <stddef.h>

/* What a round asks for a benchmark. */
struct score_rule {
    int n_runs;          /* that make one result */
    int n_drop;          /* at each end; also how many may fail to converge */
    int first_converged; /* of these runs, only the first so many that converge are averaged; 0: all
                          */
};
/* n_runs is 0 for a benchmark that no round knows. */
struct score_rule score_rule(const char *version, const char *benchmark);

struct score_estimate {
    double mean;                /* olympic, in the values' unit; NAN when nothing is left */
    double low, high;           /* 95 % interval of the mean; NAN with too few runs */
    double stdev;               /* of all that converged, n-1; NAN below two */
    double least, most, median; /* of all that converged; NAN without any */
    size_t n, n_failed;
};
/* n values in any order, INFINITY for a run that did not converge. mean is NAN, too, when more
 * failed than are dropped. */
struct score_estimate score_estimate(const double *values, size_t n, int n_drop);
/* Half the interval's width divided by the mean: 0.01 is "within 1 %"; NAN with too few runs. */
double score_uncertainty(const struct score_estimate *e);

#endif
