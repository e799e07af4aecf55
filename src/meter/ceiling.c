#include "meter/ceiling.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cgroup.h"
#include "base/clock.h"
#include "base/err.h"

enum { ATTEMPTS = 50 };
static const int64_t pause_ns = 20000000; /* between attempts: a second in all */

static int put(const char *root, const char *dir, const char *file, const char *text)
{
    char *const path = xasprintf("%s%s/%s", root, dir, file);
    const int fd = open(path, O_WRONLY | O_CLOEXEC);
    int rc = 0;

    if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
        rc = err(errno == ENOENT ? E_UNSUPPORTED : E_IO, "write %s to %s: %s", text, path,
                 strerror(errno));
    if (fd >= 0)
        close(fd);
    free(path);
    return rc;
}

static int put_number(const char *root, const char *dir, const char *file, long long n)
{
    char text[32];

    snprintf(text, sizeof(text), "%lld", n);
    return put(root, dir, file, text);
}

static int has_file(const char *root, const char *dir, const char *file)
{
    char *const path = xasprintf("%s%s/%s", root, dir, file);
    const int there = access(path, F_OK) == 0;

    free(path);
    return there;
}

/* ---- making and joining ---- */

static int is_empty(const char *root, const char *group)
{
    char *const list = cgroup_read(&(struct cgroup_dir){root, group, 2}, "cgroup.procs");
    const int empty = list && !list[strspn(list, " \n")];

    free(list);
    return empty;
}

/* An empty one of a killed process that had this number is taken over, without its limits. What can
 * not be removed because files are in it is no group of the kernel's, which has no such files. */
static int renew(const char *root, const char *group, const char *path)
{
    if (!is_empty(root, group))
        return 0;
    return rmdir(path) == 0 ? mkdir(path, 0755) == 0 : errno == ENOTEMPTY;
}

static int make_group(const char *root, const char *group)
{
    char *const path = xasprintf("%s%s", root, group);
    int rc = 0;

    if (mkdir(path, 0755) < 0 && !(errno == EEXIST && renew(root, group, path)))
        rc = err(E_IO, "make the control group %s: %s", path, strerror(errno));
    free(path);
    return rc;
}

/* Moves all processes of a group. New ones may come while this goes on. */
static int move_all(const char *root, const char *from, const char *to)
{
    for (int i = 0; i < ATTEMPTS; i++) {
        char *const list = cgroup_read(&(struct cgroup_dir){root, from, 2}, "cgroup.procs");
        int rc = 0, n = 0;
        for (char *p = list, *end; p && *p; p = end + strspn(end, "\n")) {
            const long long pid = strtoll(p, &end, 10);
            if (end == p)
                break;
            n++;
            rc = put_number(root, to, "cgroup.procs", pid);
        }
        free(list);
        if (n == 0)
            return 0;
        if (rc < 0 && i + 1 == ATTEMPTS)
            return rc;
    }
    return err(E_IO, "the control group %s does not become empty", from);
}

/* "memory io" as "+memory +io". */
static int switch_controllers(const char *root, const struct ceiling_group *g, char sign)
{
    char *const words = xstrdup(g->off ? g->off : "");
    char *save = NULL;
    int rc = 0;

    for (char *w = strtok_r(words, " ", &save); w && rc == 0; w = strtok_r(NULL, " ", &save)) {
        char *const text = xasprintf("%c%s", sign, w);
        rc = put(root, g->back, "cgroup.subtree_control", text);
        free(text);
    }
    free(words);
    return rc;
}

static int make_all(struct ceiling *c, size_t *made)
{
    for (; *made < c->n_groups; ++*made)
        TRY(make_group(c->root, c->groups[*made].path));
    if (c->rest)
        TRY(move_all(c->root, c->rest->back, c->rest->path));
    for (size_t i = 0; i < c->n_groups; i++)
        TRY(switch_controllers(c->root, &c->groups[i], '+'));
    return 0;
}

int ceiling_make(struct ceiling *c)
{
    size_t made = 0;
    const int rc = make_all(c, &made);
    char *reason;

    if (rc == 0)
        return 0;
    reason = xstrdup(err_reason());
    /* Of what was there before nothing. */
    ceiling_remove(c->root, c->groups, made);
    err(rc, "%s", reason);
    free(reason);
    return rc;
}

int ceiling_join(const struct ceiling *c, pid_t run)
{
    for (size_t i = 0; i < c->n_groups; i++)
        if (&c->groups[i] != c->rest)
            TRY(put_number(c->root, c->groups[i].path, "cgroup.procs", run));
    return 0;
}

/* ---- limits ---- */

/* The kernel says EBUSY when it could not give back enough at once. memsw counts swap, too, exists
 * where that is counted, and is never below the other one. */
static int limit_memory_v1(const char *root, const char *dir, long long bytes)
{
    const int swap = has_file(root, dir, "memory.memsw.limit_in_bytes");
    int rc = E_IO;

    if (!swap && has_file(root, dir, "memory.swappiness"))
        TRY(put(root, dir, "memory.swappiness", "0"));
    for (int i = 0; i < ATTEMPTS && rc < 0; i++) {
        if (i)
            clock_sleep_ns(pause_ns);
        rc = put_number(root, dir, "memory.limit_in_bytes", bytes);
        if (swap)
            rc = put_number(root, dir, "memory.memsw.limit_in_bytes", bytes);
        if (swap && rc == 0)
            rc = put_number(root, dir, "memory.limit_in_bytes", bytes);
    }
    return rc;
}

