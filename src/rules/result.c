/* Runs added one by one: what their logs say, and whether they count. */
#include "rules/result.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "rules/result_read.h"
#include "rules/result_twice.h"
#include "rules/ruleset.h"

const char *result_benchmark(const struct log *l)
{
    const char *const b = l->benchmark;

    return b && (strcmp(b, "mask") == 0 || strcmp(b, "mask_rcnn") == 0) ? "maskrcnn" : b;
}

int result_init(struct result *r, const char *version)
{
    *r = (struct result){
        .version = "",
        .system = {.nodes = NAN, .per_node = NAN},
        .scaling_file = NAN,
        .factor = 1,
        .minutes = NAN,
        .per_second = NAN,
        .speedup = NAN,
    };
    if (version && !ruleset_find(version))
        return ruleset_unknown(version);
    if (version)
        r->version = ruleset_find(version)->version;
    return 0;
}

static void keep(char **place, const char *text)
{
    if (!*place && text)
        *place = xstrdup(text);
}

/* The value of the last evaluation before the end of the run. */
static double quality_of(const struct log *l)
{
    return l->n_evaluations ? l->evaluations[l->n_evaluations - 1].value : NAN;
}

/* 0.5 has no status that all submitters log; its logs name the target themselves. They hold numbers
 * of 32 bits: 21.79999924 is 21.8. */
static char *missed_target(const struct log *l)
{
    const double target = log_number(l, "eval_target");

    if (l->format != MLLOG_FORMAT_05 || isnan(target))
        return NULL;
    for (size_t i = 0; i < l->n_evaluations; i++)
        if ((float)l->evaluations[i].value >= (float)target)
            return NULL;
    return xasprintf("no evaluation reached the target of %.6g", target);
}

/* Why a run does not count, or NULL. */
static char *objection(const struct log *l)
{
    if (l->n_records == 0)
        return xstrdup("the log holds no record");
    if (isnan(l->run_start_ms))
        return xstrdup("the log has no run_start");
    if (isnan(l->run_stop_ms))
        return xstrdup("the log has no run_stop: it did not end, or missed the target");
    if (!(l->run_stop_ms > l->run_start_ms))
        return xstrdup("run_stop is not later than run_start");
    if (l->run_status && strcmp(l->run_status, "success") != 0)
        return xasprintf("run_stop has the status %.40s", l->run_status);
    if (!l->run_status && l->format != MLLOG_FORMAT_05)
        return xstrdup("run_stop has no status");
    return missed_target(l);
}

/* MLPerf's summariser drops the runs that its checker refuses; so does this, unless told not to. */
static char *refusal(struct result *r, const struct result_log *l, const char *name)
{
    char *const why = objection(&l->log);

    if (why || !l->refused)
        return why;
    if (!r->unchecked)
        return xasprintf("its log is refused: %s", l->refused);
    if (r->n_refused++ == 0)
        str_printf(&r->problems, "The round's checks refuse the log %s, which counts here: %s.\n",
                   name, l->refused);
    return NULL;
}

static void take(struct result *r, struct result_run *run, const struct log *l)
{
    run->start_ms = l->run_start_ms;
    run->minutes = log_minutes(l);
    run->epochs = l->epochs;
    if (l->format == MLLOG_FORMAT_05 && !run->why && l->n_evaluations)
        run->epochs = l->evaluations[l->n_evaluations - 1].epoch;
    run->quality = quality_of(l);
    run->batch = l->batch;
    run->train_samples = l->train_samples;
    run->samples_at_stop = l->samples_at_stop;
    result_marks_take(run, l);
    keep(&r->benchmark, result_benchmark(l));
    keep(&r->division, l->division);
    keep(&r->org, l->org);
    keep(&r->platform, l->platform);
    if (l->benchmark && strcmp(result_benchmark(l), r->benchmark) != 0)
        str_printf(&r->problems, "%s is a log of %.40s, the others are of %s.\n", run->name,
                   l->benchmark, r->benchmark);
}

/* A round that the caller named holds for all runs. */
static void take_version(struct result *r, const struct result_log *l, const char *name)
{
    if (!*r->version) {
        r->own = l->ruleset != NULL;
        r->guessed = !r->own;
        r->version = r->own ? l->ruleset : ruleset_of_lines(l->log.format)->version;
    } else if ((r->own || r->guessed) && l->ruleset && strcmp(l->ruleset, r->version) != 0)
        str_printf(&r->problems,
                   "%s was made under ruleset %s, others here are judged under %s; --ruleset "
                   "judges all by one.\n",
                   name, l->ruleset, r->version);
}

void result_add(struct result *r, const struct result_log *l, const char *path, const char *name)
{
    struct result_run run = {
        .path = xstrdup(path), .name = xstrdup(name), .why = refusal(r, l, name), .samples = NAN};

    take_version(r, l, name);
    take(r, &run, &l->log);
    if (!run.why && l->strict)
        str_printf(&r->notes, "%s counts by MLPerf's own checker, and yet: %s.\n", name, l->strict);
    r->runs = xrealloc(r->runs, (r->n_runs + 1) * sizeof(*r->runs));
    r->runs[r->n_runs++] = run;
}

void result_refuse_last(struct result *r, const char *why)
{
    struct result_run *const run = &r->runs[r->n_runs - 1];

    if (run->why)
        return;
    run->why = xstrdup(why);
    run->epochs = NAN;
}

void result_release(struct result *r)
{
    for (size_t i = 0; i < r->n_runs; i++) {
        free(r->runs[i].path);
        free(r->runs[i].name);
        free(r->runs[i].why);
        result_marks_release(&r->runs[i]);
    }
    free(r->runs);
    free(r->folder);
    free(r->benchmark);
    free(r->division);
    free(r->org);
    free(r->platform);
    free(r->system.name);
    free(r->system.submitter);
    free(r->system.division);
    free(r->system.accelerator);
    str_release(&r->problems);
    str_release(&r->notes);
    *r = (struct result){0};
}

double result_accelerators(const struct result *r)
{
    return r->system.nodes * r->system.per_node;
}

const char *result_fate_name(enum result_fate f)
{
    static const char *const names[] = {
        [RESULT_COUNTS] = "",
        [RESULT_FASTEST] = "dropped, fastest",
        [RESULT_SLOWEST] = "dropped, slowest",
        [RESULT_FAILED] = "does not count",
        [RESULT_OUTSIDE] = "outside the window that is scored",
    };

    return names[f];
}
