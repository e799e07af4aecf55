/* A run that is killed or stopped between two of its writes, wherever that is, and goes on: it ends
 * with the bytes of the run that nobody disturbed, logs that parse and nothing left over. What a
 * killed run leaves: no lock, its seed, the weights it began with. TEST_LONG=1 tries every write;
 * otherwise a seeded choice. */
#include <sys/file.h>

#include "base/random.h"
#include "kill_at.h"
#include "scratch.h"
#include "small_run.h"

enum { SEED = 20251, N_KILLED = 40, N_STOPPED = 10 };

static uint64_t n_drawn;

static unsigned random_below(unsigned n)
{
    const struct random_key key = {SEED, RANDOM_TEST, 0};

    return (unsigned)(random_uniform(key, n_drawn++) * n);
}

/* What somebody types to go on, with another number of loaders each time. */
static struct kill_report go_on(const char *data, const char *dir, struct kill_moment m)
{
    static const char *const loaders[] = {"-j 1 --prefetch 1", "-j 3 --prefetch 2",
                                          "-j 2 --prefetch 5"};
    char *const run_json = file_join(dir, "run.json");
    char *const words =
        xasprintf(SMALL_RECIPE " %s -d %s --out %s %s", loaders[random_below(COUNT_OF(loaders))],
                  data, dir, file_exists(run_json) ? "--resume" : "--seed 5");
    struct small_run run = {.words = words};
    const struct kill_report r = kill_at(m, small_process, &run);

    free(words);
    free(run_json);
    return r;
}

/* Killed at one write, then up to twice more on the way, then left alone. */
static void kill_and_go_on(const char *data, const char *straight, struct kill_moment m)
{
    char *const dir = xasprintf("%s/k%ld-%d", data, m.k, m.signal);
    const struct kill_report first = go_on(data, dir, m);
    struct kill_report r = first;

    for (unsigned again = random_below(3); again && r.code != 0; again--)
        r = go_on(data, dir, (struct kill_moment){.k = 1 + random_below(60)});
    if (r.code != 0)
        r = go_on(data, dir, (struct kill_moment){0});
    if (r.code != 0)
        fail_msg("signal %d at its change %ld (%s), and after resuming it ends with %d", m.signal,
                 m.k, first.call, r.code);
    small_check_same(straight, dir);
    small_check_files(dir);
    small_check_result(straight, dir);
    free(dir);
}

static void killed_at_any_write(void **state)
{
    const char *const data = *state;
    char *const straight = file_join(data, "straight");
    struct kill_report whole;
    long tried = 0;

    small_data(data);
    whole = go_on(data, straight, (struct kill_moment){0});
    assert_int_equal(whole.code, 0);
    assert_true(whole.changes > 100);
    small_check_files(straight);
    for (long k = 1; k <= whole.changes; k++)
        if (getenv("TEST_LONG") || random_below((unsigned)whole.changes) < N_KILLED) {
            kill_and_go_on(data, straight, (struct kill_moment){.k = k});
            tried++;
        }
    assert_true(tried > N_KILLED / 2);
    print_message(
        "# G10 SIGKILL before a write, creation, rename, link, sync or removal: %ld of %ld "
        "moments, seed %d: resumed to the same bytes\n",
        tried, whole.changes, SEED);
    free(straight);
}

/* Every third step, within epochs too, and every epoch's end, each step once. */
static void checkpoints_within_epochs(void **state)
{
    static const double wanted[] = {3, 4, 6, 8, 9, 12};
    const char *const data = *state;
    char *const dir = file_join(data, "r");
    const cJSON *line;
    cJSON *events;
    size_t n = 0;

    small_data(data);
    assert_int_equal(go_on(data, dir, (struct kill_moment){0}).code, 0);
    events = read_lines(dir, "events.jsonl");
    cJSON_ArrayForEach(line, events)
    {
        if (strcmp(string_of(line, "key"), "checkpoint_saved") != 0)
            continue;
        assert_true(n < COUNT_OF(wanted));
        assert_true(number_of(line, "value") == wanted[n++]);
    }
    assert_int_equal(n, COUNT_OF(wanted));
    cJSON_Delete(events);
    free(dir);
}

/* What a run that was asked to stop says of itself. */
static void check_stopped(const char *dir)
{
    const cJSON *last, *meta;
    cJSON *log, *result;

    log = read_lines(dir, "mlperf.log");
    assert_int_equal(count_key(log, "run_stop", &last), 1);
    meta = cJSON_GetObjectItemCaseSensitive(last, "metadata");
    assert_string_equal(string_of(meta, "status"), "aborted");
    result = read_json(dir, "result.json");
    assert_string_equal(string_of(result, "status"), "interrupted");
    cJSON_Delete(log);
    cJSON_Delete(result);
}

