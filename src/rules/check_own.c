/* What the official checker passes over: times, units, lost records, formats. */
#include <math.h>
#include <string.h>

#include "base/err.h"
#include "rules/check_int.h"

static void find(struct rule_check *c, enum rule_severity severity, const char *name,
                 const struct mllog_record *r, const char *found, const char *expected)
{
    check_tell(c, &(struct rule_finding){.severity = severity,
                                         .name = name,
                                         .line = r ? r->line : 0,
                                         .column = r ? r->column : 0,
                                         .key = r ? r->key : "",
                                         .found = found,
                                         .expected = expected,
                                         .rule = check_rule_of(c, NULL)});
}

/* ---- time ---- */

static const struct {
    const char *start, *stop;
} intervals[N_INTERVALS] = {
    [IN_INIT] = {"init_start", "init_stop"},    [IN_RUN] = {"run_start", "run_stop"},
    [IN_EPOCH] = {"epoch_start", "epoch_stop"}, [IN_BLOCK] = {"block_start", "block_stop"},
    [IN_EVAL] = {"eval_start", "eval_stop"},
};

static void check_negative(struct rule_check *c, enum interval i, const struct mllog_record *r)
{
    const double ms = c->own.start_ms[i] - r->time_ms;

    if (!c->own.started[i] || !(ms > 0))
        return;
    str_reset(&c->found);
    str_reset(&c->expected);
    str_printf(&c->found, "it is %.10g s before its %s", ms / 1e3, intervals[i].start);
    str_printf(&c->expected, "a time after line %zu", c->own.start_line[i]);
    /* What counts is the time of the run; epochs of several hosts may overlap by their clocks. */
    find(c, i == IN_RUN || i == IN_INIT || ms > 1e3 ? RULE_STRICT : RULE_WARNING,
         "stop-before-start", r, c->found.s, c->expected.s);
}

static void check_interval(struct rule_check *c, const struct mllog_record *r)
{
    for (enum interval i = 0; i < N_INTERVALS; i++) {
        if (strcmp(r->key, intervals[i].stop) == 0)
            check_negative(c, i, r);
        else if (strcmp(r->key, intervals[i].start) == 0) {
            c->own.start_ms[i] = r->time_ms;
            c->own.start_line[i] = r->line;
            c->own.started[i] = 1;
        }
    }
}

static void check_backwards(struct rule_check *c, const struct mllog_record *r)
{
    const double ms = c->own.last_ms - r->time_ms;

    if (isnan(r->time_ms)) {
        find(c, RULE_STRICT, "time-no-number", r, "time_ms is not a number", "milliseconds");
        return;
    }
    if (ms > 0 && c->own.n_backwards++ == 0) {
        str_reset(&c->found);
        str_printf(&c->found, "its time is %.10g s before that of a record above it", ms / 1e3);
        find(c, RULE_WARNING, "time-backwards", r, c->found.s, "times that do not fall");
    }
    if (r->time_ms > c->own.last_ms)
        c->own.last_ms = r->time_ms;
}

/* ---- values ---- */

static int ends_in(const char *s, const char *end)
{
    const size_t n = strlen(s), m = strlen(end);

    return n >= m && strcmp(s + n - m, end) == 0;
}

static void check_type(struct rule_check *c, const struct mllog_record *r)
{
    const char *const wanted = ends_in(r->key, "_start")  ? "INTERVAL_START"
                               : ends_in(r->key, "_stop") ? "INTERVAL_END"
                                                          : NULL;

    if (wanted && r->type[0] && strcmp(r->type, wanted) != 0 && ruleset_name(c->r, r->key) >= 0)
        find(c, RULE_NOTE, "event-type", r, r->type, wanted);
}

