/* A run's supervisor: however the run ends, nothing is left but its folder. Real groups, where the
 * machine lets this process make them. The null device stands in: numbers do not matter. */
#include "ceiling_fixture.h"

#include <sys/mman.h>
#include <sys/prctl.h>

#include "base/cgroup.h"
#include "cli/guard_plan.h"
#include "cli/leftovers.h"
#include "run_fixture.h"
#include "scratch.h"

#define NULL_RUN                                                                                   \
    "run resnet50 -p sample --device null --threads 1 --synthetic --seed 5 -b 1 "                  \
    "--synthetic-samples 100000000 "
#define LONG NULL_RUN "--steps 100000000 "
enum { MIB = 1 << 20 };

struct running {
    struct program program;
    struct process supervisor;
};

static struct leftovers read_leftovers(const char *dir)
{
    char *const run = file_join(dir, "r");
    struct leftovers l;

    if (leftovers_read(run, &l) != 1)
        fail_msg("%s holds no leftovers.json: %s", run, err_reason());
    free(run);
    return l;
}

static int has_leftovers(const char *dir)
{
    char *const path = file_join(dir, "r/leftovers.json");
    const int there = file_exists(path);

    free(path);
    return there;
}

/* Starts a run with --out DIR/r and waits until it trains. */
static struct running start(const char *dir, const char *words)
{
    char *const line = xasprintf("%s --out %s/r", words, dir);
    char *const events = file_join(dir, "r/events.jsonl");
    struct running r = {.program = program_start(dir, 0, -1, line)};
    struct leftovers l;

    wait_for_text(events, "epoch_start");
    l = read_leftovers(dir);
    assert_int_equal(l.run.pid, r.program.pid);
    assert_true(process_lives(l.supervisor));
    assert_true(n_groups_of(r.program.pid) >= 1);
    r.supervisor = l.supervisor;
    leftovers_release(&l);
    free(events);
    free(line);
    return r;
}

static void end(struct running r, int expected, const char *says)
{
    char *said;
    const int code = program_wait(r.program, &said);

    if (code != expected)
        fail_msg("ends with %d, not %d, and says: %s", code, expected, said);
    if (says)
        assert_says(said, says);
    free(said);
}

static void wait_for_end(struct process p)
{
    for (int i = 0; i < 500 && process_lives(p); i++)
        clock_sleep_ns(20000000);
    assert_false(process_lives(p));
}

static void expect_nothing_left(const char *dir, struct running r)
{
    expect_no_groups(r.program.pid);
    wait_for_end(r.supervisor);
    assert_false(has_leftovers(dir));
}

static const char *status_of(const char *dir, cJSON **doc)
{
    char *const run = file_join(dir, "r");

    *doc = read_json(run, "result.json");
    free(run);
    return string_of(*doc, "status");
}

static void expect_result(const char *dir, const char *status, const char *words)
{
    cJSON *doc;
    const char *is = status_of(dir, &doc);
    const cJSON *const ceiling = cJSON_GetObjectItemCaseSensitive(doc, "ceiling");

    assert_string_equal(is, status);
    assert_non_null(ceiling);
    assert_says(string_of(ceiling, "how"), "cgroup v");
    assert_true(number_of(ceiling, "memory_limit_bytes") == 800.0 * MIB);
    if (words)
        assert_says(string_of(ceiling, "words"), words);
    else
        assert_null(cJSON_GetObjectItemCaseSensitive(ceiling, "words"));
    cJSON_Delete(doc);
}

static void a_run_that_ends(void **state)
{
    const char *const dir = *state;
    struct running r;

    need_groups(1, 0);
    r = start(dir, LONG "--memory 800M");
    kill(r.program.pid, SIGTERM);
    end(r, 1, NULL);
    assert_false(has_leftovers(dir));
    assert_int_equal(n_groups_of(r.program.pid), 0);
    assert_false(process_lives(r.supervisor));
    expect_result(dir, "interrupted", NULL);
}

