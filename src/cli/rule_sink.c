#include "cli/rule_sink.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/str.h"
#include "rules/check.h"
#include "trace/sinks.h"

struct watch {
    struct rule_check *check;
    struct str line; /* the record as the log has it */
    size_t number;   /* of the line */
    size_t n_violations;
    char *first;
    int only_part, is_success;
    const char *version;
};

static int on_finding(void *context, const struct rule_finding *f)
{
    struct watch *const w = context;
    const int is_violation = f->severity == RULE_ERROR || f->severity == RULE_STRICT;
    char *place;

    /* That a run did not reach its target is told by the run. */
    if (f->severity == RULE_NOTE || strcmp(f->name, "not-a-success") == 0)
        return 0;
    place = f->line ? xasprintf(" line %zu", f->line) : xstrdup("");
    warning("mlperf.log%s: %s%s%s; expected %s [%s; %s]", place, f->key, f->key[0] ? ": " : "",
            f->found, f->expected, f->name, f->rule);
    if (is_violation && w->n_violations++ == 0)
        w->first = xasprintf("%s%s%s", f->key, f->key[0] ? ": " : "", f->found);
    free(place);
    return 0;
}

static int watch_open(void **state, const void *options)
{
    const struct rule_sink_options *const o = options;
    struct watch *const w = xcalloc(1, sizeof(*w));

    w->check = rule_check_new(o->ruleset, &(struct rule_visitor){on_finding, w});
    w->version = o->ruleset->version;
    w->only_part = o->only_part;
    *state = w;
    return 0;
}

static int on_record(void *context, const struct mllog_record *r)
{
    struct watch *const w = context;
    const char *const status = cJSON_GetStringValue(mllog_member(r->metadata, "status"));
    struct mllog_record here = *r;

    here.line = w->number;
    if (strcmp(r->key, "run_stop") == 0 && status && strcmp(status, "success") == 0)
        w->is_success = 1;
    return rule_check_record(w->check, &here);
}

static int on_trouble(void *context, const struct mllog_trouble *t)
{
    struct watch *const w = context;
    struct mllog_trouble here = *t;

    here.line = w->number;
    return rule_check_trouble(w->check, &here);
}

static int watch_event(void *state, const struct trace_event *e)
{
    struct watch *const w = state;

    if (trace_key_audience(e->key) != TRACE_STANDARD)
        return 0;
    str_reset(&w->line);
    mllog_add_record(&w->line, e);
    str_add(&w->line, "\n");
    w->number++;
    return mllog_read_memory_as(MLLOG_FORMAT_JSON, w->line.s, w->line.len,
                                &(struct mllog_visitor){on_record, on_trouble, w});
}

static int watch_close(void *state)
{
    struct watch *const w = state;
    struct rule_verdict verdict;
    int rc = 0;

    if (w->is_success && !w->only_part)
        rule_check_finish(w->check, &verdict);
    if (w->n_violations)
        rc = err(E_DATA, "%zu %s against ruleset %s, the first: %s", w->n_violations,
                 w->n_violations > 1 ? "findings" : "finding", w->version, w->first);
    rule_check_free(w->check);
    str_release(&w->line);
    free(w->first);
    free(w);
    return rc;
}

const struct trace_sink_ops rule_sink = {
    .name = "rules",
    .open = watch_open,
    .event = watch_event,
    .close = watch_close,
};
