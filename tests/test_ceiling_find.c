/* Where a control group can be made, on trees of every kind of machine. The question is asked as
 * an ordinary user in a process of its own: root may write everything. */
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/file.h"
#include "meter/ceiling.h"
#include "scratch.h"

enum { RUN = 77, OTHER = 78, NOBODY = 65534 };

static const char v2_mount[] = "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n";
static const char v1_mounts[] = "31 23 0:27 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
                                "32 23 0:28 / /sys/fs/cgroup/blkio rw - cgroup cgroup rw,blkio\n";

static void add(const char *dir, const char *name, const char *text)
{
    free(scratch_file(dir, name, text));
}

/* Its files as the kernel makes them; is_ours: an ordinary user may write them. */
struct fixture_group {
    const char *path, *procs, *controllers, *subtree, *max;
    int is_ours, is_top;
};

static void chmod_in(const char *dir, const char *path, mode_t mode)
{
    char *const name = xasprintf("%s/%s", dir, path);

    chmod(name, mode);
    free(name);
}

static void add_in(const char *dir, const struct fixture_group *g, const char *file,
                   const char *text)
{
    char *const name = xasprintf("%s/%s", g->path, file);

    if (text) {
        add(dir, name, text);
        chmod_in(dir, name, g->is_ours ? 0666 : 0444);
    }
    free(name);
}

static void add_group(const char *dir, struct fixture_group g)
{
    add_in(dir, &g, "cgroup.procs", g.procs ? g.procs : "");
    add_in(dir, &g, "cgroup.controllers", g.controllers);
    add_in(dir, &g, "cgroup.subtree_control", g.subtree);
    add_in(dir, &g, "memory.max", g.max);
    add_in(dir, &g, "cgroup.type", g.controllers && !g.is_top ? "domain\n" : NULL);
    chmod_in(dir, g.path, g.is_ours ? 0777 : 0555);
}

static void add_self(const char *dir, const char *groups, const char *mounts)
{
    add(dir, "proc/self/cgroup", groups);
    add(dir, "proc/self/mountinfo", mounts);
}

/* What came of it, shared with the process that asked. */
struct answer {
    int rc, version[CEILING_KINDS], has_rest;
    size_t n_groups;
    char how[64], reason[600], path[CEILING_KINDS][200], back[200], off[64];
};

static void ask(const char *dir, int memory, int disk, struct answer *a)
{
    const struct ceiling_wish w = {
        .root = dir, .memory = memory, .disk = disk, .run = RUN, .others = {OTHER}};
    struct ceiling c;

    if (geteuid() == 0 && (setgid(NOBODY) < 0 || setuid(NOBODY) < 0))
        _exit(1);
    a->rc = ceiling_find(&c, &w);
    snprintf(a->reason, sizeof(a->reason), "%s", a->rc < 0 ? err_reason() : "");
    snprintf(a->how, sizeof(a->how), "%s", c.how);
    a->has_rest = c.rest != NULL;
    a->n_groups = c.n_groups;
    for (int k = 0; k < CEILING_KINDS; k++) {
        a->version[k] = c.version[k];
        snprintf(a->path[k], sizeof(a->path[k]), "%s", c.of[k] ? c.of[k]->path : "");
    }
    if (c.n_groups) {
        snprintf(a->back, sizeof(a->back), "%s", c.groups[0].back);
        snprintf(a->off, sizeof(a->off), "%s", c.groups[0].off ? c.groups[0].off : "");
    }
    ceiling_release(&c);
    _exit(0);
}

static struct answer find(const char *dir, int memory, int disk)
{
    struct answer *const shared =
        mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    struct answer a;
    int status;
    pid_t pid;

    assert_true(shared != MAP_FAILED);
    chmod(dir, 0755);
    pid = fork();
    if (pid == 0)
        ask(dir, memory, disk, shared);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    a = *shared;
    munmap(shared, sizeof(*shared));
    return a;
}

