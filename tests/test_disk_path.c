/* From a path to its disks, in trees as containers, volume managers and file systems make them, and
 * on this machine against the system's own tools. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/file.h"
#include "base/str.h"
#include "disk_tree.h"
#include "meter/disk_path.h"
#include "meter/mounts.h"
#include "scratch.h"

/* Names of the leaves with blanks between, then the words. */
static void check(const char *root, const char *path, const char *leaves, const char *words)
{
    struct disk_path d;
    struct str names = STR_INIT;
    const int rc = disk_path_find(root, path, &d);

    if (rc != 0)
        fail_msg("%s: code %d, %s", path, rc, err_reason());
    str_add(&names, "");
    for (size_t i = 0; i < d.n_leaves; i++)
        str_printf(&names, "%s%s", i ? " " : "", d.leaves[i].device.name);
    if (strcmp(names.s, leaves) != 0 || strcmp(d.words, words) != 0)
        fail_msg("%s: \"%s\", %s", path, names.s, d.words);
    assert_int_equal(d.kind == DISK_BLOCK, d.n_leaves > 0);
    str_release(&names);
    disk_path_release(&d);
}

static void ssd(const char *root, const char *name, const char *number)
{
    tree_disk(root, name, number);
    tree_put(root, name, "queue/rotational", "0\n");
}

static void partitions(void **state)
{
    const char *const root = *state;
    struct disk_path d;

    ssd(root, "nvme0n1", "259:0");
    tree_partition(root, "nvme0n1", "nvme0n1p1", "259:1");
    ssd(root, "mmcblk0", "179:0");
    tree_partition(root, "mmcblk0", "mmcblk0p2", "179:2");
    tree_disk(root, "sda", "8:0");
    tree_put(root, "sda", "queue/rotational", "1\n");
    tree_partition(root, "sda", "sda2", "8:2");
    tree_mounts(root, "22 1 179:2 / / rw,relatime shared:1 - ext4 /dev/root rw\n"
                      "23 22 259:1 / /data rw,noatime - ext4 /dev/nvme0n1p1 rw,errors=continue\n"
                      "24 22 8:2 / /data\\040two rw shared:2 master:1 - xfs /dev/sda2 rw\n"
                      "25 22 8:2 /sub /database rw - xfs /dev/sda2 rw\n");
    check(root, "/home", "mmcblk0", "/: ext4 on mmcblk0p2 (SD or eMMC)");
    check(root, "/data", "nvme0n1", "/data: ext4 on nvme0n1p1 (NVMe SSD)");
    check(root, "/data/a/b", "nvme0n1", "/data: ext4 on nvme0n1p1 (NVMe SSD)");
    check(root, "/data two/x", "sda", "/data two: xfs on sda2 (HDD)");
    check(root, "/database/x", "sda", "/database: xfs on sda2 (HDD)"); /* a bind mount */
    check(root, "/datab", "mmcblk0", "/: ext4 on mmcblk0p2 (SD or eMMC)");
    assert_int_equal(disk_path_find(root, "/data", &d), 0);
    assert_string_equal(d.on.name, "nvme0n1p1");
    assert_int_equal(d.on.minor, 1);
    assert_string_equal(d.whole.name, "nvme0n1"); /* what a limit names */
    assert_int_equal(d.whole.major, 259);
    assert_int_equal(d.whole.minor, 0);
    disk_path_release(&d);
}

/* The later of two mounts on one place hides the other. */
static void over_mounted(void **state)
{
    const char *const root = *state;

    tree_disk(root, "vda", "254:0");
    tree_disk(root, "vdb", "254:16");
    tree_mounts(root, "22 1 254:0 / / rw - ext4 /dev/vda rw\n"
                      "23 22 0:30 / /data rw - tmpfs tmpfs rw\n"
                      "24 22 254:16 / /data rw - ext4 /dev/vdb rw\n");
    check(root, "/data/x", "vdb", "/data: ext4 on vdb (virtio disk)");
}

