/* Runs judged together: which of them are scored, the score, and whether it stands. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "rules/published.h"
#include "rules/result.h"
#include "rules/result_twice.h"
#include "rules/ruleset.h"

static double time_of(const struct result_run *run)
{
    return run->why ? INFINITY : run->minutes;
}

/* ---- which runs ---- */

static int by_start(const void *a, const void *b)
{
    const struct result_run *const *x = a, *const *y = b;

    return ((*x)->start_ms > (*y)->start_ms) - ((*x)->start_ms < (*y)->start_ms);
}

struct window {
    double score;
    size_t first;
};

static int by_score(const void *a, const void *b)
{
    const struct window *const x = a, *const y = b;

    return (x->score > y->score) - (x->score < y->score);
}

static double window_score(struct result_run **runs, const struct score_rule *rule)
{
    double *const times = xmalloc((size_t)rule->n_runs * sizeof(*times)), mean;

    for (int i = 0; i < rule->n_runs; i++)
        times[i] = time_of(runs[i]);
    mean = score_estimate(times, (size_t)rule->n_runs, rule->n_drop).mean;
    free(times);
    return isnan(mean) ? INFINITY : mean;
}

/* More runs than a result has: all but the median window of consecutive ones are set aside. */
static void choose_window(struct result *r)
{
    const size_t n = (size_t)r->rule.n_runs, n_windows = r->n_runs - n + 1;
    struct result_run **const runs = xmalloc(r->n_runs * sizeof(*runs));
    struct window *const windows = xmalloc(n_windows * sizeof(*windows));
    size_t first;

    for (size_t i = 0; i < r->n_runs; i++)
        runs[i] = &r->runs[i];
    qsort(runs, r->n_runs, sizeof(*runs), by_start);
    for (size_t i = 0; i < n_windows; i++)
        windows[i] = (struct window){window_score(runs + i, &r->rule), i};
    qsort(windows, n_windows, sizeof(*windows), by_score);
    first = windows[n_windows / 2].first;
    for (size_t i = 0; i < r->n_runs; i++)
        if (i < first || i >= first + n)
            runs[i]->fate = RESULT_OUTSIDE;
    str_printf(&r->notes,
               "%zu runs where the rules ask for %zu: of the %zu windows of consecutive runs the "
               "one with the median score is scored, from %s to %s.\n",
               r->n_runs, n, n_windows, runs[first]->name, runs[first + n - 1]->name);
    free(windows);
    free(runs);
}

/* The first so many that converge are scored; failures before the last of them are passed over. */
static void choose_first(struct result *r)
{
    int left = r->rule.first_converged;

    for (size_t i = 0; i < r->n_runs; i++)
        if (r->runs[i].why)
            r->runs[i].fate = RESULT_FAILED;
        else if (left > 0)
            left--;
        else
            r->runs[i].fate = RESULT_OUTSIDE;
    if (left > 0)
        str_printf(&r->problems, "%d of %zu runs converged; the score needs %d.\n",
                   r->rule.first_converged - left, r->n_runs, r->rule.first_converged);
}

static void choose_runs(struct result *r)
{
    const size_t n = (size_t)r->rule.n_runs;

    if (n == 0)
        str_printf(&r->problems, "No round of MLPerf Training has a benchmark called %.40s.\n",
                   r->benchmark);
    else if (r->n_runs < n)
        str_printf(&r->problems, "%zu run%s: the rules of %s ask for %zu of %s.\n", r->n_runs,
                   r->n_runs == 1 ? "" : "s", r->version, n, r->benchmark);
    else if (r->rule.first_converged)
        ;
    else if (r->n_runs > n && ruleset_round(r->version) < 11)
        str_printf(&r->problems, "%zu runs: the rules of %s ask for exactly %zu of %s.\n",
                   r->n_runs, r->version, n, r->benchmark);
    else if (r->n_runs > n)
        choose_window(r);
    if (r->rule.first_converged)
        choose_first(r);
}

