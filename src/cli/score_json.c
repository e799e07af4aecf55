#include <math.h>
#include <string.h>

#include "base/err.h"
#include "base/json.h"
#include "cli/score_report.h"
#include "rules/published.h"

static void add_estimate(struct str *out, const char *key, const struct score_estimate *e)
{
    json_add_key(out, key);
    str_add(out, "{");
    json_add_real(out, "mean", e->mean);
    json_add_real(out, "low95", e->low);
    json_add_real(out, "high95", e->high);
    json_add_real(out, "stdev", e->stdev);
    json_add_real(out, "least", e->least);
    json_add_real(out, "median", e->median);
    json_add_real(out, "most", e->most);
    str_add(out, "}");
}

static void add_run(struct str *out, const struct result *r, const struct result_run *run)
{
    json_add_key(out, NULL);
    str_add(out, "{");
    json_add_text(out, "name", run->name);
    json_add_text(out, "log", run->path);
    json_add_flag(out, "converged", !run->why);
    json_add_text(out, "why_not", run->why);
    json_add_text(out, "fate", result_fate_name(run->fate));
    json_add_real(out, "minutes", run->minutes);
    json_add_real(out, "epochs", run->epochs);
    json_add_real(out, "samples", run->samples);
    json_add_real(out, "samples_per_s", run->samples / run->minutes / 60);
    json_add_real(out, "samples_per_s_per_accelerator",
                  run->samples / run->minutes / 60 / result_accelerators(r));
    json_add_real(out, "quality", run->quality);
    str_add(out, "}");
}

static void add_reference(struct str *out, const struct result *r)
{
    static const char *const kinds[] = {
        [RCP_NONE] = "none",
        [RCP_NO_BATCH] = "no batch",
        [RCP_NOT_CONVERGED] = "not converged",
        [RCP_FOUND] = "found",
        [RCP_INTERPOLATED] = "interpolated",
        [RCP_BELOW] = "below",
        [RCP_ABOVE] = "above",
    };
    const int held = r->rcp.kind >= RCP_FOUND && r->rcp.kind != RCP_ABOVE;
    struct str words = STR_INIT;

    if (!r->closed)
        return;
    rcp_describe(&r->rcp, r->benchmark, &words);
    json_add_key(out, "reference_convergence");
    str_add(out, "{");
    json_add_text(out, "kind", kinds[r->rcp.kind]);
    json_add_flag(out, "passed", r->rcp.passed);
    json_add_real(out, "batch", r->rcp.batch);
    json_add_real(out, "mean", held ? r->rcp.point.mean : NAN);
    json_add_real(out, "floor", held ? r->rcp.point.floor : NAN);
    json_add_real(out, "submission_mean", r->rcp.epochs);
    json_add_real(out, "factor", held ? r->rcp.factor : NAN);
    json_add_text(out, "words", words.s);
    str_add(out, "}");
    str_release(&words);
}

static void add_lines(struct str *out, const char *key, const char *text)
{
    json_add_key(out, key);
    str_add(out, "[");
    while (*text) {
        const size_t n = strcspn(text, "\n");
        struct str line = STR_INIT;

        str_add_bytes(&line, text, n);
        json_add_key(out, NULL);
        str_add_json(out, line.s);
        str_release(&line);
        text += n + (text[n] == '\n');
    }
    str_add(out, "]");
}

static void add_anchor(void *context, const struct anchor *a)
{
    struct str *const out = context;

    json_add_key(out, NULL);
    str_add(out, "{");
    json_add_text(out, "round", a->round);
    json_add_text(out, "system", a->system);
    json_add_real(out, "accelerators", a->accelerators < 0 ? (double)NAN : a->accelerators);
    json_add_real(out, "minutes", a->minutes);
    str_add(out, "}");
}

static void add_names(struct str *out, const struct result *r)
{
    json_add_text(out, "benchmark", r->benchmark);
    json_add_text(out, "ruleset", r->version);
    json_add_flag(out, "ruleset_guessed", r->guessed);
    json_add_text(out, "division", r->system.division ? r->system.division : r->division);
    json_add_text(out, "folder", r->folder);
    json_add_text(out, "submitter", r->system.submitter ? r->system.submitter : r->org);
    json_add_text(out, "system", r->system.name ? r->system.name : r->platform);
    json_add_text(out, "accelerator", r->system.accelerator);
    json_add_real(out, "accelerators", result_accelerators(r));
}

static void add_score(struct str *out, const struct result *r)
{
    json_add_flag(out, "stands", r->stands);
    json_add_real(out, "minutes", r->minutes);
    json_add_real(out, "minutes_unscaled", r->time.mean);
    json_add_real(out, "factor", r->factor);
    json_add_real(out, "scaling_json", r->scaling_file);
    json_add_real(out, "minutes_low95", r->time.low * r->factor);
    json_add_real(out, "minutes_high95", r->time.high * r->factor);
    json_add_real(out, "speedup", r->speedup);
    json_add_real(out, "runs_required", r->rule.n_runs ? r->rule.n_runs : (double)NAN);
    json_add_real(out, "runs_dropped_at_each_end", r->rule.n_drop);
    json_add_real(out, "runs_scored", (double)r->n_scored);
    json_add_real(out, "runs_failed", (double)r->time.n_failed);
    json_add_real(out, "samples_per_s", r->per_second);
    json_add_real(out, "samples_per_s_per_accelerator", r->per_second / result_accelerators(r));
}

static void add_result(struct str *out, const struct result *r)
{
    json_add_key(out, NULL);
    str_add(out, "{");
    add_names(out, r);
    add_score(out, r);
    add_estimate(out, "time", &r->time);
    add_estimate(out, "epochs", &r->epochs);
    add_reference(out, r);
    add_lines(out, "problems", r->problems.s);
    add_lines(out, "notes", r->notes.s);
    json_add_key(out, "runs");
    str_add(out, "[");
    for (size_t i = 0; i < r->n_runs; i++)
        add_run(out, r, &r->runs[i]);
    str_add(out, "]");
    json_add_key(out, "published");
    str_add(out, "[");
    if (r->closed)
        published_anchors(r->benchmark, add_anchor, out);
    str_add(out, "]}");
}

void score_report_json(const struct results *s, struct str *out)
{
    str_add(out, "{\"results\": [");
    for (size_t i = 0; i < s->n; i++)
        add_result(out, &s->list[i]);
    str_add(out, "]}\n");
}