static void refused(struct answer a, const char *part)
{
    if (a.rc != E_UNSUPPORTED || !strstr(a.reason, part) || !strstr(a.reason, "Delegate=yes"))
        fail_msg("%d, %s: not refused with \"%s\"", a.rc, a.reason, part);
}

/* ---- version 2 ---- */

static void given_over_to_the_run_alone(void **state)
{
    struct answer a;

    add_self(*state, "0::/app/run.scope\n", v2_mount);
    add_group(*state, (struct fixture_group){"sys/fs/cgroup/app", .controllers = "memory io\n",
                                             .subtree = "memory io\n", .is_ours = 1});
    add_group(*state, (struct fixture_group){"sys/fs/cgroup/app/run.scope", "77\n78\n",
                                             "cpu memory io\n", "\n", "1000000\n", 1, 0});
    a = find(*state, 1, 1);
    assert_int_equal(a.rc, 0);
    assert_string_equal(a.how, "cgroup v2");
    assert_string_equal(a.path[CEILING_MEMORY], "/sys/fs/cgroup/app/run.scope/stave-77");
    assert_string_equal(a.path[CEILING_DISK], a.path[CEILING_MEMORY]);
    assert_string_equal(a.back, "/sys/fs/cgroup/app/run.scope");
    assert_string_equal(a.off, "memory io");
    assert_true(a.has_rest);
    assert_int_equal(a.n_groups, 2);
    assert_string_equal(find(*state, 0, 1).off, "io memory");
}

/* The kernel gives the number 0 to processes of name spaces that can not be seen. */
static void processes_without_a_number_are_others(void **state)
{
    add_self(*state, "0::/run.scope\n", v2_mount);
    add_group(*state, (struct fixture_group){"sys/fs/cgroup/run.scope", "0\n77\n", "memory\n", "\n",
                                             NULL, 1, 0});
    refused(find(*state, 1, 0), "holds other processes, too");
}

/* A shell is in the group: the run goes beside it. */
static void beside_a_group_that_others_are_in(void **state)
{
    struct answer a;

    add_self(*state, "0::/app/term.scope\n", v2_mount);
    add_group(*state, (struct fixture_group){"sys/fs/cgroup/app", .controllers = "memory pids\n",
                                             .subtree = "memory pids\n", .is_ours = 1});
    add_group(*state, (struct fixture_group){"sys/fs/cgroup/app/term.scope", "12\n77\n78\n",
                                             "memory pids\n", "\n", "max\n", 1, 0});
    a = find(*state, 1, 0);
    assert_int_equal(a.rc, 0);
    assert_string_equal(a.path[CEILING_MEMORY], "/sys/fs/cgroup/app/stave-77");
    assert_string_equal(a.back, "/sys/fs/cgroup/app/term.scope");
    assert_string_equal(a.off, "");
    assert_false(a.has_rest);
    refused(find(*state, 1, 1), "controller io");
}

static void never_out_of_a_limit(void **state)
{
    add_self(*state, "0::/app/term.scope\n", v2_mount);
    add_group(*state, (struct fixture_group){"sys/fs/cgroup/app", .controllers = "memory\n",
                                             .subtree = "memory\n", .is_ours = 1});
    add_group(*state, (struct fixture_group){"sys/fs/cgroup/app/term.scope", "12\n77\n", "memory\n",
                                             "\n", "8589934592\n", 1, 0});
    refused(find(*state, 1, 0), "escape its memory.max");
}

static void not_given_over(void **state)
{
    add_self(*state, "0::/user.slice/session-3.scope\n", v2_mount);
    add_group(*state, (struct fixture_group){"sys/fs/cgroup/user.slice", .controllers = "memory\n",
                                             .subtree = "memory\n"});
    add_group(*state, (struct fixture_group){"sys/fs/cgroup/user.slice/session-3.scope", "77\n",
                                             "memory\n", "\n", "max\n", 0, 0});
    refused(find(*state, 1, 0), "session-3.scope (version 2) may not be written");
    refused(find(*state, 1, 0), "a memory ceiling");
}