/* A longer path may be hidden under a later mount: the number of the file system tells. */
static void hidden_mount(void **state)
{
    struct mounts m;

    tree_mounts(*state, "22 1 254:0 / / rw - ext4 /dev/vda rw\n"
                        "23 22 254:16 / /a/b rw - ext4 /dev/vdb rw\n"
                        "24 22 254:32 / /a rw - ext4 /dev/vdc rw\n");
    mounts_read(*state, &m);
    assert_int_equal(m.n, 3);
    assert_string_equal(mounts_of(&m, "/a/b/c", makedev(254, 32))->source, "/dev/vdc");
    assert_string_equal(mounts_of(&m, "/a/b/c", makedev(254, 16))->source, "/dev/vdb");
    assert_string_equal(mounts_of(&m, "/a/b/c", 0)->source, "/dev/vdb");
    assert_string_equal(mounts_of(&m, "/a/b/c", makedev(0, 99))->source, "/dev/vdb");
    mounts_release(&m);
}

static void crypt_on_volume_on_two_disks(void **state)
{
    const char *const root = *state;
    struct disk_path d;

    ssd(root, "sda", "8:0");
    tree_partition(root, "sda", "sda2", "8:2");
    ssd(root, "sdb", "8:16");
    tree_disk(root, "dm-0", "253:0"); /* the volume: parts of sda2 and sdb, sda2 twice */
    tree_slave(root, "dm-0", "sda/sda2");
    tree_slave(root, "dm-0", "sdb");
    tree_disk(root, "dm-1", "253:1"); /* a cache of the volume on sda2 */
    tree_slave(root, "dm-1", "dm-0");
    tree_slave(root, "dm-1", "sda/sda2");
    tree_disk(root, "dm-2", "253:2"); /* the encryption */
    tree_slave(root, "dm-2", "dm-1");
    tree_mounts(root, "22 1 253:2 / / rw - xfs /dev/mapper/secret rw\n");
    check(root, "/data", "sda sdb", "/: xfs on dm-2, that is sda, sdb (2 of kind SSD)");
    assert_int_equal(disk_path_find(root, "/data", &d), 0);
    assert_string_equal(d.whole.name, "dm-2");
    disk_path_release(&d);
}

static void raid_of_two(void **state)
{
    const char *const root = *state;

    ssd(root, "nvme0n1", "259:0");
    ssd(root, "nvme1n1", "259:1");
    tree_partition(root, "nvme1n1", "nvme1n1p3", "259:2");
    tree_disk(root, "md127", "9:127");
    tree_slave(root, "md127", "nvme0n1");
    tree_slave(root, "md127", "nvme1n1/nvme1n1p3");
    tree_partition(root, "md127", "md127p1", "259:9");
    tree_mounts(root, "22 1 259:9 / /raid rw - ext4 /dev/md127p1 rw\n");
    check(root, "/raid/x", "nvme0n1 nvme1n1",
          "/raid: ext4 on md127p1, that is nvme0n1, nvme1n1 (2 of kind NVMe SSD)");
}

/* One disk seen through two ports: the hidden devices may count what the visible one does not. */
static void multipath(void **state)
{
    const char *const root = *state;
    struct disk_path d;

    ssd(root, "nvme0n1", "259:0");
    tree_disk(root, "nvme0c0n1", NULL);
    tree_disk(root, "nvme0c1n1", NULL);
    tree_disk(root, "nvme0c1n2", NULL);
    tree_disk(root, "nvme1c0n1", NULL);
    tree_mounts(root, "22 1 259:0 / / rw - ext4 /dev/nvme0n1 rw\n");
    check(root, "/data", "nvme0n1", "/: ext4 on nvme0n1 (NVMe SSD)");
    assert_int_equal(disk_path_find(root, "/data", &d), 0);
    assert_int_equal(d.leaves[0].n_paths, 2);
    assert_string_equal(d.leaves[0].paths[0], "nvme0c0n1");
    assert_string_equal(d.leaves[0].paths[1], "nvme0c1n1");
    disk_path_release(&d);
}

