#include <math.h>
#include <string.h>

#include "base/err.h"
#include "cli/score_report.h"
#include "rules/published.h"

/* Members of an object: a comma before all but the first. */
static void add_key(struct str *out, const char *key)
{
    if (out->len > 0 && out->s[out->len - 1] != '{' && out->s[out->len - 1] != '[')
        str_add(out, ", ");
    if (key)
        str_printf(out, "\"%s\": ", key);
}

static void add_real(struct str *out, const char *key, double x)
{
    if (!isfinite(x))
        return;
    add_key(out, key);
    str_add_real(out, x);
}

static void add_text(struct str *out, const char *key, const char *text)
{
    if (!text || !*text)
        return;
    add_key(out, key);
    str_add_json(out, text);
}

static void add_flag(struct str *out, const char *key, int yes)
{
    add_key(out, key);
    str_add(out, yes ? "true" : "false");
}

static void add_estimate(struct str *out, const char *key, const struct score_estimate *e)
{
    add_key(out, key);
    str_add(out, "{");
    add_real(out, "mean", e->mean);
    add_real(out, "low95", e->low);
    add_real(out, "high95", e->high);
    add_real(out, "stdev", e->stdev);
    add_real(out, "least", e->least);
    add_real(out, "median", e->median);
    add_real(out, "most", e->most);
    str_add(out, "}");
}

static void add_run(struct str *out, const struct result *r, const struct result_run *run)
{
    add_key(out, NULL);
    str_add(out, "{");
    add_text(out, "name", run->name);
    add_text(out, "log", run->path);
    add_flag(out, "converged", !run->why);
    add_text(out, "why_not", run->why);
    add_text(out, "fate", result_fate_name(run->fate));
    add_real(out, "minutes", run->minutes);
    add_real(out, "epochs", run->epochs);
    add_real(out, "samples", run->samples);
    add_real(out, "samples_per_s", run->samples / run->minutes / 60);
    add_real(out, "samples_per_s_per_accelerator",
             run->samples / run->minutes / 60 / result_accelerators(r));
    add_real(out, "quality", run->quality);
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
    add_key(out, "reference_convergence");
    str_add(out, "{");
    add_text(out, "kind", kinds[r->rcp.kind]);
    add_flag(out, "passed", r->rcp.passed);
    add_real(out, "batch", r->rcp.batch);
    add_real(out, "mean", held ? r->rcp.point.mean : NAN);
    add_real(out, "floor", held ? r->rcp.point.floor : NAN);
    add_real(out, "submission_mean", r->rcp.epochs);
    add_real(out, "factor", held ? r->rcp.factor : NAN);
    add_text(out, "words", words.s);
    str_add(out, "}");
    str_release(&words);
}

static void add_lines(struct str *out, const char *key, const char *text)
{
    add_key(out, key);
    str_add(out, "[");
    while (*text) {
        const size_t n = strcspn(text, "\n");
        struct str line = STR_INIT;

        str_add_bytes(&line, text, n);
        add_key(out, NULL);
        str_add_json(out, line.s);
        str_release(&line);
        text += n + (text[n] == '\n');
    }
    str_add(out, "]");
}

static void add_anchor(void *context, const struct anchor *a)
{
    struct str *const out = context;

    add_key(out, NULL);
    str_add(out, "{");
    add_text(out, "round", a->round);
    add_text(out, "system", a->system);
    add_real(out, "accelerators", a->accelerators < 0 ? (double)NAN : a->accelerators);
    add_real(out, "minutes", a->minutes);
    str_add(out, "}");
}

static void add_names(struct str *out, const struct result *r)
{
    add_text(out, "benchmark", r->benchmark);
    add_text(out, "ruleset", r->version);
    add_flag(out, "ruleset_guessed", r->guessed);
    add_text(out, "division", r->system.division ? r->system.division : r->division);
    add_text(out, "folder", r->folder);
    add_text(out, "submitter", r->system.submitter ? r->system.submitter : r->org);
    add_text(out, "system", r->system.name ? r->system.name : r->platform);
    add_text(out, "accelerator", r->system.accelerator);
    add_real(out, "accelerators", result_accelerators(r));
}

static void add_score(struct str *out, const struct result *r)
{
    add_flag(out, "stands", r->stands);
    add_real(out, "minutes", r->minutes);
    add_real(out, "minutes_unscaled", r->time.mean);
    add_real(out, "factor", r->factor);
    add_real(out, "scaling_json", r->scaling_file);
    add_real(out, "minutes_low95", r->time.low * r->factor);
    add_real(out, "minutes_high95", r->time.high * r->factor);
    add_real(out, "speedup", r->speedup);
    add_real(out, "runs_required", r->rule.n_runs ? r->rule.n_runs : (double)NAN);
    add_real(out, "runs_dropped_at_each_end", r->rule.n_drop);
    add_real(out, "runs_scored", (double)r->n_scored);
    add_real(out, "runs_failed", (double)r->time.n_failed);
    add_real(out, "samples_per_s", r->per_second);
    add_real(out, "samples_per_s_per_accelerator", r->per_second / result_accelerators(r));
}

static void add_result(struct str *out, const struct result *r)
{
    add_key(out, NULL);
    str_add(out, "{");
    add_names(out, r);
    add_score(out, r);
    add_estimate(out, "time", &r->time);
    add_estimate(out, "epochs", &r->epochs);
    add_reference(out, r);
    add_lines(out, "problems", r->problems.s);
    add_lines(out, "notes", r->notes.s);
    add_key(out, "runs");
    str_add(out, "[");
    for (size_t i = 0; i < r->n_runs; i++)
        add_run(out, r, &r->runs[i]);
    str_add(out, "]");
    add_key(out, "published");
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
