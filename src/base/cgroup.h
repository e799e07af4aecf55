/* The control groups that this process is in: where their files are, from its own group up to the
 * mount. Knows version 1, version 2 and machines with both, containers that see only a subtree, and
 * trees with files missing. Reads, never writes.
 *
 * root is "" for the real machine, or a folder holding proc/ and sys/ for tests; every path that is
 * given or taken lies below it. */
#ifndef STAVE_BASE_CGROUP_H
#define STAVE_BASE_CGROUP_H

struct cgroup_dir {
    const char *root, *path;
    int version; /* of the hierarchy */
};

/* Calls visit for each folder in which a limit of this controller ("cpu", "memory") may stand:
 * version 2 and the controller's version 1 hierarchy, each from the process's own group upwards. */
void cgroup_walk(const char *root, const char *controller,
                 void (*visit)(void *context, const struct cgroup_dir *dir), void *context);

/* A file below root, such as /proc/meminfo, as a heap string; NULL when it can not be read. */
char *cgroup_slurp(const char *root, const char *path);
/* A file of a group; heap, NULL when it can not be read. */
char *cgroup_read(const struct cgroup_dir *dir, const char *name);
/* The number in a file of a group. Returns 0 when there is none ("max" is none). */
int cgroup_read_number(const struct cgroup_dir *dir, const char *name, long long *out);
/* The number behind a word at the start of a line, as in cpu.stat and /proc/meminfo ("MemTotal:").
 * text may be NULL. Returns 0 when there is none. */
int cgroup_field(const char *text, const char *word, long long *out);

#endif
