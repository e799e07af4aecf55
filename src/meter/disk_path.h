/* From a path to the disks under it: its mount, the device that the file system lies on, and
 * through partitions, device-mapper, RAID, bcache, loop devices and the layers of an overlay down
 * to the disks themselves, each once.
 *
 * Reads /proc/self/mountinfo and /sys, never writes, needs no rights. What can not be found out is
 * said: kind is DISK_UNKNOWN, and words say why. The owner releases. One thread. */
#ifndef STAVE_METER_DISK_PATH_H
#define STAVE_METER_DISK_PATH_H

#include <stddef.h>
#include <sys/types.h>

enum { DISK_NAME = 32 };

enum disk_kind {
    DISK_UNKNOWN, /* a file system whose device is not known: ZFS, FUSE, layers that can't be seen
                   */
    DISK_MEMORY,  /* tmpfs and the like: no disk */
    DISK_NETWORK, /* NFS, CIFS, Lustre, ...; also shares of the host, 9p and virtiofs */
    DISK_BLOCK    /* on devices of this machine */
};

struct disk_device {
    unsigned major, minor;
    char
        name[DISK_NAME]; /* as in /sys/block: "nvme0n1"; "259:0" where sysfs doesn't say; "" none */
};

struct disk_leaf {
    struct disk_device device; /* a whole disk */
    const char *kind;          /* "NVMe SSD"; NULL: not known */
    char (*paths)[DISK_NAME];  /* NVMe multipath: hidden devices that count what the disk may not */
    size_t n_paths;
};

struct disk_path {
    enum disk_kind kind;
    char *mount, *type, *source; /* "/data", "ext4", "/dev/nvme0n1p1"; never NULL */
    /* What the file system lies on ("nvme0n1p1", "dm-0"; of an overlay: its writable layer), and
     * the same with a partition taken to its disk, which is what limits of control groups name.
     * Set when kind is DISK_BLOCK. */
    struct disk_device on, whole;
    struct disk_leaf *leaves; /* some when kind is DISK_BLOCK */
    size_t n_leaves;
    int is_inferred; /* layers of a Docker container: by the files beside them that it can see */
    char *words;     /* "/data: ext4 on nvme0n1p1 (NVMe SSD)" */
};

/* root is "" for the real machine, or a folder with proc/ and sys/ for tests, in which path must be
 * absolute and without links. A path that is not there yet is taken for its nearest folder. 0, or
 * E_IO when the mount table says nothing of the path: then there is nothing to release. */
int disk_path_find(const char *root, const char *path, struct disk_path *out);
void disk_path_release(struct disk_path *d);

/* What kind of disk a name of /sys/block is, by its name and whether it turns; NULL: not known. */
const char *disk_kind(const char *root, const char *name);
/* What kind of file system a type is: DISK_MEMORY, DISK_NETWORK, or DISK_UNKNOWN for all others. */
enum disk_kind disk_kind_of_type(const char *type);

#endif
