#include "rules/result_find.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/err.h"
#include "base/file.h"
#include "rules/attempt.h"
#include "rules/result_folder.h"
#include "rules/result_read.h"

enum { MAX_DEPTH = 16 };

/* ---- names ---- */

static int is_result_file(const char *name)
{
    return fnmatch("result_*.txt", name, 0) == 0;
}

static const char *base_name(const char *path)
{
    const char *const slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

/* path without its last n names; NULL when it has not so many. */
static char *above(const char *path, int n)
{
    char *const p = xstrdup(path);

    for (int i = 0; i < n; i++) {
        char *const slash = strrchr(p, '/');

        if (!slash) {
            free(p);
            return NULL;
        }
        *slash = '\0';
    }
    return p;
}

/* ---- one run ---- */

static struct result *new_result(struct results *s, const char *folder, int *rc)
{
    struct result *r;

    s->list = xrealloc(s->list, (s->n + 1) * sizeof(*s->list));
    r = &s->list[s->n++];
    *rc = result_init(r, s->version);
    r->unchecked = s->unchecked;
    r->folder = folder ? xstrdup(folder) : NULL;
    return r;
}

/* Among the results from number `from` on, that of a log's benchmark; a new one when there is none.
 */
static struct result *result_for(struct results *s, size_t from, const struct log *l,
                                 const char *folder, int *rc)
{
    const char *const b = result_benchmark(l);

    for (size_t i = from; i < s->n; i++) {
        const char *const other = s->list[i].benchmark;

        if (!b || !other || strcmp(b, other) == 0)
            return &s->list[i];
    }
    return new_result(s, folder, rc);
}

/* Adds the log to the result of its benchmark among those from number `from` on. */
static int add_run(struct results *s, size_t from, const char *path, const char *name,
                   const char *folder)
{
    struct result_log l;
    const struct result_folder f = result_folder_read(path);
    struct result *r;
    int rc = 0;

    TRY(result_log_read(&l, path, s->version ? s->version : f.ruleset));
    l.ruleset = f.ruleset;
    r = result_for(s, from, &l.log, folder, &rc);
    if (rc == 0)
        result_add(r, &l, path, name);
    result_log_release(&l);
    if (rc == 0 && f.why)
        result_refuse_last(r, f.why);
    return rc;
}

/* ---- folders ---- */

/* Whether a folder is searched for the first time under this path of the caller's: links may lead
 * around, and to one folder in many ways. */
static int is_new(struct results *s, const char *dir)
{
    struct stat st;

    if (stat(dir, &st) != 0)
        return 1; /* reading it tells why */
    for (size_t i = 0; i < s->n_seen; i++)
        if (s->seen[i].device == st.st_dev && s->seen[i].inode == st.st_ino)
            return 0;
    s->seen = xrealloc(s->seen, (s->n_seen + 1) * sizeof(*s->seen));
    s->seen[s->n_seen++] = (struct results_folder){st.st_dev, st.st_ino};
    return 1;
}

/* The last error is kept, and the search goes on; what is wrong with the caller's settings ends it.
 */
static int pass_over(struct results *s, int rc)
{
    if (rc >= 0 || rc == E_USAGE)
        return rc;
    str_printf(&s->troubles, "%s\n", err_reason());
    return 0;
}

/* Results that lack a run do not stand: before is the length of the troubles before their logs. */
static void note_missing(struct results *s, size_t from, size_t before)
{
    const size_t n = s->troubles.len - before;

    for (size_t i = from; n > 0 && i < s->n; i++)
        str_printf(&s->list[i].problems, "A log here can not be read: %s", s->troubles.s + before);
}

static char *log_of_run(const char *dir)
{
    char *const path = file_join(dir, "mlperf.log");

    if (file_exists(path))
        return path;
    free(path);
    return NULL;
}

/* ORG/systems/SYSTEM.json for ORG/results/SYSTEM/BENCHMARK. */
static void read_described_system(struct results *s, struct result *r, const char *dir)
{
    char *const full = realpath(dir, NULL);
    char *const system = full ? above(full, 1) : NULL, *const results =
                                                           full ? above(full, 2) : NULL;
    char *const org = full ? above(full, 3) : NULL;
    char *const path = org && strcmp(base_name(results), "results") == 0
                           ? xasprintf("%s/systems/%s.json", org, base_name(system))
                           : NULL;
    char *const entry = system ? file_join(system, "entry.json") : NULL;

    if (path && file_exists(path))
        result_read_system(r, path);
    else if (entry && file_exists(entry))
        result_read_entry(r, entry);
    else if (s->system)
        result_read_system(r, s->system);
    if (path && !r->system.name)
        r->system.name = xstrdup(base_name(system));
    free(entry);
    free(path);
    free(org);
    free(results);
    free(system);
    free(full);
}

static int add_result_files(struct results *s, const struct file_names *l, const char *dir)
{
    char *const scaling = file_join(dir, "scaling.json");
    const size_t before = s->troubles.len;
    int rc = 0;
    struct result *const r = new_result(s, dir, &rc);

    for (size_t i = 0; rc == 0 && i < l->n; i++) {
        const char *const name = l->all[i];
        char *path;
        struct result_log log;

        if (!is_result_file(name))
            continue;
        path = file_join(dir, name);
        rc = result_log_read(&log, path, s->version);
        if (rc < 0)
            rc = pass_over(s, rc);
        else if (rc == 0) {
            result_add(r, &log, path, name);
            result_log_release(&log);
        }
        free(path);
    }
    note_missing(s, s->n - 1, before);
    if (file_exists(scaling))
        result_read_scaling(r, scaling);
    free(scaling);
    read_described_system(s, r, dir);
    return rc;
}

static int search(struct results *s, const char *dir, int depth);

/* What was interrupted and made again is no run of the result, and no secret either. */
static void note_attempts(struct results *s, size_t from, int n)
{
    for (size_t i = from; n && i < s->n; i++)
        str_printf(
            &s->list[i].notes,
            "%d attempt%s that did not come to an end (interrupted or failed) %s left out.\n", n,
            n == 1 ? "" : "s", n == 1 ? "is" : "are");
}

/* Run folders here are one result a benchmark. */
static int add_run_folders(struct results *s, const struct file_names *l, const char *dir)
{
    const size_t from = s->n, before = s->troubles.len;
    int rc = 0, n_attempts = 0;

    for (size_t i = 0; rc == 0 && i < l->n; i++) {
        char *const path = file_join(dir, l->all[i]);
        char *const log = l->all[i][0] != '.' && file_is_folder(path) ? log_of_run(path) : NULL;
        const int attempt = attempt_is_name(l->all[i]);

        n_attempts += log && attempt;
        if (log && !attempt)
            rc = pass_over(s, add_run(s, from, log, l->all[i], dir));
        free(log);
        free(path);
    }
    note_attempts(s, from, n_attempts);
    note_missing(s, from, before);
    return rc;
}

/* Folders that are none of a run's are searched. */
static int search_others(struct results *s, const struct file_names *l, const char *dir, int depth)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < l->n; i++) {
        char *const path = file_join(dir, l->all[i]);
        char *const log = log_of_run(path);

        if (!log && l->all[i][0] != '.' && file_is_folder(path))
            rc = search(s, path, depth + 1);
        free(log);
        free(path);
    }
    return rc;
}

