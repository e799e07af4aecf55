/* `stave study` from outside: what its folder holds, what it says and refuses, what happens to runs
 * that fail and to studies that are stopped, on a workload that takes milliseconds. */
#define SMALL_COMMAND "study"
#include "small_run.h"

#include <math.h>
#include <sys/stat.h>

#include "cli/study.h"
#include "scratch.h"

#define SHORT "-b 6 --steps 12 --lr 0.05 --warm 0"

/* Two folders of the same data set, as on two drives. */
static char *two_sets(const char *dir)
{
    char *const a = file_join(dir, "a"), *const b = file_join(dir, "b");
    char *const both = xasprintf("%s,%s", a, b);

    assert_int_equal(file_mkdirs(a), 0);
    assert_int_equal(file_mkdirs(b), 0);
    small_data(a);
    small_data(b);
    free(a);
    free(b);
    return both;
}

static const cJSON *member(const cJSON *object, const char *name)
{
    const cJSON *const v = cJSON_GetObjectItemCaseSensitive(object, name);

    assert_non_null(v);
    return v;
}

static const cJSON *run_at(const cJSON *study, int i)
{
    const cJSON *const run = cJSON_GetArrayItem(member(study, "runs"), i);

    assert_non_null(run);
    return run;
}

static double rate_at(const cJSON *study, int i)
{
    return number_of(run_at(study, i), "train_samples_per_s");
}

/* ---- the ordinary way ---- */

/* In every other repeat the other way round, all with one seed, each in a folder of its own. */
static void check_runs(const char *dir, const cJSON *study)
{
    static const int conditions[] = {0, 1, 1, 0, 0, 1};
    double seed = 0;

    assert_int_equal(cJSON_GetArraySize(member(study, "runs")), 6);
    for (int i = 0; i < 6; i++) {
        const cJSON *const run = run_at(study, i);
        char *const folder = file_join(dir, string_of(run, "dir"));
        cJSON *const json = read_json(folder, "run.json");
        const cJSON *const data = member(member(json, "options"), "data");

        assert_true(number_of(run, "condition") == conditions[i]);
        assert_true(number_of(run, "repeat") == 1 + i / 2);
        assert_true(number_of(run, "exit_code") == 0);
        assert_true(result_of(folder, ".", "steps") == 12);
        assert_true(i == 0 || number_of(json, "seed") == seed);
        assert_int_equal(strstr(string_of(data, "data-dir"), "/b") != NULL, conditions[i]);
        seed = number_of(json, "seed");
        cJSON_Delete(json);
        free(folder);
    }
}

/* The comparison, worked out here: three pairs, t(0.975, 2) = 4.302653. */
static void check_table(const cJSON *study)
{
    static const int base[] = {0, 3, 4}, other[] = {1, 2, 5};
    const cJSON *const row = cJSON_GetArrayItem(member(study, "table"), 1);
    const cJSON *const slowdown = member(row, "slowdown"), *const rate =
                                                               member(row, "train_samples_per_s");
    double s[3], mean = 0, sum = 0, squares = 0, half;

    for (int i = 0; i < 3; i++) {
        s[i] = 1 - rate_at(study, other[i]) / rate_at(study, base[i]);
        mean += s[i] / 3;
        sum += rate_at(study, other[i]);
    }
    for (int i = 0; i < 3; i++)
        squares += (s[i] - mean) * (s[i] - mean);
    half = 4.302653 * sqrt(squares / 2 / 3);
    assert_true(number_of(row, "n") == 3);
    assert_true(fabs(number_of(rate, "mean") / (sum / 3) - 1) < 1e-9);
    assert_true(fabs(number_of(slowdown, "ratio") - mean) < 1e-9);
    assert_true(fabs(number_of(slowdown, "low") - (mean - half)) < 1e-5);
    assert_true(fabs(number_of(slowdown, "high") - (mean + half)) < 1e-5);
    assert_true(number_of(study, "smallest_difference_ratio") > 0);
}

/* Every figure of the study in DIR/s follows from the files of its runs by docs/study.md. */
static void check_figures(const char *dir)
{
    char *const command = xasprintf("python3 tests/recompute.py '%s/s' >'%s/figures'", dir, dir);

    if (system("python3 -c '' 2>/dev/null") == 0 && system(command) != 0)
        fail_msg("%s", read_text(dir, "figures"));
    free(command);
}

static void a_study_is_made(void **state)
{
    const char *const dir = *state;
    char *const both = two_sets(dir), *const out = file_join(dir, "s"), *said;
    cJSON *study;

    assert_int_equal(
        run_words(dir, NULL, &said, SHORT " --data %s --repeats 3 --out %s", both, out), 0);
    assert_says(said, "run 1 of 6: resnet50, data ");
    assert_says(said, "slowdown (95 % interval)");
    assert_says(said, "smallest slowdown that 3 repeats tell from noise: ");
    assert_says(said, "ranking by rate: 3 repeats, Kendall's W ");
    assert_says(said, "study: ");
    free(said);
    study = read_json(out, "study.json");
    assert_string_equal(string_of(study, "kind"), "study");
    assert_string_equal(string_of(study, "unit"), "images");
    assert_true(number_of(study, "repeats") == 3);
    check_runs(out, study);
    check_table(study);
    check_figures(dir);
    cJSON_Delete(study);
    free(out);
    free(both);
}

