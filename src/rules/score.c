#include "rules/score.h"

#include <math.h>
#include <stdlib.h>

#include "base/err.h"
#include "base/student.h"
#include "rules/ruleset.h"

struct score_rule score_rule(const char *version, const char *benchmark)
{
    const struct ruleset *const r = ruleset_find(version);
    const struct rule_benchmark *const b = r ? ruleset_benchmark(r, benchmark) : NULL;

    return b ? (struct score_rule){b->n_runs, b->n_drop, b->n_first} : (struct score_rule){0};
}

/* ---- statistics ---- */

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

void score_sort(double *values, size_t n)
{
    qsort(values, n, sizeof(*values), by_value);
}

double score_olympic_mean(const double *sorted, size_t n, size_t drop)
{
    double sum = 0;

    if (n <= 2 * drop)
        return NAN;
    for (size_t i = drop; i < n - drop; i++)
        sum += sorted[i];
    return sum / (double)(n - 2 * drop);
}

double score_deviation(const double *values, size_t n, size_t divisor)
{
    double mean = 0, squares = 0;

    if (divisor == 0)
        return NAN;
    for (size_t i = 0; i < n; i++)
        mean += values[i] / (double)n;
    for (size_t i = 0; i < n; i++)
        squares += (values[i] - mean) * (values[i] - mean);
    return sqrt(squares / (double)divisor);
}

/* Half the 95 % interval of a mean of n values with this deviation. */
static double half_width(double stdev, size_t n)
{
    return n < 2 ? NAN : student_quantile(0.975, (double)n - 1) * stdev / sqrt((double)n);
}

static void describe(struct score_estimate *e, const double *sorted, size_t n)
{
    e->stdev = score_deviation(sorted, n, n ? n - 1 : 0);
    if (n == 0)
        return;
    e->least = sorted[0];
    e->most = sorted[n - 1];
    e->median = (sorted[(n - 1) / 2] + sorted[n / 2]) / 2;
}

struct score_estimate score_estimate(const double *values, size_t n, int n_drop)
{
    struct score_estimate e = {NAN, NAN, NAN, NAN, NAN, NAN, NAN, n, 0};
    double *const sorted = xmalloc((n + 1) * sizeof(*sorted)), half;

    for (size_t i = 0; i < n; i++) {
        sorted[i] = isfinite(values[i]) ? values[i] : INFINITY;
        e.n_failed += isfinite(values[i]) ? 0 : 1;
    }
    score_sort(sorted, n);
    describe(&e, sorted, n - e.n_failed);
    if (e.n_failed <= (size_t)n_drop) {
        e.mean = score_olympic_mean(sorted, n, (size_t)n_drop);
        half = half_width(e.stdev, n - e.n_failed);
        e.low = e.mean - half;
        e.high = e.mean + half;
    }
    free(sorted);
    return e;
}

double score_uncertainty(const struct score_estimate *e)
{
    return (e->high - e->low) / 2 / e->mean;
}
