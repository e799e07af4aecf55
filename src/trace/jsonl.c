#include <stdlib.h>

#include "base/err.h"
#include "trace/line_file.h"
#include "trace/sinks.h"

static int jsonl_open(void **state, const void *options)
{
    const struct jsonl_options *o = options;
    const enum line_file_mode mode = o->mode == JSONL_APPEND ? LINE_FILE_CONTINUE : LINE_FILE_NEW;
    struct line_file *f = xcalloc(1, sizeof(*f));
    const int rc = line_file_open(f, o->path, mode);

    if (rc < 0) {
        free(f);
        return rc;
    }
    *state = f;
    return 0;
}

static void add_member(struct str *out, const char *name, const struct trace_value *v)
{
    if (v->kind == TRACE_NONE)
        return;
    str_add(out, ", ");
    str_add_json(out, name);
    str_add(out, ": ");
    trace_add_json(out, v, TRACE_NONFINITE_QUOTED);
}

static int jsonl_event(void *state, const struct trace_event *e)
{
    static const char *const types[] = {
        [TRACE_TYPE_POINT] = "point",
        [TRACE_TYPE_START] = "start",
        [TRACE_TYPE_END] = "end",
    };
    struct line_file *f = state;

    str_reset(&f->line);
    str_printf(
        &f->line, "{\"time_ms\": %lld, \"elapsed_ns\": %lld, \"type\": \"%s\", \"key\": \"%s\"",
        (long long)e->time_ms, (long long)e->elapsed_ns, types[e->type], trace_key_name(e->key));
    add_member(&f->line, "value", &e->value);
    for (const struct trace_pair *p = e->meta; p && p->name; p++)
        add_member(&f->line, p->name, &p->value);
    add_member(&f->line, "file", &(struct trace_value){TRACE_STRING, {.text = e->file}});
    add_member(&f->line, "lineno", &(struct trace_value){TRACE_INT, {.whole = e->line}});
    str_add(&f->line, "}");
    return line_file_put(f);
}

static int jsonl_close(void *state)
{
    struct line_file *f = state;
    const int rc = line_file_close(f);

    free(f);
    return rc;
}

const struct trace_sink_ops jsonl_sink = {
    .name = "event log",
    .open = jsonl_open,
    .event = jsonl_event,
    .close = jsonl_close,
};