static int search(struct results *s, const char *dir, int depth)
{
    struct file_names l;
    int n_files = 0, rc;

    if (depth > MAX_DEPTH || !is_new(s, dir))
        return 0;
    rc = file_list(dir, &l);
    if (rc < 0)
        return depth ? pass_over(s, rc) : rc;
    for (size_t i = 0; i < l.n; i++)
        n_files += is_result_file(l.all[i]);
    rc = n_files ? add_result_files(s, &l, dir) : add_run_folders(s, &l, dir);
    if (rc == 0 && !n_files)
        rc = search_others(s, &l, dir, depth);
    file_names_release(&l);
    return rc;
}

/* The log of a path that is a log or a run's folder; NULL for another folder. */
static char *single_log(const char *path)
{
    return file_is_folder(path) ? log_of_run(path) : xstrdup(path);
}

static char *without_slash(const char *path)
{
    char *const p = xstrdup(path);

    for (size_t n = strlen(p); n > 1 && p[n - 1] == '/'; n--)
        p[n - 1] = '\0';
    return p;
}

int results_find(struct results *s, const char *const *paths, size_t n)
{
    const size_t before = s->n;
    int rc = s->system ? result_check_system(s->system) : 0;

    for (int pass = 0; pass < 2; pass++) /* single runs first: they are joined */
        for (size_t i = 0; rc == 0 && i < n; i++) {
            char *const path = without_slash(paths[i]), *const log = single_log(path);

            if (pass == 0 && log)
                rc = add_run(s, before, log, base_name(path), NULL);
            s->n_seen = 0;
            if (pass == 1 && !log)
                rc = search(s, path, 0);
            free(log);
            free(path);
        }
    for (size_t i = before; rc == 0 && i < s->n; i++) {
        if (s->system && !s->list[i].system.name)
            result_read_system(&s->list[i], s->system);
        rc = result_finish(&s->list[i]);
    }
    return rc;
}

void results_release(struct results *s)
{
    for (size_t i = 0; i < s->n; i++)
        result_release(&s->list[i]);
    free(s->list);
    free(s->seen);
    str_release(&s->troubles);
    *s = (struct results){0};
}