static void only_results(void)
{
    const int nowhere = open("/dev/null", O_WRONLY);

    dup2(nowhere, STDERR_FILENO);
    close(nowhere);
}

/* One document on stdout, the file's; and a study of one condition compares nothing. */
static void one_json_document(void **state)
{
    const char *const dir = *state;
    char *said, *text;

    small_data(dir);
    assert_int_equal(
        run_words(dir, only_results, &said, SHORT " -d %s --repeats 1 --json --out %s/s", dir, dir),
        0);
    text = read_text(dir, "s/study.json");
    assert_string_equal(said, text);
    assert_says(text, "One condition, 1 run of each workload");
    assert_null(strstr(text, "slowdown"));
    free(text);
    free(said);
}

/* ---- copying in ---- */

static void files_are_copied_in(void **state)
{
    const char *const dir = *state;
    cJSON *study, *report;
    char *said, *copies;

    small_data(dir);
    free(scratch_file(dir, "next/deep/x", "0123456789"));
    assert_int_equal(run_words(dir, NULL, &said,
                               "-b 6 --steps 400 --lr 0.05 --warm 0 -d %s --repeats 1 --copy-in "
                               "%s/next --out %s/s",
                               dir, dir, dir),
                     0);
    free(said);
    report = read_json(dir, "s/run-02/copy_in.json");
    assert_true(number_of(report, "copied_bytes") >= 10);
    assert_true(number_of(report, "passes") >= 1);
    assert_true(fabs(number_of(report, "copied_bytes_per_s") * number_of(report, "seconds") /
                         number_of(report, "copied_bytes") -
                     1) < 1e-9);
    study = read_json(dir, "s/study.json");
    assert_true(number_of(run_at(study, 1), "ingest_bytes_per_s") ==
                number_of(report, "copied_bytes_per_s"));
    copies = xasprintf("%s/s/run-02/copy-in", dir);
    assert_false(file_exists(copies));
    free(copies);
    copies = read_text(dir, "next/deep/x");
    assert_string_equal(copies, "0123456789");
    check_figures(dir);
    free(copies);
    cJSON_Delete(study);
    cJSON_Delete(report);
}

/* ---- runs that fail ---- */

/* Found when the picture is read, not before. */
static void damage(const char *dir, int yes)
{
    static const enum run_damage cut[RUN_TRAIN] = {[3] = DAMAGE_CUT};

    run_data(dir, "train", RUN_TRAIN, yes ? cut : NULL);
}

static void a_failed_run_is_marked(void **state)
{
    const char *const dir = *state;
    char *const both = two_sets(dir), *const out = file_join(dir, "s"),
                *const b = file_join(dir, "b"), *said, *failed;
    cJSON *study;

    damage(b, 1);
    assert_int_equal(run_words(dir, NULL, &said,
                               SHORT " --on-bad fail --data %s --repeats 2 --out %s", both, out),
                     4);
    assert_says(said, "it does not count: failed: data; exit code 3");
    assert_says(said, "does not count: ");
    free(said);
    study = read_json(out, "study.json");
    assert_int_equal(cJSON_GetArraySize(member(study, "runs")), 4);
    assert_true(cJSON_IsFalse(member(run_at(study, 1), "stands")));
    assert_true(cJSON_IsTrue(member(run_at(study, 3), "stands")));
    assert_null(cJSON_GetObjectItemCaseSensitive(cJSON_GetArrayItem(member(study, "table"), 1),
                                                 "slowdown"));
    cJSON_Delete(study);
    /* made again when what was wrong is right */
    damage(b, 0);
    assert_int_equal(run_words(dir, NULL, &said, "--resume --out %s", out), 0);
    study = read_json(out, "study.json");
    assert_true(cJSON_IsTrue(member(run_at(study, 1), "stands")));
    failed = file_join(out, "run-02.failed-1");
    assert_true(file_is_folder(failed));
    cJSON_Delete(study);
    free(failed);
    free(said);
    free(b);
    free(out);
    free(both);
}

/* ---- stopping and going on ---- */

/* Runs made before the study was stopped and after it have the same options. */
static void check_alike(const char *out)
{
    cJSON *const before = read_json(out, "run-01/run.json"), *const after =
                                                                 read_json(out, "run-04/run.json");
    const cJSON *const a = member(before, "options"), *const b = member(after, "options");

    assert_true(cJSON_Compare(member(a, "training"), member(b, "training"), 1));
    assert_true(number_of(member(b, "training"), "checkpoint-every") == 1);
    assert_string_equal(string_of(member(b, "run"), "clear-cache"), "no");
    cJSON_Delete(before);
    cJSON_Delete(after);
}

