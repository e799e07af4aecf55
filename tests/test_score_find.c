/* `stave score`: which results are found where, and what the command says and ends with. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/file.h"
#include "base/json.h"
#include "score_fixture.h"
#include "scratch.h"

static const struct fake_result resnet = {.start_ms = 1000000};
static const struct fake_run five[] = {
    {28, 36, NULL}, {30, 36, NULL}, {27, 36, NULL}, {29, 36, NULL}, {40, 40, NULL}};

/* Run folders as `stave run --runs` leaves them. */
static void run_folders(const char *dir, const char *sub, const struct fake_result *f, int n)
{
    for (int i = 0; i < n; i++) {
        char *const name = xasprintf("%s/run-%d/mlperf.log", sub, i + 1);

        fake_log(dir, name, f, &five[i % 5], i);
        free(name);
    }
}

/* stave's output and exit code, in the folder dir. */
static int run(const char *dir, const char *words, char *out, size_t size)
{
    char here[4096], *line;
    FILE *p;
    size_t n;

    assert_non_null(getcwd(here, sizeof(here)));
    line = xasprintf("cd %s && %s/%s/stave score %s 2>&1", dir, here, STAVE_BUILD, words);
    p = popen(line, "r");
    free(line);
    assert_non_null(p);
    n = fread(out, 1, size - 1, p);
    out[n] = '\0';
    return WEXITSTATUS(pclose(p));
}

static void says(const char *dir, const char *words, int code, const char *what)
{
    static char out[1 << 16];
    const int got = run(dir, words, out, sizeof(out));

    if (got != code || !strstr(out, what))
        fail_msg("stave score %s ends with %d and says: %s", words, got, out);
}

static void test_a_folder_of_runs(void **state)
{
    struct results s;

    run_folders(*state, "runs", &resnet, 5);
    s = fake_find(*state, "runs", NULL);
    assert_int_equal(s.n, 1);
    assert_int_equal(s.list[0].n_runs, 5);
    assert_string_equal(s.list[0].runs[0].name, "run-1");
    assert_string_equal(s.list[0].version, "4.0.0");
    assert_true(s.list[0].guessed && s.list[0].stands);
    assert_true(fabs(s.list[0].minutes - 29) < 1e-9);
    results_release(&s);
}

static void test_runs_of_two_benchmarks(void **state)
{
    const struct fake_result ssd = {.benchmark = "ssd", .start_ms = 1};
    struct results s;

    run_folders(*state, "runs", &resnet, 5);
    fake_log(*state, "runs/other/mlperf.log", &ssd, &five[0], 0);
    s = fake_find(*state, "runs", "4.0.0");
    assert_int_equal(s.n, 2);
    assert_string_equal(s.list[0].benchmark, "ssd");
    assert_int_equal(s.list[1].n_runs, 5);
    results_release(&s);
}

static void test_eleven_runs_are_in_order(void **state)
{
    struct results s;

    run_folders(*state, "runs", &resnet, 11);
    s = fake_find(*state, "runs", NULL);
    assert_string_equal(s.list[0].runs[1].name, "run-2");
    assert_string_equal(s.list[0].runs[10].name, "run-11");
    results_release(&s);
}

/* What a set of runs keeps of runs that it made again is no run of the result. */
static void test_attempts_are_left_out(void **state)
{
    struct results s;

    run_folders(*state, "runs", &resnet, 5);
    fake_log(*state, "runs/run-2.interrupted-1/mlperf.log", &resnet, &five[0], 7);
    fake_log(*state, "runs/run-2.failed-12/mlperf.log", &resnet, &five[0], 8);
    s = fake_find(*state, "runs", NULL);
    assert_int_equal(s.n, 1);
    assert_int_equal(s.list[0].n_runs, 5);
    assert_true(s.list[0].stands);
    assert_non_null(strstr(s.list[0].notes.s, "2 attempts that did not come to an end"));
    results_release(&s);
    fake_log(*state, "runs/run-6.failed-x/mlperf.log", &resnet, &five[0], 9); /* just a name */
    s = fake_find(*state, "runs", NULL);
    assert_int_equal(s.list[0].n_runs, 6);
    results_release(&s);
}

