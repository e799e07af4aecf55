#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/err.h"
#include "base/screen.h"
#include "trace/live.h"

enum { LABEL_COLUMNS = 12, SPARK_LEVELS = 8 };

/* Below this share of the time, waiting for data is what a queue between two sides that keep up
 * with each other costs. */
static const double little_waiting = 0.05;

struct glyphs {
    const char *full, *empty, *spark[SPARK_LEVELS], *spread;
};
static const struct glyphs ascii = {"#", ".", {"_", ".", ":", "-", "=", "+", "*", "#"}, "+-"};
static const struct glyphs blocks = {"█", "░", {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"}, "±"};

enum colour { DIM = 2, BOLD = 1, GREEN = 32, YELLOW = 33, PLAIN = 0 };

/* Writes a line, part by part; parts that do not fit are left out, and all behind them. */
struct pen {
    const struct live_space *space;
    const struct glyphs *glyphs;
    struct str *out;
    int lines_left, used, is_full, has_field;
};

/* ---- the pen ---- */

struct live_space live_space_of(int fd)
{
    static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    const struct screen_size size = screen_size_of(fd);
    const char *locale = "", *no_colour = getenv("NO_COLOR");

    for (size_t i = 0; i < COUNT_OF(names) && !*locale; i++)
        locale = getenv(names[i]) ? getenv(names[i]) : "";
    return (struct live_space){.columns = size.columns,
                               .rows = size.rows,
                               .is_ascii =
                                   !strcasestr(locale, "utf-8") && !strcasestr(locale, "utf8"),
                               .is_coloured = !no_colour || !*no_colour};
}

/* The columns that a character takes; 2 where some terminals take one, so that nothing wraps. n
 * gets its bytes. Texts are UTF-8. */
static int columns_of_character(const char *s, size_t *n)
{
    const unsigned char c = (unsigned char)*s;
    unsigned point;

    *n = c < 0xC0 ? 1 : c < 0xE0 ? 2 : c < 0xF0 ? 3 : 4;
    if (*n < 3)
        return 1;
    point = *n == 4 ? 0x10000
                    : (c & 0xFu) << 12 | ((unsigned char)s[1] & 0x3Fu) << 6 |
                          ((unsigned char)s[2] & 0x3Fu);
    return point < 0x1100 || (point >= 0x2500 && point < 0x2600) ? 1 : 2;
}

static int columns_of(const char *text)
{
    int columns = 0;
    size_t n;

    for (const char *p = text; *p; p += n)
        columns += columns_of_character(p, &n);
    return columns;
}

static int room(const struct pen *p)
{
    return p->space->columns - 1 - p->used;
}

static void paint(struct pen *p, enum colour c)
{
    if (p->space->is_coloured)
        str_printf(p->out, "\033[%dm", c);
}

/* As much of it as there is room for. */
static void put_cut(struct pen *p, const char *text)
{
    size_t n;

    for (const char *c = text; *c; c += n) {
        const int columns = columns_of_character(c, &n);
        if (columns > room(p))
            break;
        str_add_bytes(p->out, c, n);
        p->used += columns;
    }
}

static int begin(struct pen *p, const char *label)
{
    if (p->lines_left <= 0)
        return 0;
    p->used = p->is_full = p->has_field = 0;
    if (!label)
        return 1;
    paint(p, DIM);
    put_cut(p, label);
    paint(p, PLAIN);
    do
        put_cut(p, " ");
    while (p->used < LABEL_COLUMNS && room(p) > 0);
    return 1;
}

static void end(struct pen *p)
{
    str_add(p->out, "\n");
    p->lines_left--;
}

/* The first part of a line is cut where it does not fit. */
__attribute__((format(printf, 3, 0))) static void put(struct pen *p, const char *before,
                                                      const char *fmt, va_list ap)
{
    struct str s = STR_INIT;

    if (p->has_field)
        str_add(&s, before);
    str_vprintf(&s, fmt, ap);
    p->is_full |= p->has_field && columns_of(s.s) > room(p);
    if (!p->is_full)
        put_cut(p, s.s);
    p->has_field = 1;
    str_release(&s);
}

/* A part that is set off from the one before it by a comma, and one that belongs to it. */
__attribute__((format(printf, 2, 3))) static void field(struct pen *p, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    put(p, ", ", fmt, ap);
    va_end(ap);
}

__attribute__((format(printf, 2, 3))) static void more(struct pen *p, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    put(p, " ", fmt, ap);
    va_end(ap);
}

static void field_duration(struct pen *p, const char *before, double seconds)
{
    struct str s = STR_INIT;

    live_add_duration(&s, seconds);
    field(p, "%s%s", before, s.s);
    str_release(&s);
}

/* ---- bars and histories ---- */

static int is_narrow(const struct pen *p)
{
    return p->space->columns < 60;
}

static int bar_columns(const struct pen *p)
{
    return p->space->columns >= 100 ? 40 : is_narrow(p) ? 5 : 24;
}

static void gap(struct pen *p)
{
    put_cut(p, is_narrow(p) ? " " : "  ");
}

static void bar(struct pen *p, double share, enum colour c)
{
    const int columns = bar_columns(p);
    const int full = (int)(fmin(fmax(share, 0), 1) * columns + 0.5);

    paint(p, c);
    for (int i = 0; i < columns; i++)
        put_cut(p, i < full ? p->glyphs->full : p->glyphs->empty);
    paint(p, PLAIN);
    gap(p);
}

static double largest(const double *v, size_t n)
{
    double most = 0;

    for (size_t i = 0; i < n; i++)
        most = fmax(most, v[i]);
    return most;
}

/* full: the value that fills a column; 0: the largest that is shown. */
static void spark(struct pen *p, const struct live_history *h, double full)
{
    const size_t columns = (size_t)bar_columns(p), n = h->n < columns ? h->n : columns;
    const double *const v = h->past + h->n - n;
    const double most = full > 0 ? full : largest(v, n);

    for (size_t i = n; i < columns; i++)
        put_cut(p, " ");
    for (size_t i = 0; i < n; i++) {
        const double share = most > 0 ? fmin(v[i] / most, 1) : 0;
        put_cut(p, isnan(v[i]) ? " " : p->glyphs->spark[(int)(share * (SPARK_LEVELS - 1) + 0.5)]);
    }
    gap(p);
}

/* ---- the run ---- */

static void draw_title(struct pen *p, const struct live *l)
{
    static const char *const words[] = {[LIVE_WAITING] = "waiting for a run to start",
                                        [LIVE_PREPARING] = "preparing the run",
                                        [LIVE_TRAINING] = "training",
                                        [LIVE_EVALUATING] = "evaluating",
                                        [LIVE_KILLED] =
                                            "was killed: nobody is at work and no end was written"};
    struct str end_words = STR_INIT;

    if (!begin(p, NULL))
        return;
    paint(p, BOLD);
    if (l->phase == LIVE_ENDED)
        live_add_end(l, &end_words);
    field(p, "%s%s%s", l->name ? l->name : "", l->name ? ": " : "",
          l->phase == LIVE_ENDED ? end_words.s : words[l->phase]);
    if (isfinite(l->epoch))
        field(p, "epoch %.0f", l->epoch);
    if (isfinite(l->step) && isfinite(l->steps_total))
        field(p, "step %.0f of %.0f", l->step, l->steps_total);
    else if (isfinite(l->step))
        field(p, "step %.0f", l->step);
    if (l->phase < LIVE_ENDED && l->run_start_ns >= 0)
        field_duration(p, "", live_seconds(l));
    paint(p, PLAIN);
    end(p);
    str_release(&end_words);
}

static void draw_progress(struct pen *p, const struct live *l)
{
    const double share = l->step / l->steps_total;

    if (!(share >= 0) || !begin(p, "progress"))
        return;
    bar(p, share, GREEN);
    field(p, "%.0f %%", 100 * fmin(share, 1));
    if (isfinite(l->eta_s) && l->phase < LIVE_ENDED)
        field_duration(p, "ETA ", l->eta_s);
    end(p);
}

static void field_rate(struct pen *p, const struct live *l, double rate)
{
    field(p, rate < 100 ? "%.1f %s/s" : "%.0f %s/s", rate, l->unit);
}

static void draw_rate(struct pen *p, const struct live *l)
{
    if (!isfinite(l->samples_per_s) || !begin(p, "rate"))
        return;
    spark(p, &l->rate, 0);
    field_rate(p, l, l->samples_per_s);
    if (isfinite(l->spread_ratio))
        more(p, "%s%.0f %%", p->glyphs->spread, 100 * l->spread_ratio);
    if (!isnan(l->loss))
        field(p, "loss %.4f", l->loss);
    end(p);
}

static void draw_quality(struct pen *p, const struct live *l)
{
    if (isnan(l->quality) && l->target <= 0)
        return;
    if (!begin(p, l->metric))
        return;
    if (isnan(l->quality))
        field(p, "not measured yet");
    else
        field(p, "%.4f", l->quality);
    if (l->target > 0)
        field(p, "target %.4g", l->target);
    if (!isnan(l->quality))
        field(p, "after epoch %.0f", l->quality_epoch);
    if (l->best != l->quality && !isnan(l->best))
        field(p, "best %.4f", l->best);
    end(p);
}

/* ---- the staves ---- */

/* What either side would give if the other were never in its way. The model alone needs the time
 * that it does not wait; of a loader that keeps up only that much is known. */
static void draw_staves(struct pen *p, const struct live *l)
{
    const double wait = l->data_wait_ratio, rate = l->samples_per_s;
    const int is_loader = wait >= little_waiting;
    const double model = wait < 1 ? rate / (1 - wait) : INFINITY;

    if (!(wait >= 0 && wait <= 1) || !isfinite(rate) || !begin(p, "staves"))
        return;
    if (is_narrow(p)) {
        field(p, "%s shortest", is_loader ? "loader" : "model");
        field(p, "wait %.0f %%", 100 * wait);
    } else {
        field(p, "the %s is the shortest stave", is_loader ? "loader" : "model");
        field(p, "data waited for %.0f %% of the time", 100 * wait);
    }
    end(p);
    if (begin(p, "  loader")) {
        bar(p, is_loader ? rate / model : 1, is_loader ? YELLOW : GREEN);
        if (is_loader)
            field_rate(p, l, rate);
        else
            field(p, "keeps up");
        end(p);
    }
    if (begin(p, "  model")) {
        bar(p, 1, is_loader ? GREEN : YELLOW);
        if (isfinite(model))
            field_rate(p, l, model);
        if (isfinite(model) && is_loader)
            more(p, "without waiting");
        end(p);
    }
}

/* ---- the probes ---- */

enum quantity { NUMBER, PROCESSORS, PERCENT, BYTES, BYTES_PER_S, MILLISECONDS, WATTS };

struct shown {
    const char *column, *before;
    enum quantity quantity;
    int if_any; /* left out at 0 */
};
struct row {
    const char *label;
    double full;    /* of its history, which is that of the first column */
    int is_largest; /* of the one that is the largest now */
    struct shown fields[4];
};
static const struct row rows[] = {
    {"processors",
     0,
     0,
     {{"cpu_process_percent", "", PROCESSORS, 0},
      {"cpu_machine_percent", "machine ", PROCESSORS, 0},
      {"cpu_throttled_percent", "throttled ", PERCENT, 1},
      {"cpu_steal_percent", "stolen ", PROCESSORS, 1}}},
    {"memory",
     0,
     0,
     {{"memory_anon_bytes", "anonymous ", BYTES, 0}, {"memory_limit_bytes", "limit ", BYTES, 1}}},
    {"page cache",
     0,
     0,
     {{"memory_file_bytes", "files ", BYTES, 0},
      {"data_resident_percent", "data set in memory ", PERCENT, 0}}},
    {"disk read",
     0,
     0,
     {{"disk_read_bytes_per_s", "", BYTES_PER_S, 0},
      {"disk_busy_percent", "busy ", PERCENT, 0},
      {"disk_queue", "queue ", NUMBER, 0}}},
    {"disk write", 0, 0, {{"disk_write_bytes_per_s", "", BYTES_PER_S, 0}}},
    {"pressure",
     100,
     1,
     {{"pressure_io_percent", "disk ", PERCENT, 0},
      {"pressure_cpu_percent", "processors ", PERCENT, 0},
      {"pressure_memory_percent", "memory ", PERCENT, 0}}},
    {"ingest",
     0,
     0,
     {{"ingest_write_bytes_per_s", "", BYTES_PER_S, 0},
      {"ingest_latency_mean_ms", "latency ", MILLISECONDS, 0},
      {"ingest_latency_max_ms", "at most ", MILLISECONDS, 0}}},
};

static void add_bytes(struct str *out, double bytes)
{
    static const char *const units[] = {"B", "kB", "MB", "GB", "TB"};
    size_t i = 0;

    while (bytes >= 999.95 && i + 1 < COUNT_OF(units)) {
        bytes /= 1000;
        i++;
    }
    str_printf(out, i ? "%.1f %s" : "%.0f %s", bytes, units[i]);
}

static void add_quantity(struct str *out, enum quantity q, double v)
{
    static const char *const formats[] = {[NUMBER] = "%.1f",
                                          [PROCESSORS] = "%.2f",
                                          [PERCENT] = "%.0f %%",
                                          [MILLISECONDS] = "%.1f ms",
                                          [WATTS] = "%.0f W"};

    if (q == BYTES || q == BYTES_PER_S) {
        add_bytes(out, v);
        str_add(out, q == BYTES_PER_S ? "/s" : "");
        return;
    }
    str_printf(out, formats[q], q == PROCESSORS ? v / 100 : v);
}

static size_t column_at(const char *name)
{
    size_t i = 0;

    while (i < LIVE_COLUMNS && strcmp(live_column(i), name) != 0)
        i++;
    ASSERT(i < LIVE_COLUMNS);
    return i;
}

static int is_known(const struct live *l, const char *column)
{
    const size_t i = column_at(column);

    return l->columns[i].history.n || !isnan(l->columns[i].now);
}

static void draw_field(struct pen *p, const struct live *l, const struct shown *f)
{
    const double v = l->columns[column_at(f->column)].now;
    struct str s = STR_INIT;

    if (isnan(v) || (f->if_any && v < 0.5))
        return;
    add_quantity(&s, f->quantity, v);
    field(p, "%s%s", f->before, s.s);
    str_release(&s);
}

/* Of shares the largest, else the first. */
static const struct live_history *history_of(const struct live *l, const struct row *r)
{
    size_t best = column_at(r->fields[0].column);

    for (size_t i = 1; r->is_largest && i < COUNT_OF(r->fields) && r->fields[i].column; i++) {
        const size_t at = column_at(r->fields[i].column);
        if (isnan(l->columns[best].now) || l->columns[at].now > l->columns[best].now)
            best = at;
    }
    return &l->columns[best].history;
}

static void draw_row(struct pen *p, const struct live *l, const struct row *r)
{
    int known = 0;

    for (size_t i = 0; i < COUNT_OF(r->fields) && r->fields[i].column; i++)
        known |= is_known(l, r->fields[i].column);
    if (!known || !begin(p, r->label))
        return;
    spark(p, history_of(l, r), r->full);
    for (size_t i = 0; i < COUNT_OF(r->fields) && r->fields[i].column; i++)
        draw_field(p, l, &r->fields[i]);
    end(p);
}

static void draw_gpu(struct pen *p, const struct live *l, int n)
{
    char *const label = xasprintf("gpu %d", n), *const sm = xasprintf("gpu%d_sm_percent", n),
                *const memory = xasprintf("gpu%d_memory_used_bytes", n),
                *const power = xasprintf("gpu%d_power_w", n);
    const struct row r = {
        label,
        100,
        0,
        {{sm, "", PERCENT, 0}, {memory, "memory ", BYTES, 0}, {power, "", WATTS, 0}}};

    draw_row(p, l, &r);
    free(label);
    free(sm);
    free(memory);
    free(power);
}

void live_draw_words(const char *words, const struct live_space *space, struct str *out)
{
    struct pen p = {.space = space, .glyphs = &ascii, .out = out, .lines_left = 1};
    struct str printable = STR_INIT;

    str_add(&printable, "");
    str_add_printable(&printable, words);
    begin(&p, NULL);
    paint(&p, DIM);
    put_cut(&p, printable.s);
    paint(&p, PLAIN);
    end(&p);
    str_release(&printable);
}

void live_draw(const struct live *l, const struct live_space *space, struct str *out)
{
    struct pen p = {.space = space,
                    .glyphs = space->is_ascii ? &ascii : &blocks,
                    .out = out,
                    .lines_left = space->rows - 2};

    draw_title(&p, l);
    draw_progress(&p, l);
    draw_rate(&p, l);
    draw_quality(&p, l);
    draw_staves(&p, l);
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        draw_row(&p, l, &rows[i]);
    for (int n = 0; n < LIVE_GPUS; n++)
        draw_gpu(&p, l, n);
}
