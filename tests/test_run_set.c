/* Sets of runs from outside: what `stave run --runs N` leaves, says and refuses, on a workload that
 * takes milliseconds. */
#include <sys/mman.h>
#include <sys/resource.h>

#include "cli/run_folder.h"
#include "scratch.h"
#include "set_fixture.h"

/* ---- the ordinary way ---- */

static void a_set_is_made(void **state)
{
    const char *const data = *state;
    char *const dir = file_join(data, "s"), *said;

    small_data(data);
    assert_int_equal(run_words(data, NULL, &said, REACHED " -d %s --runs 3 --out %s", data, dir),
                     0);
    assert_says(said, "run 1 of 3: seed ");
    assert_says(said, "run 3 of 3: seed ");
    assert_says(said, "minutes, the mean of 3 runs without the fastest and the slowest");
    assert_says(said, "95 % interval ");
    assert_says(said, "; a result under ruleset 4.0.0 takes 5 runs");
    check_whole_set(dir, 0);
    free(said);
    assert_int_equal(run_words(data, NULL, &said, REACHED " -d %s --out %s/run-1", data, dir), 2);
    free(said);
    assert_int_equal(run_words(data, NULL, &said, REACHED " -d %s --out %s", data, dir), 2);
    assert_says(said, "holds a run already");
    free(said);
    /* a set that is complete is shown again */
    assert_int_equal(run_words(data, NULL, &said, "--resume --out %s", dir), 0);
    assert_says(said, "the mean of 3 runs");
    free(said);
    free(dir);
}

/* As many as the ruleset asks, by word and by number, and the dry run says so. */
static void as_many_as_the_rules(void **state)
{
    const char *const data = *state;
    char *said;

    small_data(data);
    assert_int_equal(run_words(data, NULL, &said,
                               REACHED " -d %s --runs rules --dry-run --out %s/s", data, data),
                     0);
    assert_says(said, "runs: 5, one after the other");
    free(said);
    assert_int_equal(run_words(data, NULL, &said, REACHED " -d %s --runs 0 --out %s/s", data, data),
                     0);
    assert_says(said, "run 5 of 5: seed ");
    assert_says(said, "95 % interval");
    free(said);
}

static void only_results(void)
{
    const int nowhere = open("/dev/null", O_WRONLY);

    dup2(nowhere, STDERR_FILENO);
    close(nowhere);
}

static void one_json_document(void **state)
{
    const char *const data = *state;
    const cJSON *runs, *score;
    cJSON *doc;
    char *said;

    small_data(data);
    assert_int_equal(run_words(data, only_results, &said,
                               REACHED " -d %s --runs 4 --json --out %s/s", data, data),
                     0);
    doc = cJSON_ParseWithOpts(said, NULL, 1);
    assert_non_null(doc);
    runs = cJSON_GetObjectItemCaseSensitive(doc, "runs");
    assert_int_equal(cJSON_GetArraySize(runs), 4);
    assert_string_equal(string_of(runs->child, "state"), "finished");
    assert_true(number_of(runs->child, "minutes") >= 0);
    score = cJSON_GetObjectItemCaseSensitive(doc, "score");
    assert_true(number_of(score, "runs") == 4);
    assert_true(number_of(score, "runs_asked_by_rules") == 5);
    assert_true(number_of(score, "minutes") >= 0);
    assert_true(number_of(doc, "exit_code") == 0);
    cJSON_Delete(doc);
    free(said);
}

