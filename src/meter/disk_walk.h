/* Within disk_path: the walk from file systems to devices and, through a loop device, back. */
#ifndef STAVE_METER_DISK_WALK_H
#define STAVE_METER_DISK_WALK_H

#include <sys/types.h>

#include "meter/disk_path.h"
#include "meter/mounts.h"

enum { DISK_WALK_DEPTH = 16, DISK_WALK_VISITS = 512 };

struct disk_walk {
    const char *root;
    struct mounts mounts;
    struct disk_path *out;
    int depth, visits; /* bounded: sysfs has no circles, but a broken one must not matter */
};

/* A path below a mount, dev of its file system or 0. Returns 0 when it leads to nothing known. */
int disk_walk_path(struct disk_walk *w, const char *path, dev_t dev);
/* A path that the kernel names is followed when this process can see it; else 0. */
int disk_walk_seen_path(struct disk_walk *w, const char *path);
/* A block device: all that is below it. */
void disk_walk_device(struct disk_walk *w, unsigned major, unsigned minor);
/* The same for what the source of a mount names: "/dev/vda1", "/dev/mapper/data"; 0: no device. */
int disk_walk_source(struct disk_walk *w, const char *source);
/* Of several layers, disks count more than network and memory, and all more than the unknown. */
void disk_walk_note(struct disk_walk *w, enum disk_kind kind);
/* "259:1" in the file dev of a folder of sysfs. Returns 0 when there is none. */
int disk_walk_number(const struct disk_walk *w, const char *sys, struct disk_device *d);

#endif
