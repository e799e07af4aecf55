/* Processor counts on machines that are folders: what containers of every kind show. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/cpus.h"
#include "base/err.h"
#include "base/numa.h"
#include "scratch.h"

/* A machine of 64 processors, all allowed. */
static void machine(const char *root, const char *allowed)
{
    char *status = xasprintf("Name:\tstave\nCpus_allowed:\tff\nCpus_allowed_list:\t%s\n", allowed);

    free(scratch_file(root, "proc/self/status", status));
    free(scratch_file(root, "sys/devices/system/cpu/online", "0-63\n"));
    free(status);
}

static void put(const char *root, const char *name, const char *text)
{
    free(scratch_file(root, name, text));
}

static struct cpus find(const char *root)
{
    struct cpus c;

    assert_int_equal(cpus_find(root, &c), 0);
    return c;
}

static void no_cgroup_files(void **state)
{
    struct cpus c;

    machine(*state, "0-63");
    c = find(*state);
    assert_int_equal(c.count, 64);
    assert_int_equal(c.online, 64);
    assert_true(c.quota == 0);
    assert_string_equal(c.how, "all 64 processors of the machine");
}

static void affinity_lists(void **state)
{
    struct cpus c;

    machine(*state, "0-3,8,10-11");
    c = find(*state);
    assert_int_equal(c.count, 7);
    assert_int_equal(c.affinity, 7);
    assert_string_equal(c.how, "affinity mask of 7 of 64 processors");
}

static void v2_max_is_no_limit(void **state)
{
    machine(*state, "0-63");
    put(*state, "proc/self/cgroup", "0::/\n");
    put(*state, "sys/fs/cgroup/cpu.max", "max 100000\n");
    assert_int_equal(find(*state).count, 64);
}

static void v2_half_a_processor_is_one(void **state)
{
    struct cpus c;

    machine(*state, "0-63");
    put(*state, "proc/self/cgroup", "0::/\n");
    put(*state, "sys/fs/cgroup/cpu.max", "50000 100000\n");
    c = find(*state);
    assert_int_equal(c.count, 1);
    assert_true(c.quota == 0.5);
    assert_string_equal(c.how, "cgroup v2 quota of 0.50 processors in /sys/fs/cgroup");
}

static void v2_fractions_round_up(void **state)
{
    machine(*state, "0-63");
    put(*state, "proc/self/cgroup", "0::/\n");
    put(*state, "sys/fs/cgroup/cpu.max", "250000 100000\n");
    assert_int_equal(find(*state).count, 3);
}

static void v2_nested_group(void **state)
{
    machine(*state, "0-63");
    put(*state, "proc/self/cgroup", "0::/user.slice/job.scope\n");
    put(*state, "sys/fs/cgroup/user.slice/job.scope/cpu.max", "400000 100000\n");
    put(*state, "sys/fs/cgroup/user.slice/cpu.max", "max 100000\n");
    assert_int_equal(find(*state).count, 4);
}

static void v2_parent_smaller_than_child(void **state)
{
    struct cpus c;

    machine(*state, "0-63");
    put(*state, "proc/self/cgroup", "0::/user.slice/job.scope\n");
    put(*state, "sys/fs/cgroup/user.slice/job.scope/cpu.max", "800000 100000\n");
    put(*state, "sys/fs/cgroup/user.slice/cpu.max", "200000 100000\n");
    c = find(*state);
    assert_int_equal(c.count, 2);
    assert_string_equal(c.how, "cgroup v2 quota of 2.00 processors in /sys/fs/cgroup/user.slice");
}

static void affinity_below_the_quota_wins(void **state)
{
    struct cpus c;

    machine(*state, "5");
    put(*state, "proc/self/cgroup", "0::/\n");
    put(*state, "sys/fs/cgroup/cpu.max", "400000 100000\n");
    c = find(*state);
    assert_int_equal(c.count, 1);
    assert_true(c.quota == 4);
    assert_string_equal(c.how, "affinity mask of 1 of 64 processors");
}

/* Inside a container the path of /proc/self/cgroup is the host's, and the mount shows the
 * container's own group as its root. */
