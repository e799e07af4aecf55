/* What the disks under a data set do, from counters of fixture trees with figures worked out by
 * hand, and from this machine's own disk against /proc/self/io and /proc/diskstats. */
#include <fcntl.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cgroup.h"
#include "base/err.h"
#include "base/file.h"
#include "disk_tree.h"
#include "meter/disk_path.h"
#include "meter_columns.h"
#include "scratch.h"

extern const struct probe_ops probe_disk, probe_store;

static const char *const one_file[] = {"/data/train"};
static const char *const one_store[] = {"/store/run"};

static struct meter_place place_of(const char *root)
{
    return (struct meter_place){root, one_file, 1, one_store, 1};
}

/* reads, sectors, ms; writes, sectors, ms; busy ms, ms in the queue. */
struct counts {
    unsigned long long reads, read_sectors, read_ms, writes, write_sectors, write_ms, busy, queue;
};

static void count(const char *root, const char *disk, struct counts c)
{
    char *const line = xasprintf("%8llu 7 %llu %llu %llu 8 %llu %llu 3 %llu %llu 0 0 0 0 1 2\n",
                                 c.reads, c.read_sectors, c.read_ms, c.writes, c.write_sectors,
                                 c.write_ms, c.busy, c.queue);

    tree_put(root, disk, "stat", line);
    free(line);
}

static void raid(const char *root)
{
    tree_disk(root, "nvme0n1", "259:0");
    tree_disk(root, "nvme1n1", "259:1");
    tree_disk(root, "md0", "9:0");
    tree_slave(root, "md0", "nvme0n1");
    tree_slave(root, "md0", "nvme1n1");
    tree_mounts(root, "22 1 9:0 / / rw - ext4 /dev/md0 rw\n");
}

static void leaves_are_summed_once(void **state)
{
    const char *const root = *state;
    const struct meter_place place = place_of(root);
    struct probed p;

    raid(root);
    count(root, "nvme0n1", (struct counts){100, 1000, 50, 10, 100, 5, 40, 55});
    count(root, "nvme1n1", (struct counts){7, 8, 9, 1, 2, 3, 4, 5});
    count(root, "md0", (struct counts){5000, 500000, 50, 10, 100, 5, 40, 55});
    probed_open(&p, &probe_disk, &place);
    assert_int_equal(p.columns.n, 10);
    assert_int_equal(p.columns.all[0].kind, METER_TOTAL);
    assert_int_equal(p.columns.all[1].kind, METER_TOTAL);
    assert_int_equal(p.columns.all[2].kind, METER_LEVEL);
    probed_sample(&p, 0);
    probed_check(&p, "disk_read_bytes", 0);
    probed_check(&p, "disk_read_bytes_per_s", NAN);
    probed_check(&p, "disk_busy_percent", NAN);
    /* Half a second: 20 + 30 reads of 4000 + 6000 sectors in 10 + 90 ms. */
    count(root, "nvme0n1", (struct counts){120, 5000, 60, 11, 108, 9, 240, 455});
    count(root, "nvme1n1", (struct counts){37, 6008, 99, 2, 10, 9, 454, 1005});
    count(root, "md0", (struct counts){9000, 900000, 50, 10, 100, 5, 40, 55});
    probed_sample(&p, 0.5);
    probed_check(&p, "disk_read_bytes", 10000 * 512);
    probed_check(&p, "disk_write_bytes", 16 * 512);
    probed_check(&p, "disk_read_bytes_per_s", 20000 * 512);
    probed_check(&p, "disk_write_bytes_per_s", 32 * 512);
    probed_check(&p, "disk_reads_per_s", 100);
    probed_check(&p, "disk_writes_per_s", 4);
    probed_check(&p, "disk_read_await_ms", 2);
    probed_check(&p, "disk_write_await_ms", 5);
    probed_check(&p, "disk_queue", 2.8);       /* (400 + 1000) ms in 500 ms */
    probed_check(&p, "disk_busy_percent", 90); /* of the busiest: 450 ms in 500 ms */
    probed_sample(&p, 0.5);                    /* nothing happened */
    probed_check(&p, "disk_read_bytes", 10000 * 512);
    probed_check(&p, "disk_reads_per_s", 0);
    probed_check(&p, "disk_read_await_ms", NAN); /* nobody waited */
    probed_close(&p);
}

