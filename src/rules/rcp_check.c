/* Holding a submission's epochs against the reference convergence points. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/str.h"
#include "rules/rcp.h"
#include "rules/score.h"

/* The point for a batch, among those not pruned; RCP_FOUND, INTERPOLATED, BELOW, ABOVE or NONE. */
static enum rcp_kind find(const struct rcp_points *p, double batch, struct rcp_point *point)
{
    const struct rcp_point *low = NULL, *high = NULL;

    for (size_t i = 0; i < p->n; i++) {
        const struct rcp_point *const at = &p->points[i];

        if (at->pruned)
            continue;
        if (at->batch == batch) {
            *point = *at;
            return RCP_FOUND;
        }
        if (at->batch < batch)
            low = at;
        else if (!high)
            high = at;
    }
    if (!low && !high)
        return RCP_NONE;
    if (!high)
        return RCP_ABOVE;
    *point = low ? rcp_between(p, batch, low, high) : *high;
    return low ? RCP_INTERPOLATED : RCP_BELOW;
}

/* The mean of the submission; NAN when more runs failed than may or none is left. */
static double mean_epochs(const double *epochs, size_t n, int n_drop)
{
    double *const sorted = xmalloc((n + 1) * sizeof(*sorted)), mean;

    if (n > 0)
        memcpy(sorted, epochs, n * sizeof(*sorted));
    score_sort(sorted, n);
    mean = score_olympic_mean(sorted, n, (size_t)n_drop);
    free(sorted);
    return isfinite(mean) ? mean : NAN;
}

struct rcp_test rcp_check(const struct rcp_points *p, double batch, const double *epochs, size_t n)
{
    struct rcp_test t = {.batch = batch, .epochs = NAN, .factor = 1};

    if (p->n == 0)
        return t;
    t.epochs = mean_epochs(epochs, n, p->n_drop);
    t.kind = isnan(batch) ? RCP_NO_BATCH : RCP_NOT_CONVERGED;
    if (isnan(batch) || isnan(t.epochs))
        return t;
    t.kind = find(p, batch, &t.point);
    if (t.kind == RCP_ABOVE)
        return t;
    /* mean / (mean / floor) may differ from the floor in its last bit: so the rcp checker compares
     */
    t.passed = t.epochs >= t.point.mean / (t.point.mean / t.point.floor);
    if (t.passed && t.point.mean / t.epochs > 1)
        t.factor = t.point.mean / t.epochs;
    return t;
}

const char *rcp_unit(const char *benchmark, double mean)
{
    if (mean > 1e4 || strcmp(benchmark, "llama2_70b_lora") == 0)
        return "samples";
    return strcmp(benchmark, "stable_diffusion") == 0 ? "steps" : "epochs";
}

static void add_numbers(const struct rcp_test *t, const char *unit, struct str *out)
{
    str_printf(out, "needs %.*f %s, floor %.*f; these runs needed %.*f",
               t->point.mean > 1e4 ? 0 : 3, t->point.mean, unit, t->point.mean > 1e4 ? 0 : 3,
               t->point.floor, t->point.mean > 1e4 ? 0 : 3, t->epochs);
}

void rcp_describe(const struct rcp_test *t, const char *benchmark, struct str *out)
{
    const char *const unit = rcp_unit(benchmark, t->point.mean);

    switch (t->kind) {
    case RCP_NONE:
        str_printf(out, "the table of this round has no reference convergence points for %s",
                   benchmark);
        return;
    case RCP_NO_BATCH:
        str_add(out, "the logs name no global_batch_size, or different ones");
        return;
    case RCP_NOT_CONVERGED:
        str_add(out, "too few runs converged to be held against the reference");
        return;
    case RCP_ABOVE:
        str_printf(out,
                   "batch %.10g is larger than any the reference ran; a closed result needs new "
                   "reference runs",
                   t->batch);
        return;
    case RCP_BELOW:
        str_printf(out, "batch %.10g is smaller than any the reference ran; at %.10g it ", t->batch,
                   t->point.batch);
        break;
    case RCP_FOUND:
        str_printf(out, "at batch %.10g the reference ", t->batch);
        break;
    case RCP_INTERPOLATED:
        str_printf(out, "at batch %.10g, interpolated, the reference ", t->batch);
        break;
    }
    add_numbers(t, unit, out);
    str_add(out, t->passed ? (t->factor > 1 ? ": faster than its mean, and allowed"
                                            : ": not faster than its mean")
                           : ": faster than allowed");
}

enum rcp_kind rcp_say_batch(const char *version, const char *benchmark, long long batch,
                            struct str *words)
{
    struct rcp_points points;
    struct rcp_point p;
    enum rcp_kind kind;

    if (rcp_load(&points, version, benchmark) < 0)
        BUG("%s", err_reason()); /* the file is our own */
    kind = find(&points, (double)batch, &p);
    if (kind == RCP_NONE)
        str_printf(words, "%s has no reference convergence points", benchmark);
    else
        str_printf(words, "batch %lld", batch);
    if (kind == RCP_INTERPOLATED)
        str_add(words, " lies between two reference convergence points: interpolated, ");
    else if (kind == RCP_FOUND)
        str_add(words, ": ");
    if (kind == RCP_FOUND || kind == RCP_INTERPOLATED)
        str_printf(words, "the reference needs %.2f %s, the floor is %.2f", p.mean,
                   rcp_unit(benchmark, p.mean), p.floor);
    else if (kind == RCP_BELOW)
        str_printf(words,
                   " has no reference convergence point; the smallest is %.10g, and a closed "
                   "result below it may not need fewer %s than its floor of %.2f",
                   p.batch, rcp_unit(benchmark, p.mean), p.floor);
    else if (kind == RCP_ABOVE)
        str_printf(words,
                   " has no reference convergence point; the largest is %.10g, and a closed "
                   "result above it needs new reference runs",
                   points.points[points.n - 1].batch);
    rcp_release(&points);
    return kind;
}