static void host_path_that_is_not_mounted(void **state)
{
    machine(*state, "0-63");
    put(*state, "proc/self/cgroup", "4:cpu,cpuacct:/docker/0123abcd\n");
    put(*state, "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "300000\n");
    put(*state, "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
    assert_int_equal(find(*state).count, 3);
}

static void mount_of_a_subtree(void **state)
{
    machine(*state, "0-63");
    put(*state, "proc/self/cgroup", "2:cpuset,cpu:/docker/0123/inner\n");
    put(*state, "proc/self/mountinfo",
        "30 20 0:25 / /sys/fs/cgroup ro - tmpfs tmpfs rw\n"
        "31 30 0:26 /docker/0123 /cg/quota ro,nosuid shared:9 - cgroup cgroup rw,cpuset,cpu\n"
        "32 30 0:27 /docker/0123 /cg/acct ro - cgroup cgroup rw,cpuacct\n");
    put(*state, "cg/quota/inner/cpu.cfs_quota_us", "150000\n");
    put(*state, "cg/quota/inner/cpu.cfs_period_us", "50000\n");
    put(*state, "cg/quota/cpu.cfs_quota_us", "-1\n");
    put(*state, "cg/quota/cpu.cfs_period_us", "100000\n");
    assert_int_equal(find(*state).count, 3);
}

static void group_outside_the_namespace(void **state)
{
    machine(*state, "0-63");
    put(*state, "proc/self/cgroup", "0::/../other\n");
    put(*state, "sys/other/cpu.max", "100000 100000\n");
    put(*state, "sys/fs/cgroup/cpu.max", "500000 100000\n");
    assert_int_equal(find(*state).count, 5);
}

static void v1_minus_one_is_no_limit(void **state)
{
    machine(*state, "0-15");
    put(*state, "proc/self/cgroup", "4:cpu,cpuacct:/\n");
    put(*state, "sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n");
    put(*state, "sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
    assert_int_equal(find(*state).count, 16);
}

static void v1_quota_up_the_tree(void **state)
{
    struct cpus c;

    machine(*state, "0-63");
    put(*state, "proc/self/cgroup", "5:cpuacct:/x\n4:cpu:/a/b\n");
    put(*state, "sys/fs/cgroup/cpu/a/b/cpu.cfs_quota_us", "900000\n");
    put(*state, "sys/fs/cgroup/cpu/a/b/cpu.cfs_period_us", "100000\n");
    put(*state, "sys/fs/cgroup/cpu/a/cpu.cfs_quota_us", "600000\n");
    put(*state, "sys/fs/cgroup/cpu/a/cpu.cfs_period_us", "100000\n");
    c = find(*state);
    assert_int_equal(c.count, 6);
    assert_string_equal(c.how, "cgroup v1 quota of 6.00 processors in /sys/fs/cgroup/cpu/a");
}

static void hybrid_takes_the_smaller(void **state)
{
    machine(*state, "0-63");
    put(*state, "proc/self/cgroup", "9:name=systemd:/s\n1:cpu:/job\n0::/job\n");
    put(*state, "sys/fs/cgroup/cpu/job/cpu.cfs_quota_us", "700000\n");
    put(*state, "sys/fs/cgroup/cpu/job/cpu.cfs_period_us", "100000\n");
    put(*state, "sys/fs/cgroup/unified/job/cgroup.procs", "1\n");
    assert_int_equal(find(*state).count, 7);
    put(*state, "sys/fs/cgroup/unified/job/cpu.max", "500000 100000\n");
    assert_int_equal(find(*state).count, 5);
}

static void garbage_is_no_limit(void **state)
{
    static const char *const texts[] = {"",         "\n",         "x y\n",       "-5 100000\n",
                                        "100000\n", "100000 0\n", "100000 -1\n", "\xff\xfe"};

    machine(*state, "0-7");
    put(*state, "proc/self/cgroup", "0::/\nnonsense\n::\n7\n1:cpu\n");
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        put(*state, "sys/fs/cgroup/cpu.max", texts[i]);
        assert_int_equal(find(*state).count, 8);
    }
}

static void nothing_known_is_an_error(void **state)
{
    struct cpus c;

    put(*state, "proc/self/status", "Name:\tx\nCpus_allowed_list:\tall\n");
    assert_int_equal(cpus_find(*state, &c), E_IO);
    assert_non_null(strstr(err_reason(), "--num-threads"));
}

static void this_machine(void **state)
{
    const struct cpus c = find("");

    (void)state;
    assert_in_range(c.count, 1, c.online);
    assert_in_range(c.affinity, c.count, c.online);
    assert_true(strlen(c.how) > 0);
}

/* ---- memory nodes ---- */

static void write_node(const char *root, int node, const char *list)
{
    char *const name = xasprintf("sys/devices/system/node/node%d/cpulist", node);

    free(scratch_file(root, name, list));
    free(name);
}

/* Two nodes of four and two processors, a node without any, and one of which none is allowed. */
static void test_nodes(void **state)
{
    static const int expected[] = {0, 0, 1};
    struct numa n;
    cpu_set_t allowed;

    write_node(*state, 0, "0-1,8-9\n");
    write_node(*state, 1, "\n");
    write_node(*state, 3, "2,10\n");
    write_node(*state, 4, "40-47\n");
    CPU_ZERO(&allowed);
    for (size_t i = 0; i < 12; i++)
        CPU_SET(i, &allowed);
    numa_find(*state, &allowed, &n);
    assert_int_equal(n.n, 2);
    assert_int_equal(CPU_COUNT(&n.cpus[0]), 4);
    assert_true(CPU_ISSET(9, &n.cpus[0]) && !CPU_ISSET(2, &n.cpus[0]));
    assert_int_equal(CPU_COUNT(&n.cpus[1]), 2);
    for (int i = 0; i < 3; i++)
        assert_int_equal(numa_node_of(&n, i, 3), expected[i]);
    for (int i = 0, on[2] = {0}; i < 12; i++) {
        on[numa_node_of(&n, i, 12)]++;
        if (i == 11) {
            assert_int_equal(on[0], 8);
            assert_int_equal(on[1], 4);
        }
    }
    assert_int_equal(numa_node_of(&n, 0, 1), 0);
}

static void test_no_nodes(void **state)
{
    struct numa n;
    cpu_set_t allowed;

    CPU_ZERO(&allowed);
    CPU_SET(0, &allowed);
    numa_find(*state, &allowed, &n);
    assert_int_equal(n.n, 0);
}

#define T(f) cmocka_unit_test_setup_teardown(f, scratch_open, scratch_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(no_cgroup_files),
        T(affinity_lists),
        T(v2_max_is_no_limit),
        T(v2_half_a_processor_is_one),
        T(v2_fractions_round_up),
        T(v2_nested_group),
        T(v2_parent_smaller_than_child),
        T(affinity_below_the_quota_wins),
        T(host_path_that_is_not_mounted),
        T(mount_of_a_subtree),
        T(group_outside_the_namespace),
        T(v1_minus_one_is_no_limit),
        T(v1_quota_up_the_tree),
        T(hybrid_takes_the_smaller),
        T(garbage_is_no_limit),
        T(nothing_known_is_an_error),
        T(this_machine),
        T(test_nodes),
        T(test_no_nodes),
    };

    return cmocka_run_group_tests_name("cpus", tests, NULL, NULL);
}
