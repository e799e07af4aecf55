#include <stdlib.h>

#include "base/err.h"
#include "base/random.h"
#include "trace/line_file.h"
#include "trace/mllog_read.h"
#include "trace/sinks.h"

struct mllog {
    struct line_file file;
    int extra_keys, failed;
    uint64_t *sums; /* of the records written, in order: what must stand in the file at the end */
    size_t n, cap;
};

static int mllog_open(void **state, const void *options)
{
    const struct mllog_options *o = options;
    struct mllog *m = xcalloc(1, sizeof(*m));
    const int rc = line_file_open(&m->file, o->path, LINE_FILE_NEW);

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

static void note_record(struct mllog *m)
{
    if (m->n == m->cap) {
        m->cap = m->cap ? 2 * m->cap : 64;
        m->sums = xrealloc(m->sums, m->cap * sizeof(*m->sums));
    }
    m->sums[m->n++] = random_name_n(m->file.line.s, m->file.line.len);
}

static int mllog_event(void *state, const struct trace_event *e)
{
    struct mllog *m = state;

    if (!is_wanted(m, e->key))
        return 0;
    str_reset(&m->file.line);
    format_record(&m->file.line, e);
    note_record(m);
    m->failed = line_file_put(&m->file) < 0;
    return m->failed ? E_IO : 0;
}

/* ---- does the log stand ---- */

struct check {
    const struct mllog *m;
    size_t n;
};

static int check_record(void *context, const struct mllog_record *r)
{
    struct check *const c = context;

    if (c->n < c->m->n && random_name_n(r->text, r->n_text) == c->m->sums[c->n]) {
        c->n++;
        return 0;
    }
    return err(E_DATA, "%s line %zu column %zu: %s is not record %zu as this run wrote it",
               c->m->file.path, r->line, r->column, r->key, c->n + 1);
}

static int check_trouble(void *context, const struct mllog_trouble *t)
{
    const struct check *const c = context;

    return err(E_DATA, "%s line %zu column %zu: %s, which this run did not write", c->m->file.path,
               t->line, t->column, t->about);
}

/* Reads the file as its reader will find it, by name. */
static int check_file(const struct mllog *m)
{
    struct check c = {.m = m};

    TRY(mllog_read_file_as(MLLOG_FORMAT_JSON, m->file.path,
                           &(struct mllog_visitor){check_record, check_trouble, &c}));
    if (c.n < m->n)
        return err(E_DATA, "%s holds %zu of the %zu records of this run", m->file.path, c.n, m->n);
    return 0;
}

static int mllog_close(void *state)
{
    struct mllog *m = state;
    int rc = m->failed ? 0 : check_file(m); /* a failure to write has been told */
    const int closed = line_file_close(&m->file);

    free(m->sums);
    free(m);
    return rc < 0 ? rc : closed;
}

const struct trace_sink_ops mllog_sink = {
    .name = "MLPerf log",
    .open = mllog_open,
    .event = mllog_event,
    .close = mllog_close,
};
