#include "base/cpus.h"

#include <errno.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/str.h"

/* Files below /proc and /sys state no size, so they are read as streams. NULL when unreadable. */
static char *slurp(const char *root, const char *path)
{
    char *name = xasprintf("%s%s", root, path);
    FILE *f = fopen(name, "re");
    struct str text = STR_INIT;
    char buf[4096];
    size_t n;

    free(name);
    if (!f)
        return NULL;
    while (text.len < 4u << 20 && (n = fread(buf, 1, sizeof(buf), f)) > 0)
        str_add_bytes(&text, buf, n);
    fclose(f);
    return str_detach(&text);
}

/* "0-3,8" names five processors. 0 when it is no such list. */
static int count_list(const char *s)
{
    int n = 0;

    while (*s >= '0' && *s <= '9') {
        char *end;
        const long first = strtol(s, &end, 10);
        long last = first;

        if (*end == '-')
            last = strtol(end + 1, &end, 10);
        if (last < first || last - first > 1 << 20 || n > 1 << 20)
            return 0;
        n += (int)(last - first) + 1;
        s = *end == ',' ? end + 1 : end;
    }
    return n;
}

static int count_online(const char *root)
{
    char *list = slurp(root, "/sys/devices/system/cpu/online");
    int n = list ? count_list(list) : 0;

    free(list);
    if (!n && !*root)
        n = (int)sysconf(_SC_NPROCESSORS_ONLN);
    return n > 0 ? n : 0;
}

/* The mask has as many bits as the kernel was built for, which may be more than cpu_set_t holds. */
static int count_own_mask(void)
{
    for (int bits = 1024; bits <= 1 << 20; bits *= 2) {
        cpu_set_t *set = CPU_ALLOC((size_t)bits);
        const size_t bytes = CPU_ALLOC_SIZE((size_t)bits);
        const int ok = set && sched_getaffinity(0, bytes, set) == 0;
        const int n = ok ? CPU_COUNT_S(bytes, set) : 0;

        CPU_FREE(set);
        if (ok || errno != EINVAL)
            return n;
    }
    return 0;
}

static int count_affinity(const char *root)
{
    static const char key[] = "\nCpus_allowed_list:";
    char *status, *list;
    int n;

    if (!*root)
        return count_own_mask();
    status = slurp(root, "/proc/self/status");
    list = status ? strstr(status, key) : NULL;
    n = list ? count_list(list + strlen(key) + strspn(list + strlen(key), " \t")) : 0;
    free(status);
    return n;
}

/* Quota files of one group; 0 when there is no limit or nothing readable. */
static double quota_v2(const char *root, const char *dir)
{
    char *path = xasprintf("%s/cpu.max", dir);
    char *text = slurp(root, path);
    long long quota, period;
    double limit = 0;

    if (text && sscanf(text, "%lld %lld", &quota, &period) == 2 && quota > 0 && period > 0)
        limit = (double)quota / (double)period;
    free(text);
    free(path);
    return limit;
}

static long long read_number(const char *root, const char *dir, const char *name)
{
    char *path = xasprintf("%s/%s", dir, name);
    char *text = slurp(root, path);
    const long long v = text ? strtoll(text, NULL, 10) : 0;

    free(text);
    free(path);
    return v;
}

static double quota_v1(const char *root, const char *dir)
{
    const long long quota = read_number(root, dir, "cpu.cfs_quota_us"); /* -1: no limit */
    const long long period = read_number(root, dir, "cpu.cfs_period_us");

    return quota > 0 && period > 0 ? (double)quota / (double)period : 0;
}

/* One mounted hierarchy that can carry a quota. */
struct hierarchy {
    int version;
    char *mount; /* where it is mounted */
    char *top;   /* which group of the hierarchy the mount shows as its root */
    char *group; /* the process's own group, from the hierarchy's root */
};

/* Keeps the smallest quota from the process's group up to the mount. A group that the mount does
 * not show (a container sees only its own subtree) has no files there, and the walk ends at the
 * mount itself, which is the container's own group. */
