#include "base/cpus.h"

#include <errno.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cgroup.h"
#include "base/err.h"
#include "base/file.h"

int cpus_list_next(const char **list, struct cpus_range *out)
{
    char *end;

    if (**list < '0' || **list > '9')
        return 0;
    out->first = out->last = strtol(*list, &end, 10);
    if (*end == '-')
        out->last = strtol(end + 1, &end, 10);
    if (out->last < out->first || out->last - out->first > 1 << 20)
        return -1;
    *list = *end == ',' ? end + 1 : end;
    return 1;
}

/* "0-3,8" names five processors. 0 when it is no such list. */
static int count_list(const char *s)
{
    struct cpus_range r;
    int n = 0, rc;

    while ((rc = cpus_list_next(&s, &r)) > 0 && n <= 1 << 20)
        n += (int)(r.last - r.first) + 1;
    return rc < 0 || n > 1 << 20 ? 0 : n;
}

static int count_online(const char *root)
{
    char *list = cgroup_slurp(root, "/sys/devices/system/cpu/online");
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

/* The list of processors in /proc/self/status, "0-3,8", into mask. Returns how many it names. */
static int read_mask(const char *root, char *mask, size_t n)
{
    static const char key[] = "\nCpus_allowed_list:";
    char *const status = cgroup_slurp(root, "/proc/self/status");
    const char *list = status ? strstr(status, key) : NULL;
    int count = 0;

    mask[0] = '\0';
    if (list) {
        list += strlen(key) + strspn(list + strlen(key), " \t");
        snprintf(mask, n, "%.*s", (int)strcspn(list, "\n"), list);
        count = count_list(list);
    }
    free(status);
    return count;
}

static int count_affinity(const char *root, struct cpus *c)
{
    const int listed = read_mask(root, c->mask, sizeof(c->mask));

    return *root ? listed : count_own_mask();
}

/* Quotas of one group; 0 when there is no limit or nothing readable. */
static double quota_v2(const struct cgroup_dir *dir)
{
    char *const text = cgroup_read(dir, "cpu.max");
    long long quota, period;
    double limit = 0;

    if (text && sscanf(text, "%lld %lld", &quota, &period) == 2 && quota > 0 && period > 0)
        limit = (double)quota / (double)period;
    free(text);
    return limit;
}

static double quota_v1(const struct cgroup_dir *dir)
{
    long long quota, period; /* a quota of -1: no limit */

    if (!cgroup_read_number(dir, "cpu.cfs_quota_us", &quota) ||
        !cgroup_read_number(dir, "cpu.cfs_period_us", &period))
        return 0;
    return quota > 0 && period > 0 ? (double)quota / (double)period : 0;
}

/* Keeps the smallest quota, and how often any group of the tree was held up by its own. */
static void visit_group(void *context, const struct cgroup_dir *dir)
{
    struct cpus *const c = context;
    const double limit = (dir->version == 2 ? quota_v2 : quota_v1)(dir);
    char *const stat = cgroup_read(dir, "cpu.stat");
    long long throttled;

    if (cgroup_field(stat, "nr_throttled", &throttled) && throttled >= 0)
        c->throttled = (c->throttled > 0 ? c->throttled : 0) + throttled;
    free(stat);
    if (limit > 0 && (c->quota == 0 || limit < c->quota)) {
        c->quota = limit;
        snprintf(c->how, sizeof(c->how), "cgroup v%d quota of %.2f processors in %s", dir->version,
                 limit, dir->path);
    }
}

int cpus_find(const char *root, struct cpus *c)
{
    *c = (struct cpus){.online = count_online(root), .throttled = -1};
    c->affinity = count_affinity(root, c);
    c->count = c->affinity ? c->affinity : c->online;
    if (c->count == 0)
        return err(E_IO,
                   "neither %s/proc/self/status nor %s/sys/devices/system/cpu/online says "
                   "how many processors there are; give --num-threads",
                   root, root);
    cgroup_walk(root, "cpu", visit_group, c);
    if (c->quota > 0 && ceil(c->quota) < c->count)
        c->count = (int)ceil(c->quota);
    else if (c->count < c->online)
        snprintf(c->how, sizeof(c->how), "affinity mask of %d of %d processors", c->count,
                 c->online);
    else
        snprintf(c->how, sizeof(c->how), "all %d processors of the machine", c->count);
    return 0;
}

int64_t cpus_waited_ns(void)
{
    static const char tasks[] = "/proc/self/task";
    struct file_names names;
    int64_t sum = -1;

    if (file_list(tasks, &names) < 0)
        return -1;
    for (size_t i = 0; i < names.n; i++) {
        char path[64];
        char *text;
        long long ran, waited;

        snprintf(path, sizeof(path), "%s/%.20s/schedstat", tasks, names.all[i]);
        text = cgroup_slurp("", path); /* NULL when the thread has ended since */
        if (text && sscanf(text, "%lld %lld", &ran, &waited) == 2)
            sum = (sum < 0 ? 0 : sum) + waited;
        free(text);
    }
    file_names_release(&names);
    return sum;
}
