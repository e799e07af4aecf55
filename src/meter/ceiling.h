/* A control group for one run: limits of its memory, page cache included, and of what it reads and
 * writes of disks, version 1 or 2 of the kernel's control groups, with or without root.
 *
 * Version 1 has a hierarchy for each controller: the group is made in the own one of each. Version
 * 2 has one tree, in which a group with controllers for its children may not hold processes itself
 * (Documentation/admin-guide/cgroup-v2.rst, "No Internal Process Constraint"). So the group is made
 * below the own group where that was given over to this program alone (systemd's Delegate=yes, a
 * container's only process): the processes in it then move to groups below, the run into its own
 * and the rest of this program, a set or study that makes the run, into another (stave-RUN-rest).
 * Otherwise beside the own group, where its parent may be written and the own group has no limits
 * that the run would escape from.
 *
 * Page cache is charged to the group that read it first: what is in memory already costs the group
 * nothing and has to be evicted before. Version 1 does not count writes that go through the page
 * cache against a disk limit.
 *
 * Paths are below root: "" for the real machine, or a folder with proc/ and sys/ for tests. Errors:
 * E_UNSUPPORTED where no group can be had, with what was tried; E_IO. One thread. */
#ifndef STAVE_METER_CEILING_H
#define STAVE_METER_CEILING_H

#include <stddef.h>
#include <sys/types.h>

enum { CEILING_MEMORY, CEILING_DISK, CEILING_KINDS };
enum { CEILING_MAX_GROUPS = 3 };

struct ceiling_group {
    char *path, *back; /* where it is, and the group its processes came from; heap */
    char *off; /* controllers that were switched on in back for it: "memory io"; NULL: none */
};

struct ceiling {
    const char *root;
    struct ceiling_group groups[CEILING_MAX_GROUPS];
    size_t n_groups;
    /* Which group has a kind of limit: NULL when it is not wanted. */
    const struct ceiling_group *of[CEILING_KINDS];
    int version[CEILING_KINDS];
    const struct ceiling_group *rest; /* takes the processes that may not stay; NULL: none */
    char how[64];                     /* "cgroup v2" */
};

/* What is wanted, and by whom. */
struct ceiling_wish {
    const char *root;
    int memory, disk; /* nonzero: a limit of it is wanted */
    pid_t run;        /* whose number names the group: stave-RUN */
    pid_t others[2];  /* processes that belong to the run, 0: none */
};

/* Where the group can be made; makes nothing. Always release. */
int ceiling_find(struct ceiling *c, const struct ceiling_wish *w);
void ceiling_release(struct ceiling *c);

/* Makes the groups; when it fails, what was made is gone again, and what was there before stays.
 * Processes that may not stay where they are, those of this program, move. */
int ceiling_make(struct ceiling *c);
int ceiling_join(const struct ceiling *c, pid_t run);
/* Limits the memory, without swap. What is above is given back now, which takes its time; E_IO when
 * it can not be. */
int ceiling_limit_memory(const struct ceiling *c, long long bytes);
/* Limits what is read from a whole disk, and what is written to it, each. */
int ceiling_limit_disk(const struct ceiling *c, unsigned major, unsigned minor,
                       long long bytes_per_s);

/* -1: not known. */
struct ceiling_use {
    long long held;  /* all that the group is charged for but page cache that can be given back */
    long long anon;  /* of it, anonymous and shared memory */
    long long cache; /* page cache */
    long long oom_kills;
};
void ceiling_read(const struct ceiling *c, struct ceiling_use *out);

/* Moves what is in the groups back and removes them. Also of groups that an earlier process made.
 * E_IO when one is left. */
int ceiling_remove(const char *root, const struct ceiling_group *groups, size_t n);

#endif