static int in_window(const struct result *r, const struct result_run *run)
{
    return run->fate != RESULT_OUTSIDE && !(r->rule.first_converged && run->why);
}

static struct result_run *extreme(struct result *r, double sign)
{
    struct result_run *best = NULL;

    for (size_t i = 0; i < r->n_runs; i++)
        if (r->runs[i].fate == RESULT_COUNTS &&
            (!best || sign * time_of(&r->runs[i]) > sign * time_of(best)))
            best = &r->runs[i];
    return best;
}

/* Says of each run what became of it. */
static void settle_fates(struct result *r)
{
    int failed = 0;

    for (size_t i = 0; i < r->n_runs; i++)
        if (in_window(r, &r->runs[i]) && r->runs[i].why) {
            r->runs[i].fate = RESULT_FAILED;
            failed++;
        }
    for (int i = 0; i < r->rule.n_drop; i++) {
        struct result_run *const fast = extreme(r, -1);
        struct result_run *slow;

        if (fast)
            fast->fate = RESULT_FASTEST;
        slow = i < r->rule.n_drop - failed ? extreme(r, 1) : NULL;
        if (slow)
            slow->fate = RESULT_SLOWEST;
    }
}

/* ---- the epochs and the reference ---- */

/* BERT's epochs are samples by the rules; many logs of 1.0 to 2.0 count 1, 2, ... there and give
 * the samples in a record of their own. */
static void count_bert_samples(struct result *r)
{
    for (size_t i = 0; i < r->n_runs; i++)
        if (!isnan(r->runs[i].epochs) &&
            !(r->runs[i].epochs < 1e4 && r->runs[i].samples_at_stop >= 1e4))
            return;
    for (size_t i = 0; i < r->n_runs; i++)
        if (!isnan(r->runs[i].epochs))
            r->runs[i].epochs = r->runs[i].samples_at_stop;
    str_add(&r->notes, "The samples to the target are those of train_samples: epoch_num does not "
                       "count samples here.\n");
}

static double samples_of(const struct result *r, const struct result_run *run)
{
    const char *const b = r->benchmark;
    const double each = run->train_samples;

    if (strcmp(b, "bert") == 0)
        return run->epochs > 1e4 ? run->epochs : NAN;
    if (strcmp(b, "unet3d") == 0 && run->epochs > 1e4)
        return run->epochs; /* from 3.1 on */
    if (strcmp(b, "llama2_70b_lora") == 0)
        return run->epochs;
    if (strcmp(b, "dlrm") == 0)
        return (run->epochs - 1) * each; /* the first pass is epoch 1.0 to 2.0 */
    if (strcmp(b, "minigo") == 0 || strcmp(b, "gpt3") == 0 ||
        (strcmp(b, "stable_diffusion") == 0 && run->epochs < 1e5))
        return NAN;
    if (strcmp(b, "stable_diffusion") == 0)
        return run->epochs;
    return run->epochs * each;
}

static void find_rate(struct result *r)
{
    double samples = 0, minutes = 0;

    for (size_t i = 0; i < r->n_runs; i++) {
        struct result_run *const run = &r->runs[i];

        run->samples = run->why ? NAN : samples_of(r, run);
        if (isfinite(run->samples)) {
            samples += run->samples;
            minutes += run->minutes;
        }
    }
    if (minutes > 0)
        r->per_second = samples / minutes / 60;
}

/* The batch of all runs; NAN when one has none or another. */
static double common_batch(const struct result *r)
{
    for (size_t i = 1; i < r->n_runs; i++)
        if (r->runs[i].batch != r->runs[0].batch)
            return NAN;
    return r->n_runs ? r->runs[0].batch : NAN;
}

static int check_reference(struct result *r, const double *epochs, size_t n)
{
    struct rcp_points points;
    struct str words = STR_INIT;

    TRY(rcp_load(&points, r->version, r->benchmark));
    r->rcp = rcp_check(&points, common_batch(r), epochs, n);
    rcp_release(&points);
    if (r->rcp.kind == RCP_NONE || r->rcp.passed)
        return 0;
    rcp_describe(&r->rcp, r->benchmark, &words);
    str_printf(&r->problems, "Reference convergence: %s.\n", words.s);
    str_release(&words);
    return 0;
}

