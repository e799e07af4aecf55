/* A whole submission, folder by folder. */
#include <ctype.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/err.h"
#include "base/file.h"
#include "base/json.h"
#include "rules/package.h"
#include "rules/ruleset.h"

enum { MOST_DEPTH = 64 };

struct tree {
    const char *dir;
    const struct package_options *options;
    struct findings *f;
    struct package_count *n;
};

/* ---- parameters and scaling ---- */

/* Lines are compared whole, with their end, so only a last line without one counts. */
static void read_parameters(const char *dir, struct package_options *o)
{
    char *const path = file_join(dir, "package_checker_params");
    char *text;
    size_t n;

    if (file_exists(path) && file_read(path, 1 << 16, &text, &n) == 0) {
        const char *const end = strrchr(text, '\n'), *const last = end ? end + 1 : text;

        o->rcp_bypass |= strcmp(last, "rcp-bypass") == 0;
        o->seed_bypass |= strcmp(last, "seed-checker-bypass") == 0;
        free(text);
    }
    free(path);
}

/* The package checker writes it anew; one that says something else came from elsewhere. */
static void check_scaling(struct tree *t, const char *dir, const struct package_outcome *out)
{
    char *const path = file_join(dir, "scaling.json");
    const double factor = out->rcp.passed && out->rcp.factor > 1 ? out->rcp.factor : 1;
    cJSON *doc;
    double said = 1;

    json_read_object(path, &doc);
    if (doc && cJSON_IsNumber(cJSON_GetObjectItemCaseSensitive(doc, "scaling_factor")))
        said = cJSON_GetObjectItemCaseSensitive(doc, "scaling_factor")->valuedouble;
    if (said < factor * (1 - 1e-9) || said > factor * (1 + 1e-9))
        finding_add(t->f, FINDING_NOTE, path,
                    "the score's factor is %.10g by reference convergence, %.10g in this file%s",
                    factor, said, doc ? "" : ", which is not there");
    cJSON_Delete(doc);
    free(path);
}

/* ---- one result ---- */

/* What stands beside the logs. */
static int is_expected(const char *name)
{
    return strcmp(name, "scaling.json") == 0 || strcmp(name, "package_checker_params") == 0;
}

static void sort_out(struct tree *t, const char *dir, struct file_names *names, const char **logs,
                     size_t *n)
{
    for (size_t i = 0; i < names->n; i++) {
        char *const path = file_join(dir, names->all[i]);

        if (fnmatch("result_*.txt", names->all[i], FNM_PERIOD) == 0) {
            logs[(*n)++] = path;
            continue;
        }
        if (strcmp(names->all[i], "power") == 0)
            finding_add(t->f, FINDING_STRICT, path, "measurements of power are not judged here");
        else if (!is_expected(names->all[i]))
            finding_add(t->f, FINDING_STRICT, path,
                        "it is no log result_N.txt; the official checker warns of it");
        free(path);
    }
}

static int check_result(struct tree *t, struct package_result r)
{
    struct file_names names;
    const char **logs;
    struct package_outcome out;
    size_t n = 0;
    int rc;

    TRY(file_list(r.where, &names));
    logs = xcalloc(names.n + 1, sizeof(*logs));
    sort_out(t, r.where, &names, logs, &n);
    r.logs = logs;
    r.n_logs = n;
    read_parameters(r.where, &r.options);
    rc = package_check_result(&r, t->f, &out);
    if (rc == 0)
        check_scaling(t, r.where, &out);
    t->n->results++;
    t->n->logs += n;
    while (n > 0)
        free((char *)(uintptr_t)logs[--n]);
    free(logs);
    file_names_release(&names);
    return rc;
}

static void check_implementation(struct tree *t, const char *benchmark)
{
    char *const path = xasprintf("%s/benchmarks/%s", t->dir, benchmark);

    if (!file_is_folder(path))
        finding_add(t->f, FINDING_STRICT, path,
                    "there is no such folder; it holds what reproduces the results");
    free(path);
}

static int check_benchmark(struct tree *t, struct package_result r)
{
    if (!ruleset_benchmark(ruleset_find(r.options.ruleset), r.benchmark)) {
        finding_add(t->f, FINDING_STRICT, r.where,
                    "ruleset %s has no benchmark %s; the official checker passes over the folder",
                    r.options.ruleset, r.benchmark);
        return 0;
    }
    check_implementation(t, r.benchmark);
    return check_result(t, r);
}

/* ---- one system ---- */

/* What every result needs of its description. */
static int read_description(struct tree *t, const char *path, struct system_desc *d)
{
    const int rc = system_desc_read(d, path);

    if (rc == 0 && !d->values[system_field_index("division")])
        finding_add(t->f, FINDING_ERROR, path,
                    "it names no division, and the official checker ends in a traceback there");
    else if (rc < 0)
        finding_add(t->f, FINDING_ERROR, path,
                    "the results folder of this name has no description: %s", err_reason());
    return rc;
}

