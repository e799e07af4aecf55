#include <stdlib.h>

#include "base/err.h"
#include "trace/line_file.h"
#include "trace/sinks.h"

struct mllog {
    struct line_file file;
    int extra_keys;
};

static int mllog_open(void **state, const void *options)
{
    const struct mllog_options *o = options;
    const enum line_file_mode mode = o->mode == MLLOG_APPEND ? LINE_FILE_APPEND : LINE_FILE_NEW;
    struct mllog *m = xcalloc(1, sizeof(*m));
    const int rc = line_file_open(&m->file, o->path, mode);

    if (rc < 0) {
        free(m);
        return rc;
    }
    m->extra_keys = o->keys == MLLOG_EXTRA_KEYS;
    *state = m;
    return 0;
}

static int is_wanted(const struct mllog *m, enum trace_key key)
{
    const enum trace_audience audience = trace_key_audience(key);

    return audience == TRACE_STANDARD || (audience == TRACE_EXTRA && m->extra_keys);
}

static void format_record(struct str *out, const struct trace_event *e)
{
    static const char *const types[] = {
        [TRACE_TYPE_POINT] = "POINT_IN_TIME",
        [TRACE_TYPE_START] = "INTERVAL_START",
        [TRACE_TYPE_END] = "INTERVAL_END",
    };

    str_printf(out,
               ":::MLLOG {\"namespace\": \"\", \"time_ms\": %lld, \"event_type\": \"%s\", "
               "\"key\": \"%s\", \"value\": ",
               (long long)e->time_ms, types[e->type], trace_key_name(e->key));
    trace_add_json(out, &e->value, TRACE_NONFINITE_BARE);
    str_add(out, ", \"metadata\": {\"file\": ");
    str_add_json(out, e->file);
    str_printf(out, ", \"lineno\": %d", e->line);
    for (const struct trace_pair *p = e->meta; p && p->name; p++) {
        if (p->value.kind == TRACE_NONE)
            continue;
        str_add(out, ", ");
        str_add_json(out, p->name);
        str_add(out, ": ");
        trace_add_json(out, &p->value, TRACE_NONFINITE_BARE);
    }
    str_add(out, "}}");
}

static int mllog_event(void *state, const struct trace_event *e)
{
    struct mllog *m = state;

    if (!is_wanted(m, e->key))
        return 0;
    str_reset(&m->file.line);
    format_record(&m->file.line, e);
    return line_file_put(&m->file);
}

static int mllog_close(void *state)
{
    struct mllog *m = state;
    const int rc = line_file_close(&m->file);

    free(m);
    return rc;
}

const struct trace_sink_ops mllog_sink = {
    .name = "MLPerf log",
    .open = mllog_open,
    .event = mllog_event,
    .close = mllog_close,
};