/* ---- the score ---- */

static void find_closed(struct result *r)
{
    const char *const d = r->system.division ? r->system.division : r->division;

    r->closed = d && (strcmp(d, "closed") == 0 || strcmp(d, "Closed") == 0);
    if (r->system.division && r->division && strcmp(r->system.division, r->division) != 0)
        str_printf(&r->notes, "The logs say division %.20s, the system's description %.20s.\n",
                   r->division, r->system.division);
}

static void find_factor(struct result *r)
{
    const double own =
        r->closed && ruleset_round(r->version) >= 21 && r->rcp.passed ? r->rcp.factor : 1;

    r->factor = own;
    if (isnan(r->scaling_file))
        return;
    r->factor = r->scaling_file;
    if (fabs(own - r->scaling_file) > 5e-5)
        str_printf(&r->notes,
                   "scaling.json says %.6f; the reference convergence test gives %.6f. The "
                   "file's is used.\n",
                   r->scaling_file, own);
}

/* Why the first run that failed did. */
static const char *first_reason(const struct result *r, struct str *reason)
{
    for (size_t i = 0; i < r->n_runs; i++)
        if (r->runs[i].why) {
            str_printf(reason, "%s: %s.", r->runs[i].name, r->runs[i].why);
            return reason->s;
        }
    return "";
}

static void find_score(struct result *r, const double *minutes, const double *epochs, size_t n)
{
    const size_t most = (size_t)r->rule.n_drop;
    struct str reason = STR_INIT;

    r->n_scored = n;
    r->time = score_estimate(minutes, n, r->rule.n_drop);
    r->epochs = score_estimate(epochs, n, r->rule.n_drop);
    if (r->time.n_failed > most)
        str_printf(&r->problems, "%zu of %zu runs do not count; %s may fail. %s\n",
                   r->time.n_failed, n,
                   most == 4   ? "four"
                   : most == 1 ? "one"
                               : "none",
                   first_reason(r, &reason));
    else if (isnan(r->time.mean))
        str_add(&r->problems,
                "Nothing is left when the fastest and the slowest run are dropped.\n");
    str_release(&reason);
}

static int score_runs(struct result *r)
{
    double *const minutes = xmalloc((r->n_runs + 1) * sizeof(*minutes));
    double *const epochs = xmalloc((r->n_runs + 1) * sizeof(*epochs));
    size_t n = 0;
    int rc = 0;

    for (size_t i = 0; i < r->n_runs; i++)
        if (in_window(r, &r->runs[i])) {
            minutes[n] = time_of(&r->runs[i]);
            epochs[n++] = isnan(r->runs[i].epochs) ? INFINITY : r->runs[i].epochs;
        }
    find_score(r, minutes, epochs, n);
    if (r->closed && r->rule.n_runs > 0)
        rc = check_reference(r, epochs, n);
    find_factor(r);
    r->minutes = r->time.mean * r->factor;
    r->speedup = published_reference_minutes(r->version, r->benchmark) / r->minutes;
    free(minutes);
    free(epochs);
    return rc;
}

int result_finish(struct result *r)
{
    int rc;

    if (!r->benchmark) {
        str_add(&r->problems, "No log names its benchmark (submission_benchmark).\n");
        r->benchmark = xstrdup("unknown");
    }
    r->rule = score_rule(r->version, r->benchmark);
    find_closed(r);
    choose_runs(r);
    result_find_twice(r, ruleset_round(r->version));
    if (strcmp(r->benchmark, "bert") == 0)
        count_bert_samples(r);
    rc = score_runs(r);
    settle_fates(r);
    find_rate(r);
    str_add(&r->problems, "");
    str_add(&r->notes, "");
    r->stands = r->problems.len == 0 && isfinite(r->minutes);
    return rc;
}
