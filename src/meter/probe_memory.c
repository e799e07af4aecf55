/* Memory of this process's group (memory.stat), the lowest limit over it, and the process's own
 * resident pages. */
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cgroup.h"
#include "base/err.h"
#include "meter/meter.h"
#include "meter/probe.h"

enum { MAX_GROUPS = 8, STAT_BYTES = 8192, N_PARTS = 3 };

/* Version 1 says "no limit" with a number that is as large as may be. */
#define NO_LIMIT 0x1p60

static const char *const columns_of[N_PARTS] = {"memory_anon_bytes", "memory_file_bytes",
                                                "memory_shmem_bytes"};
/* With the groups below; in version 1 these are those with total_ in front. */
static const char *const words_of[2][N_PARTS] = {{"total_rss", "total_cache", "total_shmem"},
                                                 {"anon", "file", "shmem"}};

struct memory {
    int stat, statm;
    const char *const *words;
    int limits[MAX_GROUPS];
    size_t n_limits;
    double page;
};

/* The first group that has one is the process's own, or the nearest that can be seen. */
static void look(void *context, const struct cgroup_dir *dir)
{
    struct memory *const p = context;
    const int fd = probe_open(dir->root, "%s/memory.stat", dir->path);
    const int limit = probe_open(dir->root, "%s/%s", dir->path,
                                 dir->version == 2 ? "memory.max" : "memory.limit_in_bytes");
    const char *const *const words = words_of[dir->version == 2];
    char text[STAT_BYTES];

    if (p->stat < 0 && !isnan(probe_field(probe_again(fd, text, sizeof(text)), words[0]))) {
        p->stat = fd;
        p->words = words;
    } else {
        probe_close(fd);
    }
    if (limit >= 0 && p->n_limits < MAX_GROUPS)
        p->limits[p->n_limits++] = limit;
    else
        probe_close(limit);
}

static int memory_open(void **state, const struct meter_place *place, struct meter_columns *columns)
{
    struct memory *const p = xcalloc(1, sizeof(*p));

    p->stat = -1;
    p->page = (double)sysconf(_SC_PAGESIZE);
    p->statm = probe_open(place->root, "/proc/self/statm");
    cgroup_walk(place->root, "memory", look, p);
    for (int i = 0; p->stat >= 0 && i < N_PARTS; i++)
        meter_column(columns, METER_LEVEL, columns_of[i]);
    if (p->n_limits > 0)
        meter_column(columns, METER_LEVEL, "memory_limit_bytes");
    if (p->statm >= 0)
        meter_column(columns, METER_LEVEL, "process_rss_bytes");
    *state = p;
    return 0;
}

/* Limits may be set while the run is at work. NAN when there is none. */
static double lowest_limit(const struct memory *p)
{
    char text[64];
    double lowest = NAN;

    for (size_t i = 0; i < p->n_limits; i++) {
        const char *at = probe_again(p->limits[i], text, sizeof(text));
        const double limit = probe_whole(&at); /* "max" is no number */
        if (limit < NO_LIMIT)
            lowest = fmin(lowest, limit);
    }
    return lowest;
}

/* "size resident shared ..." in pages (proc_pid_statm(5)). */
static double resident(const struct memory *p)
{
    char text[128];
    const char *at = probe_again(p->statm, text, sizeof(text));

    return isnan(probe_whole(&at)) ? NAN : p->page * probe_whole(&at);
}

static void memory_sample(void *state, double seconds, double *values)
{
    struct memory *const p = state;
    char text[STAT_BYTES];

    (void)seconds;
    if (p->stat >= 0)
        probe_again(p->stat, text, sizeof(text));
    for (int i = 0; p->stat >= 0 && i < N_PARTS; i++)
        *values++ = probe_field(text, p->words[i]);
    if (p->n_limits > 0)
        *values++ = lowest_limit(p);
    if (p->statm >= 0)
        *values = resident(p);
}

static void memory_close(void *state)
{
    struct memory *const p = state;

    probe_close(p->stat);
    probe_close(p->statm);
    for (size_t i = 0; i < p->n_limits; i++)
        probe_close(p->limits[i]);
    free(p);
}

const struct probe_ops probe_memory = {"memory", memory_open, memory_sample, memory_close, NULL};
