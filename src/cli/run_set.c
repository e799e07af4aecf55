#include "cli/run_set.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/file.h"
#include "cli/seed.h"
#include "rules/attempt.h"

const char *const set_state_names[N_SET_STATES] = {
    [SET_WAITING] = "waiting", [SET_RUNNING] = "running",   [SET_INTERRUPTED] = "interrupted",
    [SET_FAILED] = "failed",   [SET_FINISHED] = "finished",
};

static int is_taken(const struct run_set *s, uint64_t seed)
{
    for (size_t i = 0; i < s->n; i++) {
        const struct set_run *const r = &s->runs[i];
        if (r->seed == seed)
            return 1;
        for (size_t k = 0; k < r->n_earlier; k++)
            if (r->earlier[k].seed == seed)
                return 1;
    }
    return 0;
}

/* The rules refuse a result of which two runs log one seed at the same line of one source file. */
static int draw_another(struct run_set *s, size_t at)
{
    uint64_t seed;

    do
        TRY(seed_draw(&seed));
    while (is_taken(s, seed));
    s->runs[at].seed = seed;
    return 0;
}

int run_set_draw(struct run_set *s, size_t n)
{
    s->runs = xcalloc(n, sizeof(*s->runs));
    s->n = n;
    for (size_t i = 0; i < n; i++)
        TRY(draw_another(s, i));
    return 0;
}

void run_set_release(struct run_set *s)
{
    for (size_t i = 0; i < s->n; i++) {
        for (size_t k = 0; k < s->runs[i].n_earlier; k++)
            free(s->runs[i].earlier[k].folder);
        free(s->runs[i].earlier);
    }
    free(s->runs);
    free(s->dir);
    free(s->stave_version);
    free(s->workload);
    free(s->ruleset);
    free(s->started);
    free(s->options);
    *s = (struct run_set){0};
}

static char *set_path(const char *dir)
{
    return file_join(dir, "set.json");
}

int run_set_exists(const char *dir)
{
    char *const path = set_path(dir);
    const int there = file_exists(path);

    free(path);
    return there;
}

int run_set_read(struct run_set *s)
{
    char *const path = set_path(s->dir), *text;
    size_t n;
    int rc = file_read(path, 1 << 24, &text, &n);

    if (rc == 0)
        rc = run_set_parse(s, text, n);
    if (rc == E_DATA)
        err_prefix(rc, "%s is damaged: ", path);
    free(text);
    free(path);
    return rc;
}

int run_set_write(const struct run_set *s)
{
    char *const path = set_path(s->dir);
    struct str out = STR_INIT;
    int rc;

    run_set_add_json(s, &out);
    rc = file_replace(path, out.s, out.len);
    str_release(&out);
    free(path);
    return rc;
}

char *run_set_folder(const struct run_set *s, size_t at)
{
    char name[32];

    snprintf(name, sizeof(name), "run-%zu", at + 1);
    return file_join(s->dir, name);
}

/* Under the next free name; *name, heap, is that. */
static int set_aside(const struct run_set *s, size_t at, char **name)
{
    const enum attempt what =
        s->runs[at].state == SET_FAILED ? ATTEMPT_FAILED : ATTEMPT_INTERRUPTED;
    char *const from = run_set_folder(s, at), *to = NULL;
    int rc = 0, k = 0;

    do {
        free(to);
        to = attempt_name(from, what, ++k);
    } while (file_exists(to));
    *name = xstrdup(strrchr(to, '/') + 1);
    if (rename(from, to) < 0)
        rc = err(E_IO, "rename %s to %s: %s", from, to, strerror(errno));
    free(from);
    free(to);
    return rc;
}

static int keep_attempt(struct run_set *s, size_t at)
{
    struct set_run *const r = &s->runs[at];
    char *name;
    const int rc = set_aside(s, at, &name);

    if (rc < 0) {
        free(name);
        return rc;
    }
    r->earlier = xrealloc(r->earlier, (r->n_earlier + 1) * sizeof(*r->earlier));
    r->earlier[r->n_earlier].folder = name;
    r->earlier[r->n_earlier++].seed = r->seed;
    return draw_another(s, at);
}

int run_set_start_again(struct run_set *s, size_t at)
{
    struct set_run *const r = &s->runs[at];
    char *const folder = run_set_folder(s, at);
    const int left = file_exists(folder);

    free(folder);
    if (left)
        TRY(keep_attempt(s, at));
    r->state = SET_WAITING;
    r->result = (struct set_result){0};
    return 0;
}