static void no_disk(void **state)
{
    const char *const root = *state;
    struct disk_path d;

    tree_disk(root, "zram0", "253:0");
    tree_mounts(root, "22 1 0:20 / / rw - rootfs rootfs rw\n"
                      "23 22 0:30 / /dev/shm rw - tmpfs tmpfs rw\n"
                      "24 22 0:31 / /nfs rw - nfs4 server:/export\\040a rw,vers=4.2\n"
                      "25 22 0:32 / /lustre rw - lustre 10.0.0.1@o2ib:/scratch rw\n"
                      "26 22 0:33 / /host rw - virtiofs tag rw\n"
                      "27 22 0:34 / /ssh rw - fuse.sshfs me@server:/ rw\n"
                      "28 22 0:35 / /bucket rw - fuse.unheard-of what\\012ever rw\n"
                      "29 22 0:36 / /zfs rw - zfs pool/data rw\n"
                      "30 22 253:0 / /packed rw - ext4 /dev/zram0 rw\n"
                      "31 22 0:37 / /empty rw - nfs  rw\n");
    check(root, "/", "", "/: rootfs, in memory");
    check(root, "/dev/shm/x", "", "/dev/shm: tmpfs, in memory");
    check(root, "/nfs/x", "", "/nfs: nfs4 from server:/export a, over the network");
    check(root, "/lustre/x", "", "/lustre: lustre from 10.0.0.1@o2ib:/scratch, over the network");
    check(root, "/host/x", "", "/host: virtiofs from tag, a share of the host");
    check(root, "/ssh/x", "", "/ssh: fuse.sshfs from me@server:/, over the network");
    check(root, "/bucket/x", "", "/bucket: fuse.unheard-of: the disk is not known");
    check(root, "/zfs/x", "", "/zfs: zfs: the disk is not known");
    check(root, "/packed/x", "", "/packed: ext4, in memory");
    check(root, "/empty/x", "", "/empty: nfs from a server without a name, over the network");
    assert_int_equal(disk_path_find(root, "/nfs/x", &d), 0);
    assert_int_equal(d.kind, DISK_NETWORK);
    disk_path_release(&d);
    assert_int_equal(disk_path_find(root, "/bucket/x", &d), 0);
    assert_int_equal(d.kind, DISK_UNKNOWN);
    assert_string_equal(d.source, "what\never");
    disk_path_release(&d);
}

/* The number of a btrfs file system, and of each of its subvolumes, is none of a device. */
static void btrfs(void **state)
{
    const char *const root = *state;

    ssd(root, "sda", "8:0");
    ssd(root, "sdb", "8:16");
    ssd(root, "sdc", "8:32");
    tree_partition(root, "sda", "sda3", "8:3");
    tree_mounts(root, "22 1 0:40 /@data /data rw - btrfs /dev/sda3 rw,subvol=/@data\n"
                      "23 1 0:41 / /other rw - btrfs /dev/sdc rw\n");
    check(root, "/data/x", "sda", "/data: btrfs on sda3 (SSD)");
    free(scratch_file(root, "sys/fs/btrfs/features/x", "1\n"));
    free(scratch_file(root, "sys/fs/btrfs/11-22/devices/sda3/dev", "8:3\n"));
    free(scratch_file(root, "sys/fs/btrfs/11-22/devices/sdb/dev", "8:16\n"));
    free(scratch_file(root, "sys/fs/btrfs/33-44/devices/sdc/dev", "8:32\n"));
    check(root, "/data/x", "sda sdb", "/data: btrfs on sda3, that is sda, sdb (2 of kind SSD)");
    check(root, "/other/x", "sdc", "/other: btrfs on sdc (SSD)");
}

static void named_volumes(void **state)
{
    const char *const root = *state;

    ssd(root, "sda", "8:0");
    tree_disk(root, "dm-3", "253:3");
    tree_put(root, "dm-3", "dm/name", "group-data\n");
    tree_slave(root, "dm-3", "sda");
    tree_mounts(root, "22 1 0:40 / / rw - btrfs /dev/mapper/group-data rw\n");
    check(root, "/x", "sda", "/: btrfs on dm-3, that is sda (SSD)");
}

