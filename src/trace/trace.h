/* The event stream of a run: typed events to several sinks (MLPerf log, JSON lines, terminal, and
 * whatever else the command line adds). Only the training loop and what drives it emit; models and
 * kernels never do.
 *
 * An event is a key of keys.h, a value and named metadata, with the place in our sources that
 * emitted it:
 *     TRACE_POINT(t, seed, trace_int(seed));
 *     TRACE_END(t, epoch_stop, trace_none(), {"epoch_num", trace_int(epoch)});
 * Metadata names carry their unit (data_wait_ns) and are never time_ms, elapsed_ns, type, key,
 * value, file or lineno. A value that is not known is left out, never zero.
 *
 * Time: elapsed_ns is monotonic since trace_open; time_ms is the wall clock at trace_open plus
 * elapsed, so that a stepped wall clock does not change the length of a run.
 *
 * Ownership: the trace owns its sinks. Strings and metadata of an event are borrowed for the
 * duration of the call.
 * Threads: one thread emits, and the sinks run on it.
 * Errors: a sink that fails is reported once as a warning and gets no more events; the run goes on,
 * and trace_close returns the first failure of a sink that keeps what it writes. */
#ifndef STAVE_TRACE_TRACE_H
#define STAVE_TRACE_TRACE_H

#include <stddef.h>
#include <stdint.h>

struct str;

enum trace_key {
#define KEY(name, audience) KEY_##name,
#include "trace/keys.h"
#undef KEY
    N_TRACE_KEYS
};

enum trace_audience { TRACE_STANDARD, TRACE_EXTRA, TRACE_PROGRESS };
enum trace_type { TRACE_TYPE_POINT, TRACE_TYPE_START, TRACE_TYPE_END };
enum trace_kind { TRACE_NONE, TRACE_INT, TRACE_REAL, TRACE_BOOL, TRACE_STRING, TRACE_JSON };

struct trace_value {
    enum trace_kind kind;
    union {
        long long whole; /* TRACE_INT, TRACE_BOOL */
        double real;
        const char *text; /* TRACE_STRING; TRACE_JSON: one JSON document of our own making */
    };
};

struct trace_pair {
    const char *name; /* NULL ends a list */
    struct trace_value value;
};

struct trace_event {
    enum trace_type type;
    enum trace_key key;
    struct trace_value value;
    const struct trace_pair *meta; /* ends with a NULL name */
    const char *file;              /* "src/train/loop.c" */
    int line;
    int64_t time_ms, elapsed_ns; /* filled in by trace_emit */
};

/* A sink. open makes *state from its own options structure; close frees it, also after a failure
 * of event, and reports what could not be written. */
struct trace_sink_ops {
    const char *name;
    int shows_only; /* nothing is kept of what it writes, so its failure costs the record nothing */
    int (*open)(void **state, const void *options);
    int (*event)(void *state, const struct trace_event *e);
    int (*close)(void *state);
};

enum { TRACE_MAX_SINKS = 8 };
struct trace {
    struct {
        const struct trace_sink_ops *ops;
        void *state;
        int failed;
    } sinks[TRACE_MAX_SINKS];
    size_t n_sinks;
    int64_t start_ms, start_ns;
    int rc; /* first failure of a sink */
    char *reason;
};

void trace_open(struct trace *t);
int trace_add(struct trace *t, const struct trace_sink_ops *ops, const void *options);
void trace_emit(struct trace *t, const struct trace_event *e);
int trace_close(struct trace *t);

struct trace_value trace_none(void);
struct trace_value trace_int(long long v);
struct trace_value trace_real(double v);
struct trace_value trace_bool(int v);
struct trace_value trace_string(const char *s); /* NULL gives none */
struct trace_value trace_json(const char *text);

/* key without its prefix, then the value, then metadata pairs in braces. */
#define TRACE_POINT(t, key, ...) TRACE_EVENT_(t, TRACE_TYPE_POINT, key, __VA_ARGS__)
#define TRACE_START(t, key, ...) TRACE_EVENT_(t, TRACE_TYPE_START, key, __VA_ARGS__)
#define TRACE_END(t, key, ...) TRACE_EVENT_(t, TRACE_TYPE_END, key, __VA_ARGS__)

/* Progress, every few steps. A member that is not known is NAN (numbers) or 0 (steps_total);
 * without a learning rate nothing learns, and there is no loss. */
struct trace_step {
    long long epoch, step, steps_total;
    double samples_per_s, spread; /* spread: standard deviation over mean of the rate */
    double loss, learning_rate;
    double data_wait_share; /* of the wall time, 0..1 */
    double eta_s;
};
#define TRACE_STEP(t, ...)                                                                         \
    trace_step((t), __FILE__, __LINE__, &(const struct trace_step)__VA_ARGS__)
void trace_step(struct trace *t, const char *file, int line, const struct trace_step *s);

/* For sinks. */
const char *trace_key_name(enum trace_key key);
enum trace_audience trace_key_audience(enum trace_key key);
/* NULL when the event has no such metadata. */
const struct trace_value *trace_find(const struct trace_event *e, const char *name);
/* The metadata as a number; NAN when absent. */
double trace_find_real(const struct trace_event *e, const char *name);
/* Appends v as JSON: integers as integers, reals in the fewest digits that read back the same.
 * NaN and infinities appear bare (NaN, Infinity: what MLPerf's parser takes) or quoted (valid
 * JSON). */
enum trace_nonfinite { TRACE_NONFINITE_BARE, TRACE_NONFINITE_QUOTED };
void trace_add_json(struct str *out, const struct trace_value *v, enum trace_nonfinite how);

/* clang-format off */
#define TRACE_FIRST_(value, ...) value
#define TRACE_REST_(value, ...) __VA_ARGS__
#define TRACE_EVENT_(t, kind, name, ...)                                                           \
    trace_emit((t), &(const struct trace_event){                                                   \
        .type = (kind), .key = KEY_##name, .value = TRACE_FIRST_(__VA_ARGS__, 0),                  \
        .meta = (const struct trace_pair[]){TRACE_REST_(__VA_ARGS__, {0})},                        \
        .file = __FILE__, .line = __LINE__})
/* clang-format on */

#endif
