/* The probes of processors, memory, pressure, network, process and data set, on trees of files:
 * both versions of control groups and both at once, containers, files that are missing or hold
 * nonsense, numbers that wrap. And on this machine, beside what the system's own tools say. */
#include <fcntl.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/page_cache.h"
#include "meter/meter.h"
#include "meter/probe.h"
#include "meter_columns.h"
#include "meter_fixture.h"
#include "scratch.h"

extern const struct probe_ops probe_cpu, probe_memory, probe_pressure, probe_network, probe_data,
    probe_io;

static void begin(struct probed *p, const struct probe_ops *ops, const char *root)
{
    probed_open(p, ops, &(struct meter_place){.root = root});
}

static int has(const struct probed *p, const char *name)
{
    return probed_find(p, name) < COLUMNS_MAX;
}

/* ---- processors ---- */

static void ticks_of_the_machine(void **state)
{
    const char *const root = *state;
    struct probed p;

    meter_put(root, "proc/stat", "cpu  100 10 50 1000 20 1 2 3 7 0\ncpu0 1 2 3\n");
    begin(&p, &probe_cpu, root);
    probed_sample(&p, 0);
    probed_check(&p, "cpu_machine_percent", NAN); /* nothing to compare with yet */
    /* two seconds: 150 + 10 ticks of user, 25 + 4 + 11 of system, 40 waiting, 6 stolen */
    meter_put(root, "proc/stat", "cpu  250 20 75 1100 60 5 13 9 7 0\n");
    probed_sample(&p, 2);
    probed_check(&p, "cpu_user_percent", 80);
    probed_check(&p, "cpu_system_percent", 20);
    probed_check(&p, "cpu_machine_percent", 100);
    probed_check(&p, "cpu_iowait_percent", 20);
    probed_check(&p, "cpu_steal_percent", 3);
    /* iowait may fall (proc_stat(5)); the rest goes on */
    meter_put(root, "proc/stat", "cpu  350 20 75 1100 10 5 13 9 7 0\n");
    probed_sample(&p, 1);
    probed_check(&p, "cpu_user_percent", 100);
    probed_check(&p, "cpu_iowait_percent", NAN);
    meter_put(root, "proc/stat", "nonsense\n");
    probed_sample(&p, 1);
    probed_check(&p, "cpu_machine_percent", NAN);
    assert_true(probed_value(&p, "cpu_process_percent") >= 0);
    assert_false(has(&p, "cpu_throttled_percent"));
    probed_close(&p);
}

/* An old kernel's line ends early: what it has not is nothing. */
static void short_line_of_ticks(void **state)
{
    const char *const root = *state;
    struct probed p;

    meter_put(root, "proc/stat", "cpu  10 10 10 10\n");
    begin(&p, &probe_cpu, root);
    probed_sample(&p, 0);
    meter_put(root, "proc/stat", "cpu  60 10 20 10\n");
    probed_sample(&p, 1);
    probed_check(&p, "cpu_machine_percent", 60);
    probed_check(&p, "cpu_steal_percent", 0);
    probed_close(&p);
}

