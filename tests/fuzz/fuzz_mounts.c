/* What the kernel says of mounts and disks: the same bytes as the mount table, and as the files of
 * sysfs that lead from a device to others. Nothing is refused there: what can not be read leads to
 * no disk, and counters that can not be read are not known. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/file.h"
#include "fuzz.h"
#include "meter/disk_counter.h"
#include "meter/disk_path.h"

const char *const fuzz_words[] = {"22 1 8:0 / / rw - ext4 /dev/sda rw\n",
                                  " - ",
                                  " - overlay o ",
                                  "lowerdir=",
                                  "upperdir=",
                                  "0:40 ",
                                  "8:0",
                                  "8:16",
                                  "253:0",
                                  "7:0",
                                  "btrfs /dev/sda",
                                  "/dev/mapper/",
                                  "shared:1",
                                  "\\040",
                                  "\\:",
                                  "4294967295 ",
                                  "18446744073709551615 ",
                                  NULL};

static const char *const folders[] = {"proc/self",
                                      "sys/dev/block/8:0/slaves",
                                      "sys/dev/block/253:0/slaves/sda",
                                      "sys/dev/block/253:0/slaves/sdb",
                                      "sys/dev/block/8:16",
                                      "sys/dev/block/7:0/loop",
                                      "sys/block/dm-0/dm",
                                      "sys/block/nvme0c0n1",
                                      "sys/class/block/sda",
                                      "sys/fs/btrfs/1/devices/sda",
                                      "sys/fs/btrfs/1/devices/sdb"};
static const char *const files[] = {"proc/self/mountinfo",
                                    "proc/diskstats",
                                    "sys/dev/block/8:0/stat",
                                    "sys/dev/block/8:16/dev",
                                    "sys/dev/block/8:16/partition",
                                    "sys/dev/block/253:0/slaves/sda/dev",
                                    "sys/dev/block/7:0/loop/backing_file",
                                    "sys/block/dm-0/dm/name",
                                    "sys/class/block/sda/dev",
                                    "sys/fs/btrfs/1/devices/sdb/dev"};

static void make_folders(void)
{
    static int made;

    for (size_t i = 0; !made && i < COUNT_OF(folders); i++) {
        char *const path = file_join(fuzz_dir(), folders[i]);
        ASSERT(file_mkdirs(path) == 0);
        free(path);
    }
    made = 1;
    fuzz_put("sys/block/dm-0/dev", "253:0\n", 6);
    fuzz_put("sys/dev/block/253:0/slaves/sdb/dev", "8:16\n", 5);
    fuzz_put("sys/fs/btrfs/1/devices/sda/dev", "8:0\n", 4);
}

static void look(const struct disk_path *d)
{
    struct disk_counters *const c = disk_counters_open(fuzz_dir(), d->leaves, d->n_leaves);
    double difference[DISK_FIELDS];

    if (!c)
        return;
    disk_counters_look(c, difference);
    for (int i = 0; i < DISK_FIELDS; i++)
        ASSERT(difference[i] == 0); /* nobody changed the files */
    disk_counters_close(c);
}

static void find(const char *path)
{
    struct disk_path d;
    const int rc = disk_path_find(fuzz_dir(), path, &d);

    if (rc < 0) {
        ASSERT(rc == E_IO);
        return;
    }
    ASSERT((d.kind == DISK_BLOCK) == (d.n_leaves > 0));
    for (size_t i = 0; i < d.n_leaves; i++)
        for (size_t k = 0; k < i; k++)
            ASSERT(d.leaves[i].device.major != d.leaves[k].device.major ||
                   d.leaves[i].device.minor != d.leaves[k].device.minor);
    fuzz_touch(d.words, strlen(d.words));
    fuzz_touch(d.source, strlen(d.source));
    look(&d);
    disk_path_release(&d);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    make_folders();
    for (size_t i = 0; i < COUNT_OF(files); i++)
        fuzz_put(files[i], data, n);
    find("/");
    find("/sys/block");
    return 0;
}

void fuzz_seeds(void)
{
    static const char *const seeds[] = {
        "22 1 8:0 / / rw,relatime shared:1 - ext4 /dev/sda rw\n",
        "22 1 253:0 / / rw - xfs /dev/dm-0 rw\n",
        "22 1 7:0 / / rw - ext4 /dev/loop0 rw\n",
        "22 1 0:40 / / rw - btrfs /dev/sda rw\n23 22 0:41 / /sys rw - btrfs /dev/mapper/a rw\n",
        "22 1 0:50 / / rw - overlay o rw,lowerdir=/sys:/proc\\134:,upperdir=/sys/block\n",
        "22 1 0:31 / / rw - nfs4 server:/a\\040b rw\n",
        "8:0\n",
        "   8       0 sda 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17\n",
        "1 2 3 4 5 6 7 8 9 10 11\n",
        "/sys/block\n"};

    for (size_t i = 0; i < COUNT_OF(seeds); i++)
        fuzz_seed(seeds[i], strlen(seeds[i]));
}
