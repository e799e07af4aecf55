#include "rules/score.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "rules/rcp.h"
#include "rules/student.h"

/* ---- how many runs ---- */

static const struct {
    const char *benchmark;
    struct score_rule rule;
} rules[] = {
    {"bert", {10, 1, 0}},
    {"dlrm", {5, 1, 0}},
    {"dlrm_dcnv2", {10, 1, 0}},
    {"gnmt", {10, 1, 0}},
    {"gnn", {10, 1, 0}},
    {"gpt3", {3, 1, 0}},
    {"llama2_70b_lora", {10, 1, 0}},
    {"maskrcnn", {5, 1, 0}},
    {"minigo", {10, 1, 0}},
    {"ncf", {10, 1, 0}},
    {"resnet", {5, 1, 0}},
    {"retinanet", {5, 1, 0}},
    {"rnnt", {10, 1, 0}},
    {"ssd", {5, 1, 0}},
    {"stable_diffusion", {10, 1, 0}},
    {"transformer", {10, 1, 0}},
    {"unet3d", {40, 4, 0}},
};

struct score_rule score_rule(const char *version, const char *benchmark)
{
    if (strcmp(version, "0.5.0") == 0 && strcmp(benchmark, "ncf") == 0)
        return (struct score_rule){100, 0, 50};
    for (size_t i = 0; i < COUNT_OF(rules); i++)
        if (strcmp(rules[i].benchmark, benchmark) == 0)
            return rules[i].rule;
    return (struct score_rule){0};
}

/* ---- statistics ---- */

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double sample_deviation(const double *x, size_t n)
{
    double mean = 0, squares = 0;

    if (n < 2)
        return NAN;
    for (size_t i = 0; i < n; i++)
        mean += x[i] / (double)n;
    for (size_t i = 0; i < n; i++)
        squares += (x[i] - mean) * (x[i] - mean);
    return sqrt(squares / (double)(n - 1));
}

/* Half the 95 % interval of a mean of n values with this deviation. */
static double half_width(double stdev, size_t n)
{
    return n < 2 ? NAN : student_quantile(0.975, (double)n - 1) * stdev / sqrt((double)n);
}

static void describe(struct score_estimate *e, const double *sorted, size_t n)
{
    e->stdev = sample_deviation(sorted, n);
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
    qsort(sorted, n, sizeof(*sorted), by_value);
    describe(&e, sorted, n - e.n_failed);
    if (e.n_failed <= (size_t)n_drop) {
        e.mean = rcp_olympic_mean(sorted, n, (size_t)n_drop);
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