static void throttled_in_version_2(void **state)
{
    const char *const root = *state;
    struct probed p;

    meter_put(root, "proc/self/cgroup", "0::/pod/app\n");
    meter_put(root, "proc/self/mountinfo", "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
    meter_put(root, "sys/fs/cgroup/pod/app/cpu.stat", "usage_usec 5\nthrottled_usec 1000000\n");
    meter_put(root, "sys/fs/cgroup/pod/cpu.stat", "usage_usec 5\nthrottled_usec 3000000\n");
    meter_put(root, "sys/fs/cgroup/cpu.stat", "usage_usec 5\n"); /* no quota at the top */
    begin(&p, &probe_cpu, root);
    probed_sample(&p, 0);
    meter_put(root, "sys/fs/cgroup/pod/app/cpu.stat", "usage_usec 5\nthrottled_usec 1500000\n");
    meter_put(root, "sys/fs/cgroup/pod/cpu.stat", "usage_usec 5\nthrottled_usec 3100000\n");
    probed_sample(&p, 2);
    probed_check(&p, "cpu_throttled_percent", 30); /* 0.6 s of 2 s */
    assert_false(has(&p, "cpu_machine_percent"));
    probed_close(&p);
}

static void throttled_in_version_1(void **state)
{
    const char *const root = *state;
    struct probed p;

    meter_put(root, "proc/self/cgroup", "2:cpu,cpuacct:/docker/abc\n1:name=systemd:/docker/abc\n");
    meter_put(root, "proc/self/mountinfo",
              "30 23 0:26 /docker/abc /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n");
    meter_put(root, "sys/fs/cgroup/cpu/cpu.stat",
              "nr_periods 1\nnr_throttled 1\nthrottled_time 1000000000\n");
    begin(&p, &probe_cpu, root);
    probed_sample(&p, 0);
    meter_put(root, "sys/fs/cgroup/cpu/cpu.stat",
              "nr_periods 2\nnr_throttled 2\nthrottled_time 1250000000\n");
    probed_sample(&p, 1);
    probed_check(&p, "cpu_throttled_percent", 25);
    probed_close(&p);
}

/* ---- memory ---- */

static const char stat_2[] = "anon 1000\nfile 2000\nkernel 5\nshmem 300\nfile_mapped 7\n"
                             "anon_thp 9\n";

static void memory_in_version_2(void **state)
{
    const char *const root = *state;
    struct probed p;

    meter_put(root, "proc/self/statm", "900 100 50 10 0 40 0\n");
    meter_put(root, "proc/self/cgroup", "0::/pod/app\n");
    meter_put(root, "proc/self/mountinfo", "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
    meter_put(root, "sys/fs/cgroup/pod/app/memory.stat", "%s", stat_2);
    meter_put(root, "sys/fs/cgroup/pod/memory.stat", "anon 77\nfile 77\nshmem 77\n");
    meter_put(root, "sys/fs/cgroup/pod/app/memory.max", "max\n");
    meter_put(root, "sys/fs/cgroup/pod/memory.max", "1073741824\n");
    begin(&p, &probe_memory, root);
    probed_sample(&p, 0);
    probed_check(&p, "memory_anon_bytes", 1000);
    probed_check(&p, "memory_file_bytes", 2000);
    probed_check(&p, "memory_shmem_bytes", 300);
    probed_check(&p, "memory_limit_bytes", 1073741824);
    probed_check(&p, "process_rss_bytes", 100 * (double)sysconf(_SC_PAGESIZE));
    meter_put(root, "sys/fs/cgroup/pod/app/memory.max", "500000000\n"); /* set meanwhile */
    probed_sample(&p, 1);
    probed_check(&p, "memory_limit_bytes", 500000000);
    meter_put(root, "sys/fs/cgroup/pod/app/memory.max", "max\n");
    meter_put(root, "sys/fs/cgroup/pod/memory.max", "max\n");
    meter_put(root, "sys/fs/cgroup/pod/app/memory.stat", "anon x\nfile\n");
    meter_put(root, "proc/self/statm", "900\n");
    probed_sample(&p, 1);
    probed_check(&p, "memory_limit_bytes", NAN);
    probed_check(&p, "memory_anon_bytes", NAN);
    probed_check(&p, "memory_file_bytes", NAN);
    probed_check(&p, "process_rss_bytes", NAN);
    probed_close(&p);
}

/* Memory in version 1, a version 2 tree beside it that knows nothing of it; a container that sees
 * its own group as the top. */
static void memory_on_both(void **state)
{
    const char *const root = *state;
    struct probed p;

    meter_put(root, "proc/self/cgroup", "4:memory:/docker/abc\n0::/docker/abc\n");
    meter_put(root, "proc/self/mountinfo",
              "30 23 0:26 /docker/abc /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n"
              "31 23 0:27 / /sys/fs/cgroup/unified ro - cgroup2 cgroup2 rw\n");
    meter_put(root, "sys/fs/cgroup/memory/memory.stat",
              "cache 1\nrss 2\nshmem 3\nhierarchical_memory_limit 5\ntotal_cache 2000\n"
              "total_rss 1000\ntotal_rss_huge 6\ntotal_shmem 300\n");
    meter_put(root, "sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
    meter_put(root, "sys/fs/cgroup/unified/cgroup.procs", "1\n");
    begin(&p, &probe_memory, root);
    probed_sample(&p, 0);
    probed_check(&p, "memory_anon_bytes", 1000);
    probed_check(&p, "memory_file_bytes", 2000);
    probed_check(&p, "memory_shmem_bytes", 300);
    probed_check(&p, "memory_limit_bytes", NAN); /* as large as may be: none */
    assert_false(has(&p, "process_rss_bytes"));
    meter_put(root, "sys/fs/cgroup/memory/memory.limit_in_bytes", "4096\n");
    probed_sample(&p, 1);
    probed_check(&p, "memory_limit_bytes", 4096);
    probed_close(&p);
}

/* The namespace's root is all that a container sees, and its files lie at the mount. */
static void memory_in_a_namespace(void **state)
{
    const char *const root = *state;
    struct probed p;

    meter_put(root, "proc/self/cgroup", "0::/\n");
    meter_put(root, "proc/self/mountinfo", "30 23 0:26 / /sys/fs/cgroup ro - cgroup2 cgroup rw\n");
    meter_put(root, "sys/fs/cgroup/memory.stat", "%s", stat_2);
    meter_put(root, "sys/fs/cgroup/memory.max", "2048\n");
    begin(&p, &probe_memory, root);
    probed_sample(&p, 0);
    probed_check(&p, "memory_anon_bytes", 1000);
    probed_check(&p, "memory_limit_bytes", 2048);
    probed_close(&p);
}

/* ---- pressure ---- */

#define PRESSURE(n) "some avg10=0.00 avg60=0.00 avg300=0.00 total=" #n "\nfull avg10=0 total=1\n"

static void pressure_of_the_group(void **state)
{
    const char *const root = *state;
    struct probed p;

    meter_put(root, "proc/self/cgroup", "0::/app\n");
    meter_put(root, "proc/self/mountinfo", "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
    meter_put(root, "sys/fs/cgroup/app/cpu.pressure", PRESSURE(1000000));
    meter_put(root, "sys/fs/cgroup/cpu.pressure", PRESSURE(5));
    meter_put(root, "sys/fs/cgroup/io.pressure", PRESSURE(5)); /* not of its own group */
    meter_put(root, "proc/pressure/io", PRESSURE(700000));
    meter_put(root, "proc/pressure/memory", "full avg10=0 total=1\n");
    begin(&p, &probe_pressure, root);
    probed_sample(&p, 0);
    meter_put(root, "sys/fs/cgroup/app/cpu.pressure", PRESSURE(1250000));
    meter_put(root, "proc/pressure/io", PRESSURE(1700000));
    probed_sample(&p, 1);
    probed_check(&p, "pressure_cpu_percent", 25);
    probed_check(&p, "pressure_io_percent", 100);
    assert_false(has(&p, "pressure_memory_percent"));
    meter_put(root, "proc/pressure/io", "some avg10=0 total=\n");
    meter_put(root, "sys/fs/cgroup/app/cpu.pressure", "some avg10=0\nfull total=5\n");
    probed_sample(&p, 1);
    probed_check(&p, "pressure_cpu_percent", NAN);
    probed_check(&p, "pressure_io_percent", NAN);
    probed_close(&p);
}

/* ---- network ---- */

#define HEADINGS "Inter-|   Receive\n face |bytes    packets\n"

static void network_of_real_interfaces(void **state)
{
    const char *const root = *state;
    struct probed p;

    meter_put(root, "sys/class/net/eth0/device/x", "x");
    meter_put(root, "sys/class/net/bond0/x", "x");
    meter_put(root, "proc/net/dev",
              HEADINGS "    lo: 5 0 0 0 0 0 0 0 5 0 0 0 0 0 0 0\n"
                       "  eth0:1000 1 0 0 0 0 0 0 2000 1 0 0 0 0 0 0\n"
                       " bond0:1000 1 0 0 0 0 0 0 2000 1 0 0 0 0 0 0\n");
    begin(&p, &probe_network, root);
    probed_sample(&p, 0);
    meter_put(root, "proc/net/dev",
              HEADINGS "    lo: 90005 0 0 0 0 0 0 0 5 0 0 0 0 0 0 0\n"
                       "  eth0:5000 1 0 0 0 0 0 0 3000 1 0 0 0 0 0 0\n"
                       " bond0:5000 1 0 0 0 0 0 0 3000 1 0 0 0 0 0 0\n");
    probed_sample(&p, 2);
    probed_check(&p, "net_receive_bytes_per_s", 2000);
    probed_check(&p, "net_send_bytes_per_s", 500);
    meter_put(root, "proc/net/dev", HEADINGS "  eth0:6000 1 0 0\n: x\n\neth1\n");
    probed_sample(&p, 1);
    probed_check(&p, "net_receive_bytes_per_s", NAN); /* a line that is cut */
    probed_close(&p);
}

static void network_of_a_container(void **state)
{
    const char *const root = *state;
    struct probed p;

    meter_put(root, "proc/net/dev",
              HEADINGS "    lo: 5 0 0 0 0 0 0 0 5 0 0 0 0 0 0 0\n"
                       "  eth0: 10 1 0 0 0 0 0 0 20 1 0 0 0 0 0 0\n");
    begin(&p, &probe_network, root);
    probed_sample(&p, 0);
    meter_put(root, "proc/net/dev",
              HEADINGS "    lo: 99 0 0 0 0 0 0 0 99 0 0 0 0 0 0 0\n"
                       "  eth0: 110 1 0 0 0 0 0 0 20 1 0 0 0 0 0 0\n");
    probed_sample(&p, 1);
    probed_check(&p, "net_receive_bytes_per_s", 100);
    probed_check(&p, "net_send_bytes_per_s", 0);
    probed_close(&p);
}

/* ---- the data set ---- */

static double resident_percent(const char *path)
{
    struct page_cache_share s = {0};
    const int fd = file_open(path);

    assert_true(fd >= 0);
    assert_int_equal(page_cache_measure(fd, path, &s), 0);
    close(fd);
    return 100 * (double)s.resident / (double)s.bytes;
}

/* What is being read ahead may arrive meanwhile. */
static void check_resident(struct probed *p, const char *path)
{
    const double before = resident_percent(path);
    double seen, after;

    probed_sample(p, 5);
    seen = probed_value(p, "data_resident_percent");
    after = resident_percent(path);
    if (seen < before - 1e-9 || seen > after + 1e-9)
        fail_msg("%g %%, %g %% before and %g %% after", seen, before, after);
}

static void resident_share(void **state)
{
    enum { BYTES = 8 << 20 };
    char *const bytes = xcalloc(1, BYTES);
    char *const path = scratch_bytes(*state, "train.rec", bytes, BYTES);
    const char *const files[] = {path, "/nowhere", *state};
    struct probed p;
    int fd;

    probed_open(&p, &probe_data,
                &(struct meter_place){.root = *state, .data_files = files, .n_data_files = 3});
    check_resident(&p, path); /* just written: all of it */
    fd = file_open(path);
    page_cache_forget(fd, path); /* on a file system in memory nothing goes */
    check_resident(&p, path);
    for (int i = 0; i < 4; i++) /* a half, and what reading ahead brings */
        assert_int_equal(file_pread(fd, bytes, 1 << 20, (uint64_t)i << 20, path), 0);
    check_resident(&p, path);
    probed_sample(&p, 1);
    probed_check(&p, "data_resident_percent", NAN); /* not every time */
    close(fd);
    probed_close(&p);
    probed_open(&p, &probe_data, &(struct meter_place){.root = *state});
    assert_int_equal(p.columns.n, 0);
    probed_close(&p);
    free(bytes);
    free(path);
}

/* More than all windows hold: a file with holes of which the first part was read. */
static void resident_share_of_much(void **state)
{
    enum { HALF = 128 << 20 };
    char *const path = scratch_file(*state, "train.rec", "x");
    const char *const files[] = {path};
    struct page_cache_share s = {0};
    struct probed p;
    char *const bytes = xmalloc(1 << 20);
    int fd;

    assert_int_equal(truncate(path, 2 * HALF), 0);
    fd = file_open(path);
    for (uint64_t i = 0; i < HALF >> 20; i++)
        assert_int_equal(file_pread(fd, bytes, 1 << 20, i << 20, path), 0);
    assert_int_equal(page_cache_measure(fd, path, &s), 0);
    probed_open(&p, &probe_data,
                &(struct meter_place){.root = *state, .data_files = files, .n_data_files = 1});
    for (int i = 0; i < 5; i++) {
        const double truth = 100 * (double)s.resident / (double)s.bytes;
        probed_sample(&p, 5);
        if (fabs(probed_value(&p, "data_resident_percent") - truth) > 2)
            fail_msg("%g %%, the whole file says %g %%", probed_value(&p, "data_resident_percent"),
                     truth);
    }
    probed_close(&p);
    close(fd);
    free(bytes);
    free(path);
}

/* ---- nothing, and this machine ---- */

/* The kernel gives a page of this file to one call. */
static void more_than_a_page(void **state)
{
    static char text[10000];
    const int fd = probe_open("", "/proc/self/smaps");

    (void)state;
    assert_true(fd >= 0);
    assert_int_equal(strlen(probe_again(fd, text, sizeof(text))), sizeof(text) - 1);
    probe_close(fd);
}

static void nothing_to_see(void **state)
{
    const struct probe_ops *const all[] = {&probe_memory, &probe_pressure, &probe_network,
                                           &probe_data, &probe_io};
    struct probed p;

    for (size_t i = 0; i < COUNT_OF(all); i++) {
        begin(&p, all[i], *state);
        assert_int_equal(p.columns.n, 0);
        probed_close(&p);
    }
    begin(&p, &probe_cpu, *state);
    assert_int_equal(p.columns.n, 1); /* its own clock is always there */
    probed_close(&p);
}

/* utime and stime, fields 14 and 15 of /proc/self/stat behind a name in brackets. */
static double own_ticks(void)
{
    char text[1024];
    FILE *const f = fopen("/proc/self/stat", "r");
    const size_t n = fread(text, 1, sizeof(text) - 1, f);
    unsigned long user, sys;

    fclose(f);
    text[n] = '\0';
    assert_int_equal(sscanf(strrchr(text, ')') + 2,
                            "%*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user, &sys),
                     2);
    return (double)(user + sys);
}

/* 0.6 s of processor time, by the meter and by the kernel's account of the process. */
static void a_burn_of_known_length(void **state)
{
    struct probed p;
    const double ticks = own_ticks();
    const int64_t start = clock_ns(), cpu = clock_process_ns();
    volatile double x = 1;
    double seconds, by_kernel, by_meter;

    (void)state;
    begin(&p, &probe_cpu, "");
    probed_sample(&p, 0);
    while (clock_process_ns() - cpu < 600000000)
        for (int i = 0; i < 100000; i++)
            x = x * 1.0000001;
    seconds = (double)(clock_ns() - start) / 1e9;
    probed_sample(&p, seconds);
    by_kernel = (own_ticks() - ticks) / (double)sysconf(_SC_CLK_TCK);
    by_meter = probed_value(&p, "cpu_process_percent") / 100 * seconds;
    if (fabs(by_meter - by_kernel) > 0.05 || fabs(by_meter - 0.6) > 0.05)
        fail_msg("the meter says %g s, the kernel %g s", by_meter, by_kernel);
    if (has(&p, "cpu_machine_percent")) /* at least this process */
        assert_true(probed_value(&p, "cpu_machine_percent") / 100 * seconds > 0.5);
    probed_close(&p);
}

/* 3 MiB read by calls that this process makes. */
static void reads_of_known_length(void **state)
{
    char *const bytes = xcalloc(3, 1 << 20);
    char *const path = scratch_bytes(*state, "file", bytes, 3 << 20);
    struct probed p;
    double before;
    int fd;

    begin(&p, &probe_io, "");
    if (p.columns.n == 0)
        skip();
    probed_sample(&p, 0);
    before = probed_value(&p, "io_called_read_bytes");
    fd = file_open(path);
    assert_int_equal(file_pread(fd, bytes, 3 << 20, 0, path), 0);
    probed_sample(&p, 1);
    assert_true(probed_value(&p, "io_called_read_bytes") - before >= 3 << 20);
    assert_true(probed_value(&p, "io_called_read_bytes") - before < (3 << 20) + 65536);
    close(fd);
    probed_close(&p);
    free(bytes);
    free(path);
}

#define TREE(f) cmocka_unit_test_setup_teardown(f, scratch_open, scratch_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TREE(ticks_of_the_machine),
        TREE(short_line_of_ticks),
        TREE(throttled_in_version_2),
        TREE(throttled_in_version_1),
        TREE(memory_in_version_2),
        TREE(memory_on_both),
        TREE(memory_in_a_namespace),
        TREE(pressure_of_the_group),
        TREE(network_of_real_interfaces),
        TREE(network_of_a_container),
        TREE(resident_share),
        TREE(resident_share_of_much),
        TREE(nothing_to_see),
        cmocka_unit_test(more_than_a_page),
        cmocka_unit_test(a_burn_of_known_length),
        TREE(reads_of_known_length),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
