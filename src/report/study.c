/* The pages of what holds several runs: a study (study.json) and a set of runs (set.json). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "report/report.h"
#include "report/sections.h"
#include "report/text.h"

/* ---- a study ---- */

static const cJSON *condition_of(const cJSON *study, const cJSON *row)
{
    const double at = doc_number(row, "condition");
    const cJSON *const all = doc_get(study, "conditions");

    return at >= 0 && at < cJSON_GetArraySize(all) ? cJSON_GetArrayItem(all, (int)at) : NULL;
}

static const char *condition_name(const cJSON *study, const cJSON *row)
{
    const char *const name = doc_text(condition_of(study, row), "name");

    return name ? name : "?";
}

static double mean_of(const cJSON *row, const char *figure)
{
    return doc_number(doc_get(row, figure), "mean");
}

/* What the table shows, in this order; a figure that no row has is left out. */
static const struct {
    const char *name, *title;
} figures[] = {
    {"run_s", "Run time"},
    {"train_samples_per_s", "Samples per second"},
    {"wait_ratio", "Waiting"},
    {"disk_read_bytes_per_s", "Disk reads"},
    {"disk_write_bytes_per_s", "Disk writes"},
    {"cpu_process_percent", "Processors, process"},
    {"cpu_machine_percent", "Processors, machine"},
    {"memory_anon_bytes", "Anonymous memory"},
    {"memory_file_bytes", "Page cache"},
    {"gpu_sm_percent", "Accelerator"},
    {"gpu_memory_used_bytes", "Accelerator's memory"},
    {"delivered_ratio", "From storage"},
    {"ingest_bytes_per_s", "Ingest"},
    {"ingest_p99_ms", "Ingest p99"},
};

static int is_in_table(const cJSON *table, const char *figure)
{
    const cJSON *row;

    cJSON_ArrayForEach(row, table)
    {
        if (isfinite(mean_of(row, figure)))
            return 1;
    }
    return 0;
}

/* Its column says what a rate is of. */
static void add_value(const char *figure, double v, struct str *out)
{
    text_add_by_unit(out, strcmp(figure, "train_samples_per_s") == 0 ? "" : figure, v);
}

static void add_spread(const cJSON *row, const char *figure, struct str *out)
{
    const cJSON *const f = doc_get(row, figure);
    const double least = doc_number(f, "least"), most = doc_number(f, "most");

    str_add(out, "<td class=\"n\">");
    add_value(figure, doc_number(f, "mean"), out);
    if (isfinite(least) && isfinite(most) && most > least) {
        str_add(out, "<small>");
        add_value(figure, least, out);
        str_add(out, " to ");
        add_value(figure, most, out);
        str_add(out, "</small>");
    }
    str_add(out, "</td>");
}

static void add_slowdown(const cJSON *row, struct str *out)
{
    const cJSON *const s = doc_get(row, "slowdown");
    const double low = doc_number(s, "low"), high = doc_number(s, "high");

    str_add(out, "<td class=\"n\">");
    if (s) {
        text_add_percent(out, doc_number(s, "ratio"));
        str_add(out, "<small>");
        if (isfinite(low) && isfinite(high)) {
            text_add_percent(out, low);
            str_add(out, " to ");
            text_add_percent(out, high);
            str_add(out, ", ");
        }
        str_add(out, cJSON_IsTrue(doc_get(s, "told_apart")) ? "more than noise" : "may be noise");
        str_add(out, "</small>");
    }
    str_add(out, "</td>");
}

static void add_table_row(const cJSON *study, const cJSON *row, struct str *out)
{
    const cJSON *const table = doc_get(study, "table");
    const double chosen = doc_number(doc_get(study, "choice"), "condition");

    str_add(out, doc_number(row, "condition") == chosen ? "<tr class=\"chosen\">" : "<tr>");
    str_add(out, "<th scope=\"row\">");
    text_add(out, condition_name(study, row));
    str_add(out, "</th><td>");
    text_add(out, doc_text(row, "workload"));
    str_add(out, "</td><td class=\"n\">");
    text_add_number(out, doc_number(row, "n"));
    str_add(out, "</td>");
    add_slowdown(row, out);
    for (size_t i = 0; i < COUNT_OF(figures); i++)
        if (is_in_table(table, figures[i].name))
            add_spread(row, figures[i].name, out);
    str_add(out, "</tr>\n");
}

