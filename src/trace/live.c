#include "trace/live.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"

static const double stale_s = 10;

static const char *const machine_columns[] = {
    "cpu_process_percent",      "cpu_machine_percent",     "cpu_throttled_percent",
    "cpu_steal_percent",        "memory_anon_bytes",       "memory_file_bytes",
    "memory_limit_bytes",       "data_resident_percent",   "disk_read_bytes_per_s",
    "disk_write_bytes_per_s",   "disk_busy_percent",       "disk_queue",
    "pressure_cpu_percent",     "pressure_memory_percent", "pressure_io_percent",
    "ingest_write_bytes_per_s", "ingest_latency_mean_ms",  "ingest_latency_max_ms",
};

#define GPU(n) "gpu" #n "_sm_percent", "gpu" #n "_memory_used_bytes", "gpu" #n "_power_w"
static const char *const gpu_columns[] = {GPU(0),  GPU(1),  GPU(2),  GPU(3), GPU(4),  GPU(5),
                                          GPU(6),  GPU(7),  GPU(8),  GPU(9), GPU(10), GPU(11),
                                          GPU(12), GPU(13), GPU(14), GPU(15)};

_Static_assert(COUNT_OF(machine_columns) + COUNT_OF(gpu_columns) == LIVE_COLUMNS,
               "every column has a place");

const char *live_column(size_t i)
{
    return i < COUNT_OF(machine_columns) ? machine_columns[i]
                                         : gpu_columns[i - COUNT_OF(machine_columns)];
}

static void learn_text(char **to, const char *text)
{
    struct str s = STR_INIT;

    if (!text)
        return;
    str_add(&s, "");
    str_add_printable(&s, text);
    free(*to);
    *to = str_detach(&s);
}

void live_learn(struct live *l, const struct live_about *about)
{
    learn_text(&l->name, about->name);
    learn_text(&l->unit, about->unit);
    learn_text(&l->metric, about->metric);
    if (about->target > 0)
        l->target = about->target;
    if (about->lower_is_better)
        l->lower_is_better = 1;
}

void live_again(struct live *l)
{
    double *const unknown[] = {&l->epoch,   &l->step,          &l->steps_total,
                               &l->loss,    &l->samples_per_s, &l->spread_ratio,
                               &l->eta_s,   &l->quality_epoch, &l->data_wait_ratio,
                               &l->quality, &l->best};

    for (size_t i = 0; i < COUNT_OF(unknown); i++)
        *unknown[i] = NAN;
    for (size_t i = 0; i < LIVE_COLUMNS; i++) {
        l->columns[i].now = NAN;
        l->columns[i].history = (struct live_history){0};
    }
    l->rate = (struct live_history){0};
    l->phase = LIVE_WAITING;
    l->run_start_ns = -1;
    l->now_ns = 0;
    l->status[0] = '\0';
}

void live_open(struct live *l, const struct live_about *about)
{
    *l = (struct live){.unit = xstrdup("samples"), .metric = xstrdup("quality")};
    live_learn(l, about);
    live_again(l);
}

void live_release(struct live *l)
{
    free(l->name);
    free(l->unit);
    free(l->metric);
    *l = (struct live){0};
}

double live_seconds(const struct live *l)
{
    return l->run_start_ns < 0 || l->now_ns < l->run_start_ns
               ? 0
               : (double)(l->now_ns - l->run_start_ns) * 1e-9;
}

/* ---- histories ---- */

static void history_put(struct live_history *h, double value)
{
    if (h->n == LIVE_HISTORY)
        memmove(h->past, h->past + 1, --h->n * sizeof(*h->past));
    h->past[h->n++] = value;
}

/* Ends the second that is being summed, and those that had no sample. */
static void history_move_on(struct live_history *h, long long second)
{
    history_put(h, h->sum / h->n_samples);
    for (long long gap = 0; gap < second - h->second - 1 && gap < LIVE_HISTORY; gap++)
        history_put(h, NAN);
    h->sum = h->n_samples = 0;
}

static void history_add(struct live_history *h, double seconds, double value)
{
    const long long second = (long long)seconds;

    if (h->n_samples && second > h->second)
        history_move_on(h, second);
    h->second = second;
    h->sum += value;
    h->n_samples++;
}

/* Files may hold any number: what can be no time or no value is not known. */
void live_sample(struct live *l, size_t column, double seconds, double value)
{
    struct live_history *const h = &l->columns[column].history;

    ASSERT(column < LIVE_COLUMNS);
    if (seconds >= 0 && seconds < 1e9 && isfinite(value) && value >= 0) {
        history_add(h, seconds, value);
        l->columns[column].known_s = seconds;
        l->columns[column].now = h->n && !isnan(h->past[h->n - 1]) ? h->past[h->n - 1] : value;
    } else if (!(seconds - l->columns[column].known_s <= stale_s))
        l->columns[column].now = NAN;
}

