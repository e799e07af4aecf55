/* Hard inputs from the machine: processors and memory as containers show them, launchers that bind
 * everything to one processor. Trees of files are drawn at random and judged by a few lines here.
 */
#include <math.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/file.h"
#include "cli/machine.h"
#include "hard_outcome.h"
#include "run_fixture.h"
#include "scratch.h"

enum { MAX_DEPTH = 4 };

static void put(const char *root, const char *name, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

static void put(const char *root, const char *name, const char *fmt, ...)
{
    char text[512];
    va_list args;

    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    free(scratch_file(root, name, text));
}

/* ---- a tree of groups ---- */

/* How hierarchies are mounted. The container sees its own group as the root of the mount. */
enum layout { V2, V1, HYBRID, CONTAINER, N_LAYOUTS };

struct tree {
    enum layout layout;
    int depth;                      /* groups below the mount */
    char group[MAX_DEPTH + 1][100]; /* by depth, below the mount; "" for the mount itself */
    char root[200];
};

static int has_version(const struct tree *t, int version)
{
    return t->layout == HYBRID || (t->layout == V2) == (version == 2);
}

/* The line of /proc/self/cgroup for a hierarchy, or one of another controller. */
static void put_self(struct str *out, int there, const char *mine, const char *other,
                     const char *path)
{
    str_printf(out, "%s%s\n", there ? mine : other, path);
}

/* Writes /proc/self/cgroup and the mount table for both controllers; no table half the time, where
 * a guess finds the usual places. */
static struct tree tree_new(const char *scratch, int i, uint64_t *draws)
{
    struct tree t = {.layout = (enum layout)draw(draws, N_LAYOUTS),
                     .depth = draw(draws, MAX_DEPTH)};
    const int container = t.layout == CONTAINER, table = container || draw(draws, 2);
    const char *const top = container ? "/docker/01ab" : "/";
    struct str self = STR_INIT;
    char path[160];

    snprintf(t.root, sizeof(t.root), "%s/t%d", scratch, i);
    for (int d = 1; d <= t.depth; d++) {
        char *const name = xasprintf("%.80s/g%d.slice", t.group[d - 1], d);
        snprintf(t.group[d], sizeof(t.group[d]), "%s", name);
        free(name);
    }
    snprintf(path, sizeof(path), "%s%s", container || t.depth == 0 ? top : "", t.group[t.depth]);
    put_self(&self, has_version(&t, 1), "4:cpu:", "7:freezer:", path);
    put_self(&self, has_version(&t, 1), "5:hugetlb,memory:", "8:devices:", path);
    put_self(&self, has_version(&t, 2), "0::", "9:blkio:", path);
    put(t.root, "proc/self/cgroup", "%s12:pids:/x\n", self.s);
    str_release(&self);
    if (table)
        put(t.root, "proc/self/mountinfo",
            "25 1 0:22 / /proc rw - proc proc rw\n"
            "31 30 0:26 %s /sys/fs/cgroup/cpu ro,nosuid shared:9 - cgroup cgroup rw,cpu\n"
            "32 30 0:27 %s /sys/fs/cgroup/memory ro - cgroup cgroup rw,hugetlb,memory\n"
            "33 30 0:28 / /sys/fs/cgroup/unified rw - cgroup2 none rw\n",
            top, top);
    put(t.root, "sys/fs/cgroup/unified/cgroup.procs", "1\n");
    put(t.root, "sys/fs/cgroup/cpu/tasks", "1\n");
    put(t.root, "sys/fs/cgroup/memory/tasks", "1\n");
    return t;
}

/* A file of the group at this depth. */
static void put_group(const struct tree *t, int version, int depth, const char *controller,
                      const char *name, const char *text)
{
    char *const path = xasprintf("sys/fs/cgroup/%s%s/%s", version == 1 ? controller : "unified",
                                 t->group[depth], name);

    put(t->root, path, "%s", text);
    free(path);
}

/* ---- processors ---- */

/* One group's quota: none said, none, garbage, or so many thousandths of a processor. Returns
 * thousandths, 0 for no limit. */
static int put_quota(const struct tree *t, int version, int depth, uint64_t *draws)
{
    static const char *const nothing[2][4] = {{"-1\n", "", "x\n", "-1"},
                                              {"max 100000\n", "", "100000\n", "max"}};
    const int kind = draw(draws, 3), milli = 100 + draw(draws, 90) * 100;
    char text[64];

    if (kind == 0)
        return 0;
    if (kind == 1) {
        put_group(t, version, depth, "cpu", version == 2 ? "cpu.max" : "cpu.cfs_quota_us",
                  nothing[version - 1][draw(draws, 4)]);
        return 0;
    }
    snprintf(text, sizeof(text), version == 2 ? "%d 100000\n" : "%d\n", milli * 100);
    put_group(t, version, depth, "cpu", version == 2 ? "cpu.max" : "cpu.cfs_quota_us", text);
    if (version == 1)
        put_group(t, version, depth, "cpu", "cpu.cfs_period_us", "100000\n");
    return milli;
}

static void processors_of_any_container(void **state)
{
    enum { CASES = 240 };
    uint64_t draws = 31;
    int limited = 0, bound = 0;

    for (int i = 0; i < CASES; i++) {
        const struct tree t = tree_new(*state, i, &draws);
        const int online = 1 + draw(&draws, 64), allowed = 1 + draw(&draws, online);
        int milli = 0, throttled = -1, want;
        struct cpus c;

        put(t.root, "proc/self/status", "Name:\tstave\nCpus_allowed_list:\t%d-%d\n",
            online - allowed, online - 1);
        put(t.root, "sys/devices/system/cpu/online", "0-%d\n", online - 1);
        for (int version = 1; version <= 2; version++)
            for (int d = 0; d <= t.depth && has_version(&t, version); d++) {
                const int q = put_quota(&t, version, d, &draws);

                milli = q && (milli == 0 || q < milli) ? q : milli;
                if (draw(&draws, 3) == 0) {
                    put_group(&t, version, d, "cpu", "cpu.stat",
                              "nr_periods 9\nnr_throttled 4\nthrottled_time 1\n");
                    throttled = (throttled < 0 ? 0 : throttled) + 4;
                }
            }
        want = milli && (milli + 999) / 1000 < allowed ? (milli + 999) / 1000 : allowed;
        assert_int_equal(cpus_find(t.root, &c), 0);
        if (c.count != want || c.throttled != throttled)
            fail_msg("%s: %d processors, %lld throttled (%s); expected %d and %d", t.root, c.count,
                     c.throttled, c.how, want, throttled);
        assert_true(milli == 0 || fabs(c.quota - milli / 1000.0) < 1e-9);
        assert_true((strstr(c.how, "cgroup") != NULL) == (want < allowed));
        limited += want < allowed;
        bound += allowed < online && want == allowed;
    }
    assert_true(limited > CASES / 10 && bound > CASES / 10);
    outcome("G1", CASES,
            "version 1, 2, hybrid and container trees: the smallest of affinity and every quota, "
            "rounded up, with its place; nr_throttled summed (%d limited by a quota, %d by the "
            "mask)",
            limited, bound);
}

static void throttling_is_reported(void **state)
{
    const char *const dir = *state;
    struct machine m;
    struct str json = STR_INIT;
    char *said;
    int saved;

    put(dir, "proc/self/status", "Name:\tx\nCpus_allowed_list:\t0-3\n");
    put(dir, "proc/self/cgroup", "0::/\n");
    put(dir, "sys/fs/cgroup/cpu.max", "150000 100000\n");
    put(dir, "sys/fs/cgroup/cpu.stat", "usage_usec 5\nnr_periods 10\nnr_throttled 10\n");
    machine_find(dir, &m);
    put(dir, "sys/fs/cgroup/cpu.stat", "usage_usec 5\nnr_periods 40\nnr_throttled 27\n");
    machine_add_changes(&m, &json);
    assert_says(json.s, "\"cpu_throttled_periods\": 17");
    saved = hear(dir);
    machine_warn_changes(&m);
    said = heard(dir, saved);
    assert_says(said, "held the run up in 17 periods");
    assert_says(said, "quota of 1.50 processors in /sys/fs/cgroup");
    free(said);
    str_release(&json);
}

/* ---- memory ---- */

/* One group's limit in MiB, 0 for none. */
static int put_limit(const struct tree *t, int version, int depth, uint64_t *draws)
{
    static const char *const nothing[2][3] = {{"9223372036854771712\n", "-1\n", ""},
                                              {"max\n", "x\n", ""}};
    const int kind = draw(draws, 3), mib = 64 + draw(draws, 4000);
    char text[64], stat[200];

    snprintf(stat, sizeof(stat), "%s %d\n%s %d\n%s %d\n",
             version == 2 ? "anon" : "cache 1\nrss 1\ntotal_rss", mib << 18,
             version == 2 ? "file" : "total_cache", 1 << 23, version == 2 ? "shmem" : "total_shmem",
             1 << 20);
    put_group(t, version, depth, "memory", "memory.stat", stat);
    if (kind == 0)
        return 0;
    snprintf(text, sizeof(text), "%lld\n", (long long)mib << 20);
    put_group(t, version, depth, "memory", version == 2 ? "memory.max" : "memory.limit_in_bytes",
              kind == 1 ? nothing[version - 1][draw(draws, 3)] : text);
    return kind == 1 ? 0 : mib;
}

static void memory_of_any_container(void **state)
{
    enum { CASES = 240 };
    uint64_t draws = 41;
    int limited = 0;

    for (int i = 0; i < CASES; i++) {
        const struct tree t = tree_new(*state, i, &draws);
        const int machine = 128 + draw(&draws, 3000);
        int want = machine;
        struct memlimit m;

        put(t.root, "proc/meminfo",
            "MemTotal:   %d kB\nMemAvailable:  1 kB\nAnonPages: 2048 kB\nShmem:  1024 kB\n"
            "Cached: 9216 kB\n",
            machine << 10);
        for (int version = 1; version <= 2; version++)
            for (int d = 0; d <= t.depth && has_version(&t, version); d++) {
                const int mib = put_limit(&t, version, d, &draws);
                want = mib && mib < want ? mib : want;
            }
        memlimit_find(t.root, &m);
        if (m.limit != (uint64_t)want << 20)
            fail_msg("%s: %llu bytes (%s), expected %d MiB", t.root, (unsigned long long)m.limit,
                     m.how, want);
        assert_true(m.cache == (want < machine ? 7 << 20 : 8 << 20)); /* shared memory stays */
        assert_true((strstr(m.how, "the machine's memory") != NULL) == (want == machine));
        if (want < machine) {
            assert_true(m.held == ((uint64_t)want << 18) + (1 << 20));
            assert_true(memlimit_left(&m) == m.limit - m.held);
        }
        limited += want < machine;
    }
    assert_true(limited > CASES / 4);
    outcome("G3", CASES,
            "the smallest of the machine's memory and every group's limit (unlimited, missing and "
            "unreadable are none), page cache apart from what is held; %d limited by a group",
            limited);
}

static void memory_that_nothing_says_is_no_limit(void **state)
{
    struct memlimit m;

    memlimit_find(*state, &m);
    assert_true(m.limit == 0 && m.oom_kills == -1 && memlimit_left(&m) == UINT64_MAX);
    assert_string_equal(m.how, "no limit is known");
}

/* Fits, fits with fewer batches read ahead, does not fit. */
static void needs_against_the_limit(void **state)
{
    const char *const dir = *state;
    int shrunk = 0, refused = 0, variants = 0;

    put(dir, "proc/self/cgroup", "0::/job\n");
    put(dir, "sys/fs/cgroup/job/memory.stat", "anon %d\nfile %d\nshmem 0\n", 100 << 20, 900 << 20);
    for (int mib = 200; mib <= 1200; mib += 50, variants++) {
        const struct train_needs n = {.weights = 200 << 20,
                                      .activations = 300 << 20,
                                      .checkpoint = 100 << 20,
                                      .batch = 50 << 20};
        const int left = mib - 100, fits = (left - 600) / 50;
        long long prefetch = 4;
        struct machine m;
        char *said;
        int rc, saved;

        put(dir, "sys/fs/cgroup/job/memory.max", "%lld\n", (long long)mib << 20);
        machine_find(dir, &m);
        saved = hear(dir);
        rc = machine_fit(&m, &n, &prefetch);
        said = heard(dir, saved);
        assert_int_equal(rc, left < 650 ? E_NOMEM : 0);
        if (rc < 0) {
            refused++;
            assert_says(err_reason(), "cgroup v2 limit in /sys/fs/cgroup/job");
            assert_says(err_reason(), "--batch-size");
        } else {
            assert_int_equal(prefetch, fits < 4 ? fits : 4);
            shrunk += fits < 4;
            assert_true((fits < 4) == (strstr(said, "--prefetch is lowered from 4 to") != NULL));
        }
        free(said);
    }
    assert_true(shrunk >= 3 && refused >= 10);
    outcome("G3", variants,
            "needs against the limit: fits, fits with a smaller --prefetch (%d) and says so, is "
            "refused in one sentence (%d)",
            shrunk, refused);
}

static void killed_processes_are_noticed(void **state)
{
    static const struct {
        const char *group, *file;
    } versions[] = {{"0::/job\n", "sys/fs/cgroup/job/memory.events"},
                    {"3:memory:/job\n", "sys/fs/cgroup/memory/job/memory.oom_control"}};

    for (size_t i = 0; i < COUNT_OF(versions); i++) {
        char *const dir = xasprintf("%s/k%zu", (char *)*state, i), *said;
        struct str json = STR_INIT;
        struct machine m;
        int saved;

        put(dir, "proc/self/cgroup", "%s", versions[i].group);
        put(dir, versions[i].file, "low 0\noom 1\noom_kill 1\n");
        machine_find(dir, &m);
        assert_true(m.memory.oom_kills == 1);
        put(dir, versions[i].file, "low 0\noom 4\noom_kill 3\n");
        machine_add_changes(&m, &json);
        assert_says(json.s, "\"oom_kills\": 2");
        saved = hear(dir);
        machine_warn_changes(&m);
        said = heard(dir, saved);
        assert_says(said, "the kernel killed 2 processes of this group");
        free(said);
        str_release(&json);
        free(dir);
    }
    outcome("G3", (int)COUNT_OF(versions), "oom_kill of the own group is noticed after the run");
}

/* ---- the program itself ---- */

static void one_processor_for_all_threads(void **state)
{
    static const struct {
        int threads, loaders, warns; /* on one processor */
    } cases[] = {{1, 8, 1}, {8, 1, 1}, {4, 4, 1}, {0, 1, 0}, {0, 8, 1}, {1, 0, 0}};
    const char *const dir = *state;
    cpu_set_t all, one;
    size_t first = 0;

    assert_int_equal(sched_getaffinity(0, sizeof(all), &all), 0);
    while (!CPU_ISSET(first, &all))
        first++;
    CPU_ZERO(&one);
    CPU_SET(first, &one);
    assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
    run_data(dir, "train", RUN_TRAIN, NULL);
    run_data(dir, "val", RUN_VAL, NULL);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char *const loaders = xasprintf("-j %d", cases[i].loaders);
        char *const said =
            program_run(dir, 0,
                        "run resnet50 -p sample --device null --classes 3 -b 4 --dry-run "
                        "--data-dir %s --out %s/r%zu --threads %d %s",
                        dir, dir, i, cases[i].threads, cases[i].loaders ? loaders : "--synthetic");
        char *const mask = xasprintf("share 1 processor (allowed: %zu; ", first);

        if (cases[i].warns)
            assert_says(said, mask);
        else
            assert_null(strstr(said, "share"));
        free(mask);
        free(said);
        free(loaders);
    }
    assert_int_equal(sched_setaffinity(0, sizeof(all), &all), 0);
    outcome("G2", (int)COUNT_OF(cases),
            "the program bound to one processor: one warning with the mask when more threads are "
            "asked for than it may use");
}

