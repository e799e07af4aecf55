#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "cli/score_report.h"
#include "rules/published.h"

enum { ANY_DIGITS = -1 };

static void add_number(struct str *out, int width, int digits, double x)
{
    if (!isfinite(x))
        str_printf(out, "%*s", width, "-");
    else if (digits == ANY_DIGITS)
        str_printf(out, "%*.10g", width, x);
    else
        str_printf(out, "%*.*f", width, digits, x);
}

/* Each line of text, indented. */
static void add_lines(struct str *out, const char *before, const char *text)
{
    while (*text) {
        const size_t n = strcspn(text, "\n");

        str_printf(out, "%s%.*s\n", before, (int)n, text);
        text += n + (text[n] == '\n');
    }
}

static size_t name_width(const struct result *r)
{
    size_t width = strlen("run");

    for (size_t i = 0; i < r->n_runs; i++)
        if (strlen(r->runs[i].name) > width)
            width = strlen(r->runs[i].name);
    return width;
}

/* ---- parts of one result ---- */

static void add_heading(const struct result *r, struct str *out)
{
    const char *const division = r->system.division ? r->system.division : r->division;

    str_printf(out, "%s: %zu run%s, %s division, MLPerf ruleset %s%s\n", r->benchmark, r->n_runs,
               r->n_runs == 1 ? "" : "s", division ? division : "no", r->version,
               r->guessed ? " (by the format of the lines; --ruleset names another)"
               : r->own   ? " (as run.json says; --ruleset names another)"
                          : "");
    if (r->folder)
        str_printf(out, "%s\n", r->folder);
    if (r->system.name || r->platform)
        str_printf(out, "system %s", r->system.name ? r->system.name : r->platform);
    if (r->system.submitter || r->org)
        str_printf(out, "%ssubmitted by %s", r->system.name || r->platform ? ", " : "",
                   r->system.submitter ? r->system.submitter : r->org);
    if (result_accelerators(r) > 0)
        str_printf(out, ", %.0f accelerators%s%s", result_accelerators(r),
                   r->system.accelerator ? " " : "",
                   r->system.accelerator ? r->system.accelerator : "");
    str_add(out, "\n\n");
}

static void add_run(const struct result *r, const struct result_run *run, int width,
                    struct str *out)
{
    const double rate = run->samples / run->minutes / 60, n = result_accelerators(r);

    str_printf(out, "%-*s", width, run->name);
    add_number(out, 11, 3, run->minutes);
    add_number(out, 13, ANY_DIGITS, run->epochs);
    add_number(out, 11, 5, run->quality);
    add_number(out, 13, 1, rate);
    if (n > 0)
        add_number(out, 13, 1, rate / n);
    if (run->why || run->fate != RESULT_COUNTS)
        str_printf(out, "  %s%s%s", result_fate_name(run->fate), run->why ? ": " : "",
                   run->why ? run->why : "");
    str_add(out, "\n");
}

static void add_runs(const struct result *r, struct str *out)
{
    const int width = (int)name_width(r);

    str_printf(out, "%-*s%11s%13s%11s%13s%s\n", width, "run", "minutes",
               rcp_unit(r->benchmark, r->epochs.mean), "quality", "samples/s",
               result_accelerators(r) > 0 ? " /accelerator" : "");
    for (size_t i = 0; i < r->n_runs; i++)
        add_run(r, &r->runs[i], width, out);
    str_add(out, "\n");
}

static void add_interval(const struct result *r, struct str *out)
{
    const struct score_estimate *const t = &r->time;

    if (isfinite(t->low))
        str_printf(out, "interval    %.3f to %.3f minutes, 95 %%, +-%.2f %% (Student's t)\n",
                   t->low * r->factor, t->high * r->factor, 100 * score_uncertainty(t));
    if (isfinite(t->least))
        str_printf(out, "spread      %.3f to %.3f minutes, median %.3f", t->least, t->most,
                   t->median);
    if (isfinite(t->stdev))
        str_printf(out, ", standard deviation %.3f", t->stdev);
    if (isfinite(t->least))
        str_add(out, "\n");
}

static void add_score(const struct result *r, struct str *out)
{
    const size_t kept =
        r->n_scored > 2 * (size_t)r->rule.n_drop ? r->n_scored - 2 * (size_t)r->rule.n_drop : 0;

    if (isfinite(r->minutes))
        str_printf(out, "score       %.4f minutes: the mean of %zu of %zu runs", r->minutes, kept,
                   r->n_runs);
    else
        str_add(out, "score       none");
    if (isfinite(r->minutes) && r->factor != 1)
        str_printf(out, ", %.4f, times %.6f (%s)", r->time.mean, r->factor,
                   isfinite(r->scaling_file) ? "scaling.json" : "reference convergence");
    str_add(out, "\n");
}

