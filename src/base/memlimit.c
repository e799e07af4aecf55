#include "base/memlimit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cgroup.h"

/* Version 1 says "no limit" as the largest number of whole pages. */
static const long long most_v1 = 1LL << 62;

/* The files and words of each version. */
static const struct version {
    const char *limit, *anon, *shmem, *cache, *events;
} versions[] = {
    [1] = {"memory.limit_in_bytes", "total_rss", "total_shmem", "total_cache",
           "memory.oom_control"},
    [2] = {"memory.max", "anon", "shmem", "file", "memory.events"},
};

static uint64_t field_or_zero(const char *text, const char *word)
{
    long long v;

    return cgroup_field(text, word, &v) && v > 0 ? (uint64_t)v : 0;
}

/* The kernel counts a kill where the victim was: the own group, which is visited first. */
static void note_kills(struct memlimit *m, const struct cgroup_dir *dir)
{
    char *const events = cgroup_read(dir, versions[dir->version].events);
    long long kills;

    if (m->oom_kills < 0 && cgroup_field(events, "oom_kill", &kills) && kills >= 0)
        m->oom_kills = kills;
    free(events);
}

static void note_limit(struct memlimit *m, const struct cgroup_dir *dir, uint64_t limit)
{
    const struct version *const v = &versions[dir->version];
    char *const stat = cgroup_read(dir, "memory.stat");
    const uint64_t shmem = field_or_zero(stat, v->shmem), cache = field_or_zero(stat, v->cache);

    m->limit = limit;
    m->held = field_or_zero(stat, v->anon) + shmem;
    m->cache = cache > shmem ? cache - shmem : 0;
    snprintf(m->how, sizeof(m->how), "cgroup v%d limit in %s", dir->version, dir->path);
    free(stat);
}

static void visit_group(void *context, const struct cgroup_dir *dir)
{
    struct memlimit *const m = context;
    long long limit;

    note_kills(m, dir);
    if (cgroup_read_number(dir, versions[dir->version].limit, &limit) && limit >= 0 &&
        (dir->version == 2 || limit < most_v1) && (m->limit == 0 || (uint64_t)limit < m->limit))
        note_limit(m, dir, (uint64_t)limit);
}

static void find_machine(const char *root, struct memlimit *m)
{
    char *const text = cgroup_slurp(root, "/proc/meminfo");
    const uint64_t shmem = 1024 * field_or_zero(text, "Shmem:");
    const uint64_t cache = 1024 * field_or_zero(text, "Cached:");

    m->limit = 1024 * field_or_zero(text, "MemTotal:");
    m->held = 1024 * field_or_zero(text, "AnonPages:") + shmem;
    m->cache = cache > shmem ? cache - shmem : 0;
    snprintf(m->how, sizeof(m->how), "%s", m->limit ? "the machine's memory" : "no limit is known");
    free(text);
}

void memlimit_find(const char *root, struct memlimit *m)
{
    *m = (struct memlimit){.oom_kills = -1};
    find_machine(root, m);
    cgroup_walk(root, "memory", visit_group, m);
}

uint64_t memlimit_left(const struct memlimit *m)
{
    if (m->limit == 0)
        return UINT64_MAX;
    return m->limit > m->held ? m->limit - m->held : 0;
}