static void multipath(void **state)
{
    const char *const root = *state;
    const struct meter_place place = place_of(root);
    struct probed p;

    tree_disk(root, "nvme0n1", "259:0");
    tree_disk(root, "nvme0c0n1", NULL);
    tree_disk(root, "nvme0c1n1", NULL);
    tree_mounts(root, "22 1 259:0 / / rw - ext4 /dev/nvme0n1 rw\n");
    count(root, "nvme0n1", (struct counts){0});
    count(root, "nvme0c0n1", (struct counts){.reads = 10, .read_sectors = 80, .busy = 10});
    count(root, "nvme0c1n1", (struct counts){.reads = 20, .read_sectors = 800, .busy = 10});
    probed_open(&p, &probe_disk, &place);
    count(root, "nvme0c0n1", (struct counts){.reads = 14, .read_sectors = 112, .busy = 310});
    count(root, "nvme0c1n1", (struct counts){.reads = 26, .read_sectors = 848, .busy = 810});
    probed_sample(&p, 1);
    probed_check(&p, "disk_read_bytes", 80 * 512);
    probed_check(&p, "disk_reads_per_s", 10);
    probed_check(&p, "disk_busy_percent", 80);
    /* A kernel whose visible disk counts: its paths are the same requests again. */
    count(root, "nvme0n1", (struct counts){.reads = 5, .read_sectors = 10});
    count(root, "nvme0c0n1", (struct counts){.reads = 19, .read_sectors = 122});
    probed_sample(&p, 1);
    probed_check(&p, "disk_reads_per_s", 5);
    probed_close(&p);
}

static void counters_that_go_back(void **state)
{
    const char *const root = *state;
    const struct meter_place place = place_of(root);
    struct probed p;

    raid(root);
    count(root, "nvme0n1", (struct counts){100, 1000, 4294967290, 10, 100, 5, 40, 4294967000});
    count(root, "nvme1n1", (struct counts){100, 1000, 50, 10, 100, 5, 40, 55});
    probed_open(&p, &probe_disk, &place);
    /* Times wrap at 32 bits: only they are not known. */
    count(root, "nvme0n1", (struct counts){110, 1100, 4, 11, 108, 6, 140, 104});
    probed_sample(&p, 1);
    probed_check(&p, "disk_read_bytes", 100 * 512);
    probed_check(&p, "disk_reads_per_s", 10);
    probed_check(&p, "disk_read_await_ms", NAN);
    probed_check(&p, "disk_queue", NAN);
    probed_check(&p, "disk_write_await_ms", 1);
    probed_check(&p, "disk_busy_percent", 10);
    /* Another disk of that name: nothing is known at this row, all at the next. */
    count(root, "nvme0n1", (struct counts){3, 99999, 500, 20, 200, 50, 500, 1000});
    probed_sample(&p, 1);
    for (size_t i = 0; i < p.columns.n; i++)
        probed_check(&p, p.columns.all[i].name, NAN);
    count(root, "nvme0n1", (struct counts){4, 100007, 502, 20, 200, 50, 500, 1000});
    probed_sample(&p, 1);
    probed_check(&p, "disk_read_bytes", 108 * 512);
    probed_check(&p, "disk_read_await_ms", 2);
    /* Gone, and here again. */
    tree_put(root, "nvme0n1", "stat", "");
    probed_sample(&p, 1);
    probed_check(&p, "disk_read_bytes", NAN);
    count(root, "nvme0n1", (struct counts){5, 100015, 502, 20, 200, 50, 500, 1000});
    probed_sample(&p, 1);
    probed_check(&p, "disk_reads_per_s", NAN);
    probed_sample(&p, 1);
    probed_check(&p, "disk_reads_per_s", 0);
    probed_check(&p, "disk_read_bytes", 108 * 512);
    probed_close(&p);
}