static void test_a_resumed_run_is_no_timed_result(void **state)
{
    struct results s;

    run_folders(*state, "runs", &resnet, 5);
    free(scratch_file(*state, "runs/run-5/result.json", "{\"status\": 1, \"resumed\": true}"));
    free(scratch_file(*state, "runs/run-4/result.json", "{\"status\": 1}"));
    s = fake_find(*state, "runs", NULL);
    assert_string_equal(s.list[0].runs[4].why,
                        "it was resumed: the log covers its last start only");
    assert_null(s.list[0].runs[3].why);
    assert_int_equal(s.list[0].time.n_failed, 1);
    results_release(&s);
}

static void test_a_submission(void **state)
{
    const struct fake_result bert = {.benchmark = "bert", .batch = 448, .start_ms = 1};
    struct results s;

    fake_results(*state, "Org/results/box/resnet", &resnet, five, 5);
    fake_results(*state, "Org/results/box/bert", &bert, five, 3);
    fake_results(*state, "Other/results/tower/resnet", &resnet, five, 5);
    free(scratch_file(*state, "Org/systems/box.json",
                      "{\"system_name\": \"Box\", \"submitter\": \"Org Inc\", \"division\": "
                      "\"closed\", \"number_of_nodes\": \"2\", \"accelerators_per_node\": 8, "
                      "\"accelerator_model_name\": \"X1\"}"));
    s = fake_find(*state, "", "4.0.0");
    assert_int_equal(s.n, 3);
    assert_string_equal(s.list[0].benchmark, "bert");
    assert_string_equal(s.list[1].system.name, "Box");
    assert_string_equal(s.list[1].system.submitter, "Org Inc");
    assert_true(result_accelerators(&s.list[1]) == 16);
    assert_string_equal(s.list[2].system.name, "tower");
    assert_true(isnan(result_accelerators(&s.list[2])));
    results_release(&s);
}

static void test_links_do_not_lead_around(void **state)
{
    struct results s;
    char *const loop = file_join(*state, "a/loop"), *const dir = file_join(*state, "a");

    fake_results(*state, "a/resnet", &resnet, five, 5);
    assert_int_equal(symlink(dir, loop), 0);
    s = fake_find(*state, "a", "4.0.0");
    assert_int_equal(s.n, 1);
    results_release(&s);
    free(loop);
    free(dir);
}

static void link_to(const char *dir, const char *name, const char *target)
{
    char *const path = file_join(dir, name), *const to = file_join(dir, target);

    assert_int_equal(symlink(to, path), 0);
    free(path);
    free(to);
}

static void test_linked_runs(void **state)
{
    char *const set = file_join(*state, "set");
    struct results s;

    run_folders(*state, "elsewhere", &resnet, 5);
    assert_int_equal(file_mkdirs(set), 0);
    for (int i = 1; i <= 5; i++) {
        char *const name = xasprintf("set/run-%d", i), *const to = xasprintf("elsewhere/run-%d", i);

        link_to(*state, name, to);
        free(name);
        free(to);
    }
    link_to(*state, "linked", "set");
    s = fake_find(*state, "linked", NULL);
    assert_int_equal(s.n, 1);
    assert_int_equal(s.list[0].n_runs, 5);
    assert_true(s.list[0].stands);
    results_release(&s);
    free(set);
}

/* A folder in a log's place is no log. */
static void test_unreadable_logs_do_not_hide_others(void **state)
{
    char *const odd = file_join(*state, "all/a/run-1/mlperf.log");

    assert_int_equal(file_mkdirs(odd), 0);
    says(*state, "all", 3, "stave: not scored: ");
    run_folders(*state, "all/b", &resnet, 5);
    says(*state, "all", 3, "score       29.0000 minutes");
    says(*state, "all", 3, "stave: not scored: ");
    fake_log(*state, "all/a/run-2/mlperf.log", &resnet, &five[0], 0);
    says(*state, "all", 3, "does not stand: A log here can not be read: ");
    free(odd);
}

/* The super-user may read everything. */
static void test_unreadable_folders_do_not_hide_others(void **state)
{
    char *closed;

    if (geteuid() == 0)
        skip(); /* it may read everything */
    closed = file_join(*state, "all/a");
    assert_int_equal(file_mkdirs(closed), 0);
    run_folders(*state, "all/b", &resnet, 5);
    assert_int_equal(chmod(closed, 0), 0);
    says(*state, "all", 3, "score       29.0000 minutes");
    says(*state, "all", 3, "all/a: Permission denied");
    assert_int_equal(chmod(closed, 0700), 0);
    free(closed);
}

