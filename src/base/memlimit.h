/* How much memory this process may really use: the smallest of the machine's and every cgroup limit
 * from the process's own group up to the root, version 1 or 2. Page cache that a group has pulled
 * in counts toward its limit but is given back under pressure, so it is told apart. Bytes. */
#ifndef STAVE_BASE_MEMLIMIT_H
#define STAVE_BASE_MEMLIMIT_H

#include <stdint.h>

struct memlimit {
    uint64_t limit;      /* 0: not known */
    uint64_t held;       /* of it, by whom it counts already: anonymous and shared memory */
    uint64_t cache;      /* of it, page cache that can be given back */
    long long oom_kills; /* processes of the own group that the kernel killed for want of memory,
                            since it was made; -1: no group says */
    char how[200];       /* one phrase: where the limit came from */
};

/* root is "" for the real machine, or a folder holding proc/ and sys/ for tests. What can not be
 * read is no limit. */
void memlimit_find(const char *root, struct memlimit *m);
/* What is left of the limit for new memory; UINT64_MAX when no limit is known. */
uint64_t memlimit_left(const struct memlimit *m);

#endif
