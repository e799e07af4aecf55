/* What keeps runs from becoming a submission: all that the official checkers refuse, what ours
 * refuse besides, and what this program's own run folders tell. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/err.h"
#include "cli/run_folder.h"
#include "cli/submit.h"
#include "rules/ruleset.h"

static void check_names(const struct submit *s, struct findings *f)
{
    package_check_name(s->o.org, "--org", f);
    package_check_name(s->name, s->o.system, f);
    package_check_name(s->o.implementation, "--implementation", f);
}

static void check_description(const struct submit *s, struct findings *f)
{
    const char *const division = system_desc_get(&s->desc, "division");
    const char *const submitter = system_desc_get(&s->desc, "submitter");

    system_desc_check(s->o.system, s->o.package.ruleset, f);
    if (!system_is_unfilled(submitter) && strcmp(submitter, s->o.org) != 0)
        finding_add(f, FINDING_STRICT, s->o.system, "submitter is \"%s\"; --org says \"%s\"",
                    submitter, s->o.org);
    if (system_is_unfilled(division))
        return;
    if (s->o.division && strcmp(division, s->o.division) != 0)
        finding_add(f, FINDING_STRICT, s->o.system, "division is \"%s\"; --division says \"%s\"",
                    division, s->o.division);
    else if (strcmp(division, "closed") != 0 && strcmp(division, "open") != 0)
        finding_add(f, FINDING_STRICT, s->o.system, "division is \"%s\"; it is closed or open",
                    division);
}

/* ---- run folders ---- */

/* Options that may differ between the runs of one result. */
static int may_differ(const char *table, const char *option)
{
    return strcmp(table, "run") == 0 || strcmp(option, "seed") == 0;
}

static void compare_options(const struct submit_run *a, const struct submit_run *b,
                            struct findings *f)
{
    const cJSON *const was = cJSON_GetObjectItemCaseSensitive(a->run, "options");
    const cJSON *const is = cJSON_GetObjectItemCaseSensitive(b->run, "options");
    const cJSON *table, *option;

    cJSON_ArrayForEach(table, is)
    {
        const cJSON *const old = cJSON_GetObjectItemCaseSensitive(was, table->string);

        cJSON_ArrayForEach(option, table)
        {
            if (!may_differ(table->string, option->string) &&
                !cJSON_Compare(cJSON_GetObjectItemCaseSensitive(old, option->string), option, 1))
                finding_add(f, FINDING_STRICT, b->dir,
                            "its run had another %s than that of %s; the runs of a result are the "
                            "same but for the seed",
                            option->string, a->dir);
        }
    }
}

static int says_resumed(const char *dir)
{
    cJSON *doc;
    int resumed;

    run_folder_read_json(dir, "result.json", &doc);
    resumed = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(doc, "resumed"));
    cJSON_Delete(doc);
    return resumed;
}

/* run.json holds what the texts are made of. */
static int is_ours(const cJSON *run)
{
    const cJSON *const options = cJSON_GetObjectItemCaseSensitive(run, "options"), *table;

    cJSON_ArrayForEach(table, options)
    {
        if (!cJSON_IsObject(table))
            return 0;
    }
    return cJSON_IsObject(options) && submit_word(run, "workload") && submit_word(run, "preset");
}

static void check_run(const struct submit *s, const struct submit_result *r,
                      const struct submit_run *run, struct findings *f)
{
    const char *const ruleset =
        cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(run->run, "ruleset"));
    struct stat st;

    if (stat(run->log, &st) == 0 && st.st_size > PACKAGE_MAX_FILE)
        finding_add(f, FINDING_STRICT, run->log,
                    "it has %.1f MiB; MLPerf's repositories take no file above 50",
                    (double)st.st_size / 0x1p20);
    if (says_resumed(run->dir))
        finding_add(f, FINDING_STRICT, run->dir,
                    "its run was resumed, so its log covers the last start only");
    if (!is_ours(run->run)) {
        finding_add(f, FINDING_STRICT, run->dir,
                    "it holds no run.json of this program, and from that comes what reproduces "
                    "the run");
        return;
    }
    if (run != r->runs)
        compare_options(r->runs, run, f);
    if (!ruleset || strcmp(ruleset, s->o.package.ruleset) != 0)
        finding_add(f, FINDING_STRICT, run->dir, "its run was made under another ruleset than %s",
                    s->o.package.ruleset);
}

static int check_result(struct submit *s, struct submit_result *r, struct findings *f)
{
    const char **const logs = xcalloc(r->n_runs + 1, sizeof(*logs));
    const struct package_result p = {
        .where = s->o.dir,
        .benchmark = r->benchmark,
        .logs = logs,
        .n_logs = r->n_runs,
        .system_path = s->o.system,
        .system = &s->desc,
        .options = s->o.package,
    };
    int rc;

    for (size_t i = 0; i < r->n_runs; i++)
        logs[i] = r->runs[i].log;
    rc = package_check_result(&p, f, &r->outcome);
    for (size_t i = 0; rc == 0 && i < r->n_runs; i++)
        check_run(s, r, &r->runs[i], f);
    free(logs);
    return rc;
}

int submit_lint(struct submit *s, struct findings *f)
{
    const struct ruleset *const rules = ruleset_find(s->o.package.ruleset);

    check_names(s, f);
    check_description(s, f);
    for (size_t i = 0; i < s->n_results; i++) {
        if (ruleset_benchmark(rules, s->results[i].benchmark))
            TRY(check_result(s, &s->results[i], f));
        else
            finding_add(f, FINDING_STRICT, s->o.dir, "ruleset %s has no benchmark %s",
                        s->o.package.ruleset, s->results[i].benchmark);
    }
    return 0;
}
