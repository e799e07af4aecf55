/* The page of several runs: what differs between them, and their curves on one axis. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "report/charts.h"
#include "report/report.h"
#include "report/sections.h"
#include "report/text.h"

/* What is known of the runs, side by side. */
struct compared {
    struct folder runs[REPORT_MAX_RUNS];
    struct summary summaries[REPORT_MAX_RUNS];
    struct barrel barrels[REPORT_MAX_RUNS];
    size_t n;
};

static int compared_open(struct compared *c, const char *const *dirs, size_t n)
{
    if (n > REPORT_MAX_RUNS)
        return err(E_USAGE, "%zu runs are more than one page compares, which is %d", n,
                   REPORT_MAX_RUNS);
    for (; c->n < n; c->n++) {
        TRY(folder_read(&c->runs[c->n], dirs[c->n]));
        barrel_find(&c->runs[c->n], &c->barrels[c->n]);
        summary_find(&c->runs[c->n], &c->summaries[c->n]);
    }
    folder_tell_apart(c->runs, c->n);
    return 0;
}

static void compared_close(struct compared *c)
{
    for (size_t i = 0; i < c->n; i++) {
        barrel_release(&c->barrels[i]);
        folder_release(&c->runs[i]);
    }
    free(c);
}

/* ---- the sentence ---- */

static double rate_of(const struct compared *c, size_t i)
{
    return c->summaries[i].samples_per_s;
}

static void add_slower(const struct compared *c, struct str *out)
{
    const double a = rate_of(c, 0), b = rate_of(c, 1);

    str_printf(out, "%s trained at ", c->runs[0].name);
    text_add_number(out, a);
    str_printf(out, " %s/s and %s at ", c->barrels[0].unit, c->runs[1].name);
    text_add_number(out, b);
    if (fabs(b / a - 1) < 0.005)
        str_add(out, ": the same within half a per cent.");
    else
        str_printf(out, ", which is %.3g %% %s.", 100 * fabs(b / a - 1), b < a ? "less" : "more");
}

static void add_range(const struct compared *c, struct str *out)
{
    size_t least = 0, most = 0;

    for (size_t i = 1; i < c->n; i++) {
        least = rate_of(c, i) < rate_of(c, least) ? i : least;
        most = rate_of(c, i) > rate_of(c, most) ? i : most;
    }
    str_printf(out, "%zu runs, from ", c->n);
    text_add_number(out, rate_of(c, least));
    str_printf(out, " %s/s (%s) to ", c->barrels[0].unit, c->runs[least].name);
    text_add_number(out, rate_of(c, most));
    str_printf(out, " (%s).", c->runs[most].name);
}

static void add_sentence(const struct compared *c, struct str *out)
{
    int known = 1;

    for (size_t i = 0; i < c->n; i++)
        known = known && rate_of(c, i) > 0;
    if (known && c->n == 2)
        add_slower(c, out);
    else if (known && c->n > 2)
        add_range(c, out);
    else if (c->n == 1)
        str_printf(out, "One run, %s.", c->runs[0].name);
    else
        str_printf(out, "%zu runs side by side.", c->n);
}

/* ---- the table of figures ---- */

/* A figure of a run: of its summary, or the mean of a column of samples.csv while it trained. unit:
 * a name that ends in the figure's unit. */
static const struct row {
    const char *title, *unit, *column; /* column NULL: the summary's, in this order */
} rows[] = {
    {"Throughput, samples per second", "", NULL},
    {"Run time", "run_s", NULL},
    {"Waiting for data, of the training time", "wait_ratio", NULL},
    {"Quality", "", NULL},
    {"Processors, this process", "x_percent", "cpu_process_percent"},
    {"Processors, whole machine", "x_percent", "cpu_machine_percent"},
    {"Memory, anonymous", "x_bytes", "memory_anon_bytes"},
    {"Memory, page cache", "x_bytes", "memory_file_bytes"},
    {"Disk reads", "x_bytes_per_s", "disk_read_bytes_per_s"},
    {"Disk writes", "x_bytes_per_s", "disk_write_bytes_per_s"},
    {"Accelerator", "x_percent", "gpu0_sm_percent"},
};

static double value_of(const struct compared *c, size_t run, size_t row)
{
    const struct summary *const s = &c->summaries[run];
    const double own[] = {s->samples_per_s, s->run_s, s->wait_ratio, s->quality};
    const struct samples *const m = &c->runs[run].measured;
    const struct samples_where where = {.phase = "train"};

    if (!rows[row].column)
        return own[row];
    return samples_level(m, samples_column(m, rows[row].column), &where).mean;
}

