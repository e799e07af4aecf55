/* Runs become results. */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/file.h"
#include "cli/run_folder.h"
#include "cli/submit.h"
#include "rules/attempt.h"
#include "rules/log.h"

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
    struct submit_run *run;
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
    run = &r->runs[r->n_runs++];
    *run = (struct submit_run){.dir = xstrdup(dir), .log = xstrdup(log)};
    run_folder_read_json(dir, "run.json", &run->run); /* the lint says when there is none */
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
    struct file_names names;
    int rc = file_list(s->o.dir, &names);

    for (size_t i = 0; rc == 0 && i < names.n; i++) {
        char *const dir = file_join(s->o.dir, names.all[i]);

        if (names.all[i][0] != '.' && !attempt_is_name(names.all[i]) && file_is_folder(dir))
            rc = add_folder(s, dir);
        free(dir);
    }
    file_names_release(&names);
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

int submit_collect(struct submit *s, const struct submit_options *o)
{
    *s = (struct submit){.o = *o};
    TRY(read_name(s));
    TRY(system_desc_read(&s->desc, s->o.system));
    TRY(add_folders(s));
    if (s->n_results == 0)
        return err(E_USAGE,
                   "no folder in %s holds an mlperf.log; stave run W --runs N --out %s makes them",
                   s->o.dir, s->o.dir);
    return 0;
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
