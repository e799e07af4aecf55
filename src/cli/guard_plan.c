#include "cli/guard_plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/file.h"
#include "base/opt.h"
#include "cli/command.h"
#include "cli/leftovers.h"
#include "meter/ceiling.h"

/* ---- reading the conditions ---- */

static int is_none(const char *text, const char *word)
{
    return !text || strcmp(text, word) == 0;
}

/* Sizes as every option takes them. */
static int read_size(const char *text, const char *where, double least, long long *bytes)
{
    const struct opt_row row = {.name = where, .type = OPT_SIZE, .min = least, .max = 1e15};

    return opt_set(&row, bytes, text, where);
}

static int read_share(const char *text, uint64_t data_bytes, long long *bytes)
{
    double percent;
    int used = 0;

    if (sscanf(text, "%lf%%-of-data%n", &percent, &used) != 1 || !used || text[used] ||
        !(percent >= 0 && percent <= 100))
        return err(E_USAGE,
                   "--cache %.60s: expected a size such as 2G, or a share of the data set "
                   "such as 25%%-of-data",
                   text);
    if (data_bytes == 0)
        return err(E_USAGE, "--cache %.60s: this run reads no data set; give a size", text);
    *bytes = (long long)(percent / 100 * (double)data_bytes);
    return 0;
}

int guard_cache_bytes(const char *text, uint64_t data_bytes, long long *bytes)
{
    if (is_none(text, "none"))
        return 0;
    TRY(strchr(text, '%') ? read_share(text, data_bytes, bytes)
                          : read_size(text, "--cache", 0, bytes));
    return 1;
}

/* What all files of the task's data set hold. */
static uint64_t data_bytes(const struct task *task)
{
    uint64_t bytes = 0;

    for (size_t k = 0; k < TASK_SOURCES; k++)
        for (uint64_t i = 0; task->sources[k] && i < task->sources[k]->n_files; i++) {
            char *const path = source_file(task->sources[k], i);
            struct stat st;
            bytes += stat(path, &st) == 0 ? (uint64_t)st.st_size : 0;
            free(path);
        }
    return bytes;
}

static void add_paths(struct guard_demand *d, const struct task *task, const char *dir)
{
    for (size_t k = 0; k < TASK_SOURCES; k++)
        if (task->sources[k])
            d->paths[d->plan.n_disk_paths++] = task->sources[k]->path;
    d->paths[d->plan.n_disk_paths++] = dir;
    d->plan.disk_paths = d->paths;
}

static int read_ingest(struct guard_demand *d, const char *spec)
{
    if (is_none(spec, "off"))
        return 0;
    TRY(ingest_parse(spec, &d->ingest));
    d->plan.ingest = &d->ingest;
    return 0;
}

int guard_demand_make(struct guard_demand *d, const struct conditions_settings *c,
                      const struct task *task, const char *dir)
{
    int rc;

    *d = (struct guard_demand){.plan.disk_bytes_per_s = c->disk_limit, .dir = dir};
    if (!is_none(c->memory, "none"))
        TRY(read_size(c->memory, "--memory", 1, &d->plan.memory_bytes));
    rc = guard_cache_bytes(c->cache, is_none(c->cache, "none") ? 0 : data_bytes(task),
                           &d->plan.cache_bytes);
    TRY(rc);
    d->plan.limits_cache = rc;
    add_paths(d, task, dir);
    return read_ingest(d, c->ingest);
}

void guard_demand_release(struct guard_demand *d)
{
    if (d->plan.ingest)
        ingest_release(&d->ingest);
    *d = (struct guard_demand){0};
}

int guard_demand_is_none(const struct guard_demand *d)
{
    const struct guard_plan *const p = &d->plan;

    return !p->memory_bytes && !p->limits_cache && !p->disk_bytes_per_s && !p->ingest;
}

/* ---- where there are no groups ---- */

static int find_group(const struct guard_plan *p, struct ceiling *c)
{
    const struct ceiling_wish wish = {.root = "",
                                      .memory = p->memory_bytes > 0 || p->limits_cache,
                                      .disk = p->disk_bytes_per_s > 0,
                                      .run = getpid()};

    return wish.memory || wish.disk ? ceiling_find(c, &wish) : 0;
}

static int can_read(enum reader_id id, const struct task *task)
{
    const struct reader_config c = {.id = id};

    for (size_t k = 0; k < TASK_SOURCES; k++)
        if (task->sources[k] && reader_check(&c, task->sources[k]) < 0)
            return 0;
    return 1;
}

/* Past the cache, or else out of it again at once. */
static enum reader_id uncached_reader(enum reader_id now, const struct task *task)
{
    const enum reader_id direct =
        now == READER_uring || now == READER_uring_direct ? READER_uring_direct : READER_direct;

    return can_read(direct, task)             ? direct
           : can_read(READER_dontcache, task) ? READER_dontcache
                                              : READER_evict;
}