static void add_table(const cJSON *study, struct str *out)
{
    const cJSON *const table = doc_get(study, "table"), *row;

    section_begin(out, "table", "Conditions");
    str_add(out,
            "<div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"Conditions\"><table "
            "class=\"study\"><thead><tr><th scope=\"col\">Condition</th><th scope=\"col\">Workload"
            "</th><th scope=\"col\" class=\"n\">Runs</th><th scope=\"col\" class=\"n\">Slower by"
            "</th>");
    for (size_t i = 0; i < COUNT_OF(figures); i++)
        if (is_in_table(table, figures[i].name))
            str_printf(out, "<th scope=\"col\" class=\"n\">%s</th>", figures[i].title);
    str_add(out, "</tr></thead><tbody>\n");
    cJSON_ArrayForEach(row, table) add_table_row(study, row, out);
    str_add(out, "</tbody></table></div>\n");
    section_end(out);
}

/* A name of a folder below this one, and nothing else, may be linked to. */
static int is_plain_name(const char *name)
{
    return name && *name && *name != '.' &&
           strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.") ==
               strlen(name);
}

/* A page that is not there is no link. */
static void add_page_link(const char *home, const char *dir, struct str *out)
{
    char *const page = xasprintf("%s/%s/report.html", home, dir);

    if (file_exists(page))
        str_printf(out, "<a href=\"%s/report.html\">%s</a>", dir, dir);
    else
        text_add(out, dir);
    free(page);
}

static void add_link(const char *home, const char *dir, struct str *out)
{
    if (is_plain_name(dir))
        add_page_link(home, dir, out);
    else
        text_add(out, dir);
}

static int has_workloads(const cJSON *study)
{
    return cJSON_GetArraySize(doc_get(study, "workloads")) > 1;
}

static void add_study_run(const cJSON *study, const cJSON *run, const char *home, struct str *out)
{
    const int stands = cJSON_IsTrue(doc_get(run, "stands"));

    str_add(out, "<tr><th scope=\"row\">");
    add_link(home, doc_text(run, "dir"), out);
    str_add(out, "</th><td>");
    if (has_workloads(study)) {
        text_add(out, doc_text(run, "workload"));
        str_add(out, "</td><td>");
    }
    text_add(out, condition_name(study, run));
    str_add(out, "</td><td class=\"n\">");
    text_add_number(out, doc_number(run, "repeat"));
    str_add(out, "</td><td class=\"n\">");
    text_add_number(out, doc_number(run, "train_samples_per_s"));
    str_add(out, "</td><td>");
    text_add(out, doc_text(run, "origin"));
    str_printf(out, "</td><td>%s", stands ? "stands" : "does not stand");
    if (doc_text(run, "why")) {
        str_add(out, ": ");
        text_add(out, doc_text(run, "why"));
    }
    str_add(out, "</td></tr>\n");
}

static void add_study_runs(const cJSON *study, const char *home, struct str *out)
{
    const cJSON *run;

    section_begin(out, "runs", "Runs");
    str_printf(
        out,
        "<div class=\"scroll\"><table><thead><tr><th scope=\"col\">Run</th>%s<th "
        "scope=\"col\">Condition</th><th scope=\"col\" class=\"n\">Repeat</th><th "
        "scope=\"col\" class=\"n\">Samples per second</th><th scope=\"col\">Data from</th><th "
        "scope=\"col\">Result</th></tr></thead><tbody>\n",
        has_workloads(study) ? "<th scope=\"col\">Workload</th>" : "");
    cJSON_ArrayForEach(run, doc_get(study, "runs")) add_study_run(study, run, home, out);
    str_add(out, "</tbody></table></div>\n");
    section_end(out);
}

/* ---- its charts: page.js draws them ---- */

static void add_point(const cJSON *study, const cJSON *row, struct str *json)
{
    const cJSON *const rate = doc_get(row, "train_samples_per_s"), *const s =
                                                                       doc_get(row, "slowdown");

    json_add_key(json, NULL);
    str_add(json, "{");
    json_add_text(json, "condition", condition_name(study, row));
    json_add_text(json, "workload", doc_text(row, "workload"));
    json_add_real(json, "rate", doc_number(rate, "mean"));
    json_add_real(json, "least", doc_number(rate, "least"));
    json_add_real(json, "most", doc_number(rate, "most"));
    json_add_real(json, "slowdown", doc_number(s, "ratio"));
    json_add_real(json, "low", doc_number(s, "low"));
    json_add_real(json, "high", doc_number(s, "high"));
    json_add_real(json, "ingest", mean_of(row, "ingest_bytes_per_s"));
    json_add_real(json, "ingest_p99_ms", mean_of(row, "ingest_p99_ms"));
    str_add(json, "}");
}