static void overlays(void **state)
{
    const char *const root = *state;

    tree_disk(root, "vda", "254:0");
    tree_disk(root, "vdb", "254:16");
    tree_mounts(root, "22 1 254:0 / / rw - ext4 /dev/vda rw\n"
                      "23 22 254:16 / /layers rw - ext4 /dev/vdb rw\n"
                      "24 22 0:50 / /merged rw - overlay overlay "
                      "rw,lowerdir=/low\\040er:/layers/a\\134:b,upperdir=/layers/up,workdir=/w\n"
                      "25 22 0:51 / /ro ro - overlay none ro,lowerdir+=/low\\040er\n");
    check(root, "/merged/x", "",
          "/merged: overlay, whose layers can not be seen from here: the disk is not known");
    free(scratch_file(root, "layers/up/x", ""));
    check(root, "/merged/x", "vdb", "/merged: overlay on vdb (virtio disk)");
    free(scratch_file(root, "low er/x", ""));
    check(root, "/merged/x", "vdb vda",
          "/merged: overlay on vdb, that is vdb, vda (2 of kind virtio disk)");
    check(root, "/ro/x", "vda", "/ro: overlay on vda (virtio disk)");
}

/* The root of a container: its layers are names of the host, which mean nothing, or something else,
 * in here. The files that are bound into it say nothing of them either. */
static void container(void **state)
{
    const char *const root = *state;

    ssd(root, "nvme0n1", "259:0");
    tree_partition(root, "nvme0n1", "nvme0n1p1", "259:1");
    tree_mounts(root,
                "900 800 0:60 / / rw,relatime master:30 - overlay overlay rw,"
                "lowerdir=/var/lib/docker/overlay2/l/A:/var/lib/docker/overlay2/l/B,"
                "upperdir=/var/lib/docker/overlay2/c/diff,workdir=/var/lib/docker/overlay2/c/work\n"
                "901 900 0:63 / /proc rw - proc proc rw\n"
                "902 900 259:1 /srv/sets /data ro master:1 - ext4 /dev/nvme0n1p1 rw\n");
    check(root, "/home", "",
          "/: overlay, whose layers can not be seen from here: the disk is not known");
    check(root, "/data/x", "nvme0n1", "/data: ext4 on nvme0n1p1 (NVMe SSD)");
}

/* A container whose file of Docker's has this folder in front of it. */
static void put_container(const char *root, const char *top)
{
    char *const table = xasprintf(
        "900 800 0:60 / / rw - overlay overlay rw,lowerdir=/var/lib/docker/overlay2/l/A,"
        "upperdir=/var/lib/docker/overlay2/c/diff,workdir=/var/lib/docker/overlay2/c/work\n"
        "902 900 259:5 /x /data ro - ext4 /dev/nvme0n1p5 rw\n"
        "903 900 259:1 %s/containers/12ab/hosts /etc/hosts rw - ext4 /dev/sdx rw\n",
        top);

    tree_mounts(root, table);
    free(table);
}

/* Docker binds files into a container that lie beside its layers, on a file system that the host
 * has as its root, at /var, or for Docker alone. */
static void docker(void **state)
{
    static const char *const tops[] = {"/var/lib/docker", "/lib/docker", ""};
    static const char *const others[] = {"/lib/other", "/r/var/lib/docker"};
    const char *const root = *state;

    ssd(root, "nvme0n1", "259:0");
    tree_partition(root, "nvme0n1", "nvme0n1p1", "259:1");
    for (size_t i = 0; i < COUNT_OF(tops); i++) {
        put_container(root, tops[i]);
        check(root, "/home", "nvme0n1",
              "/: overlay on nvme0n1p1 (NVMe SSD), where Docker's own files of this container lie");
    }
    for (size_t i = 0; i < COUNT_OF(others); i++) {
        put_container(root, others[i]);
        check(root, "/home", "",
              "/: overlay, whose layers can not be seen from here: the disk is not known");
    }
}

