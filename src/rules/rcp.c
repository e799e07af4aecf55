#include "rules/rcp.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/embedded.h"
#include "base/err.h"
#include "base/student.h"
#include "rules/score.h"

static const double level = 0.05, tolerance = 0.0001;

/* ---- statistics of one point ---- */

/* The one-sided p-value of a mean below that of the reference. Both samples have the deviation s,
 * so that is the pooled one, too. */
static double p_value(double mean, double n, double reference, double n_reference, double s)
{
    const double error = s * sqrt(1 / n + 1 / n_reference);

    return student_cdf((mean - reference) / error, n + n_reference - 2);
}

/* n_reference runs of the reference are left; the submission's are n_submission less the best and
 * the worst, whatever the benchmark drops, as the rcp checker has it. */
static double find_floor(double mean, double s, int n_reference, int n_submission)
{
    double low = 0, high = mean;

    if (s == 0)
        return mean;
    while (high - low > tolerance) {
        const double mid = (low + high) / 2;

        if (p_value(mid, n_reference, mean, n_submission - 2, s) > level)
            high = mid;
        else
            low = mid;
    }
    return (low + high) / 2;
}

/* y at x on the line through two points, in the order of operations of the official tool. */
static double on_line(double x, double x0, double y0, double x1, double y1)
{
    return (y1 - y0) / (x1 - x0) * (x - x0) + y0;
}

struct rcp_point rcp_between(const struct rcp_points *p, double batch, const struct rcp_point *low,
                             const struct rcp_point *high)
{
    struct rcp_point r = {
        .batch = batch,
        .mean = on_line(batch, low->batch, low->mean, high->batch, high->mean),
        .stdev = on_line(batch, low->batch, low->stdev, high->batch, high->stdev),
    };

    r.floor = find_floor(r.mean, r.stdev, 2 * p->n_submission, p->n_submission);
    return r;
}

/* ---- reading ---- */

struct numbers {
    double *v;
    size_t n;
};

static int by_batch(const void *a, const void *b)
{
    const struct rcp_point *const x = a, *const y = b;

    return (x->batch > y->batch) - (x->batch < y->batch);
}

static void add_point(struct rcp_points *p, double batch, struct numbers *runs)
{
    const size_t drop = (size_t)p->n_drop;
    struct rcp_point r = {.batch = batch, .n_runs = (int)runs->n};

    score_sort(runs->v, runs->n);
    r.mean = score_olympic_mean(runs->v, runs->n, drop);
    r.stdev = score_deviation(runs->v, runs->n, runs->n);
    r.floor = find_floor(r.mean, r.stdev, (int)(runs->n - 2 * drop), p->n_submission);
    p->points = xrealloc(p->points, (p->n + 1) * sizeof(*p->points));
    p->points[p->n++] = r;
}

/* Numbers up to the next line that begins with a letter; *at is moved there. Comments are skipped.
 */
static int read_runs(const char **at, struct numbers *runs)
{
    const char *s = *at;

    runs->n = 0;
    while (*s && !isalpha((unsigned char)*s)) {
        char *end;
        double x;

        if (*s == '#')
            s += strcspn(s, "\n");
        else if (isspace((unsigned char)*s))
            s++;
        else {
            x = strtod(s, &end);
            if (end == s || !isfinite(x) || x < 0)
                return err(E_DATA, "reference convergence points: \"%.20s\" is no number", s);
            runs->v = xrealloc(runs->v, (runs->n + 1) * sizeof(*runs->v));
            runs->v[runs->n++] = x;
            s = end;
        }
    }
    *at = s;
    return 0;
}

static int read_points(struct rcp_points *p, const char *s, const char *benchmark,
                       struct numbers *runs)
{
    TRY(read_runs(&s, runs)); /* the comment at the top */
    while (*s) {
        char name[40];
        double batch;
        int n = 0;

        if (sscanf(s, "point %39s%*[ ]%lf%n", name, &batch, &n) != 2 || !(batch > 0))
            return err(E_DATA,
                       "reference convergence points: \"%.30s\" where a line \"point BENCHMARK "
                       "BATCH\" was expected",
                       s);
        s += n;
        TRY(read_runs(&s, runs));
        if (strcmp(name, benchmark) != 0)
            continue;
        if (runs->n < 2 * (size_t)p->n_drop + 2)
            return err(E_DATA, "reference convergence points: %s at %.10g has only %zu runs", name,
                       batch, runs->n);
        add_point(p, batch, runs);
    }
    return 0;
}

/* Points that lie above the line between their neighbours are taken out one after the other, and
 * the two around the gap become neighbours. */
static void prune(struct rcp_points *p)
{
    struct rcp_point **left = xmalloc((p->n + 1) * sizeof(*left));
    size_t n = 0, fastest = 0;

    for (size_t i = 1; i < p->n; i++)
        if (p->points[i].mean < p->points[fastest].mean)
            fastest = i;
    for (size_t i = 0; i < p->n; i++)
        if (i < fastest)
            p->points[i].pruned = 1;
        else
            left[n++] = &p->points[i];
    for (size_t i = 1; i + 1 < n;) {
        const struct rcp_point *const a = left[i - 1], *const b = left[i + 1];

        if (left[i]->mean > on_line(left[i]->batch, a->batch, a->mean, b->batch, b->mean)) {
            left[i]->pruned = 1;
            memmove(&left[i], &left[i + 1], (n - i - 1) * sizeof(*left));
            n--;
        } else
            i++;
    }
    free(left);
}

int rcp_parse(struct rcp_points *p, const char *text, const char *version, const char *benchmark)
{
    const struct score_rule rule = score_rule(version, benchmark);
    struct numbers runs = {0};
    int rc;

    *p = (struct rcp_points){.n_drop = rule.n_drop, .n_submission = rule.n_runs};
    if (rule.n_runs == 0)
        return 0;
    rc = read_points(p, text, benchmark, &runs);
    free(runs.v);
    if (rc < 0) {
        rcp_release(p);
        return rc;
    }
    if (p->n > 0)
        qsort(p->points, p->n, sizeof(*p->points), by_batch);
    prune(p);
    return 0;
}

int rcp_load(struct rcp_points *p, const char *version, const char *benchmark)
{
    char name[32];
    const struct embedded *file;

    *p = (struct rcp_points){0};
    snprintf(name, sizeof(name), "%s.points", version);
    file = embedded_find(name);
    return file ? rcp_parse(p, file->text, version, benchmark) : 0;
}

void rcp_release(struct rcp_points *p)
{
    free(p->points);
    *p = (struct rcp_points){0};
}
