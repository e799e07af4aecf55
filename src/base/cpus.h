/* How many processors this process may really use: the smallest of the affinity mask and every
 * cgroup quota from the process's own group up to the root, version 1 or 2. Rounded up from a
 * fraction, at least 1. */
#ifndef STAVE_BASE_CPUS_H
#define STAVE_BASE_CPUS_H

#include <stdint.h>

struct cpus {
    int count;           /* what to use */
    int affinity;        /* bits in the mask */
    int online;          /* processors the machine shows */
    double quota;        /* processors' worth of time; 0 when there is no limit */
    long long throttled; /* periods in which a quota held the process's groups up, since these were
                            made; -1: no group says */
    char mask[160];      /* the processors allowed, "0-3,8"; cut when longer, "" when not known */
    char how[160];       /* one phrase: where the limit came from */
};

/* root is "" for the real machine, or a folder holding proc/ and sys/ for tests. */
int cpus_find(const char *root, struct cpus *c);

/* The next range of a list such as "0-3,8": 1, at the end 0, and -1 for one that is no range. */
struct cpus_range {
    long first, last;
};
int cpus_list_next(const char **list, struct cpus_range *out);

/* How long the living threads of this process have wanted a processor and waited for one, added up
 * since each began, nanoseconds (/proc/self/task/N/schedstat); -1 when the system does not say. */
int64_t cpus_waited_ns(void);

#endif