/* The run folder beside the data set, the ingest on two others, of which one is named twice. */
static void ingest_elsewhere(void **state)
{
    static const char *const stores[] = {"/data/run", "/mnt/nvme", "/mnt/nvme/x"};
    const char *const root = *state;
    struct meter_place place = place_of(root);
    struct probed p;

    place.stores = stores;
    place.n_stores = COUNT_OF(stores);
    tree_disk(root, "vda", "254:0");
    tree_disk(root, "vdb", "254:16");
    count(root, "vda", (struct counts){0});
    count(root, "vdb", (struct counts){0});
    tree_mounts(root, "22 1 254:0 / / rw - ext4 /dev/vda rw\n"
                      "23 22 254:16 / /mnt/nvme rw - ext4 /dev/vdb rw\n");
    probed_open(&p, &probe_store, &place);
    assert_int_equal(p.columns.n, 10);
    count(root, "vda", (struct counts){.writes = 5, .write_sectors = 10});
    count(root, "vdb", (struct counts){.writes = 8, .write_sectors = 64});
    probed_sample(&p, 2);
    probed_check(&p, "store_write_bytes", 74 * 512);
    probed_close(&p);
}

static void a_store_of_its_own(void **state)
{
    const char *const root = *state;
    struct meter_place place = place_of(root);
    struct probed p;

    tree_disk(root, "vda", "254:0");
    tree_disk(root, "vdb", "254:16");
    count(root, "vda", (struct counts){0});
    count(root, "vdb", (struct counts){0});
    tree_mounts(root, "22 1 254:0 / / rw - ext4 /dev/vda rw\n"
                      "23 22 254:16 / /store rw - ext4 /dev/vdb rw\n"
                      "24 22 0:30 / /shm rw - tmpfs tmpfs rw\n");
    probed_open(&p, &probe_store, &place);
    assert_int_equal(p.columns.n, 10);
    count(root, "vda", (struct counts){.writes = 5, .write_sectors = 10});
    count(root, "vdb", (struct counts){.writes = 8, .write_sectors = 64});
    probed_sample(&p, 2);
    probed_check(&p, "store_write_bytes", 64 * 512);
    probed_check(&p, "store_writes_per_s", 4);
    probed_close(&p);
    place.stores = (const char *const[]){"/data/run"}; /* the same disk as the data set's */
    probed_open(&p, &probe_store, &place);
    assert_int_equal(p.columns.n, 0);
    probed_close(&p);
    place.stores = (const char *const[]){"/shm/run"}; /* no disk */
    probed_open(&p, &probe_store, &place);
    assert_int_equal(p.columns.n, 0);
    probed_close(&p);
    place.n_stores = 0;
    probed_open(&p, &probe_store, &place);
    assert_int_equal(p.columns.n, 0);
    probed_close(&p);
}

static void nothing_to_count(void **state)
{
    const char *const root = *state;
    const struct meter_place place = place_of(root);
    struct probed p;

    probed_open(&p, &probe_disk, &place); /* no /proc */
    assert_int_equal(p.columns.n, 0);
    probed_close(&p);
    tree_mounts(root, "22 1 0:31 / / rw - nfs4 server:/export rw\n");
    probed_open(&p, &probe_disk, &place);
    assert_int_equal(p.columns.n, 0);
    probed_close(&p);
    tree_mounts(root, "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n");
    probed_open(&p, &probe_disk, &place); /* no sysfs, no table */
    assert_int_equal(p.columns.n, 0);
    probed_close(&p);
}

static void without_sysfs(void **state)
{
    const char *const root = *state;
    const struct meter_place place = place_of(root);
    struct probed p;

    tree_mounts(root, "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n");
    free(scratch_file(root, "proc/diskstats",
                      "   8       0 sda 9 0 9 0 0 0 0 0 0 0 0\n"
                      "   8       1 sda1 5 0 40 6 0 0 0 0 0 7 8 0 0 0 0\n"));
    probed_open(&p, &probe_disk, &place);
    assert_int_equal(p.columns.n, 10);
    free(scratch_file(root, "proc/diskstats",
                      "   8       0 sda 99 0 99 0 0 0 0 0 0 0 0\n"
                      "   8       1 sda1 7 0 56 10 0 0 0 0 0 7 8 0 0 0 0\n"));
    probed_sample(&p, 1);
    probed_check(&p, "disk_read_bytes", 16 * 512);
    probed_check(&p, "disk_read_await_ms", 2);
    probed_close(&p);
}