static void walk(const char *root, const struct hierarchy *h, struct cpus *c)
{
    const size_t top = strcmp(h->top, "/") == 0 ? 0 : strlen(h->top);
    const int shown = !strstr(h->group, "/..") && strncmp(h->group, h->top, top) == 0 &&
                      (h->group[top] == '/' || !h->group[top]);
    char *dir = xasprintf("%s%s", h->mount, shown ? h->group + top : "");
    const size_t mount = strlen(h->mount);

    for (size_t n = strlen(dir); n >= mount; n--) {
        if (n > mount && ((dir[n] != '/' && dir[n] != '\0') || dir[n - 1] == '/'))
            continue;
        dir[n] = '\0';
        const double limit = (h->version == 2 ? quota_v2 : quota_v1)(root, dir);
        if (limit > 0 && (c->quota == 0 || limit < c->quota)) {
            c->quota = limit;
            snprintf(c->how, sizeof(c->how), "cgroup v%d quota of %.2f processors in %s",
                     h->version, limit, dir);
        }
    }
    free(dir);
}

static int has_word(const char *list, const char *word)
{
    const size_t n = strlen(word);

    for (const char *p = list; p; p = strchr(p, ',')) {
        p += *p == ',';
        if (strncmp(p, word, n) == 0 && (!p[n] || p[n] == ','))
            return 1;
    }
    return 0;
}

/* Fills mount and top from /proc/self/mountinfo: "31 23 0:28 TOP MOUNT options - TYPE source
 * SUPEROPTIONS". Returns 0 when the hierarchy is not mounted. */
static int find_mount(char *mountinfo, struct hierarchy *h)
{
    char *save = NULL;

    for (char *line = strtok_r(mountinfo, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
        char top[2048], mount[2048], type[64], super[2048];
        const char *tail = strstr(line, " - ");

        if (!tail || sscanf(line, "%*s %*s %*s %2047s %2047s", top, mount) != 2 ||
            sscanf(tail, " - %63s %*s %2047s", type, super) != 2)
            continue;
        if (h->version == 2 ? strcmp(type, "cgroup2") != 0
                            : strcmp(type, "cgroup") != 0 || !has_word(super, "cpu"))
            continue;
        h->top = xstrdup(top);
        h->mount = xstrdup(mount);
        return 1;
    }
    return 0;
}

/* Without a mount table: the places every distribution uses. */
static void guess_mount(const char *root, struct hierarchy *h)
{
    static const char *const v1[] = {"/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpu,cpuacct"};
    static const char *const v2[] = {"/sys/fs/cgroup/unified", "/sys/fs/cgroup"};
    const char *const *const places = h->version == 2 ? v2 : v1;
    char *name = xasprintf("%s%s", root, places[0]);

    h->mount = xstrdup(places[access(name, F_OK) == 0 ? 0 : 1]);
    h->top = xstrdup("/");
    free(name);
}

static void check_hierarchy(const char *root, struct hierarchy h, struct cpus *c)
{
    char *mountinfo = slurp(root, "/proc/self/mountinfo");

    if (!mountinfo)
        guess_mount(root, &h);
    else if (!find_mount(mountinfo, &h))
        h.mount = h.top = NULL;
    free(mountinfo);
    if (h.mount)
        walk(root, &h, c);
    free(h.mount);
    free(h.top);
}

/* Lines of /proc/self/cgroup: "0::/path" is version 2, "4:cpu,cpuacct:/path" version 1. Both occur
 * at once on hybrid machines; the quota is where somebody wrote one. */
static void find_quota(const char *root, struct cpus *c)
{
    char *text = slurp(root, "/proc/self/cgroup"), *save = NULL;

    for (char *line = text ? strtok_r(text, "\n", &save) : NULL; line;
         line = strtok_r(NULL, "\n", &save)) {
        char *list = strchr(line, ':'), *group = list ? strchr(list + 1, ':') : NULL;

        if (!group || group[1] != '/')
            continue;
        *group++ = '\0';
        if (!list[1])
            check_hierarchy(root, (struct hierarchy){.version = 2, .group = group}, c);
        else if (has_word(list + 1, "cpu"))
            check_hierarchy(root, (struct hierarchy){.version = 1, .group = group}, c);
    }
    free(text);
}

int cpus_find(const char *root, struct cpus *c)
{
    *c = (struct cpus){.online = count_online(root), .affinity = count_affinity(root)};
    c->count = c->affinity ? c->affinity : c->online;
    if (c->count == 0)
        return err(E_IO,
                   "neither %s/proc/self/status nor %s/sys/devices/system/cpu/online says "
                   "how many processors there are; give --num-threads",
                   root, root);
    find_quota(root, c);
    if (c->quota > 0 && ceil(c->quota) < c->count)
        c->count = (int)ceil(c->quota);
    else if (c->count < c->online)
        snprintf(c->how, sizeof(c->how), "affinity mask of %d of %d processors", c->count,
                 c->online);
    else
        snprintf(c->how, sizeof(c->how), "all %d processors of the machine", c->count);
    return 0;
}
