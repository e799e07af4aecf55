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

/* What a person sees on stderr. On a terminal one line of progress, rewritten in place; otherwise
 * only a line per evaluation and the end. */
struct terminal_options {
    int fd;             /* 0 means 2, stderr */
    const char *unit;   /* of samples: "images"; NULL: "samples" */
    const char *metric; /* "top-1"; NULL: "quality" */
    double target;      /* 0: none */
    enum { TERMINAL_HIGHER_IS_BETTER, TERMINAL_LOWER_IS_BETTER } direction;
};
extern const struct trace_sink_ops terminal_sink;

#endif
