#include "report/sections.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "report/charts.h"
#include "report/text.h"

void section_begin(struct str *out, const char *id, const char *title)
{
    str_printf(out, "<section id=\"%s\" aria-labelledby=\"h-%s\">\n<h2 id=\"h-%s\">%s</h2>\n", id,
               id, id, title);
}

void section_end(struct str *out)
{
    str_add(out, "</section>\n");
}

/* ---- head ---- */

/* What a summary says, in pieces that are joined by a dot. */
static void add_fact(struct str *out, const char *before, const char *text)
{
    if (!text || !*text)
        return;
    str_printf(out, "<li>%s", before);
    text_add(out, text);
    str_add(out, "</li>");
}

/* "2026-11-30T01:56:53Z" as "2026-11-30 01:56 UTC"; what is of another form as it is. */
static void add_start(const char *utc, struct str *out)
{
    char *const text = utc && strlen(utc) == 20 && utc[10] == 'T' && utc[19] == 'Z'
                           ? xasprintf("%.10s %.5s UTC", utc, utc + 11)
                           : xstrdup(utc ? utc : "");

    add_fact(out, "", text);
    free(text);
}

static void add_facts(const struct folder *f, struct str *out)
{
    const double seed = doc_number(f->run, "seed");
    const char *workload = doc_text(f->run, "workload");
    struct str text = STR_INIT;

    str_add(out, "<ul class=\"facts\">");
    add_fact(out, "", workload ? workload : doc_text(f->profile, "workload"));
    add_fact(out, "preset ", doc_text(f->run, "preset"));
    add_fact(out, "on ", doc_text(f->run, "host"));
    add_start(doc_text(f->run, "started_utc"), out);
    if (isfinite(seed)) {
        str_printf(&text, "%.0f", seed);
        add_fact(out, "seed ", text.s);
    }
    add_fact(out, "stave ", doc_text(f->run, "stave_version"));
    add_fact(out, "folder ", f->name);
    str_add(out, "</ul>\n");
    str_release(&text);
}

static void tile(struct str *out, const char *name, const struct str *value, const char *about)
{
    if (!value->len)
        return;
    str_printf(out, "<div><dt>%s</dt><dd>", name);
    text_add(out, value->s);
    if (*about) {
        str_add(out, "<span>");
        text_add(out, about);
        str_add(out, "</span>");
    }
    str_add(out, "</dd></div>\n");
}

static void add_quality_tile(const struct summary *s, struct str *out)
{
    struct str value = STR_INIT, about = STR_INIT;

    if (isfinite(s->quality)) {
        summary_add_quality(s, s->quality, &value);
        str_add(&about, s->metric);
        if (isfinite(s->target)) {
            str_add(&about, ", target ");
            summary_add_quality(s, s->target, &about);
        }
        tile(out, "Quality", &value, about.s);
    }
    str_release(&value);
    str_release(&about);
}

static void add_time_tile(const struct summary *s, struct str *out)
{
    struct str value = STR_INIT, about = STR_INIT;

    if (isfinite(s->run_s)) {
        text_add_seconds(&value, s->run_s);
        if (isfinite(s->epochs)) {
            text_add_number(&about, s->epochs);
            str_add(&about, s->epochs == 1 ? " epoch, " : " epochs, ");
        }
        str_add(&about, "");
        if (isfinite(s->steps)) {
            text_add_number(&about, s->steps);
            str_add(&about, s->steps == 1 ? " step" : " steps");
        }
        tile(out, "Time", &value, about.s);
    }
    str_release(&value);
    str_release(&about);
}

static void add_rate_tile(const struct summary *s, const struct barrel *b, struct str *out)
{
    struct str value = STR_INIT, about = STR_INIT;

    if (isfinite(s->samples_per_s)) {
        text_add_number(&value, s->samples_per_s);
        str_printf(&about, "%s per second", b->unit);
        tile(out, "Throughput", &value, about.s);
        str_reset(&value);
    }
    if (isfinite(s->wait_ratio)) {
        text_add_percent(&value, s->wait_ratio);
        tile(out, "Waiting for data", &value, "of the training time");
    }
    str_release(&value);
    str_release(&about);
}

