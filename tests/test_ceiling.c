/* Limits of real control groups hold: where the machine lets this process make them. */
#include "ceiling_fixture.h"

#include "base/page_cache.h"
#include "meter/disk_path.h"
#include "scratch.h"

enum { MIB = 1 << 20 };

/* A child of the test that does something once it is told to, in the group. */
struct child {
    pid_t pid;
    int go;
    struct ceiling ceiling;
};

typedef void child_work(const char *path);

static struct child start(child_work *work, const char *path)
{
    struct child c;
    int ends[2];
    char byte;

    assert_int_equal(pipe(ends), 0);
    c.pid = fork();
    if (c.pid == 0) {
        close(ends[1]);
        if (read(ends[0], &byte, 1) == 1)
            work(path);
        _exit(0);
    }
    close(ends[0]);
    c.go = ends[1];
    return c;
}

static void into_group(struct child *c, int memory, int disk)
{
    const struct ceiling_wish w = {
        .root = "", .memory = memory, .disk = disk, .run = c->pid, .others = {getpid()}};

    if (ceiling_find(&c->ceiling, &w) < 0 || ceiling_make(&c->ceiling) < 0 ||
        ceiling_join(&c->ceiling, c->pid) < 0)
        fail_msg("%s", err_reason());
}

static int let_go(struct child *c)
{
    int status;

    assert_int_equal(write(c->go, "g", 1), 1);
    close(c->go);
    assert_int_equal(waitpid(c->pid, &status, 0), c->pid);
    return status;
}

static void end(struct child *c)
{
    if (ceiling_remove("", c->ceiling.groups, c->ceiling.n_groups) < 0)
        fail_msg("%s", err_reason());
    assert_int_equal(n_groups_of(c->pid), 0);
    ceiling_release(&c->ceiling);
}

static void allocate(const char *path)
{
    const size_t n = (size_t)128 * MIB;
    volatile char *const p = malloc(n);

    (void)path;
    for (size_t i = 0; i < n; i += 4096)
        p[i] = 1;
}

static void read_whole(const char *path)
{
    static char buf[MIB];
    const int fd = open(path, O_RDONLY | O_CLOEXEC);

    for (int pass = 0; pass < 2; pass++) {
        lseek(fd, 0, SEEK_SET);
        while (read(fd, buf, sizeof(buf)) > 0)
            ;
    }
    close(fd);
}

static uint64_t resident(const char *path)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct page_cache_share s = {0};

    assert_int_equal(page_cache_measure(fd, path, &s), 0);
    close(fd);
    return s.resident;
}

static void too_much_memory_is_killed(void **state)
{
    struct ceiling_use use;
    struct child c;
    int status;

    (void)state;
    need_groups(1, 0);
    c = start(allocate, NULL);
    into_group(&c, 1, 0);
    assert_int_equal(ceiling_limit_memory(&c.ceiling, 32 * MIB), 0);
    status = let_go(&c);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    ceiling_read(&c.ceiling, &use);
    assert_true(use.oom_kills >= 1);
    end(&c);
}

/* Without a limit a file of 48 MiB stays in memory; under one of 16 MiB no more than that does. */
static void page_cache_counts(void **state)
{
    char *const free_path = cold_file(*state, "free", 48 * MIB);
    char *const path = cold_file(*state, "limited", 48 * MIB);
    struct child c;

    need_groups(1, 0);
    c = start(read_whole, free_path);
    into_group(&c, 1, 0);
    assert_int_equal(let_go(&c), 0);
    assert_true(resident(free_path) > 44 * MIB);
    end(&c);
    c = start(read_whole, path);
    into_group(&c, 1, 0);
    assert_int_equal(ceiling_limit_memory(&c.ceiling, 16 * MIB), 0);
    assert_int_equal(let_go(&c), 0);
    assert_in_range(resident(path), 1, 16 * MIB);
    end(&c);
    free(free_path);
    free(path);
}

/* What is there already when a limit is set is given back. */
static void a_later_limit_takes_cache_back(void **state)
{
    char *const path = cold_file(*state, "limited", 48 * MIB);
    struct ceiling_use use;
    struct child c;

    need_groups(1, 0);
    c = start(read_whole, path);
    into_group(&c, 1, 0);
    assert_int_equal(let_go(&c), 0);
    assert_true(resident(path) > 44 * MIB);
    ceiling_read(&c.ceiling, &use);
    assert_true(use.cache > 40 * MIB && use.held >= 0);
    if (ceiling_limit_memory(&c.ceiling, use.held + 8 * MIB) < 0)
        fail_msg("%s", err_reason());
    assert_in_range(resident(path), 0, 12 * MIB);
    end(&c);
    free(path);
}

static void read_direct(const char *path)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_DIRECT);
    void *const buf = aligned_alloc(4096, MIB);

    while (read(fd, buf, MIB) > 0)
        ;
    close(fd);
    free(buf);
}

static double seconds_of(struct child *c)
{
    const int64_t from = clock_ns();

    assert_int_equal(let_go(c), 0);
    return (double)(clock_ns() - from) / 1e9;
}

/* 8 MiB at 8 MiB a second take about a second; a limit only makes things slower, so other work on
 * the machine can not make this pass. */
static void a_disk_limit_slows_reads(void **state)
{
    char *const path = cold_file(*state, "slow", 8 * MIB);
    struct disk_path d;
    struct child c;
    double slow;

    need_groups(0, 1);
    assert_int_equal(disk_path_find("", path, &d), 0);
    if (d.kind != DISK_BLOCK)
        skip();
    c = start(read_direct, path);
    into_group(&c, 0, 1);
    if (ceiling_limit_disk(&c.ceiling, d.whole.major, d.whole.minor, 8 * MIB) < 0)
        fail_msg("%s", err_reason());
    slow = seconds_of(&c);
    end(&c);
    if (slow < 0.5 || slow > 10)
        fail_msg("8 MiB at 8 MiB/s took %.2f s", slow);
    disk_path_release(&d);
    free(path);
}

/* Numbers of processes come again. */
static void a_group_of_a_killed_run_is_taken_over(void **state)
{
    struct child c;

    (void)state;
    need_groups(1, 0);
    c = start(read_whole, "/dev/null");
    into_group(&c, 1, 0);
    assert_int_equal(let_go(&c), 0);
    assert_true(n_groups_of(c.pid) >= 1);
    assert_int_equal(ceiling_make(&c.ceiling), 0);
    end(&c);
}

/* Of a run with the same number in another place: a process is in it. */
static void a_group_that_is_used_stays(void **state)
{
    struct child c;

    (void)state;
    need_groups(1, 0);
    c = start(read_whole, "/dev/null");
    into_group(&c, 1, 0);
    assert_int_equal(ceiling_make(&c.ceiling), E_IO);
    assert_non_null(strstr(err_reason(), "make the control group"));
    assert_true(n_groups_of(c.pid) >= 1);
    assert_int_equal(let_go(&c), 0);
    end(&c);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, scratch_open, scratch_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(too_much_memory_is_killed),
        TEST(page_cache_counts),
        TEST(a_later_limit_takes_cache_back),
        TEST(a_disk_limit_slows_reads),
        TEST(a_group_of_a_killed_run_is_taken_over),
        TEST(a_group_that_is_used_stays),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