static void a_ceiling_that_never_came(void **state)
{
    char *said;

    need_groups(1, 0);
    said = program_run(*state, 4, NULL_RUN "--steps 2 --warm 600 --cache 64M --out %s/r",
                       (char *)*state);
    assert_says(said, "--cache was never in force, and nothing was measured under it: the run "
                      "ended before its warm-up did (--warm)");
    free(said);
}

/* Beside a group or an ingest, which need a supervisor. */
static void reads_around_the_cache_are_told(void **state)
{
    const struct guard_plan plan = {.memory_bytes = 512 * MIB, .instead = "uncached reads: direct"};
    struct guard *g;

    (void)state;
    need_groups(1, 0);
    assert_int_equal(guard_open(&plan, &g), 0);
    assert_says(guard_report(g)->how, "cgroup v");
    assert_says(guard_report(g)->how, ", uncached reads: direct");
    guard_close(g);
}

/* Its words go nowhere, and the signals that a terminal sends concern the run alone. */
static void signals_do_not_end_a_supervisor(void **state)
{
    const char *const dir = *state;
    struct running r;

    need_groups(1, 0);
    r = start(dir, LONG "--memory 800M");
    kill(r.supervisor.pid, SIGINT);
    kill(r.supervisor.pid, SIGTERM);
    kill(r.supervisor.pid, SIGHUP);
    clock_sleep_ns(50000000);
    assert_true(process_lives(r.supervisor));
    assert_int_not_equal(getsid(r.supervisor.pid), getsid(r.program.pid));
    kill(r.program.pid, SIGTERM);
    end(r, 1, NULL);
    expect_nothing_left(dir, r);
}

static void a_run_that_is_killed(void **state)
{
    const char *const dir = *state;
    struct running r;

    need_groups(1, 0);
    r = start(dir, LONG "--memory 800M");
    kill(r.program.pid, SIGKILL);
    end(r, 1000 + SIGKILL, NULL);
    expect_nothing_left(dir, r);
    expect_result(dir, "killed", NULL);
}

static void a_supervisor_that_is_killed(void **state)
{
    const char *const dir = *state;
    struct running r;

    need_groups(1, 0);
    r = start(dir, LONG "--memory 800M");
    kill(r.supervisor.pid, SIGKILL);
    kill(r.program.pid, SIGTERM);
    end(r, 1, "the run's supervisor died");
    expect_nothing_left(dir, r);
    expect_result(dir, "interrupted", "supervisor died");
}

static void both_are_killed_and_cleaned(void **state)
{
    const char *const dir = *state;
    struct running r;
    char *said;
    cJSON *doc;

    need_groups(1, 0);
    r = start(dir, LONG "--memory 800M");
    said = program_run(dir, 0, "clean %s", dir);
    assert_says(said, "is at work");
    free(said);
    kill(r.supervisor.pid, SIGKILL);
    kill(r.program.pid, SIGKILL);
    end(r, 1000 + SIGKILL, NULL);
    assert_true(n_groups_of(r.program.pid) >= 1);
    said = program_run(dir, 0, "clean %s", dir);
    assert_says(said, "removed");
    free(said);
    expect_nothing_left(dir, r);
    assert_string_equal(status_of(dir, &doc), "killed");
    cJSON_Delete(doc);
    said = program_run(dir, 0, "clean %s", dir);
    assert_says(said, "nothing is left to mend");
    free(said);
}

/* ---- a process that has another's number, names that no run gives ---- */

static void write_leftovers(const char *dir, const char *fio, const char *group, const char *folder)
{
    char *const boot = cgroup_slurp("", "/proc/sys/kernel/random/boot_id");
    const int above = (int)(strrchr(group, '/') - group);
    char *text;

    boot[strcspn(boot, "\n")] = '\0';
    text = xasprintf("{\"boot\": \"%s\", \"fio\": %s, \"groups\": [{\"path\": \"%s\", \"back\": "
                     "\"%.*s\"}], \"ingest_folder\": \"%s\"}",
                     boot, fio, group, above, group, folder);
    free(scratch_file(dir, "r/leftovers.json", text));
    free(text);
    free(boot);
}

