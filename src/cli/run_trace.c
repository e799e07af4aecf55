/* The event stream of a run and its sinks. */
#include <math.h>
#include <stdlib.h>

#include "base/err.h"
#include "base/file.h"
#include "cli/guard_sink.h"
#include "cli/rule_sink.h"
#include "cli/run.h"
#include "cli/run_folder.h"
#include "trace/sinks.h"

static int add_logs(struct run *r)
{
    char *const log = file_join(r->dir, "mlperf.log");
    char *const events = file_join(r->dir, "events.jsonl");
    const struct mllog_options mllog = {.path = log};
    const struct jsonl_options jsonl = {.path = events,
                                        .mode = r->own.resume ? JSONL_APPEND : JSONL_NEW};
    int rc = 0;

    if (r->own.only != ONLY_DATA)
        rc = trace_add(&r->trace, &mllog_sink, &mllog);
    if (rc == 0)
        rc = trace_add(&r->trace, &jsonl_sink, &jsonl);
    free(log);
    free(events);
    return rc;
}

/* While the trace is open: the view ends before the meter does, its sink being closed first. */
static double last_sample(void *context, const char *column)
{
    const struct meter_report *const m = context;

    return m->meter ? meter_last(m->meter, column) : NAN;
}

static int add_terminal(struct run *r)
{
    const struct metric_ops *const metric = r->task.metric;
    const struct terminal_options terminal = {
        .name = r->setup.workload->name,
        .unit = r->task.unit,
        .metric = metric->title,
        .target = r->setup.settings.train.target,
        .direction = metric->direction == METRIC_LOWER_IS_BETTER ? TERMINAL_LOWER_IS_BETTER
                                                                 : TERMINAL_HIGHER_IS_BETTER,
        .last = last_sample,
        .context = &r->metered};

    return trace_add(&r->trace, &terminal_sink, &terminal);
}

static int add_rules(struct run *r)
{
    const struct rule_sink_options rules = {
        .ruleset = ruleset_find(workload_ruleset(r->setup.workload, &r->setup.settings)),
        .only_part = r->goes_on || r->setup.settings.train.steps > 0};

    if (!r->setup.workload->benchmark || r->own.only != ONLY_ALL)
        return 0;
    return trace_add(&r->trace, &rule_sink, &rules);
}

static int add_meter(struct run *r)
{
    char *const path = file_join(r->dir, "samples.csv");
    const struct meter_sink_options meter = {.path = path,
                                             .hz = r->setup.conditions.sample_rate,
                                             .warm = r->setup.conditions.warm,
                                             .start_ns = r->trace.start_ns,
                                             .start_ms = r->trace.start_ms,
                                             .sources = r->task.sources,
                                             .n_sources = COUNT_OF(r->task.sources),
                                             .run_dir = r->dir,
                                             .ingest_dir = r->demand.ingest.dir,
                                             .report = &r->metered};
    const int rc = meter.hz > 0 ? trace_add(&r->trace, &meter_sink, &meter) : 0;

    free(path);
    return rc;
}

static int add_guard(struct run *r)
{
    const struct guard_sink_options guard = {r->setup.guard, r->setup.conditions.warm};

    return r->setup.guard ? trace_add(&r->trace, &guard_sink, &guard) : 0;
}

static int keep_earlier(const struct run *r)
{
    if (!r->own.resume)
        return 0;
    TRY(run_folder_keep(r->dir, "mlperf.log"));
    return run_folder_keep(r->dir, "samples.csv");
}

int run_open_trace(struct run *r)
{
    int rc = keep_earlier(r);

    trace_open(&r->trace);
    if (rc == 0)
        rc = add_logs(r);
    if (rc == 0)
        rc = add_terminal(r);
    if (rc == 0)
        rc = add_rules(r);
    if (rc == 0)
        rc = add_guard(r); /* before the meter, so that what it does belongs to the warm-up */
    if (rc == 0)
        rc = add_meter(r);
    if (rc < 0)
        trace_close(&r->trace);
    return rc;
}
