#include "base/numa.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/cgroup.h"
#include "base/cpus.h"

/* The processors of a list such as "0-3,8" that are allowed. */
static void read_list(const char *list, const cpu_set_t *allowed, cpu_set_t *out)
{
    struct cpus_range r;

    CPU_ZERO(out);
    while (cpus_list_next(&list, &r) > 0)
        for (long i = r.first; i <= r.last && i < CPU_SETSIZE; i++)
            if (CPU_ISSET((size_t)i, allowed))
                CPU_SET((size_t)i, out);
}

/* Numbers may have gaps. */
void numa_find(const char *root, const cpu_set_t *allowed, struct numa *out)
{
    out->n = 0;
    for (int node = 0; node < NUMA_MAX_NODES; node++) {
        char path[64];
        char *list;

        snprintf(path, sizeof(path), "/sys/devices/system/node/node%d/cpulist", node);
        list = cgroup_slurp(root, path);
        if (!list)
            continue;
        read_list(list, allowed, &out->cpus[out->n]);
        out->n += CPU_COUNT(&out->cpus[out->n]) > 0;
        free(list);
    }
}

int numa_node_of(const struct numa *n, int i, int n_threads)
{
    int total = 0, node = 0;
    double at;

    for (int k = 0; k < n->n; k++)
        total += CPU_COUNT(&n->cpus[k]);
    at = (i + 0.5) * total / n_threads;
    while (node < n->n - 1 && at >= CPU_COUNT(&n->cpus[node]))
        at -= CPU_COUNT(&n->cpus[node++]);
    return node;
}
