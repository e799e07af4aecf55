/* Tables of what the meter saw: a column of figures for each phase, and a line for each epoch. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "report/sections.h"
#include "report/text.h"

/* What the run itself wrote into result.json goes before what is reckoned here. */
static struct samples_level level_of(const struct folder *f, const char *column, const char *phase)
{
    const cJSON *const phases = doc_get(doc_get(f->result, "meter"), "phases");
    const cJSON *const told = doc_get(doc_get(phases, phase), column);
    const struct samples_where where = {.phase = phase};

    if (cJSON_IsObject(told))
        return (struct samples_level){.mean = doc_number(told, "mean"),
                                      .p50 = doc_number(told, "p50"),
                                      .p95 = doc_number(told, "p95")};
    return samples_level(&f->measured, samples_column(&f->measured, column), &where);
}

static void add_label(struct str *out, const char *column)
{
    const char *unit;
    struct str label = STR_INIT;

    text_add_label(&label, column, &unit);
    text_add(out, label.s);
    str_release(&label);
}

static void add_growth(const struct folder *f, const char *column, const char *phase,
                       struct str *out)
{
    const struct samples_where where = {.phase = phase};

    str_add(out, "<td class=\"n first\" colspan=\"3\">");
    text_add_by_unit(out, column,
                     samples_growth(&f->measured, samples_column(&f->measured, column), &where));
    str_add(out, " in all</td>");
}

static void add_level(const struct folder *f, const char *column, const char *phase,
                      struct str *out)
{
    const struct samples_level l = level_of(f, column, phase);
    const double cells[] = {l.mean, l.p50, l.p95};

    for (size_t i = 0; i < COUNT_OF(cells); i++) {
        str_add(out, i ? "<td class=\"n\">" : "<td class=\"n first\">");
        text_add_by_unit(out, column, cells[i]);
        str_add(out, "</td>");
    }
}

static void add_head(const struct samples *s, struct str *out)
{
    str_add(out, "<table class=\"phases\"><thead><tr><th scope=\"col\" rowspan=\"2\">Column</th>");
    for (size_t i = 0; i < s->n_phases; i++) {
        str_add(out, "<th scope=\"colgroup\" colspan=\"3\" class=\"first\">");
        text_add(out, s->phases[i]);
        str_add(out, "</th>");
    }
    str_add(out, "</tr><tr>");
    for (size_t i = 0; i < s->n_phases; i++)
        str_add(out, "<th scope=\"col\" class=\"n first\">mean</th><th scope=\"col\" class=\"n\">"
                     "p50</th><th scope=\"col\" class=\"n\">p95</th>");
    str_add(out, "</tr></thead><tbody>\n");
}

void section_add_phases(const struct folder *f, struct str *out)
{
    const struct samples *const s = &f->measured;

    if (s->n_rows == 0 || s->n_columns == 0)
        return;
    section_begin(out, "phases", "Summary by phase");
    str_add(out, "<div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"Summary by "
                 "phase\">");
    add_head(s, out);
    for (size_t i = 0; i < s->n_columns; i++) {
        str_add(out, "<tr><th scope=\"row\">");
        add_label(out, s->names[i]);
        str_add(out, "</th>");
        for (size_t p = 0; p < s->n_phases; p++)
            (samples_is_total(s->names[i]) ? add_growth : add_level)(f, s->names[i], s->phases[p],
                                                                     out);
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