/* ---- events ---- */

static double number_of(const struct trace_value *v)
{
    if (v->kind == TRACE_REAL)
        return v->real;
    return v->kind == TRACE_INT ? (double)v->whole : NAN;
}

static void note_step(struct live *l, const struct trace_event *e)
{
    l->phase = LIVE_TRAINING;
    l->epoch = trace_find_real(e, "epoch_num");
    l->step = trace_find_real(e, "step_num");
    l->steps_total = trace_find_real(e, "steps_total");
    l->samples_per_s = trace_find_real(e, "samples_per_s");
    l->spread_ratio = trace_find_real(e, "samples_per_s_spread_ratio");
    l->loss = trace_find_real(e, "loss");
    l->data_wait_ratio = trace_find_real(e, "data_wait_ratio");
    l->eta_s = trace_find_real(e, "eta_s");
    if (isfinite(l->samples_per_s) && e->elapsed_ns >= 0)
        history_add(&l->rate, (double)e->elapsed_ns * 1e-9, l->samples_per_s);
}

static void note_evaluation(struct live *l, const struct trace_event *e)
{
    const double value = number_of(&e->value);

    l->quality = value;
    l->quality_epoch = trace_find_real(e, "epoch_num");
    if (isnan(l->best) || (l->lower_is_better ? value < l->best : value > l->best))
        l->best = value;
}

static void note_end(struct live *l, const struct trace_event *e)
{
    const struct trace_value *status = trace_find(e, "status");
    struct str printable = STR_INIT;

    str_add_printable(&printable,
                      status && status->kind == TRACE_STRING ? status->text : "unknown");
    snprintf(l->status, sizeof(l->status), "%s", printable.len ? printable.s : "");
    str_release(&printable);
    l->phase = LIVE_ENDED;
}

void live_event(struct live *l, const struct trace_event *e)
{
    l->now_ns = e->elapsed_ns;
    switch (e->key) {
    case KEY_init_start:
        l->phase = LIVE_PREPARING;
        return;
    case KEY_run_start:
        l->run_start_ns = e->elapsed_ns;
        l->phase = LIVE_TRAINING;
        return;
    case KEY_epoch_start:
        l->epoch = trace_find_real(e, "epoch_num");
        l->phase = LIVE_TRAINING;
        return;
    case KEY_step:
        note_step(l, e);
        return;
    case KEY_eval_start:
        l->phase = LIVE_EVALUATING;
        return;
    case KEY_eval_stop:
        l->phase = LIVE_TRAINING;
        return;
    case KEY_eval_accuracy:
        note_evaluation(l, e);
        return;
    case KEY_run_stop:
        note_end(l, e);
        return;
    default:
        return;
    }
}

/* ---- words ---- */

void live_add_duration(struct str *out, double seconds)
{
    const long long s = seconds < 9e15 ? (long long)(seconds + 0.5) : 0;

    if (s >= 3600)
        str_printf(out, "%lld h %02lld min", s / 3600, s / 60 % 60);
    else if (s >= 60)
        str_printf(out, "%lld min %02lld s", s / 60, s % 60);
    else
        str_printf(out, "%lld s", s);
}

void live_add_evaluation(const struct live *l, const struct trace_event *e, struct str *out)
{
    const double value = number_of(&e->value);

    str_printf(out, "epoch %.0f: %s ", trace_find_real(e, "epoch_num"), l->metric);
    if (isnan(value)) /* several numbers, or not a number */
        trace_add_json(out, &e->value, TRACE_NONFINITE_BARE);
    else
        str_printf(out, "%.4f", value);
    if (l->target > 0)
        str_printf(out, " (target %.4g)", l->target);
    str_add(out, ", ");
    live_add_duration(out, live_seconds(l));
}

static int reached(const struct live *l)
{
    return l->target > 0 && (l->lower_is_better ? l->best <= l->target : l->best >= l->target);
}

void live_add_end(const struct live *l, struct str *out)
{
    const int success = strcmp(l->status, "success") == 0;

    str_add(out, !success     ? "stopped after "
                 : reached(l) ? "target reached after "
                              : "finished after ");
    live_add_duration(out, live_seconds(l));
    if (!success)
        str_printf(out, " without reaching the target (status %s)", l->status);
    if (isfinite(l->best))
        str_printf(out, "; best so far %.4f", l->best);
}