/* 1 when the request came in time. */
static int stop_and_go_on(const char *data, const char *straight, struct kill_moment m)
{
    char *const dir = xasprintf("%s/s%ld-%d", data, m.k, m.signal);
    struct kill_report r = go_on(data, dir, m);
    const int stopped = r.code == 1;

    /* before the run listens the signal ends it; after its last step it is done all the same */
    if (r.code != 0 && r.code != 1 && r.code != 1000 + m.signal)
        fail_msg("signal %d at change %ld (%s): it ends with %d", m.signal, m.k, r.call, r.code);
    if (stopped)
        check_stopped(dir);
    if (r.code != 0)
        r = go_on(data, dir, (struct kill_moment){0});
    assert_int_equal(r.code, 0);
    small_check_same(straight, dir);
    small_check_files(dir);
    free(dir);
    return stopped;
}

/* In training, in evaluations, in checkpoints: whatever the run was writing. */
static void stopped_at_any_write(void **state)
{
    static const int signals[] = {SIGTERM, SIGINT, SIGHUP};
    const char *const data = *state;
    char *const straight = file_join(data, "straight");
    struct kill_report whole;
    long tried = 0, stopped = 0;

    small_data(data);
    whole = go_on(data, straight, (struct kill_moment){0});
    for (long k = 1; k <= whole.changes; k++)
        for (size_t i = 0; i < COUNT_OF(signals); i++)
            if (getenv("TEST_LONG") || random_below((unsigned)whole.changes) < N_STOPPED) {
                stopped += stop_and_go_on(data, straight,
                                          (struct kill_moment){.k = k, .signal = signals[i]});
                tried++;
            }
    assert_true(tried > N_STOPPED && 2 * stopped > tried);
    print_message(
        "# G11 SIGTERM, SIGINT, SIGHUP at a write, creation, rename, link, sync or removal: "
        "%ld of %ld, seed %d: run_stop aborted in the %ld that were in time, resumed to the same "
        "bytes\n",
        tried, 3 * whole.changes, SEED, stopped);
    free(straight);
}

/* Of several runs that start at once in one new folder one makes it. */
static void one_run_in_a_folder(void **state)
{
    enum { N = 5 };
    const char *const data = *state;
    char *const dir = file_join(data, "r");
    char *const words = xasprintf(SMALL_RECIPE " --seed 5 -d %s --out %s", data, dir);
    int ended[N], won = 0, refused = 0;
    pid_t pid[N];
    cJSON *log;

    small_data(data);
    for (int i = 0; i < N; i++)
        pid[i] = small_start((struct small_run){.words = words});
    for (int i = 0; i < N; i++) {
        ended[i] = small_wait(pid[i]);
        won += ended[i] == 0;
        refused += ended[i] == 2;
    }
    assert_int_equal(won, 1);
    assert_int_equal(refused, N - 1);
    log = read_lines(dir, "events.jsonl");
    assert_int_equal(count_key(log, "run_start", NULL), 1);
    cJSON_Delete(log);
    small_check_files(dir);
    free(words);
    free(dir);
}

static void a_folder_at_work_is_refused(void **state)
{
    const char *const data = *state;
    char *const dir = file_join(data, "r");
    char *said;
    int fd;

    small_data(data);
    assert_int_equal(file_mkdirs(dir), 0);
    fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_int_equal(flock(fd, LOCK_EX), 0); /* as the run that is there does */
    assert_int_equal(run_words(data, NULL, &said, SMALL_RECIPE " -d %s --out %s", data, dir), 2);
    assert_says(said, "another run is at work in");
    free(said);
    assert_int_equal(rmdir(dir), 0); /* nothing was written */
    close(fd);
    assert_int_equal(run_words(data, NULL, &said, SMALL_RECIPE " -d %s --out %s", data, dir), 0);
    free(said);
    fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_int_equal(flock(fd, LOCK_EX), 0);
    assert_int_equal(
        run_words(data, NULL, &said, SMALL_RECIPE " -d %s --resume --out %s", data, dir), 2);
    assert_says(said, "another run is at work in");
    free(said);
    close(fd);
    free(dir);
}

/* Killed before its first checkpoint, a run has its seed to begin with again, and says so. */
static void without_a_checkpoint_it_starts_again(void **state)
{
    const char *const data = *state;
    char *const a = file_join(data, "a"), *const b = file_join(data, "b");
    char *said, *words = xasprintf(SMALL_RECIPE " -d %s --out %s", data, b);
    struct small_run run = {.words = words};
    cJSON *doc, *result;

    small_data(data);
    assert_int_equal(run_words(data, NULL, &said, SMALL_RECIPE " -d %s --resume --out %s", data, b),
                     2);
    assert_says(said, "leave out --resume");
    free(said);
    kill_at((struct kill_moment){.k = 12}, small_process, &run); /* draws a seed */
    doc = read_json(b, "run.json");
    assert_int_equal(run_words(data, NULL, &said, SMALL_RECIPE " -d %s --resume --out %s", data, b),
                     0);
    assert_says(said, "starts again from its beginning");
    free(said);
    assert_int_equal(run_words(data, NULL, &said, SMALL_RECIPE " -d %s --seed %.0f --out %s", data,
                               number_of(doc, "seed"), a),
                     0);
    free(said);
    small_check_same(a, b);
    result = read_json(b, "result.json"); /* its log covers all of it */
    assert_null(cJSON_GetObjectItemCaseSensitive(result, "resumed"));
    cJSON_Delete(result);
    cJSON_Delete(doc);
    free(words);
    free(a);
    free(b);
}