/* A container with a tree of its own, seen as the root; it has a cgroup.type, as the real root has
 * not. Mounted read-only, as containers mostly are, and writable. */
static void in_a_container(void **state)
{
    struct answer a;

    add_self(*state, "0::/\n", v2_mount);
    add_group(*state, (struct fixture_group){"sys/fs/cgroup", "1\n77\n78\n", "memory io\n", "\n",
                                             "max\n", 1, 0});
    refused(find(*state, 1, 0), "holds other processes");
    add_group(*state,
              (struct fixture_group){"sys/fs/cgroup", "77\n78\n", "memory io\n", "\n", NULL, 1, 0});
    a = find(*state, 1, 0);
    assert_int_equal(a.rc, 0);
    assert_string_equal(a.path[CEILING_MEMORY], "/sys/fs/cgroup/stave-77");
    assert_string_equal(a.off, "memory");
    add_group(*state,
              (struct fixture_group){"sys/fs/cgroup", "77\n", "memory io\n", "\n", NULL, 0, 0});
    refused(find(*state, 1, 0), "may not be written");
}

/* The root of the whole tree may hold processes and groups with controllers. */
static void at_the_top_of_the_tree(void **state)
{
    struct answer a;

    add_self(*state, "0::/\n", v2_mount);
    add_group(*state, (struct fixture_group){"sys/fs/cgroup", "1\n2\n77\n", "memory io\n",
                                             "memory\n", NULL, 1, 1});
    a = find(*state, 1, 1);
    assert_int_equal(a.rc, 0);
    assert_string_equal(a.off, "io");
    assert_false(a.has_rest);
}

/* ---- version 1, both, none ---- */

static void version_1(void **state)
{
    struct answer a;

    add_self(*state, "4:memory:/job\n3:blkio:/\n", v1_mounts);
    add_group(*state, (struct fixture_group){
                          .path = "sys/fs/cgroup/memory/job", .procs = "1\n77\n", .is_ours = 1});
    add_group(*state, (struct fixture_group){.path = "sys/fs/cgroup/blkio", .is_ours = 1});
    a = find(*state, 1, 1);
    assert_int_equal(a.rc, 0);
    assert_string_equal(a.how, "cgroup v1");
    assert_string_equal(a.path[CEILING_MEMORY], "/sys/fs/cgroup/memory/job/stave-77");
    assert_string_equal(a.path[CEILING_DISK], "/sys/fs/cgroup/blkio/stave-77");
    assert_int_equal(a.n_groups, 2);
    chmod_in(*state, "sys/fs/cgroup/blkio", 0555);
    refused(find(*state, 1, 1), "/sys/fs/cgroup/blkio (version 1) may not be written");
    assert_int_equal(find(*state, 1, 0).rc, 0);
}

/* Version 2 is there without the controllers, as on machines with both. */
static void both_versions(void **state)
{
    char *const mounts =
        xasprintf("%s33 23 0:29 / /sys/fs/cgroup/unified rw - cgroup2 none rw\n", v1_mounts);
    struct answer a;

    add_self(*state, "4:memory:/job\n3:blkio:/\n0::/\n", mounts);
    add_group(*state, (struct fixture_group){.path = "sys/fs/cgroup/memory/job", .is_ours = 1});
    add_group(*state, (struct fixture_group){.path = "sys/fs/cgroup/blkio", .is_ours = 1});
    add_group(*state,
              (struct fixture_group){"sys/fs/cgroup/unified", "77\n", "io\n", "\n", NULL, 1, 0});
    a = find(*state, 1, 0);
    assert_string_equal(a.path[CEILING_MEMORY], "/sys/fs/cgroup/memory/job/stave-77");
    a = find(*state, 1, 1);
    assert_string_equal(a.how, "cgroup v1, disk v2");
    assert_int_equal(a.version[CEILING_DISK], 2);
    free(mounts);
}