/* Somebody keeps the data set in memory: no run's log claims otherwise, and each says why. */
static void warm_cache_is_said(void **state)
{
    const char *const data = *state;
    char *const rec = file_join(data, "train.rec"), *said, *page, *text;
    const cJSON *last;
    cJSON *log, *result;
    size_t n;
    void *map;
    int fd;

    small_data(data);
    fd = open(rec, O_RDONLY);
    map = mmap(NULL, 4096, PROT_READ, MAP_SHARED | MAP_POPULATE, fd, 0);
    assert_true(map != MAP_FAILED);
    assert_int_equal(run_words(data, NULL, &said, REACHED " -d %s --runs 2 --out %s/s", data, data),
                     0);
    assert_says(said, "warning: the page cache is not clear, and the log says so");
    assert_says(said, "  warm  yes");
    log = read_lines(data, "s/run-2/mlperf.log");
    assert_int_equal(count_key(log, "cache_clear", &last), 1);
    assert_true(cJSON_IsFalse(cJSON_GetObjectItemCaseSensitive(last, "value")));
    result = read_json(data, "s/run-2/result.json");
    assert_true(cJSON_IsFalse(cJSON_GetObjectItemCaseSensitive(result, "cache_cleared")));
    assert_says(string_of(result, "cache_warning"), "still in memory after posix_fadvise");
    assert_says(cJSON_GetObjectItemCaseSensitive(result, "warnings")->child->valuestring,
                "the page cache is not clear, and the log says so: ");
    page = file_join(data, "s/run-2/report.html");
    assert_int_equal(file_read(page, 1 << 24, &text, &n), 0);
    assert_says(text, "<li>the page cache is not clear, and the log says so: ");
    free(text);
    assert_true(number_of(result, "cache_resident_bytes") >= 4096);
    cJSON_Delete(log);
    cJSON_Delete(result);
    free(page);
    munmap(map, 4096);
    close(fd);
    free(said);
    free(rec);
}

/* A single run clears nothing unless it is told to, and says so. */
static void single_run_leaves_the_cache(void **state)
{
    const char *const data = *state;
    const cJSON *last;
    cJSON *log, *result;
    char *said;

    small_data(data);
    assert_int_equal(
        run_words(data, NULL, &said, "-b 6 --epochs 1 --target 0 -d %s --out %s/s", data, data), 0);
    log = read_lines(data, "s/mlperf.log");
    assert_int_equal(count_key(log, "cache_clear", &last), 1);
    assert_true(cJSON_IsFalse(cJSON_GetObjectItemCaseSensitive(last, "value")));
    result = read_json(data, "s/result.json");
    assert_null(cJSON_GetObjectItemCaseSensitive(result, "cache_cleared"));
    assert_true(number_of(result, "exit_code") == 0);
    cJSON_Delete(log);
    cJSON_Delete(result);
    free(said);
}

/* What finished is looked at again: a log that was changed does not stand any more, and a run that
 * is gone is not made up for. */
static void finished_runs_are_looked_at_again(void **state)
{
    const char *const data = *state;
    char *const dir = file_join(data, "s"), *const log = file_join(dir, "run-2/mlperf.log");
    char *const run = file_join(dir, "run-1"), *const away = file_join(data, "away"), *said;

    small_data(data);
    assert_int_equal(run_words(data, NULL, &said, REACHED " -d %s --runs 3 --out %s", data, dir),
                     0);
    free(said);
    assert_int_equal(truncate(log, 300), 0);
    assert_int_equal(run_words(data, NULL, &said, "--resume --out %s", dir), 4);
    assert_says(said, "run-2 of the set in ");
    assert_says(said, "is not what it was when it finished");
    assert_says(said, "it was changed after its end");
    free(said);
    assert_int_equal(rename(run, away), 0);
    assert_int_equal(run_words(data, NULL, &said, "--resume --out %s", dir), 3);
    assert_says(said, "run-1 of the set in ");
    assert_says(said, "put it back, or start another set");
    free(said);
    free(log);
    free(run);
    free(away);
    free(dir);
}

/* ---- until sure ---- */

/* A set of which four runs took the minutes given here and the fifth waits. */
static void four_of_five(const char *dir, double until_sure, double spread)
{
    struct run_set s = read_set(dir);
    char *const folder = run_set_folder(&s, 4), *const away = file_join(dir, "away");

    for (size_t i = 0; i < 4; i++)
        s.runs[i].result.minutes = 10 + spread * (double)i;
    s.runs[4].state = SET_WAITING;
    s.until_sure = until_sure;
    assert_int_equal(run_set_write(&s), 0);
    assert_int_equal(rename(folder, away), 0);
    run_set_release(&s);
    free(folder);
    free(away);
}

static enum set_state state_of_fifth(const char *dir)
{
    struct run_set s = read_set(dir);
    const enum set_state state = s.runs[4].state;

    run_set_release(&s);
    return state;
}

/* Five runs, the times of four as they should be, and on with it; returns what is said then. */
static char *go_on_with_four(const char *data, const char *dir, double spread)
{
    char *said;

    small_data(data);
    assert_int_equal(run_words(data, NULL, &said, REACHED " -d %s --runs 5 --out %s", data, dir),
                     0);
    free(said);
    four_of_five(dir, 2, spread);
    assert_int_equal(run_words(data, NULL, &said, "--resume --out %s", dir), 0);
    return said;
}

