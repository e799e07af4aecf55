/* The logs of one result: how many, each alone, seeds, convergence, and what they say of
 * themselves. The order is the official package checker's. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "rules/package.h"
#include "rules/package_log.h"
#include "rules/ruleset.h"
#include "rules/score.h"

enum { MOST_FINDINGS = 12 }; /* of one log that are told; the rest is counted */

struct check {
    const struct package_result *r;
    struct package_log *logs;
    struct findings *f;
    struct package_outcome *out;
    struct score_rule rule;
};

static int is_closed(const struct package_result *r)
{
    return strcmp(system_desc_get(r->system, "division"), "closed") == 0;
}

/* The convergence and seed checks came with 1.0. */
static int is_late(const struct check *c)
{
    return ruleset_round(c->r->options.ruleset) >= 10;
}

static int is_checked_further(const struct check *c)
{
    return is_late(c) && is_closed(c->r);
}

static void check_count(struct check *c)
{
    if (c->r->n_logs != (size_t)c->rule.n_runs)
        finding_add(c->f, FINDING_ERROR, c->r->where,
                    "there are %zu logs; a result of %s is made of %d, result_0.txt to "
                    "result_%d.txt",
                    c->r->n_logs, c->r->benchmark, c->rule.n_runs, c->rule.n_runs - 1);
}

/* A log that is refused is told as what it is; where it is tolerated nothing in it is an error. */
static void tell_log(struct check *c, const struct package_log *l, int tolerated)
{
    size_t told = 0;

    for (size_t i = 0; i < l->found.n; i++) {
        const struct finding *const k = &l->found.all[i];
        const int lowered = k->level == FINDING_ERROR && tolerated;

        if (told++ < MOST_FINDINGS)
            finding_add(c->f, lowered ? FINDING_NOTE : k->level, k->where, "%s", k->text);
    }
    if (told > MOST_FINDINGS)
        finding_add(c->f,
                    l->found.count[FINDING_ERROR] && !tolerated ? FINDING_ERROR : FINDING_NOTE,
                    l->path, "and %zu more findings; stave check %s tells them all",
                    told - MOST_FINDINGS, l->path);
}

/* Runs that are no result: refused, or ended without reaching the target. */
static size_t count_failed(const struct check *c)
{
    size_t n = 0;

    for (size_t i = 0; i < c->r->n_logs; i++) {
        const char *const status = c->logs[i].log.run_status;
        n += !c->logs[i].accepted || !status || strcmp(status, "success") != 0;
    }
    return n;
}

/* Of the runs that are dropped the slowest may be one that failed. The official package checker
 * counts those whose log does not comply, and those that were aborted only in the closed division,
 * apart from the others. */
static void check_failures(struct check *c, size_t refused)
{
    const size_t allowed = (size_t)c->rule.n_drop, failed = count_failed(c);

    if (refused)
        finding_add(c->f, refused <= allowed ? FINDING_NOTE : FINDING_ERROR, c->r->where,
                    "%zu log%s not comply, %zu may%s", refused, refused == 1 ? " does" : "s do",
                    allowed, refused <= allowed ? ": it counts as the slowest run" : "");
    if (failed > allowed && refused <= allowed)
        finding_add(c->f, FINDING_STRICT, c->r->where,
                    "%zu runs failed (their log does not comply, or says that the target was not "
                    "reached), %zu may",
                    failed, allowed);
}

static void check_logs(struct check *c)
{
    size_t refused = 0;

    for (size_t i = 0; i < c->r->n_logs; i++) {
        refused += !c->logs[i].accepted;
        if (c->logs[i].crash)
            finding_add(c->f, FINDING_ERROR, c->logs[i].path,
                        "the official tools end in a traceback over it: %s", c->logs[i].crash);
    }
    for (size_t i = 0; i < c->r->n_logs; i++)
        tell_log(c, &c->logs[i], refused <= (size_t)c->rule.n_drop);
    check_failures(c, refused);
    c->out->n_refused = refused;
}

/* ---- convergence ---- */

/* The batch of all logs as the rcp checker takes it: the first log that names one decides, and
 * every log behind it must name the same. NAN when there is none; a finding when they differ. */
static int common_batch(struct check *c, double *batch)
{
    *batch = NAN;
    for (size_t i = 0; i < c->r->n_logs; i++) {
        const double b = c->logs[i].log.batch;

        if (isnan(*batch)) {
            *batch = b;
        } else if (b != *batch) {
            finding_add(c->f, FINDING_ERROR, c->logs[i].path,
                        "global_batch_size is %.10g, in the logs before it %.10g; all runs of a "
                        "result have the same",
                        b, *batch);
            return 0;
        }
    }
    return 1;
}

/* The benchmark that the logs name, which is what the rcp checker goes by; NULL with a finding. */
static const char *common_benchmark(struct check *c)
{
    const char *first = c->r->n_logs ? c->logs[0].log.benchmark : NULL;

    for (size_t i = 0; i < c->r->n_logs; i++) {
        const char *const b = c->logs[i].log.benchmark;

        if (b && first && strcmp(b, first) == 0)
            continue;
        finding_add(c->f, FINDING_ERROR, c->logs[i].path,
                    b ? "submission_benchmark is %s, in the logs before it %s"
                      : "it names no submission_benchmark",
                    b, first);
        return NULL;
    }
    return first;
}