/* run.json of run number i, as `stave run` writes it. */
static void run_json(const char *dir, int i, const char *ruleset, const char *training)
{
    char *const name = xasprintf("runs/run-%d/run.json", i);
    char *const text =
        xasprintf("{\"ruleset\": \"%s\", \"options\": {\"training\": {%s}}}", ruleset, training);

    free(scratch_file(dir, name, text));
    free(name);
    free(text);
}

static void test_the_ruleset_of_the_runs(void **state)
{
    run_folders(*state, "runs", &resnet, 5);
    for (int i = 1; i <= 5; i++)
        run_json(*state, i, "1.0.0", "\"target\": 0.759");
    says(*state, "runs", 0, "MLPerf ruleset 1.0.0 (as run.json says; --ruleset names another)\n");
    says(*state, "runs/run-1", 4, "MLPerf ruleset 1.0.0 (as run.json");
    says(*state, "runs --ruleset 4.0.0", 0, "MLPerf ruleset 4.0.0\n");
    run_json(*state, 3, "4.0.0", "\"target\": 0.759");
    says(*state, "runs", 4,
         "does not stand: run-3 was made under ruleset 4.0.0, others here are judged under 1.0.0");
    says(*state, "runs --ruleset 4.0.0", 0, "MLPerf ruleset 4.0.0\n");
}

static void test_runs_without_a_target(void **state)
{
    run_folders(*state, "runs", &resnet, 5);
    run_json(*state, 2, "4.0.0", "\"steps\": 0, \"target\": 0.759");
    run_json(*state, 3, "4.0.0", "\"steps\": 0, \"target\": 0");
    says(*state, "runs", 0, "does not count: it was made without a target (--target 0)\n");
    run_json(*state, 4, "4.0.0", "\"steps\": 10, \"target\": 0.759");
    says(*state, "runs", 4,
         "does not count: it was made for a number of steps (--steps), not to a target\n");
    says(*state, "runs", 4, "score       none\n");
}

/* MLPerf's summariser drops the runs that its checker refuses. */
static void test_logs_that_the_checks_refuse(void **state)
{
    run_folders(*state, "runs", &resnet, 5);
    says(*state, "runs --ruleset 2.0.0", 4,
         "  does not count: its log is refused: weights_initialization: ");
    says(*state, "runs --ruleset 2.0.0", 4, "score       none\n");
    says(*state, "runs --ruleset 2.0.0 --unchecked", 4, "score       29.0000 minutes");
    says(*state, "runs --ruleset 2.0.0 --unchecked", 4,
         "does not stand: The round's checks refuse the log run-1, which counts here: "
         "weights_initialization: ");
}

static void test_entry_of_an_old_round(void **state)
{
    struct results s;

    fake_results(*state, "Org/results/box/resnet", &resnet, five, 5);
    free(scratch_file(*state, "Org/results/box/entry.json",
                      "{\"division\": \"closed\", \"nodes\": [{\"num_nodes\": \"2\", "
                      "\"num_accelerators\": 8, \"accelerator\": \"X0\"}, {\"num_nodes\": 1, "
                      "\"num_accelerators\": 4}]}"));
    s = fake_find(*state, "Org", "1.0.0");
    assert_true(result_accelerators(&s.list[0]) == 20);
    assert_string_equal(s.list[0].system.accelerator, "X0");
    assert_string_equal(s.list[0].system.name, "box");
    results_release(&s);
}

static void test_exit_codes(void **state)
{
    run_folders(*state, "good", &resnet, 5);
    run_folders(*state, "few", &resnet, 3);
    free(scratch_file(*state, "empty/readme", "nothing\n"));
    says(*state, "good", 0, "score       29.0000 minutes: the mean of 3 of 5 runs\n");
    says(*state, "good/", 0, "29.0000");
    says(*state, "few", 4, "does not stand: 3 runs: the rules of 4.0.0 ask for 5 of resnet.\n");
    says(*state, "good few", 4, "few:\n  does not stand: 3 runs");
    says(*state, "empty", 3, "stave: empty: no run is here");
    says(*state, "nothing", 3, "stave: open nothing: No such file or directory");
    says(*state, "", 2, "stave score needs DIR...");
    says(*state, "good --ruleset 9.9", 2, "there is no ruleset \"9.9\"");
    says(*state, "good/run-1 good/run-2 good/run-3/mlperf.log good/run-4 good/run-5", 0, "5 runs");
    says(*state, "good/run-1 good/run-2 good/run-3/mlperf.log good/run-4 few/run-1", 4,
         "does not stand: run-1 and run-1 have the same start, stop and evaluations: they are one "
         "run twice.\n");
    says(*state, "good --system nosuch", 3, "stave: open nosuch: No such file or directory");
    says(*state, "good --system empty/readme", 3, "empty/readme holds no JSON object");
}