static void add_origin_tile(const struct summary *s, struct str *out)
{
    struct str value = STR_INIT;

    if (s->origin) {
        str_add(&value, strcmp(s->origin, "cache") == 0 ? "page cache" : s->origin);
        tile(out, "Data came from", &value, s->origin_words ? s->origin_words : "");
    }
    str_release(&value);
}

static void add_state_tile(const struct summary *s, struct str *out)
{
    struct str value = STR_INIT, about = STR_INIT;

    str_add(&value, summary_state_name(s));
    str_add(&about, "");
    if (isfinite(s->exit_code))
        str_printf(&about, "exit status %.0f", s->exit_code);
    tile(out, "State", &value, about.s);
    str_release(&value);
    str_release(&about);
}

static void add_notes(const struct folder *f, struct str *out)
{
    if (f->notes.n == 0)
        return;
    str_add(out, "<div class=\"notes\" role=\"note\"><ul>");
    for (size_t i = 0; i < f->notes.n; i++) {
        str_add(out, "<li>");
        text_add(out, f->notes.all[i]);
        str_add(out, "</li>");
    }
    str_add(out, "</ul></div>\n");
}

void section_add_head(const struct folder *f, const struct summary *s, const struct barrel *b,
                      struct str *out)
{
    struct str sentence = STR_INIT;

    summary_add_sentence(s, b, &sentence);
    str_add(out, "<h1>");
    text_add(out, sentence.s);
    str_add(out, "</h1>\n");
    str_release(&sentence);
    add_facts(f, out);
    add_notes(f, out);
    str_add(out, "<dl class=\"tiles\">\n");
    add_quality_tile(s, out);
    add_time_tile(s, out);
    add_rate_tile(s, b, out);
    add_origin_tile(s, out);
    add_state_tile(s, out);
    str_add(out, "</dl>\n");
}

/* ---- rows of a name and a value ---- */

static void add_value(struct str *out, const char *name, const cJSON *v)
{
    if (cJSON_IsNull(v))
        str_add(out, "none");
    else if (cJSON_IsString(v))
        text_add(out, v->valuestring);
    else if (cJSON_IsNumber(v) && strstr(name, "seed") == NULL)
        text_add_by_unit(out, name, v->valuedouble);
    else {
        char *const text = cJSON_PrintUnformatted(v);

        text_add(out, text);
        cJSON_free(text);
    }
}

static void add_name(struct str *out, const char *name)
{
    const char *unit;
    struct str label = STR_INIT;

    text_add_label(&label, name, &unit);
    text_add(out, label.s);
    str_release(&label);
}

static void add_members(struct str *out, const cJSON *object)
{
    const cJSON *v;

    str_add(out, "<table class=\"pairs\"><tbody>\n");
    cJSON_ArrayForEach(v, object)
    {
        if (cJSON_IsObject(v) || cJSON_IsArray(v) || cJSON_IsNull(v) ||
            (v->string && strcmp(v->string, "words") == 0)) /* stands above already */
            continue;
        str_add(out, "<tr><th scope=\"row\">");
        add_name(out, v->string ? v->string : "");
        str_add(out, "</th><td>");
        add_value(out, v->string ? v->string : "", v);
        str_add(out, "</td></tr>\n");
    }
    str_add(out, "</tbody></table>\n");
}

/* ---- conditions ---- */

