/* Runs become results. */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/file.h"
#include "cli/submit.h"
#include "rules/attempt.h"
#include "rules/log.h"

enum { MAX_RUN_JSON = 1 << 20 };

static cJSON *read_run_json(const char *dir)
{
    char *const path = file_join(dir, "run.json");
    char *text;
    cJSON *doc = NULL;
    size_t n;

    if (file_read(path, MAX_RUN_JSON, &text, &n) == 0) {
        doc = json_parse(text, n, NULL);
        free(text);
    }
    free(path);
    if (doc && !cJSON_IsObject(doc)) {
        cJSON_Delete(doc);
        doc = NULL;
    }
    return doc;
}

static struct submit_result *result_of(struct submit *s, const char *benchmark)
{
    for (size_t i = 0; i < s->n_results; i++)
        if (strcmp(s->results[i].benchmark, benchmark) == 0)
            return &s->results[i];
    s->results = xrealloc(s->results, (s->n_results + 1) * sizeof(*s->results));
    s->results[s->n_results] = (struct submit_result){.benchmark = xstrdup(benchmark)};
    return &s->results[s->n_results++];
}

static int add_run(struct submit *s, const char *dir, const char *log)
{
    struct submit_result *r;
    struct log l;

    TRY(log_read(&l, log, NULL));
    if (!l.benchmark) {
        log_release(&l);
        return err(E_DATA,
                   "%s names no submission_benchmark, so it belongs to no result; take the folder "
                   "away",
                   log);
    }
    r = result_of(s, l.benchmark);
    r->runs = xrealloc(r->runs, (r->n_runs + 1) * sizeof(*r->runs));
    r->runs[r->n_runs++] = (struct submit_run){xstrdup(dir), xstrdup(log), read_run_json(dir)};
    log_release(&l);
    return 0;
}

static int add_folder(struct submit *s, const char *dir)
{
    char *const log = file_join(dir, "mlperf.log");
    const int rc = file_exists(log) ? add_run(s, dir, log) : 0;

    free(log);
    return rc;
}

static int add_folders(struct submit *s)
{
    struct dirent **names;
    const int n = scandir(s->o.dir, &names, NULL, versionsort);
    int rc = 0;

    if (n < 0)
        return err(E_IO, "%s can not be read as a folder of runs", s->o.dir);
    for (int i = 0; i < n; i++) {
        char *const dir = file_join(s->o.dir, names[i]->d_name);

        if (rc == 0 && names[i]->d_name[0] != '.' && !attempt_is_name(names[i]->d_name) &&
            file_is_folder(dir))
            rc = add_folder(s, dir);
        free(dir);
        free(names[i]);
    }
    free(names);
    return rc;
}

/* "systems/a.json" is the system a. */
static int read_name(struct submit *s)
{
    const char *const slash = strrchr(s->o.system, '/');
    const char *const base = slash ? slash + 1 : s->o.system;
    const size_t n = strlen(base);

    if (n < 6 || strcmp(base + n - 5, ".json") != 0)
        return err(E_USAGE,
                   "--system %s: the file's name must be NAME.json, NAME being the system's",
                   s->o.system);
    s->name = xasprintf("%.*s", (int)(n - 5), base);
    return 0;
}

static int collect(struct submit *s)
{
    TRY(read_name(s));
    TRY(system_desc_read(&s->desc, s->o.system));
    TRY(add_folders(s));
    if (s->n_results == 0)
        return err(E_USAGE,
                   "no folder in %s holds an mlperf.log; stave run W --runs N --out %s makes them",
                   s->o.dir, s->o.dir);
    return 0;
}

int submit_collect(struct submit *s, const struct submit_options *o)
{
    *s = (struct submit){.o = *o};
    return collect(s);
}

static void release_result(struct submit_result *r)
{
    for (size_t i = 0; i < r->n_runs; i++) {
        free(r->runs[i].dir);
        free(r->runs[i].log);
        cJSON_Delete(r->runs[i].run);
    }
    free(r->runs);
    free(r->benchmark);
}

void submit_release(struct submit *s)
{
    for (size_t i = 0; i < s->n_results; i++)
        release_result(&s->results[i]);
    free(s->results);
    free(s->name);
    system_desc_release(&s->desc);
    *s = (struct submit){0};
}