static int check_system_results(struct tree *t, const char *system)
{
    char *const dir = xasprintf("%s/results/%s", t->dir, system);
    char *const path = xasprintf("%s/systems/%s.json", t->dir, system);
    struct package_result r = {.system_path = path, .options = *t->options};
    struct system_desc d = {0};
    struct file_names names;
    int rc = file_list(dir, &names), known = -1;

    read_parameters(dir, &r.options);
    for (size_t i = 0; rc == 0 && i < names.n; i++) {
        char *const folder = file_join(dir, names.all[i]);

        if (file_is_folder(folder) && known < 0)
            known = read_description(t, path, &d) == 0;
        r.where = folder;
        r.benchmark = names.all[i];
        r.system = &d;
        if (file_is_folder(folder) && known > 0)
            rc = check_benchmark(t, r);
        else if (!file_is_folder(folder) && strcmp(names.all[i], "package_checker_params") != 0)
            finding_add(t->f, FINDING_STRICT, folder, "it is no folder of a benchmark");
        free(folder);
    }
    file_names_release(&names);
    system_desc_release(&d);
    free(path);
    free(dir);
    return rc;
}

static int check_results(struct tree *t)
{
    char *const dir = file_join(t->dir, "results");
    struct file_names names;
    int rc = file_list(dir, &names);

    if (rc < 0) {
        finding_add(t->f, FINDING_ERROR, dir, "there is no folder of results");
        free(dir);
        return 0;
    }
    for (size_t i = 0; rc == 0 && i < names.n; i++) {
        char *const path = file_join(dir, names.all[i]);

        if (file_is_folder(path))
            rc = check_system_results(t, names.all[i]);
        else
            finding_add(t->f, FINDING_STRICT, path, "it is no folder of a system");
        free(path);
    }
    file_names_release(&names);
    free(dir);
    return rc;
}

static void check_systems(struct tree *t)
{
    char *const dir = file_join(t->dir, "systems");
    struct file_names names;

    if (file_list(dir, &names) < 0) {
        finding_add(t->f, FINDING_STRICT, dir, "there is no folder of system descriptions");
        free(dir);
        return;
    }
    for (size_t i = 0; i < names.n; i++) {
        char *const path = file_join(dir, names.all[i]);

        if (fnmatch("*.json", names.all[i], FNM_PERIOD) == 0) {
            t->n->systems++;
            if (ruleset_round(t->options->ruleset) >= 10)
                system_desc_check(path, t->options->ruleset, t->f);
        } else {
            finding_add(t->f, FINDING_STRICT, path, "it is no description NAME.json");
        }
        free(path);
    }
    file_names_release(&names);
    free(dir);
}

/* ---- names and sizes of everything ---- */

void package_check_name(const char *name, const char *where, struct findings *f)
{
    static const char others[] = "-_.+,=@";

    if (*name == '.' || strchr(name, ' '))
        finding_add(f, FINDING_STRICT, where,
                    "the name \"%s\" %s; the official repo_checker refuses it", name,
                    *name == '.' ? "begins with a dot" : "holds a blank");
    else
        for (const char *p = name; *p; p++)
            if (!isalnum((unsigned char)*p) && !strchr(others, *p)) {
                finding_add(f, FINDING_STRICT, where,
                            "the name holds a character that is no letter, digit or one of %s",
                            others);
                return;
            }
}

static void check_file(struct tree *t, const char *path)
{
    struct stat st;

    if (lstat(path, &st) < 0)
        return;
    if (S_ISLNK(st.st_mode) && stat(path, &st) < 0)
        finding_add(t->f, FINDING_STRICT, path,
                    "it is a link to nothing; the official repo_checker refuses it");
    else if (S_ISREG(st.st_mode) && st.st_size > PACKAGE_MAX_FILE)
        finding_add(t->f, FINDING_STRICT, path,
                    "it has %.1f MiB; the official repo_checker refuses more than 50",
                    (double)st.st_size / 0x1p20);
}

static void check_names(struct tree *t, const char *dir, int depth)
{
    struct file_names names;

    if (depth > MOST_DEPTH || file_list(dir, &names) < 0)
        return;
    for (size_t i = 0; i < names.n; i++) {
        char *const path = file_join(dir, names.all[i]);
        struct stat st;

        package_check_name(names.all[i], path, t->f);
        check_file(t, path);
        if (lstat(path, &st) == 0 && S_ISDIR(st.st_mode))
            check_names(t, path, depth + 1);
        free(path);
    }
    file_names_release(&names);
}

int package_check(const char *dir, const struct package_options *o, struct findings *f,
                  struct package_count *n)
{
    struct tree t = {.dir = dir, .options = o, .f = f, .n = n};

    *n = (struct package_count){0};
    if (!ruleset_find(o->ruleset))
        return ruleset_unknown(o->ruleset);
    if (!file_is_folder(dir))
        return err(E_IO, "%s is no folder", dir);
    check_systems(&t);
    TRY(check_results(&t));
    check_names(&t, dir, 0);
    return 0;
}