static void add_condition(struct str *out, const char *title, const cJSON *object)
{
    const char *const words = doc_text(object, "words");

    if (!object)
        return;
    str_printf(out, "<h3>%s</h3>\n", title);
    if (words) {
        str_add(out, "<p>");
        text_add(out, words);
        str_add(out, "</p>\n");
    }
    add_members(out, object);
    if (doc_get(object, "latency_ns")) {
        str_add(out, "<h4>Latency of a write</h4>\n<table class=\"pairs\"><tbody>\n");
        for (const cJSON *v = doc_get(object, "latency_ns")->child; v; v = v->next)
            if (cJSON_IsNumber(v)) {
                str_add(out, "<tr><th scope=\"row\">");
                text_add(out, v->string);
                str_add(out, "</th><td>");
                text_add_seconds(out, v->valuedouble / 1e9);
                str_add(out, "</td></tr>\n");
            }
        str_add(out, "</tbody></table>\n");
    }
}

void section_add_conditions(const struct folder *f, struct str *out)
{
    const cJSON *const ceiling = doc_get(f->result, "ceiling");
    const cJSON *const ingest = doc_get(f->result, "ingest");

    if (!ceiling && !ingest)
        return;
    section_begin(out, "conditions", "Conditions");
    str_add(out, "<div class=\"columns\"><div>");
    add_condition(out, "Memory ceiling", ceiling);
    str_add(out, "</div><div>");
    add_condition(out, "Ingest", ingest);
    str_add(out, "</div></div>");
    section_end(out);
}

/* ---- machine ---- */

static int is_about_machine(const char *name)
{
    static const char *const others[] = {"stave_version", "started_utc", "workload", "preset",
                                         "seed",          "ruleset",     "division", "parameters",
                                         "rules",         "unit"};

    for (size_t i = 0; i < COUNT_OF(others); i++)
        if (strcmp(name, others[i]) == 0)
            return 0;
    return 1;
}

void section_add_machine(const struct folder *f, struct str *out)
{
    cJSON *const machine = cJSON_CreateObject();
    const cJSON *v;

    if (f->run) {
        cJSON_ArrayForEach(v, f->run)
        {
            if (v->string && is_about_machine(v->string) && !cJSON_IsObject(v))
                cJSON_AddItemReferenceToObject(machine, v->string, (cJSON *)(uintptr_t)v);
        }
        section_begin(out, "machine", "The machine");
        add_members(out, machine);
        section_end(out);
    }
    cJSON_Delete(machine);
}

/* ---- options ---- */

/* As it was given: neither rounded nor grouped. */
static void add_option(struct str *out, const cJSON *v)
{
    const double x = v->valuedouble;

    if (cJSON_IsNumber(v) && fabs(x) < 0x1p63 && rint(x) == x)
        str_printf(out, "%.0f", x);
    else if (cJSON_IsNumber(v) && isfinite(x))
        str_add_real(out, x);
    else
        add_value(out, "", v);
}

static void add_option_row(struct str *out, const char *owner, const cJSON *v, const cJSON *dflt)
{
    str_add(out, "<tr><th scope=\"row\"><code>");
    text_add(out, v->string);
    str_add(out, "</code></th><td>");
    text_add(out, owner);
    str_add(out, "</td><td><code>");
    add_option(out, v);
    str_add(out, "</code></td><td><code>");
    if (dflt)
        add_option(out, dflt);
    str_add(out, "</code></td></tr>\n");
}

enum which_options { OPTIONS_CHANGED, OPTIONS_ALL };

static size_t add_options(const struct folder *f, enum which_options which, struct str *out)
{
    const cJSON *const options = doc_get(f->run, "options"), *const defaults =
                                                                 doc_get(f->run, "defaults");
    const cJSON *owner, *v;
    size_t n = 0;

    str_printf(out,
               "<table class=\"options\"><thead><tr><th scope=\"col\">Option</th><th "
               "scope=\"col\">of</th><th scope=\"col\">Value</th><th scope=\"col\">%s</th></tr>"
               "</thead><tbody>\n",
               defaults ? "Default" : "");
    cJSON_ArrayForEach(owner, options)
    {
        cJSON_ArrayForEach(v, owner)
        {
            const cJSON *const dflt = doc_get(doc_get(defaults, owner->string), v->string);

            if (which == OPTIONS_CHANGED && !dflt)
                continue;
            add_option_row(out, owner->string, v, dflt);
            n++;
        }
    }
    str_add(out, "</tbody></table>\n");
    return n;
}