static void check_per_cent(struct rule_check *c, const struct mllog_record *r)
{
    double x;

    if (strcmp(r->key, "eval_accuracy") != 0 || !rule_number(r->value, &x) || !c->benchmark)
        return;
    if (c->benchmark->target < 1 && !c->benchmark->lower_is_better && x > 1 && x <= 100)
        find(c, RULE_WARNING, "per-cent", r, check_value(c, r), "a part of one, not per cent");
}

static void check_status(struct rule_check *c, const struct mllog_record *r)
{
    const char *const status = cJSON_GetStringValue(mllog_member(r->metadata, "status"));

    if (strcmp(r->key, "run_stop") != 0 || !status || strcmp(status, "success") == 0)
        return;
    str_reset(&c->found);
    str_printf(&c->found, "status is %.40s", status);
    find(c, RULE_WARNING, "not-a-success", r, c->found.s,
         "success: a run that ends otherwise does not count as one that converged");
}

static void check_seed(struct rule_check *c, const struct mllog_record *r)
{
    if (strcmp(r->key, "seed") != 0)
        return;
    c->own.n_seeds++;
    if (!mllog_member(r->metadata, "file") || !mllog_member(r->metadata, "lineno"))
        find(c, RULE_WARNING, "seed-place", r, "metadata without file and lineno",
             "the place in the source, by which seeds of several runs are compared");
}

static int is_at(const struct rule_benchmark *b, long long epoch)
{
    for (size_t i = 0; i < COUNT_OF(b->eval_at) && b->eval_at[i]; i++)
        if (b->eval_at[i] == epoch)
            return 1;
    return 0;
}

static int on_schedule(const struct rule_check *c, double epoch)
{
    const struct rule_benchmark *const b = c->benchmark;

    if (b->eval_at[0])
        return is_at(b, (long long)epoch);
    if (c->own.n_evals == 0)
        return epoch >= (double)b->eval_first && epoch <= (double)b->eval_last;
    return epoch == c->own.last_eval_epoch ||
           epoch == c->own.last_eval_epoch + (double)b->eval_every;
}

static void check_schedule(struct rule_check *c, const struct mllog_record *r)
{
    double epoch;

    if (strcmp(r->key, "eval_accuracy") != 0 || !c->benchmark ||
        (!c->benchmark->eval_every && !c->benchmark->eval_at[0]) ||
        strcmp(c->verdict.division, "closed") != 0 ||
        !rule_number(mllog_member(r->metadata, "epoch_num"), &epoch) || c->own.off_schedule)
        return;
    if (!on_schedule(c, epoch)) {
        c->own.off_schedule = 1;
        str_reset(&c->found);
        str_printf(&c->found, "an evaluation after epoch %.10g", epoch);
        str_reset(&c->expected);
        rule_add_schedule(c->benchmark, &c->expected);
        find(c, RULE_WARNING, "schedule", r, c->found.s, c->expected.s);
    }
    c->own.n_evals++;
    c->own.last_eval_epoch = epoch;
}

/* ---- round 0.5, whose checker sorts the records by time ---- */

static void note_05(struct rule_check *c, const struct mllog_record *r)
{
    if (strcmp(r->key, "run_stop") == 0)
        c->own.run_stop_ms = r->time_ms;
    else if (strcmp(r->key, "run_final") == 0)
        c->own.run_final_ms = r->time_ms;
}

static void finish_05(struct rule_check *c)
{
    const double length = c->own.run_stop_ms - c->own.start_ms[IN_RUN];

    if (c->own.started[IN_RUN] && (length <= 0 || length > 365 * 86400e3))
        find(c, RULE_ERROR, "run-time", NULL, "run_stop is not after run_start, or a year after it",
             "the time of a run");
    if (c->own.run_final_ms < c->own.run_stop_ms)
        find(c, RULE_ERROR, "order", NULL, "run_final is before run_stop", "run_final after it");
}

