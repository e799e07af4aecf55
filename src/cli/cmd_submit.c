/* `stave submit`: runs become a submission; and any submission is held against the rules. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/err.h"
#include "base/file.h"
#include "cli/command_line.h"
#include "cli/submit.h"
#include "rules/ruleset.h"

struct submit_settings {
    char *to, *org, *system, *ruleset, *implementation;
    int division, lint, verify, json, rcp_bypass, seed_bypass, bert_train_samples;
};

enum { DIVISION_ANY };
static const char *const divisions[] = {"any", "closed", "open", NULL};

/* clang-format off */
#define ROW(...) OPT_ROW(submit_settings, __VA_ARGS__)

static const struct opt_row rows[] = {
    ROW("to", OPT_STRING, to, .arg = "DIR", .help = "The folder to write the submission to; it must not be there yet"),
    ROW("org", OPT_STRING, org, .arg = "NAME", .help = "Who submits: the logs' submission_org and the description's submitter"),
    ROW("system", OPT_STRING, system, .arg = "FILE.json", .help = "The filled system description (stave system --to); its name is the system's"),
    ROW("ruleset", OPT_STRING, ruleset, .dflt = RULESET_PINNED, .arg = "ROUND", .help = "The MLPerf round whose rules hold"),
    ROW("division", OPT_CHOICE, division, .dflt = "any", .choices = divisions, .arg = "NAME",
        .help = "Refuse a description of the other division"),
    ROW("implementation", OPT_STRING, implementation, .dflt = "stave", .arg = "NAME", .help = "Name of the implementation's folder"),
    ROW("lint", OPT_BOOL, lint, .dflt = "no", .help = "Look only, write nothing"),
    ROW("verify", OPT_BOOL, verify, .dflt = "no", .help = "DIR is a submission, of this program or any other: judge it as the official package checker does"),
    ROW("rcp-bypass", OPT_BOOL, rcp_bypass, .dflt = "no", .help = "Pass over a failed test of reference convergence"),
    ROW("seed-checker-bypass", OPT_BOOL, seed_bypass, .dflt = "no", .help = "Do not look at seeds, which rounds before 4.1 did not ask for"),
    ROW("rcp-bert-train-samples", OPT_BOOL, bert_train_samples, .dflt = "no",
        .help = "Convergence of BERT stands in train_samples rather than in epoch_num"),
    ROW("json", OPT_BOOL, json, .dflt = "no", .help = "Print the verdict as one JSON document"),
};
/* clang-format on */

static const struct opt_table options = {"submit", rows, COUNT_OF(rows)};

static struct package_options package_options_of(const struct submit_settings *own)
{
    return (struct package_options){
        .ruleset = own->ruleset,
        .rcp_bypass = own->rcp_bypass,
        .seed_bypass = own->seed_bypass,
        .bert_train_samples = own->bert_train_samples,
    };
}

/* ---- verdicts ---- */

static int stands(const struct findings *f)
{
    return f->count[FINDING_ERROR] == 0 && f->count[FINDING_STRICT] == 0;
}

static void print_json(const struct submit_settings *own, const struct findings *f,
                       const struct package_count *n, const char *written)
{
    struct str out = STR_INIT;

    str_printf(&out, "{\n  \"ruleset\": ");
    str_add_json(&out, own->ruleset);
    str_printf(&out, ",\n  \"official_accepts\": %s,\n  \"stands\": %s",
               f->count[FINDING_ERROR] ? "false" : "true", stands(f) ? "true" : "false");
    str_printf(&out, ",\n  \"results\": %zu,\n  \"logs\": %zu", n->results, n->logs);
    if (written) {
        str_add(&out, ",\n  \"written\": ");
        str_add_json(&out, written);
    }
    str_add(&out, ",\n  \"findings\": ");
    findings_json(f, &out);
    str_add(&out, "\n}\n");
    fputs(out.s, stdout);
    str_release(&out);
}

static void print_findings(const struct findings *f)
{
    struct str out = STR_INIT;

    findings_text(f, &out);
    if (out.len)
        fputs(out.s, stdout);
    str_release(&out);
}

static const char *ending(size_t n)
{
    return n == 1 ? "" : "s";
}

static void print_text(const struct submit_settings *own, const char *what,
                       const struct findings *f, const struct package_count *n, const char *written)
{
    print_findings(f);
    printf("%s: %zu result%s of %zu log%s under ruleset %s: ", what, n->results, ending(n->results),
           n->logs, ending(n->logs), own->ruleset);
    if (f->count[FINDING_ERROR])
        printf("the official checkers refuse it (%zu error%s, %zu stricter finding%s)\n",
               f->count[FINDING_ERROR], ending(f->count[FINDING_ERROR]), f->count[FINDING_STRICT],
               ending(f->count[FINDING_STRICT]));
    else if (f->count[FINDING_STRICT])
        printf("the official checkers accept it, and it does not stand (%zu stricter finding%s)\n",
               f->count[FINDING_STRICT], ending(f->count[FINDING_STRICT]));
    else
        printf("the official checkers accept it, and it stands\n");
    if (written)
        printf("%s: written\n", written);
}