static void no_groups(void **state)
{
    add_self(*state, "", "22 1 254:0 / / rw - ext4 /dev/vda rw\n");
    refused(find(*state, 1, 0), "no control groups are mounted");
    refused(find(*state, 0, 1), "a disk limit");
}

/* ---- what is written, in version 2 ---- */

static void expect_file(const char *dir, const char *name, const char *start)
{
    char *const path = file_join(dir, name);
    char *text = NULL;
    size_t n;

    assert_int_equal(file_read(path, 1000, &text, &n), 0);
    if (strncmp(text, start, strlen(start)) != 0)
        fail_msg("%s holds %s, not %s", name, text, start);
    free(text);
    free(path);
}

static void limits_are_written(void **state)
{
    const struct ceiling_wish w = {.root = *state, .memory = 1, .disk = 1, .run = RUN};
    const struct fixture_group mine = {
        "sys/fs/cgroup/stave-77", "", "memory io\n", "\n", "max\n", 1, 0};
    struct ceiling_use use;
    struct ceiling c;

    add_self(*state, "0::/\n", v2_mount);
    add_group(*state, (struct fixture_group){"sys/fs/cgroup", "1\n", "memory io\n", "memory io\n",
                                             NULL, 1, 1});
    add_group(*state, mine); /* in place of the kernel */
    add_in(*state, &mine, "memory.swap.max", "max\n");
    add_in(*state, &mine, "memory.high", "8192\n");
    add_in(*state, &mine, "io.max", "\n");
    add_in(*state, &mine, "memory.current", "1000000\n");
    add_in(*state, &mine, "memory.stat", "anon 300000\nfile 600000\nkernel 90000\nshmem 50000\n");
    add_in(*state, &mine, "memory.events", "low 0\noom 2\noom_kill 1\n");
    assert_int_equal(ceiling_find(&c, &w), 0);
    assert_int_equal(ceiling_make(&c), 0);
    assert_int_equal(ceiling_limit_memory(&c, 268435456), 0);
    assert_int_equal(ceiling_limit_disk(&c, 259, 3, 209715200), 0);
    assert_int_equal(ceiling_join(&c, RUN), 0);
    expect_file(*state, "sys/fs/cgroup/stave-77/memory.max", "268435456");
    expect_file(*state, "sys/fs/cgroup/stave-77/memory.swap.max", "0");
    expect_file(*state, "sys/fs/cgroup/stave-77/memory.high", "max");
    expect_file(*state, "sys/fs/cgroup/stave-77/io.max", "259:3 rbps=209715200 wbps=209715200");
    expect_file(*state, "sys/fs/cgroup/stave-77/cgroup.procs", "77");
    assert_int_equal(ceiling_limit_memory(&c, 900000), E_IO);
    assert_non_null(strstr(err_reason(), "gives back no more"));
    expect_file(*state, "sys/fs/cgroup/stave-77/memory.max", "268435456");
    expect_file(*state, "sys/fs/cgroup/stave-77/memory.high", "max");
    ceiling_read(&c, &use);
    assert_int_equal(use.anon, 350000);
    assert_int_equal(use.cache, 550000);
    assert_int_equal(use.held, 450000);
    assert_int_equal(use.oom_kills, 1);
    ceiling_release(&c);
}

/* Folders without write permission can not be removed by an ordinary user. */
static int free_folder(const char *path, const struct stat *st, int type, struct FTW *place)
{
    (void)st;
    (void)place;
    return type == FTW_D ? chmod(path, 0755) * 0 : 0;
}

static int close_scratch(void **state)
{
    nftw(*state, free_folder, 16, FTW_PHYS);
    return scratch_close(state);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, scratch_open, close_scratch)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(given_over_to_the_run_alone),
        TEST(processes_without_a_number_are_others),
        TEST(beside_a_group_that_others_are_in),
        TEST(never_out_of_a_limit),
        TEST(not_given_over),
        TEST(in_a_container),
        TEST(at_the_top_of_the_tree),
        TEST(version_1),
        TEST(both_versions),
        TEST(no_groups),
        TEST(limits_are_written),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