/* memory.high only gives back; E_IO when that is not enough. */
static int give_back_v2(const char *root, const char *dir, long long bytes)
{
    long long held = 0;

    for (int i = 0; i < ATTEMPTS; i++) {
        if (i)
            clock_sleep_ns(pause_ns);
        TRY(put_number(root, dir, "memory.high", bytes));
        if (!cgroup_read_number(&(struct cgroup_dir){root, dir, 2}, "memory.current", &held) ||
            held <= bytes)
            return 0;
    }
    put(root, dir, "memory.high", "max");
    return err(E_IO,
               "the control group %s holds %lld bytes and gives back no more; %lld were asked", dir,
               held, bytes);
}

/* memory.max kills when not enough can be given back at once. */
static int limit_memory_v2(const char *root, const char *dir, long long bytes)
{
    if (has_file(root, dir, "memory.swap.max"))
        TRY(put(root, dir, "memory.swap.max", "0"));
    if (has_file(root, dir, "memory.high"))
        TRY(give_back_v2(root, dir, bytes));
    TRY(put_number(root, dir, "memory.max", bytes));
    return has_file(root, dir, "memory.high") ? put(root, dir, "memory.high", "max") : 0;
}

int ceiling_limit_memory(const struct ceiling *c, long long bytes)
{
    const char *const dir = c->of[CEILING_MEMORY]->path;

    return c->version[CEILING_MEMORY] == 1 ? limit_memory_v1(c->root, dir, bytes)
                                           : limit_memory_v2(c->root, dir, bytes);
}

int ceiling_limit_disk(const struct ceiling *c, unsigned major, unsigned minor,
                       long long bytes_per_s)
{
    const char *const dir = c->of[CEILING_DISK]->path;
    const int v1 = c->version[CEILING_DISK] == 1;
    char *const text =
        v1 ? xasprintf("%u:%u %lld", major, minor, bytes_per_s)
           : xasprintf("%u:%u rbps=%lld wbps=%lld", major, minor, bytes_per_s, bytes_per_s);
    int rc = put(c->root, dir, v1 ? "blkio.throttle.read_bps_device" : "io.max", text);

    if (v1 && rc == 0)
        rc = put(c->root, dir, "blkio.throttle.write_bps_device", text);
    free(text);
    return rc;
}

/* ---- what it uses ---- */

static const struct names {
    const char *all, *anon, *shmem, *file, *events;
} versions[] = {
    [1] = {"memory.usage_in_bytes", "rss", "shmem", "cache", "memory.oom_control"},
    [2] = {"memory.current", "anon", "shmem", "file", "memory.events"},
};

static void read_stat(const struct cgroup_dir *dir, struct ceiling_use *out)
{
    const struct names *const n = &versions[dir->version];
    char *const stat = cgroup_read(dir, "memory.stat");
    long long all, anon, shmem, file;

    if (cgroup_field(stat, n->anon, &anon) && cgroup_field(stat, n->shmem, &shmem) &&
        cgroup_field(stat, n->file, &file) && cgroup_read_number(dir, n->all, &all)) {
        out->anon = anon + shmem;
        out->cache = file > shmem ? file - shmem : 0; /* which counts shared memory as well */
        out->held = all - out->cache > out->anon ? all - out->cache : out->anon;
    }
    free(stat);
}

void ceiling_read(const struct ceiling *c, struct ceiling_use *out)
{
    const struct ceiling_group *const g = c->of[CEILING_MEMORY];
    const int version = c->version[CEILING_MEMORY];
    char *events;

    *out = (struct ceiling_use){-1, -1, -1, -1};
    if (!g)
        return;
    read_stat(&(struct cgroup_dir){c->root, g->path, version}, out);
    events = cgroup_read(&(struct cgroup_dir){c->root, g->path, version}, versions[version].events);
    cgroup_field(events, "oom_kill", &out->oom_kills);
    free(events);
}

/* ---- removing ---- */

/* A process that was killed stays in its group until it is quite gone. */
static int remove_group(const char *root, const struct ceiling_group *g)
{
    char *const path = xasprintf("%s%s", root, g->path);
    int rc = -1;

    for (int i = 0; i < ATTEMPTS && rc < 0; i++) {
        if (i)
            clock_sleep_ns(pause_ns);
        move_all(root, g->path, g->back);
        rc = rmdir(path);
        if (rc < 0 && errno == ENOENT)
            rc = 0;
        else if (rc < 0 && errno != EBUSY)
            break;
    }
    if (rc < 0)
        rc = err(E_IO, "remove the control group %s: %s", path, strerror(errno));
    free(path);
    return rc;
}

static int is_one_of(const struct ceiling_group *groups, size_t n, const char *path)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(groups[i].path, path) == 0)
            return 1;
    return 0;
}

/* Another group below: what was switched on is in use there. */
static int has_others(const char *root, const struct ceiling_group *groups, size_t n,
                      const char *back)
{
    char *const path = xasprintf("%s%s", root, back);
    DIR *const list = opendir(path);
    const struct dirent *e;
    int others = 0;

    while (list && !others && (e = readdir(list))) {
        char *const child = xasprintf("%s/%s", strcmp(back, "/") ? back : "", e->d_name);
        others = e->d_type == DT_DIR && e->d_name[0] != '.' && !is_one_of(groups, n, child);
        free(child);
    }
    if (list)
        closedir(list);
    free(path);
    return others;
}

/* Controllers go first: a group that has some switched on takes no processes back. */
int ceiling_remove(const char *root, const struct ceiling_group *groups, size_t n)
{
    int rc = 0;

    for (size_t i = 0; i < n; i++)
        if (groups[i].off && groups[i].off[0] && !has_others(root, groups, n, groups[i].back))
            switch_controllers(root, &groups[i], '-');
    for (size_t i = 0; i < n; i++) {
        const int failed = remove_group(root, &groups[i]);
        rc = failed < 0 ? failed : rc;
    }
    return rc;
}
