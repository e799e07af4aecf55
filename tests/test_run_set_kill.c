/* Sets of runs that are killed, interrupted or lose a run, at any of their writes: they go on to a
 * whole set, and what had finished stays as it was. TEST_LONG=1 tries every write; otherwise a
 * seeded choice. */
#include "base/clock.h"
#include "base/random.h"
#include "cli/run_folder.h"
#include "kill_at.h"
#include "scratch.h"
#include "set_fixture.h"
#include "train/stop.h"

enum { SEED = 20261, N_MOMENTS = 9 };

static uint64_t n_drawn;

static unsigned random_below(unsigned n)
{
    const struct random_key key = {SEED, RANDOM_TEST, 1};

    return (unsigned)(random_uniform(key, n_drawn++) * n);
}

static struct kill_report start_set(const char *data, const char *dir, struct kill_moment m)
{
    char *const words = run_set_exists(dir)
                            ? xasprintf("--resume --out %s", dir)
                            : xasprintf(REACHED " -d %s --runs 3 --out %s", data, dir);
    struct small_run run = {.words = words};
    const struct kill_report r = kill_at(m, small_process, &run);

    free(words);
    return r;
}

/* Finished runs stay as they are: their logs by name. */
static char *logs_of_finished(const char *dir)
{
    struct run_set s = {0};
    struct str all = STR_INIT;

    str_add(&all, "");
    if (run_set_exists(dir))
        s = read_set(dir);
    for (size_t i = 0; i < s.n; i++)
        if (s.runs[i].state == SET_FINISHED) {
            char *const folder = run_set_folder(&s, i), *const log =
                                                            read_text(folder, "mlperf.log");
            str_add(&all, log);
            free(log);
            free(folder);
        }
    run_set_release(&s);
    return str_detach(&all);
}

static void go_on_to_the_end(const char *data, const char *dir, struct kill_moment m)
{
    const struct kill_report first = start_set(data, dir, m);
    char *const before = logs_of_finished(dir);
    struct kill_report r = first;
    char *after;

    if (m.signal == SIGINT && r.code != 0 && r.code != 1 && r.code != 1000 + SIGINT)
        fail_msg("SIGINT at change %ld (%s): code %d", m.k, first.call, r.code);
    if (r.code != 0)
        r = start_set(data, dir, (struct kill_moment){.k = 1 + random_below(400)});
    if (r.code != 0)
        r = start_set(data, dir, (struct kill_moment){0});
    if (r.code != 0)
        fail_msg("signal %d for %d at change %ld (%s), and after resuming it ends with %d",
                 m.signal, (int)m.who, m.k, first.call, r.code);
    check_whole_set(dir, 0);
    after = logs_of_finished(dir);
    assert_int_equal(strncmp(after, before, strlen(before)), 0);
    free(before);
    free(after);
}

static void try_moments(const char *data, struct kill_moment m, const char *what)
{
    char *const whole = file_join(data, "whole");
    const struct kill_report all = start_set(data, whole, (struct kill_moment){0});
    long tried = 0;

    assert_int_equal(all.code, 0);
    check_whole_set(whole, 0);
    for (m.k = 1; m.k <= all.changes; m.k++)
        if (getenv("TEST_LONG") || random_below((unsigned)all.changes) < N_MOMENTS) {
            char *const dir = xasprintf("%s/k%ld", data, m.k);
            go_on_to_the_end(data, dir, m);
            free(dir);
            tried++;
        }
    assert_true(tried > N_MOMENTS / 4);
    print_message("# G10 set of runs, %s: %ld of %ld moments: resumed to a whole set\n", what,
                  tried, all.changes);
    free(whole);
}

/* The process that drives the set dies; its run must stop, too. */
static void killed_set_goes_on(void **state)
{
    small_data(*state);
    try_moments(*state, (struct kill_moment){.who = KILL_FIRST}, "SIGKILL for the set");
}

/* Whoever writes at that moment dies: mostly a run. */
static void killed_run_costs_itself(void **state)
{
    small_data(*state);
    try_moments(*state, (struct kill_moment){.who = KILL_CALLER}, "SIGKILL for a run");
}

/* The set alone gets the signal and passes it on. */
static void stopped_set_goes_on(void **state)
{
    small_data(*state);
    try_moments(*state, (struct kill_moment){.signal = SIGINT, .who = KILL_FIRST}, "SIGINT");
}

/* ---- Ctrl-C, which reaches set and run alike ---- */

#define ENDLESS                                                                                    \
    "-b 6 --epochs 1000000 --eval-every 1000000 --lr 0.05 --target 1 --clear-cache files"

static void group_of_its_own(void)
{
    setpgid(0, 0);
}

struct endless {
    char *dir, *said, *words;
    pid_t pid;
};