static void add_convergence(const struct result *r, struct str *out)
{
    struct str words = STR_INIT;
    const struct score_estimate *const e = &r->epochs;

    if (isfinite(e->mean))
        str_printf(out, "%-12s%.10g to the target on average, %.10g to %.10g\n",
                   rcp_unit(r->benchmark, e->mean), e->mean, e->least, e->most);
    if (isfinite(r->per_second))
        str_printf(out, "throughput  %.1f samples/s, evaluation included", r->per_second);
    if (isfinite(r->per_second) && result_accelerators(r) > 0)
        str_printf(out, "; %.1f per accelerator", r->per_second / result_accelerators(r));
    if (isfinite(r->per_second))
        str_add(out, "\n");
    if (r->closed) {
        rcp_describe(&r->rcp, r->benchmark, &words);
        str_printf(out, "reference   %s\n", words.s);
    }
    str_release(&words);
}

/* ---- comparison ---- */

struct comparison {
    const struct result *r;
    struct str *out;
    int n;
};

static void add_anchor(void *context, const struct anchor *a)
{
    struct comparison *const c = context;

    if (strncmp(c->r->version, a->round, strlen(a->round)) != 0)
        return;
    str_printf(c->out, "%s%8.*f  %s", c->n++ ? "            " : "published   ",
               a->minutes < 1 ? 3 : 2, a->minutes, a->system);
    if (a->accelerators == 0)
        str_add(c->out, ", no accelerator");
    else if (a->accelerators > 0)
        str_printf(c->out, ", %d accelerator%s", a->accelerators, a->accelerators == 1 ? "" : "s");
    str_printf(c->out, "; this result takes %.3f times as long\n", c->r->minutes / a->minutes);
}

static void add_comparison(const struct result *r, struct str *out)
{
    struct comparison c = {r, out, 0};

    if (isfinite(r->speedup))
        str_printf(out, "normalised  %.2f times as fast as the reference of 0.5\n", r->speedup);
    else if (strcmp(r->version, "0.5.0") == 0)
        str_printf(out, "normalised  no confirmed reference time for %s\n", r->benchmark);
    if (!isfinite(r->minutes))
        return;
    if (!r->closed && (r->system.division || r->division))
        str_add(out, "published   the open division is not compared: its targets and data are its "
                     "own\n");
    else
        published_anchors(r->benchmark, add_anchor, &c);
}

void score_report_result(const struct result *r, struct str *out)
{
    add_heading(r, out);
    add_runs(r, out);
    add_score(r, out);
    add_interval(r, out);
    add_convergence(r, out);
    add_comparison(r, out);
    add_lines(out, "note        ", r->notes.s);
    add_lines(out, "does not stand: ", r->problems.s);
}

/* ---- a table ---- */

static const char *system_of(const struct result *r)
{
    return r->system.name ? r->system.name : r->platform ? r->platform : "-";
}

static const char *org_of(const struct result *r)
{
    return r->system.submitter ? r->system.submitter : r->org ? r->org : "-";
}

static const char *reference_of(const struct result *r)
{
    static const char *const names[] = {
        [RCP_NONE] = "no points",
        [RCP_NO_BATCH] = "no batch",
        [RCP_NOT_CONVERGED] = "-",
        [RCP_FOUND] = "found",
        [RCP_INTERPOLATED] = "interpolated",
        [RCP_BELOW] = "smaller batch",
        [RCP_ABOVE] = "missing",
    };

    if (!r->system.division && !r->division)
        return "-";
    return r->closed ? names[r->rcp.kind] : "open";
}

static int column(const struct results *s, const char *(*text)(const struct result *),
                  const char *heading)
{
    size_t width = strlen(heading);

    for (size_t i = 0; i < s->n; i++)
        if (strlen(text(&s->list[i])) > width)
            width = strlen(text(&s->list[i]));
    return (int)(width < 40 ? width : 40);
}

static void add_row(const struct result *r, int org, int system, struct str *out)
{
    str_printf(out, "%-*.*s  %-*.*s  %-16s", org, org, org_of(r), system, system, system_of(r),
               r->benchmark);
    add_number(out, 7, 0, result_accelerators(r));
    str_printf(out, "%6zu", r->n_runs);
    add_number(out, 14, 3, r->minutes);
    str_printf(out, "%9.4f  %-13s  %s\n", r->factor, reference_of(r),
               r->stands ? "stands" : "does not stand");
}

void score_report_table(const struct results *s, struct str *out)
{
    const int org = column(s, org_of, "submitter"), system = column(s, system_of, "system");

    str_printf(out, "%-*s  %-*s  %-16s%7s%6s%14s%9s  %s\n", org, "submitter", system, "system",
               "benchmark", "accel.", "runs", "minutes", "factor", "reference");
    for (size_t i = 0; i < s->n; i++)
        add_row(&s->list[i], org, system, out);
    for (size_t i = 0; i < s->n; i++) {
        const struct result *const r = &s->list[i];

        if (r->stands && r->notes.len == 0)
            continue;
        str_printf(out, "\n%s %s, %s, %s:\n", org_of(r), system_of(r), r->benchmark,
                   r->folder ? r->folder : "single runs");
        add_lines(out, "  does not stand: ", r->problems.s);
        add_lines(out, "  note: ", r->notes.s);
    }
}