/* Ends with the test, however that ends. */
static pid_t start_waiting(void)
{
    const pid_t pid = fork();

    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        prctl(PR_SET_NAME, "fio");
        for (;;)
            pause();
    }
    return pid;
}

static void strangers_are_left_alone(void **state)
{
    const char *const dir = *state;
    char *const file = scratch_file(dir, "stave-5/precious", "");
    char *const folder = file_join(dir, "stave-5");
    const pid_t stranger = start_waiting();
    char *fio, *said;

    fio = xasprintf("{\"pid\": %d, \"start_ticks\": \"1\"}", (int)stranger);
    write_leftovers(dir, fio, folder, "/nowhere/stave-ingest-1");
    said = program_run(dir, 3, "clean %s", dir);
    assert_says(said, "is no control group");
    free(said);
    write_leftovers(dir, fio, "/nowhere/stave-5", folder);
    said = program_run(dir, 3, "clean %s", dir);
    assert_says(said, "folder of ingest is none that a run makes");
    free(said);
    assert_true(file_exists(file));
    assert_true(process_lives(process_of(stranger)));
    kill(stranger, SIGKILL);
    assert_int_equal(waitpid(stranger, NULL, 0), stranger);
    free(fio);
    free(folder);
    free(file);
}

static void fio_and_its_files_are_mended(void **state)
{
    const char *const dir = *state;
    char *const file = scratch_file(dir, "stave-ingest-9-0a1b2c3d/file", "x");
    char *const folder = file_join(dir, "stave-ingest-9-0a1b2c3d");
    const pid_t fio = start_waiting();
    struct process p;
    char *text, *said;

    p = process_of(fio);
    text = xasprintf("{\"pid\": %d, \"start_ticks\": \"%llu\"}", (int)p.pid, p.start);
    write_leftovers(dir, text, "/nowhere/stave-5", folder);
    said = program_run(dir, 0, "clean %s", dir);
    assert_says(said, "1 process ended, 0 control groups and 1 folder removed");
    assert_false(process_lives(p));
    assert_false(file_exists(folder));
    waitpid(fio, NULL, 0);
    free(said);
    free(text);
    free(folder);
    free(file);
}

/* ---- a ceiling that is too low, and machines without groups ---- */

/* In a process of its own: under a ceiling of 32 MiB, takes more. */
static void take_too_much(const char *dir)
{
    const struct guard_plan plan = {.memory_bytes = 32 * MIB};
    struct guard *g;
    volatile char *p;

    if (guard_open(&plan, &g) < 0 || guard_folder(g, dir) < 0)
        _exit(1);
    p = malloc((size_t)128 * MIB);
    for (size_t i = 0; i < (size_t)128 * MIB; i += 4096)
        p[i] = 1;
    _exit(2);
}

static void a_ceiling_that_kills_says_so(void **state)
{
    const char *const dir = *state;
    char *const run = file_join(dir, "r");
    int status;
    pid_t pid;
    cJSON *doc;

    need_groups(1, 0);
    free(scratch_file(dir, "r/result.json", "{\"status\": \"running\", \"steps\": 7}"));
    pid = fork();
    if (pid == 0)
        take_too_much(run);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    expect_no_groups(pid);
    for (int i = 0; i < 500 && strcmp(status_of(dir, &doc), "killed") != 0; i++) {
        cJSON_Delete(doc);
        clock_sleep_ns(20000000);
    }
    assert_true(number_of(doc, "steps") == 7);
    assert_says(string_of(cJSON_GetObjectItemCaseSensitive(doc, "ceiling"), "words"),
                "killed by its ceiling of 32 MiB: its own memory does not fit; raise --memory");
    cJSON_Delete(doc);
    free(run);
}

