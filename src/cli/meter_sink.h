/* The meter of a run: a sink of the event stream that opens it, tells it of phases and epochs, and
 * closes it; and what samples.csv holds in the end, for result.json and in a line.
 *
 * Phases: init, from run_start on warmup (cli/warm.h says until when), train, evaluate, end. A row
 * of an epoch lies between its epoch_start and its epoch_stop. What fails costs the run nothing but
 * a warning. */
#ifndef STAVE_CLI_METER_SINK_H
#define STAVE_CLI_METER_SINK_H

#include "base/str.h"
#include "data/source.h"
#include "meter/meter.h"
#include "trace/trace.h"

/* What came of it, filled in while the trace is open and when it is closed. */
struct meter_report {
    struct meter *meter; /* at work; NULL before, afterwards, and when it could not be opened */
    struct meter_use use;
    double hz;
};

struct meter_sink_options {
    const char *path; /* of samples.csv */
    double hz, warm;
    int64_t start_ns, start_ms; /* of the trace */
    const struct source *const *sources;
    size_t n_sources; /* of which some may be NULL */
    /* Borrowed until the trace is closed, as is the report. */
    const char *run_dir, *ingest_dir; /* NULL: no ingest, or it writes to the run folder */
    struct meter_report *report;
};
extern const struct trace_sink_ops meter_sink;

/* Reads the file back, after the trace is closed. Appends to json the member "meter" of result.json
 * with a comma in front: mean, p50 and p95 of each column in each phase, by how much totals grew;
 * and to line the main figures of the phase that the run is about. Nothing when nothing was
 * sampled. */
void meter_report_read(const struct meter_report *r, const char *path, struct str *json,
                       struct str *line);

#endif