static void stops_when_it_is_sure(void **state)
{
    char *const dir = file_join(*state, "s"), *const said = go_on_with_four(*state, dir, 0.02);

    assert_says(said, "after 4 runs: score 10.03 minutes, 95 % interval 9.98");
    assert_says(said, ": sure enough");
    assert_says(said, "waiting");
    assert_int_equal(state_of_fifth(dir), SET_WAITING);
    free(said);
    free(dir);
}

static void goes_on_while_it_is_not(void **state)
{
    char *const dir = file_join(*state, "s"), *const said = go_on_with_four(*state, dir, 1);

    assert_says(said, "after 4 runs: score 11.5 minutes, 95 % interval 9.4");
    assert_null(strstr(said, "sure enough"));
    assert_int_equal(state_of_fifth(dir), SET_FINISHED);
    free(said);
    free(dir);
}

/* ---- runs that miss the target ---- */

static void two_missed_make_no_result(void **state)
{
    const char *const data = *state;
    char *const dir = file_join(data, "s"), *said;
    struct run_set s;

    small_data(data);
    assert_int_equal(run_words(data, NULL, &said, MISSED " -d %s --runs 3 --out %s", data, dir), 1);
    assert_says(said, "2 runs do not count, and a result under ruleset 4.0.0 holds at most 1");
    assert_says(said, "no: target not reached");
    assert_says(said, "score: none");
    free(said);
    s = read_set(dir);
    assert_int_equal(s.runs[1].state, SET_FINISHED);
    assert_int_equal(s.runs[1].result.code, 1);
    assert_int_equal(s.runs[2].state, SET_WAITING);
    run_set_release(&s);
    assert_int_equal(run_words(data, NULL, &said, "--resume --keep-going --out %s", dir), 1);
    check_whole_set(dir, 1);
    free(said);
    free(dir);
}

/* Without a target there is no score, but the runs are made. */
static void steps_have_no_score(void **state)
{
    const char *const data = *state;
    char *const dir = file_join(data, "s"), *said;

    small_data(data);
    assert_int_equal(run_words(data, NULL, &said,
                               "-b 6 --steps 2 --clear-cache files -d %s --runs 3 --out %s", data,
                               dir),
                     0);
    assert_says(said, "score: none: the runs train to no target");
    check_whole_set(dir, 0);
    free(said);
    free(dir);
}

/* ---- refused ---- */

static void refused_before_anything_is_written(void **state)
{
    static const struct {
        int code;
        const char *words, *says;
    } refused[] = {
        {2, "--runs 3 --seed 5", "leave it out"},
        {2, "--runs 3 --export w.safetensors", "leave out --export"},
        {2, "--runs 3 --init x --only evaluate", "--only evaluate"},
        {2, "--runs 3 --resume", "there is no set of runs"},
        {2, "--runs 1001", "rules, or a whole number from 0 to 1000"},
        {2, "--runs many", "rules, or a whole number"},
        {2, "--until-sure 2", "needs --runs N"},
        {2, "--runs 3 --device null", "computes nothing"},
        {2, "--runs 3 --accumulate 4", "does not divide"},
        {3, "--runs 3 --init nosuch.safetensors", "nosuch.safetensors"},
        {3, "--runs 3 --data-dir /nosuch", "/nosuch"},
    };
    const char *const data = *state;
    char *const dir = file_join(data, "s");

    small_data(data);
    for (size_t i = 0; i < COUNT_OF(refused); i++) {
        char *said;
        const int code =
            run_words(data, NULL, &said, REACHED " -d %s --out %s %s", data, dir, refused[i].words);
        if (code != refused[i].code || file_exists(dir))
            fail_msg("%s: code %d, and says: %s", refused[i].words, code, said);
        assert_says(said, refused[i].says);
        free(said);
    }
    free(dir);
}

