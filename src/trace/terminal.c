#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/err.h"
#include "base/file.h"
#include "base/str.h"
#include "trace/sinks.h"

enum { REDRAW_NS = 100 * 1000 * 1000 };

struct terminal {
    int fd, is_tty;
    int line_shown; /* a progress line stands on the screen without a newline */
    char *unit, *metric;
    double target, best;
    int lower_is_better;
    int64_t run_start_ns, drawn_ns;
    struct str line;
};

static int terminal_open(void **state, const void *options)
{
    const struct terminal_options *o = options;
    struct terminal *t = xcalloc(1, sizeof(*t));

    t->fd = o->fd ? o->fd : STDERR_FILENO;
    t->is_tty = isatty(t->fd);
    t->unit = xstrdup(o->unit ? o->unit : "samples");
    t->metric = xstrdup(o->metric ? o->metric : "quality");
    t->target = o->target;
    t->best = NAN;
    t->lower_is_better = o->direction == TERMINAL_LOWER_IS_BETTER;
    t->drawn_ns = -REDRAW_NS;
    *state = t;
    return 0;
}

static void add_duration(struct str *out, double seconds)
{
    const long long s = (long long)(seconds + 0.5);

    if (s >= 3600)
        str_printf(out, "%lld h %02lld min", s / 3600, s / 60 % 60);
    else if (s >= 60)
        str_printf(out, "%lld min %02lld s", s / 60, s % 60);
    else
        str_printf(out, "%lld s", s);
}

static void add_if_known(struct str *out, const char *fmt, double v)
{
    if (isfinite(v))
        str_printf(out, fmt, v);
}

static void format_step(struct terminal *t, const struct trace_event *e)
{
    const double total = trace_find_real(e, "steps_total");
    const double rate = trace_find_real(e, "samples_per_s");
    const double eta_s = trace_find_real(e, "eta_s");
    struct str *out = &t->line;

    str_printf(out, "epoch %.0f  step %.0f", trace_find_real(e, "epoch_num"),
               trace_find_real(e, "step_num"));
    add_if_known(out, "/%.0f", total);
    if (isfinite(rate))
        str_printf(out, rate < 100 ? "  %.1f %s/s" : "  %.0f %s/s", rate, t->unit);
    add_if_known(out, " +-%.0f%%", 100 * trace_find_real(e, "samples_per_s_spread_ratio"));
    if (trace_find(e, "loss"))
        str_printf(out, "  loss %.4f", trace_find_real(e, "loss"));
    add_if_known(out, "  waiting for data %.0f%%", 100 * trace_find_real(e, "data_wait_ratio"));
    if (isfinite(eta_s)) {
        str_add(out, "  ETA ");
        add_duration(out, eta_s);
    }
}

/* A line wider than the window would wrap and could not be rewritten. */
static size_t fitting(const struct terminal *t)
{
    struct winsize w = {0};
    const size_t width = ioctl(t->fd, TIOCGWINSZ, &w) == 0 && w.ws_col > 1 ? w.ws_col - 1u : 79;

    return t->line.len < width ? t->line.len : width;
}

static int draw_step(struct terminal *t, const struct trace_event *e)
{
    struct str shown = STR_INIT;
    int rc;

    if (!t->is_tty || e->elapsed_ns - t->drawn_ns < REDRAW_NS)
        return 0;
    t->drawn_ns = e->elapsed_ns;
    format_step(t, e);
    str_add(&shown, "\r\033[K");
    str_add_bytes(&shown, t->line.s, fitting(t));
    rc = file_write_all(t->fd, shown.s, shown.len, "the terminal");
    str_release(&shown);
    t->line_shown = 1;
    return rc;
}

/* A line that stays. */
static int put_line(struct terminal *t)
{
    struct str shown = STR_INIT;
    int rc;

    str_printf(&shown, "%s%s\n", t->line_shown ? "\r\033[K" : "", t->line.s);
    rc = file_write_all(t->fd, shown.s, shown.len, "the terminal");
    str_release(&shown);
    t->line_shown = 0;
    t->drawn_ns = -REDRAW_NS;
    return rc;
}

static double number_of(const struct trace_value *v)
{
    if (v->kind == TRACE_REAL)
        return v->real;
    return v->kind == TRACE_INT ? (double)v->whole : NAN;
}

static void note_best(struct terminal *t, double value)
{
    if (isnan(t->best) || (t->lower_is_better ? value < t->best : value > t->best))
        t->best = value;
}

static int show_evaluation(struct terminal *t, const struct trace_event *e)
{
    const double value = number_of(&e->value);

    note_best(t, value);
    str_printf(&t->line, "epoch %.0f: %s ", trace_find_real(e, "epoch_num"), t->metric);
    if (isnan(value)) /* several numbers, or not a number */
        trace_add_json(&t->line, &e->value, TRACE_NONFINITE_BARE);
    else
        str_printf(&t->line, "%.4f", value);
    if (t->target > 0)
        str_printf(&t->line, " (target %.4g)", t->target);
    str_add(&t->line, ", ");
    add_duration(&t->line, (double)(e->elapsed_ns - t->run_start_ns) * 1e-9);
    return put_line(t);
}

static int reached(const struct terminal *t)
{
    return t->target > 0 && (t->lower_is_better ? t->best <= t->target : t->best >= t->target);
}

static int show_end(struct terminal *t, const struct trace_event *e)
{
    const struct trace_value *status = trace_find(e, "status");
    const char *word = status && status->kind == TRACE_STRING ? status->text : "unknown";
    const int success = strcmp(word, "success") == 0;

    str_add(&t->line, !success     ? "stopped after "
                      : reached(t) ? "target reached after "
                                   : "finished after ");
    add_duration(&t->line, (double)(e->elapsed_ns - t->run_start_ns) * 1e-9);
    if (!success)
        str_printf(&t->line, " without reaching the target (status %s)", word);
    add_if_known(&t->line, "; best so far %.4f", t->best);
    return put_line(t);
}

static int terminal_event(void *state, const struct trace_event *e)
{
    struct terminal *t = state;

    str_reset(&t->line);
    if (e->key == KEY_run_start)
        t->run_start_ns = e->elapsed_ns;
    if (e->key == KEY_step)
        return draw_step(t, e);
    if (e->key == KEY_eval_accuracy)
        return show_evaluation(t, e);
    if (e->key == KEY_run_stop)
        return show_end(t, e);
    return 0;
}

static int terminal_close(void *state)
{
    struct terminal *t = state;
    const int rc = t->line_shown ? file_write_all(t->fd, "\n", 1, "the terminal") : 0;

    str_release(&t->line);
    free(t->unit);
    free(t->metric);
    free(t);
    return rc;
}

const struct trace_sink_ops terminal_sink = {
    .name = "terminal",
    .shows_only = 1,
    .open = terminal_open,
    .event = terminal_event,
    .close = terminal_close,
};