static void add_value(const struct compared *c, size_t run, size_t row, struct str *out)
{
    if (strcmp(rows[row].title, "Quality") == 0)
        summary_add_quality(&c->summaries[run], value_of(c, run, row), out);
    else
        text_add_by_unit(out, rows[row].unit, value_of(c, run, row));
}

static void add_difference(double a, double b, struct str *out)
{
    str_add(out, "<td class=\"n\">");
    if (isfinite(a) && isfinite(b) && a > 0)
        str_printf(out, "%s%.1f %%", b < a ? "−" : "+", 100 * fabs(b / a - 1));
    str_add(out, "</td>");
}

static void add_row(const struct compared *c, size_t row, struct str *out)
{
    int known = 0;

    for (size_t i = 0; i < c->n; i++)
        known = known || isfinite(value_of(c, i, row));
    if (!known)
        return;
    str_printf(out, "<tr><th scope=\"row\">%s</th>", rows[row].title);
    for (size_t i = 0; i < c->n; i++) {
        str_add(out, "<td class=\"n\">");
        add_value(c, i, row, out);
        str_add(out, "</td>");
    }
    if (c->n == 2)
        add_difference(value_of(c, 0, row), value_of(c, 1, row), out);
    str_add(out, "</tr>\n");
}

static void add_names(const struct compared *c, const char *first, struct str *out)
{
    str_printf(out, "<thead><tr><th scope=\"col\">%s</th>", first);
    for (size_t i = 0; i < c->n; i++) {
        str_add(out, "<th scope=\"col\" class=\"n\">");
        text_add(out, c->runs[i].name);
        str_add(out, "</th>");
    }
}

static void add_text_row(const struct compared *c, const char *title,
                         const char *(*text)(const struct compared *c, size_t run), struct str *out)
{
    str_printf(out, "<tr><th scope=\"row\">%s</th>", title);
    for (size_t i = 0; i < c->n; i++) {
        const char *const t = text(c, i);

        str_add(out, "<td class=\"n\">");
        text_add(out, t ? t : "–");
        str_add(out, "</td>");
    }
    str_add(out, c->n == 2 ? "<td></td></tr>\n" : "</tr>\n");
}

static const char *state_text(const struct compared *c, size_t i)
{
    return summary_state_name(&c->summaries[i]);
}

static const char *stave_text(const struct compared *c, size_t i)
{
    return c->barrels[i].source == BARREL_NONE ? NULL : stave_name(c->barrels[i].shortest);
}

static const char *origin_text(const struct compared *c, size_t i)
{
    return c->summaries[i].origin;
}

static void add_figures(const struct compared *c, struct str *out)
{
    section_begin(out, "figures", "Side by side");
    str_add(out, "<div class=\"scroll\"><table class=\"compared\">");
    add_names(c, "Figure", out);
    str_add(out, c->n == 2 ? "<th scope=\"col\" class=\"n\">Difference</th></tr></thead><tbody>\n"
                           : "</tr></thead><tbody>\n");
    add_text_row(c, "State", state_text, out);
    add_text_row(c, "Shortest stave", stave_text, out);
    add_text_row(c, "Data came from", origin_text, out);
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        add_row(c, i, out);
    str_add(out, "</tbody></table></div>\n");
    section_end(out);
}

/* ---- what was asked for, and where ---- */

/* Among the runs of which it is known. */
static int all_equal(const struct compared *c, const cJSON *const *values)
{
    size_t first = 0;

    while (first < c->n && !c->runs[first].run)
        first++;
    for (size_t i = first + 1; i < c->n; i++)
        if (c->runs[i].run && values[i] != values[first] &&
            !cJSON_Compare(values[i], values[first], 1))
            return 0;
    return 1;
}

static void add_differing(const struct compared *c, const char *name, const cJSON *const *values,
                          struct str *out)
{
    if (all_equal(c, values))
        return;
    str_add(out, "<tr><th scope=\"row\">");
    text_add(out, name);
    str_add(out, "</th>");
    for (size_t i = 0; i < c->n; i++) {
        char *const text = values[i] ? cJSON_PrintUnformatted(values[i]) : NULL;

        str_add(out, "<td>");
        text_add(out, text ? text : c->runs[i].run ? "–" : "not known");
        str_add(out, "</td>");
        cJSON_free(text);
    }
    str_add(out, "</tr>\n");
}

/* One of the objects in front has a member of this name. */
static int was_before(const cJSON *const *objects, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (doc_get(objects[i], name))
            return 1;
    return 0;
}