static double *epochs_of(const struct check *c, const char *benchmark)
{
    const int samples = c->r->options.bert_train_samples && strcmp(benchmark, "bert") == 0;
    double *const epochs = xcalloc(c->r->n_logs + 1, sizeof(*epochs));

    for (size_t i = 0; i < c->r->n_logs; i++) {
        epochs[i] = samples ? c->logs[i].log.samples_at_stop : c->logs[i].log.epochs;
        if (isnan(epochs[i]))
            epochs[i] = INFINITY;
    }
    return epochs;
}

static void tell_convergence(struct check *c, const char *benchmark)
{
    const struct rcp_test *const t = &c->out->rcp;
    const int bypassed = c->r->options.rcp_bypass && !t->passed &&
                         (t->kind == RCP_FOUND || t->kind == RCP_INTERPOLATED ||
                          t->kind == RCP_BELOW || t->kind == RCP_ABOVE);
    struct str words = STR_INIT;

    rcp_describe(t, benchmark, &words);
    finding_add(c->f, t->passed || bypassed ? FINDING_NOTE : FINDING_ERROR, c->r->where,
                "reference convergence: %s%s", words.s,
                bypassed ? "; passed over, as asked for" : "");
    str_release(&words);
}

static int check_convergence(struct check *c)
{
    const char *const benchmark = common_benchmark(c);
    struct rcp_points points;
    double batch, *epochs;
    int rc;

    if (!benchmark || !common_batch(c, &batch))
        return 0;
    rc = rcp_load(&points, c->r->options.ruleset, benchmark);
    if (rc < 0)
        return rc;
    if (strcmp(benchmark, "dlrm") == 0)
        finding_add(c->f, FINDING_NOTE, c->r->where,
                    "the official rcp checker ends in a traceback over dlrm, whose number of runs "
                    "it lost; this is what it would say otherwise");
    epochs = epochs_of(c, benchmark);
    c->out->rcp = rcp_check(&points, batch, epochs, c->r->n_logs);
    tell_convergence(c, benchmark);
    free(epochs);
    rcp_release(&points);
    return 0;
}

/* ---- what the logs say of themselves ---- */

static void compare(struct check *c, const char *log, const char *key, const char *is,
                    const char *wanted, const char *whose)
{
    if (!system_is_unfilled(wanted) && (!is || strcmp(is, wanted) != 0))
        finding_add(c->f, FINDING_STRICT, log, "%s is \"%s\"; %s says \"%s\"", key,
                    is ? is : "absent", whose, wanted);
}

static void check_words(struct check *c)
{
    const struct system_desc *const d = c->r->system;
    const char *const status = system_status_of(system_desc_get(d, "status"));

    for (size_t i = 0; i < c->r->n_logs; i++) {
        const struct log *const l = &c->logs[i].log;
        const char *const path = c->logs[i].path, *const from = c->r->system_path;

        compare(c, path, "submission_benchmark", l->benchmark, c->r->benchmark, "the folder");
        compare(c, path, "submission_division", l->division, system_desc_get(d, "division"), from);
        compare(c, path, "submission_org", l->org, system_desc_get(d, "submitter"), from);
        compare(c, path, "submission_platform", l->platform, system_desc_get(d, "system_name"),
                from);
        if (status)
            compare(c, path, "submission_status", l->status, status, from);
    }
}

/* No run counts twice. The official seed checker looks at the closed division only. */
static void check_twins(struct check *c)
{
    const size_t n = c->r->n_logs;

    if (is_late(c) && !c->r->options.seed_bypass) {
        if (is_closed(c->r))
            package_check_seeds(c->logs, n, c->f);
        else
            package_check_seed_twins(c->logs, n, c->f);
    }
    package_check_copies(c->logs, n, c->f);
}

static int check_all(struct check *c)
{
    check_count(c);
    check_logs(c);
    check_twins(c);
    check_words(c);
    if (is_checked_further(c) && strcmp(c->r->benchmark, "minigo") != 0)
        return check_convergence(c);
    return 0;
}

int package_check_result(const struct package_result *r, struct findings *f,
                         struct package_outcome *out)
{
    struct check c = {.r = r, .f = f, .out = out};
    size_t n = 0;
    int rc = 0;

    *out = (struct package_outcome){0};
    if (!ruleset_find(r->options.ruleset))
        return ruleset_unknown(r->options.ruleset);
    c.rule = score_rule(r->options.ruleset, r->benchmark);
    c.logs = xcalloc(r->n_logs + 1, sizeof(*c.logs));
    while (rc == 0 && n < r->n_logs) {
        rc = package_log_read(&c.logs[n], r->logs[n], r->options.ruleset);
        n++;
    }
    if (rc == 0)
        rc = check_all(&c);
    while (n > 0)
        package_log_release(&c.logs[--n]);
    free(c.logs);
    return rc;
}
