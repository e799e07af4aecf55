/* events.jsonl: what happened in a run, line by line. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "report/folder.h"

enum { MOST_BAD_SAMPLES = 100 };
static const size_t most_bytes = (size_t)4 << 30;

/* What one line is told to. */
struct reading {
    struct folder *f;
    const cJSON *line;
    double seconds, batch, train_samples;
};

static double number(const struct reading *r, const char *name)
{
    return doc_number(r->line, name);
}

static int is_start(const struct reading *r)
{
    const char *const type = doc_text(r->line, "type");

    return type && strcmp(type, "start") == 0;
}

/* ---- spans ---- */

static void open_span(struct reading *r, enum span_kind kind)
{
    struct folder *const f = r->f;
    const double n = number(r, "epoch_num");

    f->spans = xrealloc(f->spans, (f->n_spans + 1) * sizeof(f->spans[0]));
    f->spans[f->n_spans++] = (struct span){
        .kind = kind, .from = r->seconds, .to = NAN, .number = fabs(n) < 1e15 ? (long long)n : 0};
}

/* The last one of its kind that is open. */
static void close_span(struct reading *r, enum span_kind kind)
{
    for (size_t i = r->f->n_spans; i-- > 0;)
        if (r->f->spans[i].kind == kind) {
            if (isnan(r->f->spans[i].to))
                r->f->spans[i].to = r->seconds;
            return;
        }
}

static void close_spans_at(struct folder *f, double seconds)
{
    for (size_t i = 0; i < f->n_spans; i++)
        if (isnan(f->spans[i].to))
            f->spans[i].to = seconds;
}

static void on_epoch(struct reading *r)
{
    is_start(r) ? open_span(r, SPAN_EPOCH) : close_span(r, SPAN_EPOCH);
}

static void on_evaluation(struct reading *r)
{
    is_start(r) ? open_span(r, SPAN_EVALUATION) : close_span(r, SPAN_EVALUATION);
}

static void on_init(struct reading *r)
{
    is_start(r) ? open_span(r, SPAN_INIT) : close_span(r, SPAN_INIT);
}

/* ---- numbers ---- */

static void on_batch(struct reading *r)
{
    r->batch = number(r, "value");
}

static void on_train_samples(struct reading *r)
{
    r->train_samples = number(r, "value");
}

static void on_step(struct reading *r)
{
    static const char *const names[] = {"epoch_num",     "step_num",      "loss",
                                        "learning_rate", "samples_per_s", "data_wait_ratio"};
    struct table *const t = &r->f->steps;
    const size_t row = table_add_row(t);

    t->columns[0].v[row] = r->seconds;
    t->columns[1].v[row] = number(r, "step_num") * r->batch;
    for (size_t i = 0; i < COUNT_OF(names); i++)
        t->columns[2 + i].v[row] = number(r, names[i]);
}

static void on_accuracy(struct reading *r)
{
    struct table *const t = &r->f->evaluations;
    const size_t row = table_add_row(t);
    const double epoch = number(r, "epoch_num");

    t->columns[0].v[row] = r->seconds;
    t->columns[1].v[row] = epoch * r->train_samples;
    t->columns[2].v[row] = epoch;
    t->columns[3].v[row] = number(r, "value");
    t->columns[4].v[row] = number(r, "eval_loss");
}

/* ---- words ---- */

static void warn(struct reading *r, const char *what)
{
    const char *const value = doc_text(r->line, "value");
    struct str text = STR_INIT;

    str_printf(&text, "After %.0f s: %s", r->seconds, what);
    if (value)
        str_printf(&text, ": %s", value);
    file_names_add(&r->f->warnings, str_detach(&text));
}

static void on_bad_sample(struct reading *r)
{
    const char *const where = doc_text(r->line, "value"), *const why = doc_text(r->line, "reason");

    if (r->f->n_bad_samples++ < MOST_BAD_SAMPLES)
        file_names_add(&r->f->bad_samples,
                       xasprintf("%s: %s", where ? where : "?", why ? why : "?"));
}

static void on_not_finite(struct reading *r)
{
    warn(r, "the loss or the gradients were not finite");
}

static void on_not_learning(struct reading *r)
{
    warn(r, "the loss does not fall");
}

static void on_stop_requested(struct reading *r)
{
    warn(r, "the run was asked to stop");
}

static const struct {
    const char *key;
    void (*take)(struct reading *r);
} keys[] = {
    {"step", on_step},
    {"epoch_start", on_epoch},
    {"epoch_stop", on_epoch},
    {"eval_start", on_evaluation},
    {"eval_stop", on_evaluation},
    {"init_start", on_init},
    {"init_stop", on_init},
    {"eval_accuracy", on_accuracy},
    {"global_batch_size", on_batch},
    {"train_samples", on_train_samples},
    {"bad_sample", on_bad_sample},
    {"not_finite", on_not_finite},
    {"not_learning", on_not_learning},
    {"stop_requested", on_stop_requested},
};

/* 0 when the line is no event. */
static int take_line(struct reading *r, const char *line, size_t n)
{
    cJSON *const doc = json_parse(line, n, NULL);
    const char *const key = doc_text(doc, "key");
    const double ms = doc_number(doc, "time_ms");

    if (key && isfinite(ms)) {
        if (isnan(r->f->start_ms))
            r->f->start_ms = ms;
        if (!(r->f->last_ms >= ms))
            r->f->last_ms = ms;
        r->line = doc;
        r->seconds = (ms - r->f->start_ms) / 1e3;
        for (size_t i = 0; i < COUNT_OF(keys); i++)
            if (strcmp(key, keys[i].key) == 0)
                keys[i].take(r);
    }
    cJSON_Delete(doc);
    return key && isfinite(ms);
}

static void take_lines(struct reading *r, char *text, size_t n)
{
    size_t n_bad = 0;

    for (char *line = text; line < text + n;) {
        char *const newline = memchr(line, '\n', (size_t)(text + n - line));
        char *const end = newline ? newline : text + n;

        *end = '\0';
        n_bad += end > line && !take_line(r, line, (size_t)(end - line));
        line = end + 1;
    }
    if (n_bad)
        folder_note(r->f, "events.jsonl: %zu %s cut or damaged and left out.", n_bad,
                    n_bad == 1 ? "line is" : "lines are");
}

static void name_columns(struct folder *f)
{
    static const char *const steps[] = {"seconds",       "samples",        "epoch",
                                        "step",          "loss",           "learning_rate",
                                        "samples_per_s", "data_wait_ratio"};
    static const char *const evaluations[] = {"seconds", "samples", "epoch", "quality",
                                              "eval_loss"};

    for (size_t i = 0; i < COUNT_OF(steps); i++)
        table_add_column(&f->steps, steps[i]);
    for (size_t i = 0; i < COUNT_OF(evaluations); i++)
        table_add_column(&f->evaluations, evaluations[i]);
}

void folder_read_events(struct folder *f)
{
    char *const path = file_join(f->dir, "events.jsonl"), *text;
    struct reading r = {.f = f, .batch = NAN, .train_samples = NAN};
    size_t n;

    name_columns(f);
    if (file_exists(path) && file_read(path, most_bytes, &text, &n) == 0) {
        take_lines(&r, text, n);
        free(text);
    }
    close_spans_at(f, (f->last_ms - f->start_ms) / 1e3);
    free(path);
}