/* A row for each plain member of any run's object that the runs do not have alike. */
static void add_members(const struct compared *c, const cJSON *const *objects, struct str *out)
{
    const cJSON *v, *values[REPORT_MAX_RUNS];

    for (size_t run = 0; run < c->n; run++)
        for (v = objects[run] ? objects[run]->child : NULL; v; v = v->next) {
            if (cJSON_IsObject(v) || !v->string || strcmp(v->string, "started_utc") == 0 ||
                was_before(objects, run, v->string))
                continue;
            for (size_t i = 0; i < c->n; i++)
                values[i] = doc_get(objects[i], v->string);
            add_differing(c, v->string, values, out);
        }
}

static void add_option_tables(const struct compared *c, struct str *out)
{
    const cJSON *options[REPORT_MAX_RUNS], *tables[REPORT_MAX_RUNS], *owner;

    for (size_t i = 0; i < c->n; i++)
        options[i] = doc_get(c->runs[i].run, "options");
    for (size_t run = 0; run < c->n; run++)
        for (owner = options[run] ? options[run]->child : NULL; owner; owner = owner->next) {
            if (!owner->string || was_before(options, run, owner->string))
                continue;
            for (size_t i = 0; i < c->n; i++)
                tables[i] = doc_get(options[i], owner->string);
            add_members(c, tables, out);
        }
}

static size_t n_known(const struct compared *c)
{
    size_t n = 0;

    for (size_t i = 0; i < c->n; i++)
        n += c->runs[i].run != NULL;
    return n;
}

static void add_asked(const struct compared *c, struct str *out)
{
    const cJSON *objects[REPORT_MAX_RUNS];
    struct str lines = STR_INIT;

    for (size_t i = 0; i < c->n; i++)
        objects[i] = c->runs[i].run;
    add_members(c, objects, &lines);
    add_option_tables(c, &lines);
    section_begin(out, "differences", "Machine and options: what differs");
    if (lines.len) {
        str_add(out, "<div class=\"scroll\"><table class=\"options\">");
        add_names(c, "", out);
        str_printf(out, "</tr></thead><tbody>\n%s</tbody></table></div>\n", lines.s);
    } else
        str_add(out, n_known(c) == c->n ? "<p>Nothing.</p>\n"
                     : n_known(c) > 1   ? "<p>Nothing between the runs of which it is known.</p>\n"
                                        : "<p>Not known.</p>\n");
    section_end(out);
    str_release(&lines);
}

/* ---- the page ---- */

static void add_links(const struct compared *c, struct str *out)
{
    str_add(out, "<ul class=\"facts\">");
    for (size_t i = 0; i < c->n; i++) {
        str_add(out, "<li>");
        text_add(out, c->runs[i].dir);
        str_add(out, "</li>");
    }
    str_add(out, "</ul>\n");
}

static void add_notes(const struct compared *c, struct str *out)
{
    struct str items = STR_INIT;

    for (size_t i = 0; i < c->n; i++)
        for (size_t k = 0; k < c->runs[i].notes.n; k++) {
            str_add(&items, "<li>");
            text_add(&items, c->runs[i].name);
            str_add(&items, ": ");
            text_add(&items, c->runs[i].notes.all[k]);
            str_add(&items, "</li>");
        }
    if (items.len)
        str_printf(out, "<div class=\"notes\" role=\"note\"><ul>%s</ul></div>\n", items.s);
    str_release(&items);
}

static void add_barrels(const struct compared *c, struct str *out)
{
    section_begin(out, "staves", "The staves");
    str_add(out, "<div class=\"columns\">");
    for (size_t i = 0; i < c->n; i++) {
        str_add(out, "<figure class=\"barrel-of\"><h3>");
        text_add(out, c->runs[i].name);
        str_add(out, "</h3>");
        if (c->barrels[i].source == BARREL_NONE)
            str_add(out, "<p class=\"quiet\">Not known.</p>");
        else
            barrel_draw(&c->barrels[i], out);
        str_add(out, "</figure>\n");
    }
    str_add(out, "</div>\n");
    section_end(out);
}

static void add_page(const struct compared *c, struct page *p)
{
    struct str sentence = STR_INIT;

    add_sentence(c, &sentence);
    str_add(&p->body, "<h1>");
    text_add(&p->body, sentence.s);
    str_add(&p->body, "</h1>\n");
    add_links(c, &p->body);
    add_notes(c, &p->body);
    add_figures(c, &p->body);
    add_barrels(c, &p->body);
    report_add_charts(c->runs, c->n, p);
    add_asked(c, &p->body);
    str_release(&sentence);
}

int report_runs(const char *const *dirs, size_t n, struct page *p)
{
    struct compared *const c = xcalloc(1, sizeof(*c));
    const int rc = compared_open(c, dirs, n);

    if (rc == 0) {
        for (size_t i = 0; i < n; i++)
            str_printf(&p->title, "%s%s", i ? ", " : "", c->runs[i].name);
        add_page(c, p);
    }
    compared_close(c);
    return rc;
}