static struct endless start_endless(const char *data)
{
    struct endless e = {.dir = file_join(data, "s"), .said = file_join(data, "said")};
    char *const events = file_join(e.dir, "run-1/events.jsonl");

    e.words = xasprintf(ENDLESS " -d %s --runs 3 --out %s", data, e.dir);
    e.pid = small_start(
        (struct small_run){.words = e.words, .said = e.said, .prepare = group_of_its_own});
    wait_for_text(events, "\"step\"");
    free(events);
    return e;
}

static void end_endless(struct endless e)
{
    free(e.dir);
    free(e.said);
    free(e.words);
}

/* One Ctrl-C is one request, though set and run both get it: the run saves and says that it was
 * aborted. */
static void ctrl_c_is_one_request(void **state)
{
    const char *const data = *state;
    struct endless e;
    const cJSON *last;
    cJSON *log;
    struct run_set s;

    small_data(data);
    e = start_endless(data);
    kill(-e.pid, SIGINT);
    assert_int_equal(small_wait(e.pid), 1);
    s = read_set(e.dir);
    assert_int_equal(s.runs[0].state, SET_INTERRUPTED);
    assert_int_equal(s.runs[1].state, SET_WAITING);
    log = read_lines(e.dir, "run-1/mlperf.log");
    assert_int_equal(count_key(log, "run_stop", &last), 1);
    assert_string_equal(string_of(cJSON_GetObjectItemCaseSensitive(last, "metadata"), "status"),
                        "aborted");
    cJSON_Delete(log);
    run_set_release(&s);
    end_endless(e);
}

/* Waits until nobody holds the folder of a run, at most so long; returns whether that came. */
static int is_let_go(const char *folder, int64_t patience_ns)
{
    const int64_t end = clock_ns() + patience_ns;
    int fd;

    while (run_folder_lock(folder, &fd) < 0) {
        if (clock_ns() > end)
            return 0;
        clock_sleep_ns(1000000);
    }
    close(fd);
    return 1;
}

/* The run that lost its set stops soon: its folder is free then. */
static void run_ends_with_its_set(void **state)
{
    const char *const data = *state;
    struct endless e;
    char *folder;
    int fd, let_go;

    small_data(data);
    e = start_endless(data);
    folder = file_join(e.dir, "run-1");
    assert_int_equal(run_folder_lock(folder, &fd), E_USAGE);
    kill(e.pid, SIGKILL);
    assert_int_equal(small_wait(e.pid), 1000 + SIGKILL);
    let_go = is_let_go(folder, 20000000000);
    kill(-e.pid, SIGKILL); /* one that did not */
    assert_true(is_let_go(folder, 20000000000));
    assert_true(let_go);
    free(folder);
    end_endless(e);
}

/* What a run gets of one Ctrl-C, in either order: the terminal's signal and the set's, which only
 * asks. A third ends it. */
struct signals_of_a_run {
    int passed_on_first, more;
};

static _Noreturn void get_signals(struct signals_of_a_run s)
{
    const union sigval nothing = {0};

    stop_install();
    if (s.passed_on_first)
        sigqueue(getpid(), SIGINT, nothing);
    kill(getpid(), SIGINT);
    if (!s.passed_on_first)
        sigqueue(getpid(), SIGINT, nothing);
    if (s.more)
        kill(getpid(), SIGINT);
    _exit(stop_requested() ? 7 : 8);
}

static void signals_that_are_passed_on_only_ask(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) {
        const struct signals_of_a_run s = {i & 1, i >> 1};
        pid_t pid;

        fflush(NULL);
        pid = fork();
        if (pid == 0)
            get_signals(s);
        assert_int_equal(small_wait(pid), s.more ? 1 : 7);
    }
}

/* A second Ctrl-C ends both at once. */
static void second_signal_ends_at_once(void **state)
{
    const char *const data = *state;
    char *folder;
    struct endless e;
    struct run_set s;
    int fd;

    small_data(data);
    e = start_endless(data);
    kill(e.pid, SIGTERM);
    kill(e.pid, SIGINT);
    assert_int_equal(small_wait(e.pid), 1);
    folder = file_join(e.dir, "run-1");
    assert_int_equal(run_folder_lock(folder, &fd), 0);
    close(fd);
    s = read_set(e.dir);
    assert_int_equal(s.runs[0].state, SET_INTERRUPTED);
    run_set_release(&s);
    free(folder);
    end_endless(e);
}

#define S(f) cmocka_unit_test_setup_teardown(f, scratch_open, scratch_close)

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        S(killed_set_goes_on),         S(killed_run_costs_itself),
        S(stopped_set_goes_on),        S(ctrl_c_is_one_request),
        S(run_ends_with_its_set),      S(signals_that_are_passed_on_only_ask),
        S(second_signal_ends_at_once),
    };

    small_is_started(argc, argv);
    return cmocka_run_group_tests_name("run_set_kill", tests, NULL, NULL);
}
