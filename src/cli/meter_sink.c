#include "cli/meter_sink.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "cli/warm.h"
#include "data/reader.h"

enum { MAX_FILES = 256 }; /* of the data set that are looked at */

struct metered {
    struct meter_report *report;
    struct warm warm;
    const char *phase;
    long long epoch;
    char **files;
    size_t n_files;
    const char *stores[2];
};

static uint64_t asked_bytes(void *context)
{
    (void)context;
    return reader_asked_bytes();
}

static const struct meter_counter counters[] = {{"loader_asked_bytes", asked_bytes, NULL}};

/* Of many files, some evenly between the first and the last. */
static void list_files(struct metered *m, const struct meter_sink_options *o)
{
    uint64_t all = 0, step, seen = 0;

    for (size_t i = 0; i < o->n_sources; i++)
        all += o->sources[i] ? o->sources[i]->n_files : 0;
    step = all / MAX_FILES + 1;
    m->files = xcalloc(MAX_FILES, sizeof(*m->files));
    for (size_t i = 0; i < o->n_sources; i++)
        for (uint64_t f = 0; o->sources[i] && f < o->sources[i]->n_files; f++)
            if (seen++ % step == 0)
                m->files[m->n_files++] = source_file(o->sources[i], f);
}

static int metered_open(void **state, const void *options)
{
    const struct meter_sink_options *const o = options;
    struct metered *const m = xcalloc(1, sizeof(*m));
    struct meter_config config = {.path = o->path,
                                  .hz = o->hz,
                                  .start_ns = o->start_ns,
                                  .start_ms = o->start_ms,
                                  .counters = counters,
                                  .n_counters = COUNT_OF(counters)};

    *m = (struct metered){.report = o->report,
                          .warm = {.seconds = o->warm},
                          .phase = "init",
                          .stores = {o->run_dir, o->ingest_dir}};
    list_files(m, o);
    config.place = (struct meter_place){.root = "",
                                        .data_files = (const char *const *)m->files,
                                        .n_data_files = m->n_files,
                                        .stores = m->stores,
                                        .n_stores = o->ingest_dir ? 2 : 1};
    *m->report = (struct meter_report){.hz = o->hz};
    if (meter_open(&config, &m->report->meter) < 0)
        warning("the machine is not measured: %s", err_reason());
    *state = m;
    return 0;
}

static const char *phase_of(const struct metered *m, const struct trace_event *e, int warm_ended)
{
    switch (e->key) {
    case KEY_run_start:
        return "warmup";
    case KEY_eval_start:
        return "evaluate";
    case KEY_eval_stop:
        return m->warm.over ? "train" : "warmup";
    case KEY_run_stop:
        return "end";
    default:
        return warm_ended ? "train" : m->phase;
    }
}

static long long epoch_of(const struct metered *m, const struct trace_event *e)
{
    const struct trace_value *const n = trace_find(e, "epoch_num");

    if (e->key == KEY_epoch_start)
        return n && n->kind == TRACE_INT ? n->whole : 0;
    return e->key == KEY_epoch_stop || e->key == KEY_run_stop ? 0 : m->epoch;
}

static int metered_event(void *state, const struct trace_event *e)
{
    struct metered *const m = state;
    const int warm_ended = warm_over(&m->warm, e);
    const char *const phase = phase_of(m, e, warm_ended);
    const long long epoch = epoch_of(m, e);

    if (m->report->meter && (strcmp(phase, m->phase) != 0 || epoch != m->epoch))
        meter_mark(m->report->meter, phase, epoch);
    m->phase = phase;
    m->epoch = epoch;
    return 0;
}

static int metered_close(void *state)
{
    struct metered *const m = state;
    struct meter *const meter = m->report->meter;
    int rc;

    m->report->meter = NULL;
    rc = meter_close(meter, &m->report->use);
    for (size_t i = 0; i < m->n_files; i++)
        free(m->files[i]);
    free(m->files);
    free(m);
    return rc;
}

const struct trace_sink_ops meter_sink = {
    .name = "meter",
    .shows_only = 1, /* a run that could not be measured is a run */
    .open = metered_open,
    .event = metered_event,
    .close = metered_close,
};
