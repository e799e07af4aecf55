/* What several timed runs are worth: MLPerf's score, and statistics that the rules do not ask for.
 *
 * The rules: of N runs the fastest and the slowest are dropped (unet3d: four each) and the rest is
 * averaged; a run that did not converge counts as the slowest, and there may be as many of these as
 * are dropped at that end. NCF in 0.5: 100 runs, the first 50 that converge, averaged.
 *
 * The interval (score_estimate) is for the score that many such submissions would have on average:
 * Student's t with n-1 degrees of freedom around the olympic mean, its standard error taken as that
 * of the plain mean, stdev / sqrt(n), over all runs that converged. In simulation it holds the
 * truth in 94 to 95 of 100 cases for normal times and 3 to 40 runs, in 93 for skewed ones
 * (lognormal, 0.5), and in about 80 where times fall into two groups because some runs need one
 * more evaluation. The interval by Winsorised variance (Tukey and McLaughlin 1963), the textbook's
 * for trimmed means, was tried: with 5 runs it holds the truth in 93, 91 and 44 of 100 cases, for
 * it believes that what was dropped does not happen. tests/test_score.c repeats the simulation.
 */
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
/* n_runs is 0 for a benchmark that the round does not know. */
struct score_rule score_rule(const char *version, const char *benchmark);

/* By rising value. */
void score_sort(double *values, size_t n);
/* The mean of n sorted values without drop ones at each end; NAN when none is left. */
double score_olympic_mean(const double *sorted, size_t n, size_t drop);
/* The standard deviation, the squares' sum divided by n or n - 1; NAN when that is 0. */
double score_deviation(const double *values, size_t n, size_t divisor);

struct score_estimate {
    double mean;                /* olympic, in the values' unit; NAN when nothing is left */
    double low, high;           /* 95 % interval of the mean; NAN below two runs that converged */
    double stdev;               /* of all that converged, n-1; NAN below two */
    double least, most, median; /* of all that converged; NAN without any */
    size_t n, n_failed;
};
/* n values in any order, INFINITY for a run that did not converge. mean is NAN, too, when more
 * failed than are dropped. */
struct score_estimate score_estimate(const double *values, size_t n, int n_drop);
/* Half the interval's width divided by the mean: 0.01 is "within 1 %"; NAN when there is no
 * interval. */
double score_uncertainty(const struct score_estimate *e);

#endif
