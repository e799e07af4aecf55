/* The mount table, /proc/self/mountinfo (proc_pid_mountinfo(5)), and which mount shows a path. */
#ifndef STAVE_METER_MOUNTS_H
#define STAVE_METER_MOUNTS_H

#include <stddef.h>
#include <sys/types.h>

struct mount {
    unsigned major, minor; /* of the file system: of its device, or a number of its own (0:N) */
    const char *top;       /* the folder of the file system that is shown */
    const char *path;      /* where */
    const char *type;      /* "ext4" */
    const char *source;    /* "/dev/vda1", "server:/export" */
    const char *options;   /* of the file system, with blanks as the kernel writes them: \040 */
};

struct mounts {
    char *text; /* that the mounts point into */
    struct mount *all;
    size_t n;
};

/* Below root, "" for the real machine. Lines that are none are left out; without the file there are
 * no mounts. */
void mounts_read(const char *root, struct mounts *m);
void mounts_release(struct mounts *m);
/* The mount that shows an absolute path: the longest one, of equal ones the last; mounts of the
 * file system dev go first, since a longer path may lie hidden under a later mount. dev 0: not
 * known. NULL when there is none. */
const struct mount *mounts_of(const struct mounts *m, const char *path, dev_t dev);
/* The kernel writes blanks in names as octal numbers: \040. In place. */
void mounts_unescape(char *text);

#endif
