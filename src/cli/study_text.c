/* A study's table, for people. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "cli/study.h"

struct column {
    const char *head;
    enum study_figure figure;
    double unit; /* the figure is divided by it */
};

/* Behind workload and condition, in front of the slowdown; one that is known nowhere is not shown.
 */
static const struct column columns[] = {
    {"time s", FIGURE_run_s, 1},
    {"wait %", FIGURE_wait_ratio, 0.01},
    {"CPU %", FIGURE_cpu_process_percent, 1},
    {"all CPU %", FIGURE_cpu_machine_percent, 1},
    {"memory MB", FIGURE_memory_anon_bytes, 1e6},
    {"cache MB", FIGURE_memory_file_bytes, 1e6},
    {"read MB/s", FIGURE_disk_read_bytes_per_s, 1e6},
    {"write MB/s", FIGURE_disk_write_bytes_per_s, 1e6},
    {"from disk %", FIGURE_delivered_ratio, 0.01},
    {"GPU %", FIGURE_gpu_sm_percent, 1},
    {"GPU MB", FIGURE_gpu_memory_used_bytes, 1e6},
    {"ingest MB/s", FIGURE_ingest_bytes_per_s, 1e6},
    {"p99 ms", FIGURE_ingest_p99_ms, 1},
};

enum { MAX_CELLS = COUNT_OF(columns) + 6 };

/* Lines of cells, tabs between them, until widths are known. */
struct sheet {
    struct str text;
    size_t width[MAX_CELLS];
    size_t n_cells, at;
};

static void add_cell(struct sheet *t, const char *text)
{
    const size_t n = strlen(text);

    t->width[t->at] = n > t->width[t->at] ? n : t->width[t->at];
    str_printf(&t->text, "%s%s", t->at ? "\t" : "", text);
    t->at++;
}

static void end_line(struct sheet *t)
{
    str_add(&t->text, "\n");
    t->n_cells = t->at;
    t->at = 0;
}

static void add_number(struct sheet *t, double v)
{
    char text[32] = "-";

    if (isfinite(v))
        snprintf(text, sizeof(text), fabs(v) < 1000 ? "%.3g" : "%.0f", v);
    add_cell(t, text);
}

/* The first n_left columns are text and stand left. */
static void print_sheet(struct sheet *t, size_t n_left)
{
    size_t at = 0;

    for (const char *p = t->text.s; p && *p; p++) {
        const size_t n = strcspn(p, "\t\n");
        const int last = p[n] == '\n';

        printf(at < n_left || last ? "%-*.*s" : "%*.*s", last ? 0 : (int)t->width[at], (int)n, p);
        fputs(last ? "\n" : "  ", stdout);
        at = last ? 0 : at + 1;
        p += n;
    }
    str_release(&t->text);
}

static int is_known(const struct study_result *r, enum study_figure figure)
{
    for (size_t i = 0; i < r->n_rows; i++)
        if (r->rows[i].figures[figure].n > 0)
            return 1;
    return 0;
}

static int has_origin(const struct study_result *r)
{
    for (size_t i = 0; i < r->n_rows; i++)
        if (r->rows[i].origin[0])
            return 1;
    return 0;
}

static void add_slowdown(struct sheet *t, const struct effect_slowdown *e)
{
    char text[96] = "-";

    if (e->n == 1)
        snprintf(text, sizeof(text), "%.1f %% (one repeat)", 100 * e->ratio);
    if (e->n > 1)
        snprintf(text, sizeof(text), "%.1f %% (%.1f to %.1f)%s", 100 * e->ratio, 100 * e->low,
                 100 * e->high, e->told_apart ? "" : ": not told apart");
    add_cell(t, text);
}

static void add_rate(struct sheet *t, const struct effect_spread *rate)
{
    char text[64] = "-";

    if (rate->n == 1)
        snprintf(text, sizeof(text), "%.4g", rate->mean);
    if (rate->n > 1)
        snprintf(text, sizeof(text), "%.4g +-%.2g %%", rate->mean, 100 * rate->sd / rate->mean);
    add_cell(t, text);
}

static void add_head(struct sheet *t, const struct study *s, const struct study_result *r)
{
    char rate[48];

    snprintf(rate, sizeof(rate), "%.32s/s", s->workloads[0].unit);
    add_cell(t, "workload");
    add_cell(t, "condition");
    add_cell(t, "runs");
    add_cell(t, rate);
    for (size_t k = 0; k < COUNT_OF(columns); k++)
        if (is_known(r, columns[k].figure))
            add_cell(t, columns[k].head);
    if (has_origin(r))
        add_cell(t, "data from");
    add_cell(t, "slowdown (95 % interval)");
    end_line(t);
}

static void add_row(struct sheet *t, const struct study *s, const struct study_result *r,
                    const struct study_row *row)
{
    add_cell(t, s->workloads[row->workload].name);
    add_cell(t, s->conditions[row->condition].name);
    add_number(t, (double)row->n);
    add_rate(t, &row->figures[FIGURE_train_samples_per_s]);
    for (size_t k = 0; k < COUNT_OF(columns); k++)
        if (is_known(r, columns[k].figure))
            add_number(t, row->figures[columns[k].figure].mean / columns[k].unit);
    if (has_origin(r))
        add_cell(t, row->origin[0] ? row->origin : "-");
    add_slowdown(t, &row->slowdown);
    end_line(t);
}

static void print_failures(const struct study *s)
{
    for (size_t i = 0; i < s->n_runs; i++) {
        const struct study_run *const r = &s->runs[i];
        if (r->state == STUDY_DONE && r->why[0])
            printf("run-%02zu (%s, repeat %zu) %s: %s\n", i + 1, s->conditions[r->condition].name,
                   r->repeat, r->stands ? "stands" : "does not count", r->why);
    }
}

static void print_ranking(const struct effect_ranking *r)
{
    if (isfinite(r->kendall_w))
        printf(
            "ranking by rate: %zu repeats, Kendall's W %.2f; all agree which is faster in %zu of "
            "%zu pairs\n",
            r->repeats, r->kendall_w, r->agreed, r->pairs);
}

void study_print(const struct study *s, const struct study_result *r)
{
    struct sheet t = {{0}, {0}, 0, 0};

    add_head(&t, s, r);
    for (size_t i = 0; i < r->n_rows; i++)
        add_row(&t, s, r, &r->rows[i]);
    print_sheet(&t, 2);
    print_failures(s);
    if (isfinite(r->smallest.ratio))
        printf("smallest slowdown that %zu repeats tell from noise: %.1f %%\n", r->smallest.n,
               100 * r->smallest.ratio);
    print_ranking(&r->ranking);
    if (r->choice_words.len)
        printf("%s\n", r->choice_words.s);
    printf("%s\nstudy: %s\n", r->words.s, s->dir);
}