static void test_text_of_one_result(void **state)
{
    run_folders(*state, "good", &resnet, 5);
    free(scratch_file(*state, "box.json",
                      "{\"system_name\": \"Box\", \"number_of_nodes\": \"1\", "
                      "\"accelerators_per_node\": \"8\", \"accelerator_model_name\": \"X1\"}"));
    says(*state, "good --ruleset 1.0.0 --system box.json", 0,
         "resnet: 5 runs, closed division, MLPerf ruleset 1.0.0\n"
         "good\n"
         "system Box, submitted by Org, 8 accelerators X1\n"
         "\n"
         "run      minutes       epochs    quality    samples/s /accelerator\n"
         "run-1     28.000           36    0.76010      27453.6       3431.7\n"
         "run-2     30.000           36    0.76010      25623.3       3202.9\n"
         "run-3     27.000           36    0.76010      28470.4       3558.8  dropped, fastest\n"
         "run-4     29.000           36    0.76010      26506.9       3313.4\n"
         "run-5     40.000           40    0.76010      21352.8       2669.1  dropped, slowest\n"
         "\n"
         "score       29.0000 minutes: the mean of 3 of 5 runs\n"
         "interval    22.465 to 35.535 minutes, 95 %, +-22.53 % (Student's t)\n"
         "spread      27.000 to 40.000 minutes, median 29.000, standard deviation 5.263\n"
         "epochs      36 to the target on average, 36 to 40\n"
         "throughput  25512.4 samples/s, evaluation included; 3189.1 per accelerator\n"
         "reference   at batch 3264 the reference needs 35.154 epochs, floor 34.310; these runs "
         "needed 36.000: not faster than its mean\n"
         "published      27.38  Inspur NF5688M6 (A100), 8 accelerators; this result takes 1.059 "
         "times as long\n");
}

/* A log's names do not steer the terminal. */
static void test_control_characters(void **state)
{
    run_folders(*state, "good", &resnet, 5);
    free(scratch_file(*state, "box.json", "{\"system_name\": \"B\\u001b[31mox\"}"));
    says(*state, "good --system box.json", 0, "system B\\x1b[31mox, submitted by Org");
}

static void test_json(void **state)
{
    static char out[1 << 16];
    cJSON *doc, *r;

    run_folders(*state, "good", &resnet, 5);
    assert_int_equal(run(*state, "good --json", out, sizeof(out)), 0);
    doc = json_parse(out, strlen(out), NULL);
    r = cJSON_GetArrayItem(cJSON_GetObjectItem(doc, "results"), 0);
    assert_true(fabs(cJSON_GetObjectItem(r, "minutes")->valuedouble - 29) < 1e-9);
    assert_true(cJSON_IsTrue(cJSON_GetObjectItem(r, "stands")));
    assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(r, "runs")), 5);
    assert_null(cJSON_GetObjectItem(r, "accelerators")); /* not known: absent */
    assert_null(cJSON_GetObjectItem(r, "scaling_json"));
    assert_true(cJSON_IsTrue(
        cJSON_GetObjectItem(cJSON_GetObjectItem(r, "reference_convergence"), "passed")));
    cJSON_Delete(doc);
}

#define SCRATCH(f) cmocka_unit_test_setup_teardown(f, scratch_open, scratch_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCRATCH(test_a_folder_of_runs),
        SCRATCH(test_runs_of_two_benchmarks),
        SCRATCH(test_eleven_runs_are_in_order),
        SCRATCH(test_attempts_are_left_out),
        SCRATCH(test_a_resumed_run_is_no_timed_result),
        SCRATCH(test_a_submission),
        SCRATCH(test_links_do_not_lead_around),
        SCRATCH(test_linked_runs),
        SCRATCH(test_unreadable_logs_do_not_hide_others),
        SCRATCH(test_unreadable_folders_do_not_hide_others),
        SCRATCH(test_the_ruleset_of_the_runs),
        SCRATCH(test_runs_without_a_target),
        SCRATCH(test_logs_that_the_checks_refuse),
        SCRATCH(test_entry_of_an_old_round),
        SCRATCH(test_exit_codes),
        SCRATCH(test_text_of_one_result),
        SCRATCH(test_control_characters),
        SCRATCH(test_json),
    };

    return cmocka_run_group_tests_name("score_find", tests, NULL, NULL);
}