void section_add_options(const struct folder *f, struct str *out)
{
    struct str changed = STR_INIT;

    if (!doc_get(f->run, "options"))
        return;
    section_begin(out, "options", "Options");
    if (doc_get(f->run, "defaults")) {
        if (add_options(f, OPTIONS_CHANGED, &changed) > 0)
            str_add(out, changed.s);
        else
            str_add(out, "<p>All options have their defaults.</p>\n");
    }
    str_add(out, "<details><summary>All options</summary>\n");
    add_options(f, OPTIONS_ALL, out);
    str_add(out, "</details>\n");
    section_end(out);
    str_release(&changed);
}

/* ---- warnings ---- */

static void add_item(struct str *out, const char *text)
{
    str_add(out, "<li>");
    text_add(out, text);
    str_add(out, "</li>\n");
}

/* Members of result.json that count what should not have been. */
static void add_counts(const cJSON *result, struct str *out)
{
    static const struct {
        const char *name, *words;
    } counts[] = {
        {"bad_samples", "samples could not be read or decoded"},
        {"replaced_samples", "samples of training took the place of bad ones"},
        {"skipped_steps", "steps were skipped because their gradients overflowed"},
        {"oom_kills", "processes were killed for want of memory"},
        {"cpu_throttled_periods", "periods in which the processor quota was used up"},
    };

    for (size_t i = 0; i < COUNT_OF(counts); i++) {
        const double n = doc_number(result, counts[i].name);

        if (!(n > 0))
            continue;
        str_add(out, "<li>");
        text_add_number(out, n);
        str_printf(out, " %s</li>\n", counts[i].words);
    }
}

static void add_texts(const cJSON *result, struct str *out)
{
    static const char *const names[] = {"error",
                                        "cache_warning"}; /* the latter is a warning, too */
    const cJSON *v;

    for (size_t i = 0; i < COUNT_OF(names); i++)
        if (doc_text(result, names[i]) && !(i > 0 && doc_get(result, "warnings")))
            add_item(out, doc_text(result, names[i]));
    if (cJSON_IsTrue(doc_get(result, "checkpoint_failed")))
        add_item(out, "The last checkpoint could not be written.");
    cJSON_ArrayForEach(v, doc_get(result, "warnings"))
    {
        if (cJSON_IsString(v))
            add_item(out, v->valuestring);
    }
}

static void add_rules(const struct folder *f, struct str *out)
{
    const char *line = doc_text(f->run, "rules");

    if (!line)
        return;
    str_add(out, "<details><summary>What the MLPerf rules say</summary><ul>\n");
    while (*line) {
        const size_t n = strcspn(line, "\n");
        char *const one = xasprintf("%.*s", (int)n, line);

        add_item(out, one);
        free(one);
        line += n + (line[n] == '\n');
    }
    str_add(out, "</ul></details>\n");
}

void section_add_warnings(const struct folder *f, struct str *out)
{
    struct str items = STR_INIT;

    add_texts(f->result, &items);
    add_counts(f->result, &items);
    for (size_t i = 0; i < f->warnings.n; i++)
        add_item(&items, f->warnings.all[i]);
    section_begin(out, "warnings", "Warnings");
    if (items.len)
        str_printf(out, "<ul>\n%s</ul>\n", items.s);
    else
        str_add(out, "<p>None.</p>\n");
    if (f->bad_samples.n) {
        str_printf(out, "<details><summary>Bad samples (%zu)</summary><ul>\n", f->n_bad_samples);
        for (size_t i = 0; i < f->bad_samples.n; i++)
            add_item(out, f->bad_samples.all[i]);
        str_add(out, "</ul></details>\n");
    }
    add_rules(f, out);
    section_end(out);
    str_release(&items);
}