static const char *name_of(int reader)
{
    static const char *const names[] = {
#define READER(name, text) [READER_##name] = text,
#include "data/list.h"
    };

    return names[reader];
}

static void read_uncached(struct guard_demand *d, struct data_settings *data,
                          const struct task *task)
{
    data->reader = (int)uncached_reader((enum reader_id)data->reader, task);
    snprintf(d->how, sizeof(d->how), "uncached reads: %s", name_of(data->reader));
    d->plan.instead = d->how;
    d->plan.limits_cache = 0;
    d->plan.cache_bytes = 0;
    warning("%s; instead the data set is read past the page cache (--reader %s), so that nothing "
            "of it stays in memory",
            err_reason(), name_of(data->reader));
}

int guard_demand_open(struct guard_demand *d, struct data_settings *data, const struct task *task,
                      struct guard **out)
{
    struct guard_plan cache_only = {.limits_cache = d->plan.limits_cache};
    struct ceiling c;
    struct mended earlier;
    char version[64];
    int rc;

    if (d->plan.ingest) {
        TRY(ingest_check(d->plan.ingest, d->dir, version, sizeof(version)));
        ingest_warn_of_memory(d->plan.ingest, d->dir);
    }
    if (d->dir) /* what stays, guard_folder tells */
        leftovers_mend(d->dir, getpid(), &earlier);
    rc = guard_open(&d->plan, out);
    if (rc != E_UNSUPPORTED || !d->plan.limits_cache || d->plan.memory_bytes)
        return rc;
    if (find_group(&cache_only, &c) < 0) {
        read_uncached(d, data, task);
        rc = guard_open(&d->plan, out);
    }
    ceiling_release(&c);
    return rc;
}

static int has_failed(const struct guard_demand *d, const struct guard_report *r)
{
    const int no_cache = d->plan.limits_cache && !r->cache_began,
              no_ingest = d->plan.ingest && r->ingest.error;

    if (no_cache)
        warning("--cache was never in force, and nothing was measured under it: %s",
                r->words[0] ? r->words : "the run ended before its warm-up did (--warm)");
    if (no_ingest)
        warning("the ingest failed, and nothing beside the run was measured: %s", r->ingest.words);
    return no_cache || no_ingest;
}

int guard_demand_judge(const struct guard_demand *d, struct guard *g, int code)
{
    if (!g || !has_failed(d, guard_report(g)))
        return code;
    return code == EXIT_REACHED ? EXIT_UNTRUSTWORTHY : code;
}

/* ---- for --dry-run ---- */

/* The words as a shell takes them. */
static void print_words(char *const *argv)
{
    for (; *argv; argv++) {
        const int plain = !(*argv)[strcspn(*argv, " \t\n\"'\\$`&|;<>()*?[]#~")];
        printf(plain ? " %s" : " '%s'", *argv);
    }
    printf("\n");
}

static void print_ingest(const struct guard_demand *d)
{
    const struct ingest_settings *const s = d->plan.ingest;
    char version[64], *const folder = ingest_folder(s, d->dir), **argv;
    const struct ingest_job job = {d->dir, folder, version};
    struct str spec = STR_INIT;

    ingest_add_spec(s, &spec);
    printf("ingest: %s\n", spec.s);
    if (ingest_check(s, d->dir, version, sizeof(version)) < 0) {
        printf("  %s\n", err_reason());
    } else {
        argv = ingest_argv(s, &job);
        printf("  up to %.1f MiB in %s, of %.1f MiB that are free; %s is asked:\n ",
               (double)ingest_bytes(s) / 0x1p20, folder, (double)file_free_bytes(folder) / 0x1p20,
               version);
        print_words(argv);
        ingest_argv_free(argv);
    }
    str_release(&spec);
    free(folder);
}

static void print_part(const char *name, long long n, const char *unit)
{
    if (n > 0)
        printf("%s %.1f %s; ", name, (double)n / 0x1p20, unit);
}

void guard_demand_print(const struct guard_demand *d)
{
    struct ceiling c = {0};

    if (d->plan.ingest)
        print_ingest(d);
    if (!d->plan.memory_bytes && !d->plan.limits_cache && !d->plan.disk_bytes_per_s)
        return;
    printf("ceiling: ");
    print_part("memory", d->plan.memory_bytes, "MiB");
    print_part("beyond the memory of warm-up", d->plan.cache_bytes, "MiB");
    if (d->plan.limits_cache && d->plan.cache_bytes == 0)
        printf("beyond the memory of warm-up nothing; ");
    print_part("disk", d->plan.disk_bytes_per_s, "MiB/s");
    if (find_group(&d->plan, &c) < 0)
        printf("%s\n", err_reason());
    else if (c.n_groups)
        printf("%s in %s\n", c.how, c.groups[0].path);
    else
        printf("none\n");
    ceiling_release(&c);
}