static void stopped_study_goes_on(void **state)
{
    const char *const dir = *state;
    char *const out = file_join(dir, "s"), *const said = file_join(dir, "said"),
                *const both = two_sets(dir), *const second = file_join(out, "run-02/events.jsonl"),
                *const words = xasprintf(
                    "-b 6 --steps 1500 --lr 0.05 --clear-cache no --checkpoint-every 1 --data %s "
                    "--repeats 1 --out %s",
                    both, out);
    char *result, *again, *text;
    cJSON *study;
    pid_t pid;

    pid = small_start((struct small_run){.words = words, .said = said});
    wait_for_text(second, "\"run_start\"");
    kill(pid, SIGINT);
    assert_int_equal(small_wait(pid), 1);
    text = read_text(dir, "said");
    assert_says(text, "the study was stopped; --resume --out ");
    assert_says(text, "so far 1 of 2 runs");
    free(text);
    study = read_json(out, "study.json");
    assert_int_equal(cJSON_GetArraySize(member(study, "runs")), 1);
    cJSON_Delete(study);
    result = read_text(out, "run-01/result.json");
    assert_int_equal(run_words(dir, NULL, &text, "--resume --repeats 2 --out %s", out), 0);
    free(text);
    again = read_text(out, "run-01/result.json");
    assert_string_equal(result, again);
    study = read_json(out, "study.json");
    assert_int_equal(cJSON_GetArraySize(member(study, "runs")), 4);
    assert_true(result_of(out, "run-04", "steps") == 1500);
    check_alike(out);
    free(again);
    again = read_text(out, "run-02.interrupted-1/run.json");
    cJSON_Delete(study);
    free(again);
    free(result);
    free(words);
    free(second);
    free(both);
    free(said);
    free(out);
}

/* ---- what is refused ---- */

static void refused(void **state)
{
    const char *const dir = *state;
    const struct {
        const char *words, *says;
    } cases[] = {
        {"resnet50", "resnet50 is there twice; --repeats N"},
        {"--memory none,none", "--memory: none is there twice"},
        {"--cache none,,1G", "--cache: an empty value in the list"},
        {"--copy-in /nowhere/at/all", "there is no such folder"},
        {"--data /nowhere/at/all", "/nowhere/at/all"},
        {"--repeats 0", "repeats"},
        {"--resume --out /nowhere/s", "there is no study in /nowhere/s"},
    };
    char *said, *out;

    small_data(dir);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const int code =
            run_words(dir, NULL, &said, "--steps 2 -d %s --out %s/s %s", dir, dir, cases[i].words);
        assert_true(code == 2 || code == 3);
        assert_says(said, cases[i].says);
        free(said);
    }
    out = file_join(dir, "s");
    assert_false(file_exists(out)); /* nothing was written */
    free(out);
}

static void refused_resume(void **state)
{
    const char *const dir = *state;
    static const char *const others[] = {"--data /a,/b", "--copy-in /a", "--conditions all",
                                         "--clear-cache no", "--seed 12345"};
    char *said, *path;

    small_data(dir);
    assert_int_equal(run_words(dir, NULL, &said, SHORT " -d %s --repeats 2 --out %s/s", dir, dir),
                     0);
    free(said);
    assert_int_equal(run_words(dir, NULL, &said, SHORT " -d %s --out %s/s", dir, dir), 2);
    assert_says(said, "holds a study already");
    free(said);
    assert_int_equal(run_words(dir, NULL, &said, "--resume -b 4 --out %s/s", dir), 2);
    assert_says(said, "have batch-size 6, and the runs of a study are alike");
    free(said);
    for (size_t i = 0; i < COUNT_OF(others); i++) {
        assert_int_equal(run_words(dir, NULL, &said, "--resume %s --out %s/s", others[i], dir), 2);
        assert_says(said, "and the runs of a study are alike; leave out --");
        free(said);
    }
    assert_int_equal(run_words(dir, NULL, &said, "--resume --repeats 1 --out %s/s", dir), 2);
    assert_says(said, "has 2 repeats; leave out --repeats, or give more");
    free(said);
    /* one that is complete is shown again */
    assert_int_equal(run_words(dir, NULL, &said, "--resume --out %s/s", dir), 0);
    assert_says(said, "One condition, 2 runs");
    free(said);
    path = xasprintf("%s/s/study.json", dir);
    assert_int_equal(truncate(path, 200), 0);
    assert_int_equal(run_words(dir, NULL, &said, "--resume --out %s/s", dir), 3);
    assert_says(said, "study.json is damaged: it is not JSON");
    free(said);
    free(path);
}

#define S(f) cmocka_unit_test_setup_teardown(f, scratch_open, scratch_close)

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        S(a_study_is_made),        S(one_json_document),     S(files_are_copied_in),
        S(a_failed_run_is_marked), S(stopped_study_goes_on), S(refused),
        S(refused_resume),
    };

    small_is_started(argc, argv);
    return cmocka_run_group_tests_name("study", tests, NULL, NULL);
}
