/* The submission's folders and files. All is written beside the place it is for and renamed there,
 * so that there is a whole submission or none. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/file.h"
#include "cli/submit.h"

/* Takes the text over. */
static int write_text(const char *dir, const char *name, mode_t mode, struct str *text)
{
    char *const path = file_join(dir, name);
    int rc = file_replace(path, text->s, text->len);

    if (rc == 0 && chmod(path, mode) < 0)
        rc = err(E_IO, "chmod %s: %s", path, strerror(errno));
    free(path);
    str_release(text);
    return rc;
}

static int copy_file(const char *from, const char *dir, const char *name)
{
    char *const path = file_join(dir, name);
    char *bytes;
    size_t n;
    int rc = file_read(from, PACKAGE_MAX_FILE, &bytes, &n);

    if (rc == 0) {
        rc = file_replace(path, bytes, n);
        free(bytes);
    }
    free(path);
    return rc;
}

/* ---- results ---- */

static int write_scaling(const struct submit_result *r, const char *dir)
{
    struct str text = STR_INIT;

    if (!(r->outcome.rcp.passed && r->outcome.rcp.factor > 1))
        return 0;
    str_add(&text, "{\"scaling_factor\": ");
    str_add_real(&text, r->outcome.rcp.factor);
    str_add(&text, "}");
    return write_text(dir, "scaling.json", 0644, &text);
}

static int write_logs(const struct submit_result *r, const char *dir)
{
    TRY(file_mkdirs(dir));
    for (size_t i = 0; i < r->n_runs; i++) {
        char name[40];

        snprintf(name, sizeof(name), "result_%zu.txt", i);
        TRY(copy_file(r->runs[i].log, dir, name));
    }
    return write_scaling(r, dir);
}

/* ---- implementations ---- */

static int write_implementation(const struct submit *s, const struct submit_result *r,
                                const char *dir)
{
    static const struct {
        const char *name;
        mode_t mode;
        void (*make)(const cJSON *run, struct str *out);
    } files[] = {
        {"config.yaml", 0644, submit_config},
        {"setup.sh", 0755, submit_setup},
        {"init_datasets.sh", 0755, submit_datasets},
        {"run_and_time.sh", 0755, submit_run_and_time},
    };
    struct str text = STR_INIT;

    TRY(file_mkdirs(dir));
    submit_readme(s, r, &text);
    TRY(write_text(dir, "README.md", 0644, &text));
    for (size_t i = 0; i < COUNT_OF(files); i++) {
        files[i].make(r->runs[0].run, &text);
        TRY(write_text(dir, files[i].name, files[i].mode, &text));
    }
    return 0;
}

/* The scripts of a system are those of the implementation. */
static int write_forward(const struct submit *s, const char *dir, const char *name)
{
    struct str text = STR_INIT;

    str_printf(&text, "#!/bin/bash\nexec \"$(dirname \"$0\")/../implementations/%s/%s\" \"$@\"\n",
               s->o.implementation, name);
    return write_text(dir, name, 0755, &text);
}

static int write_system_folder(const struct submit *s, const struct submit_result *r,
                               const char *dir)
{
    static const char *const scripts[] = {"setup.sh", "init_datasets.sh", "run_and_time.sh"};
    struct str text = STR_INIT;
    char *name;
    int rc;

    TRY(file_mkdirs(dir));
    str_printf(
        &text,
        "# %s on %s\n\nThe scripts are those of `../implementations/%s`, whose README.md says "
        "what they do. `%s_%s.json` holds the settings of the runs on this system.\n",
        r->benchmark, s->name, s->o.implementation, s->name, s->o.implementation);
    TRY(write_text(dir, "README.md", 0644, &text));
    for (size_t i = 0; i < COUNT_OF(scripts); i++)
        TRY(write_forward(s, dir, scripts[i]));
    submit_details(s, r, &text);
    name = xasprintf("%s_%s.json", s->name, s->o.implementation);
    rc = write_text(dir, name, 0644, &text);
    free(name);
    return rc;
}

/* ---- all ---- */

static int write_result(const struct submit *s, const struct submit_result *r, const char *org)
{
    char *const logs = xasprintf("%s/results/%s/%s", org, s->name, r->benchmark);
    char *const code =
        xasprintf("%s/benchmarks/%s/implementations/%s", org, r->benchmark, s->o.implementation);
    char *const system = xasprintf("%s/benchmarks/%s/%s", org, r->benchmark, s->name);
    int rc = write_logs(r, logs);

    if (rc == 0)
        rc = write_implementation(s, r, code);
    if (rc == 0)
        rc = write_system_folder(s, r, system);
    free(logs);
    free(code);
    free(system);
    return rc;
}

static int write_all(const struct submit *s, const char *org)
{
    char *const systems = file_join(org, "systems");
    char *const name = xasprintf("%s.json", s->name);
    int rc = file_mkdirs(systems);

    if (rc == 0)
        rc = copy_file(s->o.system, systems, name);
    for (size_t i = 0; rc == 0 && i < s->n_results; i++)
        rc = write_result(s, &s->results[i], org);
    free(systems);
    free(name);
    return rc;
}

/* The written tree must pass what anybody may hold it against. */
static int look_again(const struct submit *s, const char *org)
{
    struct findings f = {0};
    struct package_count n;
    struct str text = STR_INIT;
    int rc = package_check(org, &s->o.package, &f, &n);

    if (rc == 0 && f.count[FINDING_ERROR] + f.count[FINDING_STRICT] > 0) {
        findings_text(&f, &text);
        rc = err(E_DATA, "the written submission does not pass its own check:\n%s", text.s);
    }
    str_release(&text);
    findings_release(&f);
    return rc;
}

/* "DIR/" is DIR; what is written beside it would else be written into it. */
static char *without_slashes(const char *to)
{
    size_t n = strlen(to);

    while (n > 1 && to[n - 1] == '/')
        n--;
    return xasprintf("%.*s", (int)n, to);
}

int submit_write(const struct submit *s, const char *dir)
{
    char *const to = without_slashes(dir);
    char *const partial = xasprintf("%s.partial-%ld", to, (long)getpid());
    char *const org = file_join(partial, s->o.org);
    int rc = write_all(s, org);

    if (rc == 0)
        rc = look_again(s, org);
    if (rc == 0 && rename(partial, to) < 0)
        rc = err(E_IO, "rename %s to %s: %s", partial, to, strerror(errno));
    if (rc < 0)
        file_remove_tree(partial);
    free(org);
    free(partial);
    free(to);
    return rc;
}