/* ---- this machine ---- */

enum { REAL_BYTES = 32 << 20, PIECE = 1 << 20 };

/* Sectors read and written by these disks, as /proc/diskstats has them. */
static void diskstats(const struct disk_path *d, double bytes[2])
{
    char *const table = cgroup_slurp("", "/proc/diskstats");

    bytes[0] = bytes[1] = 0;
    for (size_t i = 0; i < d->n_leaves; i++) {
        char *const word = xasprintf(" %s ", d->leaves[i].device.name), *const at =
                                                                            strstr(table, word);
        unsigned long long read, written;

        assert_non_null(at);
        assert_int_equal(
            sscanf(at + strlen(word), "%*u %*u %llu %*u %*u %*u %llu", &read, &written), 2);
        bytes[0] += (double)read * 512;
        bytes[1] += (double)written * 512;
        free(word);
    }
    free(table);
}

static void own_io(double bytes[2])
{
    char *const text = cgroup_slurp("", "/proc/self/io");
    long long read = 0, written = 0;

    assert_true(cgroup_field(text, "read_bytes:", &read));
    assert_true(cgroup_field(text, "write_bytes:", &written));
    bytes[0] = (double)read;
    bytes[1] = (double)written;
    free(text);
}

static void write_and_read(const char *path)
{
    void *piece;
    const int fd = open(path, O_RDWR | O_CREAT | O_DIRECT | O_CLOEXEC, 0600);

    if (fd < 0)
        skip();
    assert_int_equal(posix_memalign(&piece, 4096, PIECE), 0);
    memset(piece, 'x', PIECE);
    for (int i = 0; i < REAL_BYTES / PIECE; i++)
        assert_int_equal(pwrite(fd, piece, PIECE, (off_t)i * PIECE), PIECE);
    assert_int_equal(fsync(fd), 0);
    for (int i = 0; i < REAL_BYTES / PIECE; i++)
        assert_int_equal(pread(fd, piece, PIECE, (off_t)i * PIECE), PIECE);
    free(piece);
    close(fd);
}

/* Others use the disk as well, so that the probe's bytes lie between what this process moved and
 * what the disk did in a little more time. */
static void a_real_file(void **state)
{
    char *const path = file_join(*state, "file");
    const char *files[] = {path};
    const struct meter_place place = {.data_files = files, .root = "", .n_data_files = 1};
    double outer[2], outer_end[2], own[2], own_end[2];
    struct disk_path d;
    struct probed p;
    size_t n;

    free(scratch_file(*state, "file", ""));
    assert_int_equal(disk_path_find("", path, &d), 0);
    probed_open(&p, &probe_disk, &place);
    n = p.columns.n;
    if (n > 0) {
        diskstats(&d, outer);
        probed_sample(&p, 0);
        own_io(own);
        write_and_read(path);
        own_io(own_end);
        probed_sample(&p, 1);
        diskstats(&d, outer_end);
        assert_true(own_end[0] - own[0] >= REAL_BYTES && own_end[1] - own[1] >= REAL_BYTES);
        assert_true(probed_value(&p, "disk_read_bytes_per_s") >= own_end[0] - own[0]);
        assert_true(probed_value(&p, "disk_write_bytes_per_s") >= own_end[1] - own[1]);
        assert_true(probed_value(&p, "disk_read_bytes_per_s") <= outer_end[0] - outer[0]);
        assert_true(probed_value(&p, "disk_write_bytes_per_s") <= outer_end[1] - outer[1]);
        assert_true(probed_value(&p, "disk_read_await_ms") > 0);
        assert_true(probed_value(&p, "disk_busy_percent") > 0);
    }
    probed_close(&p);
    disk_path_release(&d);
    free(path);
    if (n == 0)
        skip(); /* on no disk */
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, scratch_open, scratch_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(leaves_are_summed_once), TEST(multipath),        TEST(counters_that_go_back),
        TEST(a_store_of_its_own),     TEST(ingest_elsewhere), TEST(nothing_to_count),
        TEST(without_sysfs),          TEST(a_real_file),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