static void add_study_charts(const cJSON *study, struct page *p)
{
    const char *const unit = doc_text(study, "unit");
    const cJSON *row;

    str_add(&p->json, "{\"kind\": \"study\"");
    json_add_text(&p->json, "unit", unit ? unit : "samples");
    json_add_text(&p->json, "baseline",
                  doc_text(cJSON_GetArrayItem(doc_get(study, "conditions"), 0), "name"));
    json_add_key(&p->json, "points");
    str_add(&p->json, "[");
    cJSON_ArrayForEach(row, doc_get(study, "table")) add_point(study, row, &p->json);
    str_add(&p->json, "]}");
    section_begin(&p->body, "charts-of-study", "Slowdown");
    str_add(&p->body, "<noscript><p class=\"quiet\">The charts need JavaScript; the tables do not."
                      "</p></noscript><div id=\"study-charts\"></div>\n");
    section_end(&p->body);
}

static void add_study_head(const cJSON *study, const char *dir, struct str *out)
{
    const char *const words = doc_text(study, "words");
    const double smallest = doc_number(study, "smallest_difference_ratio");

    str_add(out, "<h1>");
    text_add(out, words ? words : "A study that has come to no finding yet.");
    str_add(out, "</h1>\n<ul class=\"facts\"><li>");
    text_add(out, dir);
    str_add(out, "</li><li>");
    text_add_number(out, doc_number(study, "repeats"));
    str_add(out, " repeats of each condition</li>");
    if (isfinite(smallest)) {
        str_add(out, "<li>");
        text_add_number(out, doc_number(study, "smallest_difference_repeats"));
        str_add(out, " of them tell differences of ");
        text_add_percent(out, smallest);
        str_add(out, " and more from noise</li>");
    }
    str_add(out, "</ul>\n");
    if (doc_text(doc_get(study, "choice"), "words")) {
        str_add(out, "<p class=\"choice-words\">");
        text_add(out, doc_text(doc_get(study, "choice"), "words"));
        str_add(out, "</p>\n");
    }
}

int report_study(const char *dir, struct page *p)
{
    char *const path = file_join(dir, "study.json");
    cJSON *study;
    const int rc = json_read_object(path, &study);

    free(path);
    TRY(rc);
    str_printf(&p->title, "%s", dir);
    add_study_head(study, dir, &p->body);
    add_study_charts(study, p);
    add_table(study, &p->body);
    add_study_runs(study, dir, &p->body);
    cJSON_Delete(study);
    return 0;
}

/* ---- a set ---- */

static void add_set_run(const cJSON *run, const char *home, struct str *out)
{
    str_add(out, "<tr><th scope=\"row\">");
    add_link(home, doc_text(run, "folder"), out);
    str_add(out, "</th><td>");
    text_add(out, doc_text(run, "state"));
    str_add(out, "</td><td>");
    text_add(out, doc_text(run, "status"));
    str_add(out, "</td><td class=\"n\">");
    text_add_number(out, doc_number(run, "quality"));
    str_add(out, "</td><td class=\"n\">");
    text_add_number(out, doc_number(run, "epochs"));
    str_add(out, "</td><td class=\"n\">");
    text_add_number(out, doc_number(run, "minutes"));
    str_add(out, "</td></tr>\n");
}

static void add_set_table(const cJSON *set, const char *home, struct str *out)
{
    const cJSON *run;

    section_begin(out, "runs", "Runs of the set");
    str_add(
        out,
        "<table><thead><tr><th scope=\"col\">Run</th><th scope=\"col\">State</th><th "
        "scope=\"col\">Result</th><th scope=\"col\" class=\"n\">Quality</th><th scope=\"col\" "
        "class=\"n\">Epochs</th><th scope=\"col\" class=\"n\">Minutes</th></tr></thead><tbody>\n");
    cJSON_ArrayForEach(run, doc_get(set, "runs")) add_set_run(run, home, out);
    str_add(out, "</tbody></table>\n");
    section_end(out);
}

/* The folders of its runs that are there, as many as one page takes. */
static void find_runs(const cJSON *set, const char *dir, struct file_names *found)
{
    const cJSON *run;

    cJSON_ArrayForEach(run, doc_get(set, "runs"))
    {
        const char *const name = doc_text(run, "folder");
        char *const path = is_plain_name(name) ? file_join(dir, name) : NULL;

        if (path && found->n < REPORT_MAX_RUNS && file_is_folder(path))
            file_names_add(found, path);
        else
            free(path);
    }
}

int report_set(const char *dir, struct page *p)
{
    char *const path = file_join(dir, "set.json");
    struct file_names found = {0};
    cJSON *set;
    int rc = json_read_object(path, &set);

    free(path);
    TRY(rc);
    find_runs(set, dir, &found);
    if (found.n == 0)
        str_add(&p->body, "<h1>A set of which no run has begun.</h1>\n");
    else
        rc = report_runs((const char *const *)found.all, found.n, p);
    add_set_table(set, dir, &p->body);
    file_names_release(&found);
    cJSON_Delete(set);
    return rc;
}
