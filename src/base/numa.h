/* The memory nodes of the machine that have processors of this process: a thread that stays on one
 * node's processors finds what it allocated and filled in memory nearby. Linux:
 * /sys/devices/system/node. */
#ifndef STAVE_BASE_NUMA_H
#define STAVE_BASE_NUMA_H

#include <sched.h>

enum { NUMA_MAX_NODES = 64 };

/* Nodes none of whose processors are allowed are left out. One node, or none known: nothing to
 * choose. */
struct numa {
    int n;
    cpu_set_t cpus[NUMA_MAX_NODES];
};

/* root as in cpus.h; allowed: processors to count, those of the process's affinity. */
void numa_find(const char *root, const cpu_set_t *allowed, struct numa *out);
/* The node for thread i of n_threads, so that each node gets a share of the threads in proportion
 * to its processors. */
int numa_node_of(const struct numa *n, int i, int n_threads);

#endif
