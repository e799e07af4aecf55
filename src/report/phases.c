/* Tables of what the meter saw: a column of figures for each phase, and a line for each epoch. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "report/charts.h"
#include "report/sections.h"
#include "report/text.h"

/* Of the rows of one phase. */
struct figures {
    double mean, p50, p95;
};

static int compare_reals(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* The value at or above a share of the n sorted ones. */
static double percentile(const double *sorted, size_t n, double share)
{
    const size_t at = (size_t)ceil(share * (double)n);

    return sorted[at > 0 ? at - 1 : 0];
}

/* A level: each row counts for the time since the row before it. A total: its growth per second. */
static struct figures figures_of(const struct table *t, const double *v, double phase)
{
    const double *const word = table_find(t, "phase"), *const at = table_find(t, "seconds");
    double *const kept = xmalloc((t->n_rows + 1) * sizeof(*kept)), sum = 0, seconds = 0;
    struct figures out = {NAN, NAN, NAN};
    size_t n = 0;

    for (size_t i = 0; i < t->n_rows; i++) {
        const double lasts = i ? at[i] - at[i - 1] : 0;

        if (word[i] != phase || !isfinite(v[i]))
            continue;
        kept[n++] = v[i];
        if (lasts > 0) {
            sum += v[i] * lasts;
            seconds += lasts;
        }
    }
    if (n > 0) {
        qsort(kept, n, sizeof(*kept), compare_reals);
        out.mean = seconds > 0 ? sum / seconds : kept[0];
        out.p50 = percentile(kept, n, 0.5);
        out.p95 = percentile(kept, n, 0.95);
    }
    free(kept);
    return out;
}

static double growth(const struct table *t, const double *v, double phase)
{
    const double *const word = table_find(t, "phase");
    double sum = 0;

    for (size_t i = 1; i < t->n_rows; i++)
        if (word[i] == phase && v[i] >= v[i - 1])
            sum += v[i] - v[i - 1];
    return sum;
}

/* What the run itself wrote into result.json goes before what is counted here. */
static struct figures figures_for(const struct folder *f, const struct table_column *c,
                                  double phase)
{
    const cJSON *const phases = doc_get(doc_get(f->result, "meter"), "phases");
    const char *const name = f->samples.words.all[(size_t)phase];
    const cJSON *const told = doc_get(doc_get(phases, name), c->name);

    if (cJSON_IsObject(told))
        return (struct figures){doc_number(told, "mean"), doc_number(told, "p50"),
                                doc_number(told, "p95")};
    return figures_of(&f->samples, c->v, phase);
}

static int is_shown(const struct table_column *c)
{
    static const char *const keys[] = {"time_ms", "elapsed_s", "phase", "epoch", "seconds"};

    for (size_t i = 0; i < COUNT_OF(keys); i++)
        if (strcmp(c->name, keys[i]) == 0)
            return 0;
    return 1;
}

static void add_label(struct str *out, const char *column)
{
    const char *unit;
    struct str label = STR_INIT;

    text_add_label(&label, column, &unit);
    text_add(out, label.s);
    str_release(&label);
}

static void add_cells(const struct folder *f, const struct table_column *c, struct str *out)
{
    for (size_t w = 0; w < f->samples.words.n; w++) {
        if (charts_is_total(c->name)) {
            str_add(out, "<td class=\"n first\" colspan=\"3\">");
            text_add_by_unit(out, c->name, growth(&f->samples, c->v, (double)w));
            str_add(out, " in all</td>");
        } else {
            const struct figures g = figures_for(f, c, (double)w);
            const double cells[] = {g.mean, g.p50, g.p95};

            for (size_t i = 0; i < COUNT_OF(cells); i++) {
                str_add(out, i ? "<td class=\"n\">" : "<td class=\"n first\">");
                text_add_by_unit(out, c->name, cells[i]);
                str_add(out, "</td>");
            }
        }
    }
}

static void add_head(const struct table *t, struct str *out)
{
    str_add(out, "<table class=\"phases\"><thead><tr><th scope=\"col\" rowspan=\"2\">Column</th>");
    for (size_t w = 0; w < t->words.n; w++) {
        str_add(out, "<th scope=\"colgroup\" colspan=\"3\" class=\"first\">");
        text_add(out, t->words.all[w]);
        str_add(out, "</th>");
    }
    str_add(out, "</tr><tr>");
    for (size_t w = 0; w < t->words.n; w++)
        str_add(out, "<th scope=\"col\" class=\"n first\">mean</th><th scope=\"col\" class=\"n\">"
                     "p50</th><th scope=\"col\" class=\"n\">p95</th>");
    str_add(out, "</tr></thead><tbody>\n");
}

void section_add_phases(const struct folder *f, struct str *out)
{
    const struct table *const t = &f->samples;

    if (t->n_rows == 0 || t->words.n == 0 || !table_find(t, "phase"))
        return;
    section_begin(out, "phases", "Summary by phase");
    str_add(out,
            "<div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"Summary by phase\">");
    add_head(t, out);
    for (size_t i = 0; i < t->n_columns; i++) {
        if (!is_shown(&t->columns[i]))
            continue;
        str_add(out, "<tr><th scope=\"row\">");
        add_label(out, t->columns[i].name);
        str_add(out, "</th>");
        add_cells(f, &t->columns[i], out);
        str_add(out, "</tr>\n");
    }
    str_add(out, "</tbody></table></div>\n");
    section_end(out);
}

/* ---- epochs ---- */

static void add_epoch(const cJSON *e, struct str *out)
{
    static const char *const bytes[] = {"asked_bytes", "process_read_bytes", "disk_read_bytes"};
    const char *const origin = doc_text(e, "origin");

    str_add(out, "<tr><th scope=\"row\">");
    text_add_number(out, doc_number(e, "epoch_num"));
    str_add(out, "</th>");
    for (size_t i = 0; i < COUNT_OF(bytes); i++) {
        str_add(out, "<td class=\"n\">");
        text_add_bytes(out, doc_number(e, bytes[i]));
        str_add(out, "</td>");
    }
    str_add(out, "<td class=\"n\">");
    text_add_percent(out, doc_number(e, "delivered_ratio"));
    str_add(out, "</td><td>");
    text_add(out, origin ? origin : "unknown");
    str_add(out, "</td></tr>\n");
}

/* The list of that name, which a number of the same name may stand before. */
static const cJSON *list_named(const cJSON *object, const char *name)
{
    const cJSON *v;

    cJSON_ArrayForEach(v, object)
    {
        if (cJSON_IsArray(v) && v->string && strcmp(v->string, name) == 0)
            return v;
    }
    return NULL;
}

void section_add_epochs(const struct folder *f, struct str *out)
{
    const cJSON *const rows = list_named(f->result, "data_epochs");
    const char *const words = doc_text(f->result, "origin_words");
    const cJSON *e;

    if (cJSON_GetArraySize(rows) == 0)
        return;
    section_begin(out, "epochs", "Disk or cache");
    if (words) {
        str_add(out, "<p>");
        text_add(out, words);
        str_add(out, "</p>\n");
    }
    str_add(out,
            "<div class=\"scroll\"><table class=\"epochs\"><thead><tr><th scope=\"col\">Epoch"
            "</th><th scope=\"col\" class=\"n\">Asked for</th><th scope=\"col\" class=\"n\">"
            "Delivered to the process</th><th scope=\"col\" class=\"n\">Delivered by the device"
            "</th><th scope=\"col\" class=\"n\">Share</th><th scope=\"col\">From</th></tr>"
            "</thead><tbody>\n");
    cJSON_ArrayForEach(e, rows) add_epoch(e, out);
    str_add(out, "</tbody></table></div>\n");
    section_end(out);
}
