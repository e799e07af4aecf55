#include "cli/set_report.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "cli/command.h"
#include "cli/set_result.h"

static void print_number(const char *format, const char *absent, double v)
{
    if (isfinite(v))
        printf(format, v);
    else
        fputs(absent, stdout);
}

static void print_run(const struct run_set *s, size_t at)
{
    const struct set_run *const r = &s->runs[at];
    const int finished = r->state == SET_FINISHED;

    printf("%3zu  %16llu  ", at + 1, (unsigned long long)r->seed);
    if (!finished) {
        printf("%s\n", set_state_names[r->state]);
        return;
    }
    print_number("%7.4f  ", "      -  ", r->result.quality);
    print_number("%6.4g  ", "     -  ", r->result.epochs);
    print_number("%8.4g  ", "       -  ", r->result.minutes);
    fputs(r->result.cache_cleared < 0 ? "    -  "
          : r->result.cache_cleared   ? "clear  "
                                      : " warm  ",
          stdout);
    if (r->result.code == EXIT_REACHED)
        printf("yes\n");
    else
        printf("no: %s\n", r->result.why);
}

/* ---- the score ---- */

static size_t may_fail(const struct set_judge *j)
{
    return (size_t)j->rule.n_drop;
}

static void add_interval(const struct score_estimate *e, struct str *out)
{
    if (isfinite(e->low))
        str_printf(out, "95 %% interval %.4g to %.4g, +-%.1f %%", fmax(e->low, 0), e->high,
                   100 * score_uncertainty(e));
    else
        str_printf(out, "too few runs for an interval");
}

/* Why these runs make no score, or 0. */
static int add_reason(const struct set_judge *j, const struct score_estimate *e, struct str *out)
{
    if (!j->timed)
        str_add(out, "none: the runs train to no target");
    else if (e->n_failed > may_fail(j))
        str_printf(out,
                   "none: %zu runs do not count, and a result holds at most %zu of these "
                   "(it is then the slowest)",
                   e->n_failed, may_fail(j));
    else if (!isfinite(e->mean))
        str_printf(out, "none yet: of %zu run%s, the fastest and the slowest are dropped", e->n,
                   e->n == 1 ? "" : "s");
    else
        return 0;
    return 1;
}

static void add_score(const struct run_set *s, const struct set_judge *j, struct str *out)
{
    const struct score_estimate e = set_estimate(s, j->rule.n_drop);

    str_add(out, "score: ");
    if (add_reason(j, &e, out))
        return;
    str_printf(out, "%.4g minutes, the mean of %zu runs without the ", e.mean, e.n);
    if (j->rule.n_drop == 1)
        str_add(out, "fastest and the slowest; ");
    else
        str_printf(out, "%d fastest and the %d slowest; ", j->rule.n_drop, j->rule.n_drop);
    add_interval(&e, out);
    if (e.n_failed)
        str_printf(out, "; %zu that does not count is the slowest", e.n_failed);
    if (e.n < (size_t)j->rule.n_runs)
        str_printf(out, "; a result under ruleset %s takes %d runs", s->ruleset, j->rule.n_runs);
    if (j->rule.n_runs && e.n > (size_t)j->rule.n_runs)
        str_printf(out,
                   "; ruleset %s takes %d consecutive ones of them, those with the median score "
                   "(stave score)",
                   s->ruleset, j->rule.n_runs);
}

void set_add_certainty(const struct run_set *s, const struct set_judge *j, struct str *out)
{
    const struct score_estimate e = set_estimate(s, j->rule.n_drop);

    str_printf(out, "after %zu runs: ", e.n);
    if (add_reason(j, &e, out))
        return;
    str_printf(out, "score %.4g minutes, ", e.mean);
    add_interval(&e, out);
}

void set_print(const struct run_set *s, const struct set_judge *j)
{
    struct str score = STR_INIT;

    printf("run              seed  %7s  epochs   minutes  cache  stands\n", j->metric);
    for (size_t i = 0; i < s->n; i++)
        print_run(s, i);
    add_score(s, j, &score);
    printf("%s\nset of runs: %s\n", score.s, s->dir);
    str_release(&score);
}

/* ---- JSON ---- */

static void add_score_json(const struct run_set *s, const struct set_judge *j, struct str *out)
{
    const struct score_estimate e = set_estimate(s, j->rule.n_drop);

    str_printf(out, "{\"runs\": %zu, \"not_converged\": %zu, \"dropped_at_each_end\": %d", e.n,
               e.n_failed, j->rule.n_drop);
    if (j->rule.n_runs)
        str_printf(out, ", \"runs_asked_by_rules\": %d", j->rule.n_runs);
    if (j->timed) {
        json_add_real(out, "minutes", e.mean);
        json_add_real(out, "low", e.low);
        json_add_real(out, "high", e.high);
        json_add_real(out, "uncertainty_percent", 100 * score_uncertainty(&e));
    }
    str_add(out, "}");
}

void set_print_json(const struct run_set *s, const struct set_judge *j, int code)
{
    struct str set = STR_INIT, out = STR_INIT;

    run_set_add_json(s, &set);
    str_add(&out, "{\n  \"folder\": ");
    str_add_json(&out, s->dir);
    str_printf(&out, ",\n  \"exit_code\": %d,\n  \"metric\": ", code);
    str_add_json(&out, j->metric);
    str_add(&out, ",\n  \"score\": ");
    add_score_json(s, j, &out);
    str_add(&out, ",\n");
    str_add(&out, strchr(set.s, '\n') + 1);
    fputs(out.s, stdout);
    str_release(&set);
    str_release(&out);
}