static void loop_devices(void **state)
{
    const char *const root = *state;

    ssd(root, "sda", "8:0");
    tree_disk(root, "loop0", "7:0");
    tree_put(root, "loop0", "loop/backing_file", "/images/a disk\n");
    tree_disk(root, "loop1", "7:1"); /* its file is deleted */
    tree_put(root, "loop1", "loop/backing_file", "/images/b (deleted)\n");
    tree_mounts(root, "22 1 8:0 / / rw - ext4 /dev/sda rw\n"
                      "23 22 7:0 / /mnt rw - ext4 /dev/loop0 rw\n"
                      "24 22 7:1 / /gone rw - ext4 /dev/loop1 rw\n");
    free(scratch_file(root, "images/a disk", ""));
    check(root, "/mnt/x", "sda", "/mnt: ext4 on loop0, that is sda (SSD)");
    check(root, "/gone/x", "loop1", "/gone: ext4 on loop1 (loop device)");
}

/* A device that lies on itself, an overlay of itself, and no sysfs at all. */
static void broken_trees(void **state)
{
    const char *const root = *state;
    struct disk_path d;

    tree_disk(root, "dm-0", "253:0");
    tree_slave(root, "dm-0", "dm-0");
    tree_mounts(root, "22 1 0:50 / / rw - overlay o rw,lowerdir=/:/:/:/,upperdir=/\n"
                      "23 22 253:0 / /self rw - ext4 /dev/dm-0 rw\n"
                      "24 22 8:17 / /plain rw - ext4 /dev/sdb1 rw\n"
                      "no line\n\n25 22 x:y / /odd rw - ext4 /dev/sdb1 rw\n26 22 8:17 / /odd rw\n");
    check(root, "/x", "",
          "/: overlay, whose layers can not be seen from here: the disk is not known");
    check(root, "/plain/x", "8:17", "/plain: ext4 on 8:17");
    assert_int_equal(disk_path_find(root, "/self", &d), 0);
    assert_int_equal(d.n_leaves, 0);
    disk_path_release(&d);
    tree_mounts(root, "");
    assert_int_equal(disk_path_find(root, "/x", &d), E_IO);
    assert_string_equal(err_reason(), "/x: /proc/self/mountinfo names no file system for it");
}

/* findmnt and lsblk, which have parsers of their own. "" when there is no such program. */
static char *said(const char *command)
{
    char line[256] = "";
    FILE *const f = popen(command, "r");

    assert_non_null(f);
    if (fgets(line, sizeof(line), f))
        line[strcspn(line, "\n")] = '\0';
    pclose(f);
    return xstrdup(line);
}

static void this_machine(void **state)
{
    char *const command =
        xasprintf("findmnt -n -o SOURCE,FSTYPE,TARGET -T %s 2>/dev/null", (const char *)*state);
    char *const line = said(command), source[100], type[100], target[100];
    char *const missing = file_join(*state, "not/there/yet");
    struct disk_path d;
    struct stat st;

    if (sscanf(line, "%99s %99s %99s", source, type, target) != 3) {
        free(missing);
        free(line);
        free(command);
        skip();
    }
    assert_int_equal(disk_path_find("", missing, &d), 0);
    assert_string_equal(d.type, type);
    assert_string_equal(d.mount, target);
    assert_string_equal(d.source, source);
    assert_int_equal(stat(*state, &st), 0);
    if (d.kind == DISK_BLOCK && strcmp(type, "ext4") == 0) {
        assert_int_equal(d.on.major, major(st.st_dev));
        assert_int_equal(d.on.minor, minor(st.st_dev));
    }
    disk_path_release(&d);
    free(missing);
    free(line);
    free(command);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, scratch_open, scratch_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(partitions),    TEST(over_mounted),
        TEST(hidden_mount),  TEST(crypt_on_volume_on_two_disks),
        TEST(raid_of_two),   TEST(multipath),
        TEST(no_disk),       TEST(btrfs),
        TEST(named_volumes), TEST(overlays),
        TEST(container),     TEST(docker),
        TEST(loop_devices),  TEST(broken_trees),
        TEST(this_machine),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
