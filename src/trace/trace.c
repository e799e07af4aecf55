#include "trace/trace.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"

static const struct {
    const char *name;
    enum trace_audience audience;
} keys[N_TRACE_KEYS] = {
#define KEY(key, audience) [KEY_##key] = {#key, TRACE_##audience},
#include "trace/keys.h"
#undef KEY
};

const char *trace_key_name(enum trace_key key)
{
    ASSERT(key < N_TRACE_KEYS);
    return keys[key].name;
}

enum trace_audience trace_key_audience(enum trace_key key)
{
    ASSERT(key < N_TRACE_KEYS);
    return keys[key].audience;
}

void trace_open(struct trace *t)
{
    *t = (struct trace){.start_ms = clock_wall_ms(), .start_ns = clock_ns()};
}

int trace_add(struct trace *t, const struct trace_sink_ops *ops, const void *options)
{
    ASSERT(t->n_sinks < TRACE_MAX_SINKS);
    t->sinks[t->n_sinks].ops = ops;
    t->sinks[t->n_sinks].state = NULL;
    t->sinks[t->n_sinks].failed = 0;
    TRY(ops->open(&t->sinks[t->n_sinks].state, options));
    t->n_sinks++;
    return 0;
}

static void note_failure(struct trace *t, const struct trace_sink_ops *sink, int rc,
                         const char *behind)
{
    warning("%s: %s%s", sink->name, err_reason(), behind);
    if (t->rc < 0 || sink->shows_only)
        return;
    t->rc = rc;
    t->reason = xstrdup(err_reason());
}

/* The part below the repository's root, however the compiler was called. */
static const char *path_in_repository(const char *file)
{
    static const char *const tops[] = {"/src/", "/tests/", "/tools/"};

    if (file[0] != '/')
        return strncmp(file, "./", 2) == 0 ? file + 2 : file;
    for (size_t i = 0; i < COUNT_OF(tops); i++) {
        const char *at = strstr(file, tops[i]);
        if (at)
            return at + 1;
    }
    return file;
}

void trace_emit(struct trace *t, const struct trace_event *given)
{
    struct trace_event e = *given;

    ASSERT(e.key < N_TRACE_KEYS);
    e.elapsed_ns = clock_ns() - t->start_ns;
    e.time_ms = t->start_ms + e.elapsed_ns / 1000000;
    e.file = path_in_repository(e.file);
    for (size_t i = 0; i < t->n_sinks; i++) {
        if (t->sinks[i].failed)
            continue;
        const int rc = t->sinks[i].ops->event(t->sinks[i].state, &e);
        if (rc < 0) {
            t->sinks[i].failed = 1;
            note_failure(t, t->sinks[i].ops, rc, "; nothing more is written there");
        }
    }
}

int trace_close(struct trace *t)
{
    int rc;

    for (size_t i = 0; i < t->n_sinks; i++) {
        rc = t->sinks[i].ops->close(t->sinks[i].state);
        if (rc < 0 && !t->sinks[i].failed)
            note_failure(t, t->sinks[i].ops, rc, "");
    }
    rc = t->rc < 0 ? err(t->rc, "%s", t->reason) : 0;
    free(t->reason);
    *t = (struct trace){0};
    return rc;
}

const struct trace_value *trace_find(const struct trace_event *e, const char *name)
{
    for (const struct trace_pair *p = e->meta; p && p->name; p++)
        if (strcmp(p->name, name) == 0 && p->value.kind != TRACE_NONE)
            return &p->value;
    return NULL;
}

double trace_find_real(const struct trace_event *e, const char *name)
{
    const struct trace_value *v = trace_find(e, name);

    if (v && v->kind == TRACE_REAL)
        return v->real;
    return v && v->kind == TRACE_INT ? (double)v->whole : NAN;
}

static struct trace_value real_if_known(double v)
{
    return isnan(v) ? trace_none() : trace_real(v);
}

void trace_step(struct trace *t, const char *file, int line, const struct trace_step *s)
{
    const struct trace_pair meta[] = {
        {"epoch_num", trace_int(s->epoch)},
        {"step_num", trace_int(s->step)},
        {"steps_total", s->steps_total > 0 ? trace_int(s->steps_total) : trace_none()},
        {"samples_per_s", real_if_known(s->samples_per_s)},
        {"samples_per_s_spread_ratio", real_if_known(s->spread)},
        /* A loss that is NaN is news, not an absence, unless nothing learns. */
        {"loss", isnan(s->learning_rate) ? trace_none() : trace_real(s->loss)},
        {"learning_rate", real_if_known(s->learning_rate)},
        {"data_wait_ratio", real_if_known(s->data_wait_share)},
        {"eta_s", real_if_known(s->eta_s)},
        {0},
    };

    trace_emit(
        t, &(const struct trace_event){.key = KEY_step, .meta = meta, .file = file, .line = line});
}