struct fallback {
    int cache_rc, memory_rc, reader;
    char how[160], reason[600];
};

static void ask_as_nobody(const char *dir, struct fallback *out)
{
    const struct conditions_settings cache = {.cache = (char[]){"25%-of-data"}},
                                     memory = {.memory = (char[]){"1G"}};
    struct data_settings data = {.reader = READER_pread};
    struct guard_demand d;
    struct guard *g = NULL;
    struct source *s;
    struct task task = {0};

    if (source_open_split(dir, "train", &s) < 0 || setgid(65534) < 0 || setuid(65534) < 0)
        _exit(1);
    task.sources[0] = s;
    if (guard_demand_make(&d, &memory, &task, dir) < 0)
        _exit(1);
    out->memory_rc = guard_demand_open(&d, &data, &task, &g);
    snprintf(out->reason, sizeof(out->reason), "%s", err_reason());
    if (guard_demand_make(&d, &cache, &task, dir) < 0)
        _exit(1);
    out->cache_rc = guard_demand_open(&d, &data, &task, &g);
    out->reader = data.reader;
    snprintf(out->how, sizeof(out->how), "%s", g ? guard_report(g)->how : "");
    _exit(0);
}

/* An ordinary user's session; where even that may make groups, there is nothing to see. */
static void without_groups_the_cache_is_passed_by(void **state)
{
    struct fallback *const f =
        mmap(NULL, sizeof(*f), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int status;
    pid_t pid;

    if (geteuid() != 0)
        skip();
    run_data(*state, "train", RUN_TRAIN, NULL);
    chmod(*state, 0755);
    pid = fork();
    if (pid == 0)
        ask_as_nobody(*state, f);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    if (f->memory_rc == 0)
        skip();
    assert_int_equal(f->memory_rc, E_UNSUPPORTED);
    assert_says(f->reason, "no control group can be had for a memory ceiling");
    assert_int_equal(f->cache_rc, 0);
    assert_true(f->reader == READER_direct || f->reader == READER_dontcache ||
                f->reader == READER_evict);
    assert_says(f->how, "uncached reads: ");
    munmap(f, sizeof(*f));
}

static void sizes_of_a_cache(void **state)
{
    long long bytes = -1;

    (void)state;
    assert_int_equal(guard_cache_bytes(NULL, 1000, &bytes), 0);
    assert_int_equal(guard_cache_bytes("none", 1000, &bytes), 0);
    assert_int_equal(guard_cache_bytes("2G", 0, &bytes), 1);
    assert_true(bytes == 2LL << 30);
    assert_int_equal(guard_cache_bytes("25%-of-data", 1000, &bytes), 1);
    assert_true(bytes == 250);
    assert_int_equal(guard_cache_bytes("25%-of-data", 0, &bytes), E_USAGE);
    assert_int_equal(guard_cache_bytes("25%", 1000, &bytes), E_USAGE);
    assert_int_equal(guard_cache_bytes("101%-of-data", 1000, &bytes), E_USAGE);
    assert_int_equal(guard_cache_bytes("25%-of-data please", 1000, &bytes), E_USAGE);
    assert_int_equal(guard_cache_bytes("much", 1000, &bytes), E_USAGE);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, scratch_open, scratch_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_run_that_ends),
        TEST(a_ceiling_that_never_came),
        TEST(reads_around_the_cache_are_told),
        TEST(signals_do_not_end_a_supervisor),
        TEST(a_run_that_is_killed),
        TEST(a_supervisor_that_is_killed),
        TEST(both_are_killed_and_cleaned),
        TEST(strangers_are_left_alone),
        TEST(fio_and_its_files_are_mended),
        TEST(a_ceiling_that_kills_says_so),
        TEST(without_groups_the_cache_is_passed_by),
        TEST(sizes_of_a_cache),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
