/* The sinks that come with the stream. Options are passed to trace_add by address and need to live
 * only during that call. */
#ifndef STAVE_TRACE_SINKS_H
#define STAVE_TRACE_SINKS_H

#include "trace/trace.h"

/* MLPerf's log, one ":::MLLOG {json}" record a line. Each record is one write of a whole line that
 * starts at column 0. Fields stand in the order namespace, time_ms, event_type, key, value,
 * metadata; metadata starts with file and lineno. NaN and infinities appear bare, as MLPerf's
 * parser takes them. One process of a run writes, never every rank. On closing the file is read
 * back by name: every record must stand there whole and in order, with nothing else between. */
struct mllog_options {
    const char *path;
    enum { MLLOG_STANDARD_KEYS, MLLOG_EXTRA_KEYS } keys;
};
extern const struct trace_sink_ops mllog_sink;
/* Appends the record that the log gets for an event, without a newline. */
void mllog_add_record(struct str *out, const struct trace_event *e);

/* events.jsonl: every event, one JSON object a line, written at once. Metadata stands beside
 * time_ms, elapsed_ns, type, key, value, file and lineno. What is not known is absent; NaN and
 * infinities are the strings "NaN", "Infinity", "-Infinity". */
struct jsonl_options {
    const char *path;
    enum { JSONL_NEW, JSONL_APPEND } mode;
};
extern const struct trace_sink_ops jsonl_sink;

/* What a person sees on stderr. A line per evaluation and one at the end; on a terminal also a view
 * of several lines below them (trace/live.h), drawn anew by a thread of the sink five times a
 * second (base/screen.h), until the run stops. DEBUG, which prints lines of its own, and a terminal
 * that can not draw in place do without the view. */
struct terminal_options {
    int fd;             /* 0 means 2, stderr */
    const char *name;   /* of the workload */
    const char *unit;   /* of samples: "images"; NULL: "samples" */
    const char *metric; /* "top-1"; NULL: "quality" */
    double target;      /* 0: none */
    enum { TERMINAL_HIGHER_IS_BETTER, TERMINAL_LOWER_IS_BETTER } direction;
    /* The last value of a column of samples.csv, NAN where it is not known; NULL: none is. Called
     * by the sink's thread between run_start and run_stop, or the closing of the sink. */
    double (*last)(void *context, const char *column);
    void *context;
};
extern const struct trace_sink_ops terminal_sink;

#endif
