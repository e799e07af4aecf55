/* Disks as sysfs shows them, made of files below a folder: each a folder in sys/devices with links
 * from sys/block, sys/class/block and sys/dev/block. */
#ifndef STAVE_TESTS_DISK_TREE_H
#define STAVE_TESTS_DISK_TREE_H

/* number is "8:0", or NULL for a hidden disk. */
void tree_disk(const char *root, const char *name, const char *number);
void tree_partition(const char *root, const char *disk, const char *name, const char *number);
/* device is made of part, a disk, or "disk/partition". */
void tree_slave(const char *root, const char *device, const char *part);
/* A file of a disk. */
void tree_put(const char *root, const char *disk, const char *file, const char *text);
/* Lines of proc/self/mountinfo. */
void tree_mounts(const char *root, const char *lines);

#endif