static void the_run_says_what_it_found(void **state)
{
    const char *const dir = *state;
    char *said = program_run(
        dir, 0, "run resnet50 -p sample --device null --synthetic --dry-run --out %s/d", dir);
    char *const folder = file_join(dir, "big");
    cJSON *run, *result;
    struct memlimit m;

    memlimit_find("", &m);
    assert_says(said, "memory limit: ");
    assert_says(said, m.how);
    assert_says(said, "processors: ");
    free(said);
    free(program_run(
        dir, 0, "run resnet50 -p sample --device null --synthetic -b 2 --steps 1 --out %s/r", dir));
    run = read_json(dir, "r/run.json");
    result = read_json(dir, "r/result.json");
    assert_true(m.limit == 0 || number_of(run, "memory_limit_bytes") == (double)m.limit);
    assert_string_equal(string_of(run, "memory_how"), m.how);
    assert_true(strlen(string_of(run, "cpus_how")) > 0);
    assert_true(strlen(string_of(run, "cpus_allowed")) > 0);
    assert_true(isnan(number_of(result, "oom_kills")) == (m.oom_kills < 0));
    cJSON_Delete(run);
    cJSON_Delete(result);
    said = program_run(dir, 3,
                       "run resnet50 -p imagenet --device null --synthetic --accumulate 1 -b 65536 "
                       "--steps 1 --out %s",
                       folder);
    assert_says(said, "the run needs ");
    assert_says(said, m.how);
    assert_false(file_exists(folder));
    free(said);
    free(folder);
    outcome("G3", 3,
            "the program: the limit and its origin in --dry-run and run.json; a batch that the "
            "machine can not hold ends with 3 before anything is written");
}

#define S(f) cmocka_unit_test_setup_teardown(f, scratch_open, scratch_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        S(processors_of_any_container),   S(throttling_is_reported),
        S(memory_of_any_container),       S(memory_that_nothing_says_is_no_limit),
        S(needs_against_the_limit),       S(killed_processes_are_noticed),
        S(one_processor_for_all_threads), S(the_run_says_what_it_found),
    };

    return cmocka_run_group_tests_name("hard machine", tests, NULL, NULL);
}