static int say(const struct submit_settings *own, const char *what, const struct findings *f,
               const struct package_count *n, const char *written)
{
    if (own->json)
        print_json(own, f, n, written);
    else
        print_text(own, what, f, n, written);
    return stands(f) ? EXIT_REACHED : EXIT_UNTRUSTWORTHY;
}

static int verify(const char *dir, const struct submit_settings *own)
{
    const struct package_options o = package_options_of(own);
    struct findings f = {0};
    struct package_count n;
    int rc = package_check(dir, &o, &f, &n);

    if (rc == 0)
        rc = say(own, dir, &f, &n, NULL);
    findings_release(&f);
    return rc;
}

static int check_verify_options(const struct submit_settings *own)
{
    if (own->to || own->org || own->lint)
        return err(E_USAGE, "--verify judges a submission that is there and takes no --to, --org "
                            "or --lint");
    return 0;
}

/* ---- making one ---- */

static int lint_and_write(struct submit *s, const struct submit_settings *own)
{
    struct findings f = {0};
    struct package_count n = {.results = s->n_results};
    const char *written = NULL;
    int rc = submit_lint(s, &f);

    for (size_t i = 0; i < s->n_results; i++)
        n.logs += s->results[i].n_runs;
    if (rc == 0 && stands(&f) && !own->lint) {
        rc = submit_write(s, own->to);
        written = own->to;
    }
    if (rc == 0)
        rc = say(own, s->o.dir, &f, &n, written);
    findings_release(&f);
    return rc;
}

static int check_options(const struct submit_settings *own)
{
    struct stat st;

    if (!own->system)
        return err(E_USAGE, "give --system FILE.json, the system description; stave system --to "
                            "FILE.json makes one");
    if (!own->org || !*own->org)
        return err(E_USAGE, "give --org NAME, who submits");
    if (strchr(own->org, '/') || (own->implementation && strchr(own->implementation, '/')))
        return err(E_USAGE, "--org and --implementation name folders and hold no slash");
    if (!own->implementation)
        return err(E_USAGE, "give --implementation a name");
    if (own->lint)
        return 0;
    if (!own->to)
        return err(E_USAGE, "give --to DIR, where the submission is written, or --lint to look "
                            "only");
    if (lstat(own->to, &st) == 0)
        return err(E_USAGE, "%s is there already; a submission is written to a new folder",
                   own->to);
    return 0;
}

static int make(const char *dir, const struct submit_settings *own)
{
    struct submit s = {0};
    int rc;

    TRY(check_options(own));
    rc = submit_collect(
        &s, &(const struct submit_options){
                .dir = dir,
                .system = own->system,
                .org = own->org,
                .implementation = own->implementation,
                .division = own->division == DIVISION_ANY ? NULL : divisions[own->division],
                .package = package_options_of(own),
            });
    if (rc == 0)
        rc = lint_and_write(&s, own);
    submit_release(&s);
    return rc;
}

static int check_ruleset(const char *version)
{
    if (!version || !ruleset_find(version))
        return ruleset_unknown(version ? version : "");
    if (strcmp(version, "0.5.0") == 0)
        return err(E_USAGE, "submissions are judged for rounds 0.6.0 to 4.0.0");
    return 0;
}

static int dispatch(const char *dir, const struct submit_settings *own)
{
    TRY(check_ruleset(own->ruleset));
    if (!own->verify)
        return make(dir, own);
    TRY(check_verify_options(own));
    return verify(dir, own);
}

static int work(const struct command_line *line, const void *settings)
{
    const struct submit_settings *const own = settings;

    return dispatch(line->args[0], own);
}

static int run(const struct command *self, int argc, char **argv)
{
    struct submit_settings own;

    return command_line_run(self, argc, argv, &own, work);
}

static const struct opt_table *const tables[] = {&options, NULL};

const struct command command_submit = {
    .name = "submit",
    .args = "DIR",
    .min_args = 1,
    .max_args = 1,
    .summary = "Make an MLPerf submission of runs, or judge one",
    .about =
        "DIR holds run folders, as `stave run W --runs N --out DIR` leaves them; those of one "
        "benchmark make one result. They are looked over first: number of runs, every log, seeds, "
        "reference convergence, whether logs and system description agree, fields nobody filled, "
        "names, sizes. Errors and stricter findings keep it from writing, with exit status 4; "
        "notes "
        "do not. Then the "
        "results, the description, and scripts that reproduce the runs are written in MLPerf's "
        "layout. Logs are copied as they are: submission_org, submission_platform and "
        "submission_status are options of the run (--org, --platform, --status).\n"
        "With --verify DIR is a submission's folder ORG of any round from 0.6 to 4.0; its findings "
        "are errors, which the official package, compliance, description and convergence checkers "
        "have, too, and those where ours are stricter.",
    .tables = tables,
    .run = run,
};