/* A set goes on as what it is. */
static void refused_resume(void **state)
{
    static const struct {
        int code;
        const char *words, *says;
    } refused[] = {
        {2, "-b 12", "have batch-size 6"},   {2, "--lr 0.06", "have lr 0.05"},
        {2, "--runs 5", "is one of 3 runs"}, {2, "--until-sure 5", "leave it out"},
        {2, "--seed 5", "leave out --seed"}, {2, "--config nosuch.yaml", "nosuch.yaml"},
    };
    const char *const data = *state;
    char *const dir = file_join(data, "s"), *before, *after, *said;

    small_data(data);
    assert_int_equal(run_words(data, NULL, &said,
                               MISSED " -d %s --lr 0.05 --epochs 2 --runs 3 "
                                      "--target 0 --out %s",
                               data, dir),
                     0);
    free(said);
    before = read_text(dir, "set.json");
    for (size_t i = 0; i < COUNT_OF(refused); i++) {
        const int code =
            run_words(data, NULL, &said, "--resume --out %s %s", dir, refused[i].words);
        if (code != refused[i].code && !strstr(refused[i].words, "config"))
            fail_msg("%s: code %d, and says: %s", refused[i].words, code, said);
        assert_says(said, refused[i].says);
        free(said);
        after = read_text(dir, "set.json");
        assert_string_equal(before, after);
        free(after);
    }
    /* the same said again is no contradiction */
    assert_int_equal(run_words(data, NULL, &said, "--resume --out %s -b 6 --lr 0.05 --runs 3", dir),
                     0);
    free(said);
    free(before);
    free(dir);
}

static void damaged_set_is_named(void **state)
{
    static const char *const texts[] = {"", "{", "[]", "{\"runs\": []}", "null"};
    const char *const data = *state;
    char *said;

    small_data(data);
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        free(scratch_file(data, "s/set.json", texts[i]));
        assert_int_equal(run_words(data, NULL, &said, "--resume --out %s/s", data), 3);
        assert_says(said, "set.json is damaged: ");
        free(said);
    }
}

static void folder_is_for_one(void **state)
{
    const char *const data = *state;
    char *const dir = file_join(data, "s"), *said;
    int fd;

    small_data(data);
    assert_int_equal(file_mkdirs(dir), 0);
    assert_int_equal(run_folder_lock(dir, &fd), 0);
    assert_int_equal(run_words(data, NULL, &said, REACHED " -d %s --runs 3 --out %s", data, dir),
                     2);
    assert_says(said, "another run is at work");
    close(fd);
    free(said);
    free(dir);
}

/* ---- a disk that is full ---- */

static void files_of_500_bytes(void)
{
    setrlimit(RLIMIT_FSIZE, &(struct rlimit){500, 500});
}

/* Room for set.json and a run's small files, none for a checkpoint. */
static void files_of_2700_bytes(void)
{
    setrlimit(RLIMIT_FSIZE, &(struct rlimit){2700, 2700});
}

static void full_disk(void **state)
{
    const char *const data = *state;
    char *const dir = file_join(data, "s"), *said;
    struct run_set s;

    small_data(data);
    assert_int_equal(
        run_words(data, files_of_500_bytes, &said, REACHED " -d %s --runs 3 --out %s", data, dir),
        3);
    assert_says(said, "set.json");
    free(said);
    assert_false(run_set_exists(dir));
    assert_int_equal(
        run_words(data, files_of_2700_bytes, &said, REACHED " -d %s --runs 3 --out %s", data, dir),
        3);
    assert_says(said, "the set stops; --resume");
    free(said);
    s = read_set(dir);
    assert_int_equal(s.runs[0].state, SET_FAILED);
    assert_int_equal(s.runs[1].state, SET_WAITING);
    run_set_release(&s);
    assert_int_equal(run_words(data, NULL, &said, "--resume --out %s", dir), 0);
    check_whole_set(dir, 0);
    s = read_set(dir);
    assert_int_equal(s.runs[0].n_earlier, 1);
    assert_string_equal(s.runs[0].earlier[0].folder, "run-1.failed-1");
    run_set_release(&s);
    free(said);
    free(dir);
}

#define S(f) cmocka_unit_test_setup_teardown(f, scratch_open, scratch_close)

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        S(a_set_is_made),
        S(as_many_as_the_rules),
        S(one_json_document),
        S(warm_cache_is_said),
        S(single_run_leaves_the_cache),
        S(finished_runs_are_looked_at_again),
        S(stops_when_it_is_sure),
        S(goes_on_while_it_is_not),
        S(two_missed_make_no_result),
        S(steps_have_no_score),
        S(refused_before_anything_is_written),
        S(refused_resume),
        S(damaged_set_is_named),
        S(folder_is_for_one),
        S(full_disk),
    };

    small_is_started(argc, argv);
    return cmocka_run_group_tests_name("run_set", tests, NULL, NULL);
}