static void assert_from_given_weights(const char *dir)
{
    cJSON *const doc = read_json(dir, "run.json");

    assert_string_equal(string_of(doc, "rules"), "from given weights\n");
    cJSON_Delete(doc);
}

/* A run that began with somebody's weights stays one, killed before or after its first checkpoint.
 */
static void given_weights_are_remembered(void **state)
{
    const char *const data = *state;
    char *const a = file_join(data, "a"), *const b = file_join(data, "b");
    char *const words =
        xasprintf(SMALL_RECIPE " --seed 9 -d %s --init %s/" CHECKPOINT_NAME " --out ", data, a);
    char *const straight = xasprintf("%s/straight", data), *said;

    small_data(data);
    assert_int_equal(run_words(data, NULL, &said, SMALL_RECIPE " --seed 5 -d %s --out %s", data, a),
                     0);
    free(said);
    assert_int_equal(run_words(data, NULL, &said, "%s%s", words, straight), 0);
    free(said);
    for (long k = 12; k < 212; k += 100) { /* before the first checkpoint, after it */
        char *const line = xasprintf("%s%s%ld", words, b, k), *const dir = strrchr(line, ' ') + 1;
        struct small_run run = {.words = line};
        assert_int_equal(kill_at((struct kill_moment){.k = k}, small_process, &run).code,
                         1000 + SIGKILL);
        assert_int_equal(checkpoint_exists(dir), k > 100);
        assert_int_equal(
            run_words(data, NULL, &said, SMALL_RECIPE " -d %s --resume --out %s", data, dir), 0);
        free(said);
        assert_from_given_weights(dir);
        small_check_same(straight, dir);
        free(line);
    }
    free(straight);
    free(words);
    free(a);
    free(b);
}

/* Options that decide the weights and are not those it was started with are named; others not. */
static void other_options_are_named(void **state)
{
    const char *const data = *state;
    char *const dir = file_join(data, "r"), *said;

    small_data(data);
    assert_int_equal(
        run_words(data, NULL, &said, SMALL_RECIPE " --steps 5 -d %s --out %s", data, dir), 0);
    free(said);
    assert_int_equal(run_words(data, NULL, &said,
                               SMALL_RECIPE
                               " --steps 7 -j 3 --checkpoint-every 2 --resume -d %s --out %s",
                               data, dir),
                     0);
    assert_null(strstr(said, "goes on with"));
    free(said);
    assert_int_equal(
        run_words(data, NULL, &said,
                  SMALL_RECIPE " --steps 9 --lr 0.2 --epochs 4 --resume -d %s --out %s", data, dir),
        0);
    assert_says(said, "had epochs 3, lr 0.05, and goes on with epochs 4, lr 0.2");
    free(said);
    assert_int_equal(run_words(data, NULL, &said,
                               SMALL_RECIPE " --steps 10 --lr 0.2 --epochs 4 --resume --device cpu "
                                            "-d %s/. --out %s",
                               data, dir),
                     0);
    assert_says(said, "had device \"ref, plain C, one thread\", data-dir ");
    free(said);
    assert_int_equal(
        run_words(data, NULL, &said, SMALL_RECIPE " --resume -b 8 -d %s --out %s", data, dir), 2);
    assert_says(said, "in batches of 6");
    free(said);
    assert_int_equal(run_words(data, NULL, &said,
                               SMALL_RECIPE " --resume --optimizer adamw -d %s --out %s", data,
                               dir),
                     3);
    assert_says(said, "was it written by another model?");
    free(said);
    print_message(
        "# G10 a checkpoint of another batch, of another optimiser, other options: exit 2, 3, "
        "a warning that names them\n");
    free(dir);
}

#define S(f) cmocka_unit_test_setup_teardown(f, scratch_open, scratch_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        S(checkpoints_within_epochs),    S(killed_at_any_write),
        S(stopped_at_any_write),         S(one_run_in_a_folder),
        S(a_folder_at_work_is_refused),  S(without_a_checkpoint_it_starts_again),
        S(given_weights_are_remembered), S(other_options_are_named),
    };

    return cmocka_run_group_tests_name("resume_kill", tests, NULL, NULL);
}