void check_own_record(struct rule_check *c, const struct mllog_record *r)
{
    const int is_05 = c->r->format == MLLOG_FORMAT_05;

    check_backwards(c, r);
    if (!strchr("beirs", r->key[0])) /* the keys below begin with these */
        return;
    if (!is_05 || strcmp(r->key, intervals[IN_RUN].stop) != 0)
        check_interval(c, r);
    if (is_05) {
        note_05(c, r);
        return;
    }
    check_type(c, r);
    check_per_cent(c, r);
    check_status(c, r);
    check_seed(c, r);
    check_schedule(c, r);
}

/* ---- places that are no good records ---- */

/* What of a kind of trouble the official checker makes, and its name here. */
static const struct {
    enum rule_severity severity;
    const char *name, *expected;
} troubles[] = {
    [MLLOG_FOREIGN] = {N_RULE_SEVERITIES, "", ""},
    [MLLOG_PREFIX] = {N_RULE_SEVERITIES, "", ""},
    [MLLOG_RETURN] = {N_RULE_SEVERITIES, "", ""},
    [MLLOG_NO_NEWLINE] = {RULE_NOTE, "no-newline", "a newline at the end"},
    [MLLOG_GLUED] = {RULE_STRICT, "glued",
                     "one record a line; the official checker loses all but the last"},
    [MLLOG_TRAILING] = {RULE_ERROR, "trailing-text", "nothing behind the record"},
    [MLLOG_CUT] = {RULE_ERROR, "cut", "one whole record"},
    [MLLOG_FIELD] = {RULE_ERROR, "field", "key, value, time_ms and metadata"},
    [MLLOG_TYPE] = {RULE_STRICT, "field-type",
                    "a text, a value, a number and an object as key, value, time_ms and metadata"},
    [MLLOG_UNSPACED] =
        {RULE_STRICT, "no-blank",
         "a blank behind \":::MLLOG\"; the official checker does not see the record"},
    [MLLOG_DEEP] = {RULE_STRICT, "too-deep", "values as rules know them"},
    [MLLOG_LONG] = {RULE_STRICT, "too-long", "records of less than 256 KiB"},
};

void check_own_trouble(struct rule_check *c, const struct mllog_trouble *t)
{
    enum rule_severity severity = troubles[t->kind].severity;

    if (t->kind == MLLOG_PREFIX && c->own.n_prefixes++ == 0)
        c->own.first_prefix = t->line;
    if (severity == N_RULE_SEVERITIES)
        return;
    if (t->lost && severity == RULE_ERROR)
        severity = RULE_STRICT; /* the official checker does not look at it */
    check_tell(c, &(struct rule_finding){.severity = severity,
                                         .name = troubles[t->kind].name,
                                         .line = t->line,
                                         .column = t->column,
                                         .key = "",
                                         .found = t->about,
                                         .expected = troubles[t->kind].expected,
                                         .rule = check_rule_of(c, NULL)});
}

static void tell_prefixes(struct rule_check *c)
{
    str_reset(&c->found);
    str_printf(&c->found, "%zu records have text in front of them, the first in line %zu",
               c->own.n_prefixes, c->own.first_prefix);
    find(c, RULE_NOTE, "prefix", NULL, c->found.s, "records that start their lines");
}

void check_own_finish(struct rule_check *c)
{
    if (c->own.n_prefixes)
        tell_prefixes(c);
    if (c->own.n_backwards > 1) {
        str_reset(&c->found);
        str_printf(&c->found, "%zu records have a time before that of one above them",
                   c->own.n_backwards);
        find(c, RULE_WARNING, "time-backwards", NULL, c->found.s, "times that do not fall");
    }
    if (c->r->format == MLLOG_FORMAT_05)
        finish_05(c);
    else if (c->own.n_seeds == 0 && strcmp(c->verdict.division, "closed") == 0 &&
             c->r->format == MLLOG_FORMAT_JSON && ruleset_round(c->r->version) >= 10)
        find(c, RULE_WARNING, "no-seed", NULL, "no seed is logged",
             "one at least in each closed run; the package checker asks for it");
}
