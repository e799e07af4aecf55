/* study.json, written. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/file.h"
#include "base/json.h"
#include "cli/study.h"

static void add_conditions(const struct study *s, struct str *out)
{
    for (size_t i = 0; i < s->n_conditions; i++) {
        const struct study_condition *const c = &s->conditions[i];

        str_add(out, i ? ",\n    {" : "\n    {");
        json_add_text(out, "name", c->name);
        json_add_text(out, "memory", c->memory);
        json_add_text(out, "cache", c->cache);
        json_add_text(out, "data", c->data);
        json_add_text(out, "ingest", c->ingest);
        json_add_flag(out, "copy_in", c->copy_in != NULL);
        json_add_text(out, "copy_in_from", c->copy_in);
        json_add_text(out, "alone", study_alone_names[c->alone]);
        str_add(out, "}");
    }
}

static void add_run(const struct study *s, size_t at, struct str *out)
{
    const struct study_run *const r = &s->runs[at];

    str_printf(out, "{\"dir\": \"run-%02zu\", \"workload\": ", at + 1);
    str_add_json(out, s->workloads[r->workload].name);
    str_printf(out, ", \"condition\": %zu, \"repeat\": %zu, \"exit_code\": %d", r->condition,
               r->repeat, r->exit_code);
    json_add_flag(out, "stands", r->stands);
    json_add_text(out, "why", r->why);
    if (r->whole)
        json_add_flag(out, "whole_run", 1);
    for (int f = 0; f < N_FIGURES; f++)
        json_add_real(out, study_figure_names[f], r->figures[f]);
    json_add_text(out, "origin", r->origin);
    str_add(out, "}");
}

static void add_runs(const struct study *s, struct str *out)
{
    int some = 0;

    for (size_t i = 0; i < s->n_runs; i++)
        if (s->runs[i].state == STUDY_DONE) {
            str_add(out, some ? ",\n    " : "\n    ");
            add_run(s, i, out);
            some = 1;
        }
}

static void add_spread(const char *name, const struct effect_spread *e, struct str *out)
{
    if (e->n == 0)
        return;
    json_add_key(out, name);
    str_add(out, "{");
    json_add_real(out, "mean", e->mean);
    json_add_real(out, "least", e->least);
    json_add_real(out, "most", e->most);
    json_add_real(out, "sd", e->sd);
    str_add(out, "}");
}

static void add_slowdown(const struct effect_slowdown *e, struct str *out)
{
    if (e->n == 0)
        return;
    json_add_key(out, "slowdown");
    str_printf(out, "{\"n\": %zu", e->n);
    json_add_real(out, "ratio", e->ratio);
    json_add_real(out, "low", e->low);
    json_add_real(out, "high", e->high);
    json_add_real(out, "sd", e->sd);
    json_add_flag(out, "told_apart", e->told_apart);
    str_add(out, "}");
}

static void add_row(const struct study *s, const struct study_row *row, struct str *out)
{
    str_add(out, "{\"workload\": ");
    str_add_json(out, s->workloads[row->workload].name);
    str_printf(out, ", \"condition\": %zu, \"n\": %zu", row->condition, row->n);
    for (int f = 0; f < N_FIGURES; f++)
        add_spread(study_figure_names[f], &row->figures[f], out);
    json_add_text(out, "origin", row->origin);
    add_slowdown(&row->slowdown, out);
    str_add(out, "}");
}

static void add_table(const struct study *s, const struct study_result *r, struct str *out)
{
    for (size_t i = 0; i < r->n_rows; i++) {
        str_add(out, i ? ",\n    " : "\n    ");
        add_row(s, &r->rows[i], out);
    }
}

static void add_ranking(const struct effect_ranking *r, struct str *out)
{
    if (r->pairs == 0)
        return;
    str_printf(out, ",\n  \"ranking\": {\"by\": \"train_samples_per_s\", \"repeats\": %zu",
               r->repeats);
    json_add_real(out, "kendall_w", r->kendall_w);
    str_printf(out, ", \"pairs\": %zu, \"pairs_agreed\": %zu}", r->pairs, r->agreed);
}

static void add_choice(const struct study_result *r, struct str *out)
{
    if (!r->has_choice)
        return;
    str_add(out, ",\n  \"choice\": {");
    if (r->choice.certainty != EFFECT_NONE)
        str_printf(out, "\"condition\": %zu, ", r->choice.at);
    str_printf(out, "\"sure\": %s", r->choice.certainty == EFFECT_SURE ? "true" : "false");
    json_add_text(out, "words", r->choice_words.s);
    str_add(out, "}");
}

/* The workloads by name, and what its runs are made of. */
static void add_workloads(const struct study *s, struct str *out)
{
    str_add(out, ",\n  \"workloads\": [");
    for (size_t i = 0; i < s->n_workloads; i++) {
        str_add(out, i ? ", " : "");
        str_add_json(out, s->workloads[i].name);
    }
    str_add(out, "],\n  \"settings\": [");
    for (size_t i = 0; i < s->n_workloads; i++) {
        str_printf(out, "%s{\"steps\": %lld, \"unit\": ", i ? ",\n    " : "\n    ",
                   s->workloads[i].steps);
        str_add_json(out, s->workloads[i].unit);
        json_add_flag(out, "says_evaluations", s->workloads[i].says_evaluations);
        json_add_flag(out, "says_checkpoints", s->workloads[i].says_checkpoints);
        str_printf(out, ", \"options\": %s}", s->workloads[i].options);
    }
    str_add(out, "\n  ]");
}

void study_add_json(const struct study *s, const struct study_result *r, struct str *out)
{
    str_printf(out, "{\n  \"kind\": \"%s\",\n  \"words\": ", s->kind);
    str_add_json(out, r->words.s);
    str_add(out, ",\n  \"stave_version\": ");
    str_add_json(out, s->stave_version);
    str_add(out, ",\n  \"started_utc\": ");
    str_add_json(out, s->started);
    str_printf(out, ",\n  \"seed\": %llu,\n  \"warm_s\": ", (unsigned long long)s->seed);
    str_add_real(out, s->warm_s);
    add_workloads(s, out);
    str_add(out, ",\n  \"unit\": ");
    str_add_json(out, s->workloads[0].unit);
    str_printf(out, ",\n  \"repeats\": %zu,\n  \"conditions\": [", s->n_repeats);
    add_conditions(s, out);
    str_add(out, "\n  ],\n  \"runs\": [");
    add_runs(s, out);
    str_add(out, "\n  ],\n  \"table\": [");
    add_table(s, r, out);
    str_add(out, "\n  ]");
    if (isfinite(r->smallest.ratio)) {
        str_add(out, ",\n  \"smallest_difference_ratio\": ");
        str_add_real(out, r->smallest.ratio);
        str_printf(out, ",\n  \"smallest_difference_repeats\": %zu", r->smallest.n);
    }
    add_ranking(&r->ranking, out);
    add_choice(r, out);
    str_add(out, "\n}\n");
}

int study_write(const struct study *s)
{
    char *const path = file_join(s->dir, "study.json");
    struct study_result r;
    struct str out = STR_INIT;
    int rc;

    study_judge(s, &r);
    study_add_json(s, &r, &out);
    rc = file_replace(path, out.s, out.len);
    study_result_release(&r);
    str_release(&out);
    free(path);
    return rc;
}
