/* What one log says: names, times, evaluations, settings; logs that are cut or wrong. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "rules/log.h"
#include "scratch.h"
#include "trace/mllog_read.h"

#define AT(time, key, value, meta)                                                                 \
    ":::MLLOG {\"namespace\": \"\", \"time_ms\": " #time                                           \
    ", \"event_type\": \"POINT_IN_TIME\", \"key\": \"" key "\", \"value\": " value                 \
    ", \"metadata\": {\"file\": \"train.c\", \"lineno\": 7" meta "}}\n"
#define EVAL(time, value, epoch) AT(time, "eval_accuracy", value, ", \"epoch_num\": " epoch)

static const char whole[] = AT(1000, "cache_clear", "true", "") AT(1100, "init_start", "null", "")
    AT(1100, "submission_benchmark", "\"resnet\"", "") AT(1100, "submission_org", "\"Org\"", "")
        AT(1100, "submission_division", "\"closed\"", "") AT(1100, "submission_status",
                                                             "\"onprem\"", "")
            AT(1100, "submission_platform", "\"Box\"", "") AT(1100, "seed", "42", "")
                AT(1100, "global_batch_size", "3264", "") AT(1100, "lars_epsilon", "0.0", "")
                    AT(1100, "opt_name", "\"lars\"", "") AT(1100, "opt_rates", "[1,0.5]", "")
                        AT(2000, "init_stop", "null", "") AT(2500, "run_start", "null", "")
                            AT(2600, "train_samples", "1281167", "") AT(2600, "eval_samples",
                                                                        "50000", "")
                                AT(2600, "epoch_start", "null", ", \"epoch_num\": 1")
                                    EVAL(50000, "0.5", "31") EVAL(60000, "0.7601", "35.00049")
                                        AT(62500, "run_stop", "null", ", \"status\": \"success\"");

static struct log read_text(const char *text)
{
    struct log l;

    assert_int_equal(log_read_memory(&l, text, strlen(text)), 0);
    return l;
}

static void test_a_whole_log(void **state)
{
    struct log l = read_text(whole);

    (void)state;
    assert_string_equal(l.benchmark, "resnet");
    assert_string_equal(l.org, "Org");
    assert_string_equal(l.division, "closed");
    assert_string_equal(l.status, "onprem");
    assert_string_equal(l.platform, "Box");
    assert_string_equal(l.run_status, "success");
    assert_int_equal(l.format, MLLOG_FORMAT_JSON);
    assert_true(l.batch == 3264 && l.train_samples == 1281167 && l.eval_samples == 50000);
    assert_true(l.init_start_ms == 1100 && l.init_stop_ms == 2000);
    assert_true(l.run_start_ms == 2500 && l.run_stop_ms == 62500 && log_minutes(&l) == 1);
    assert_true(l.epochs == 35); /* rounded to three places */
    assert_true(l.samples_at_stop == 1281167);
    assert_int_equal(l.n_records, 20);
    assert_int_equal(l.n_troubles, 0);
    assert_int_equal(l.run_stop_line, 20);
    log_release(&l);
    log_release(&l);
}

static void test_lists(void **state)
{
    struct log l = read_text(whole);

    (void)state;
    assert_int_equal(l.n_seeds, 1);
    assert_string_equal(l.seeds[0].value, "42");
    assert_string_equal(l.seeds[0].file, "train.c");
    assert_true(l.seeds[0].lineno == 7 && l.seeds[0].line == 8);
    assert_int_equal(l.n_evaluations, 2);
    assert_true(l.evaluations[1].value == 0.7601 && l.evaluations[1].epoch == 35);
    assert_true(isnan(l.evaluations[0].samples) && l.evaluations[0].line == 18);
    assert_string_equal(log_setting(&l, "opt_name")->value, "\"lars\"");
    assert_string_equal(log_setting(&l, "opt_rates")->value, "[1,0.5]");
    assert_null(log_setting(&l, "epoch_start"));
    assert_true(log_number(&l, "lars_epsilon") == 0);
    assert_true(isnan(log_number(&l, "opt_name")) && isnan(log_number(&l, "nothing")));
    log_release(&l);
}

static void test_nothing_there(void **state)
{
    struct log l = read_text("words\n");

    (void)state;
    assert_int_equal(l.n_records, 0);
    assert_null(l.benchmark);
    assert_null(l.run_status);
    assert_true(isnan(l.batch) && isnan(l.epochs) && isnan(log_minutes(&l)));
    log_release(&l);
    assert_int_equal(log_read(&l, "/nonexistent/x.log", NULL), E_IO);
    log_release(&l);
}

static void test_the_last_one_holds(void **state)
{
    struct log l = read_text(
        AT(1, "submission_benchmark", "\"ssd\"", "") AT(1, "submission_benchmark", "\"bert\"", "")
            AT(1, "global_batch_size", "8", "") AT(1, "global_batch_size", "16", ""));

    (void)state;
    assert_string_equal(l.benchmark, "bert");
    assert_true(l.batch == 16);
    assert_int_equal(l.n_settings, 4);
    assert_string_equal(log_setting(&l, "global_batch_size")->value, "16");
    log_release(&l);
}

/* The summariser stops reading at the record with which it knows both. */
static void test_which_start_and_stop(void **state)
{
    struct log l = read_text(AT(10, "run_start", "1", "") AT(20, "run_start", "1", "")
                                 AT(30, "run_stop", "1", "") AT(40, "run_start", "1", "")
                                     AT(50, "run_stop", "1", ", \"status\": \"aborted\""));

    (void)state;
    assert_true(l.run_start_ms == 20 && l.run_stop_ms == 30);
    assert_string_equal(l.run_status, "aborted");
    log_release(&l);
    l = read_text(AT(30, "run_stop", "1", "") AT(10, "run_start", "1", "")
                      AT(50, "run_stop", "1", ""));
    assert_true(l.run_start_ms == 10 && l.run_stop_ms == 30);
    log_release(&l);
}

static void test_epochs_only_of_a_success(void **state)
{
    struct log l = read_text(EVAL(1, "0.7", "3") AT(2, "run_stop", "0", ", \"status\": \"aborted\"")
                                 EVAL(3, "0.7", "4"));

    (void)state;
    assert_true(isnan(l.epochs));
    log_release(&l);
    l = read_text(EVAL(1, "0.7", "3.25") AT(2, "run_stop", "0", ", \"status\": \"success\"")
                      EVAL(3, "0.7", "4"));
    assert_true(l.epochs == 3.25);
    log_release(&l);
}

/* Stable Diffusion: the metrics of a step are logged when they are ready, in any order. */
static void test_two_metrics(void **state)
{
    struct log l = read_text(
        AT(1, "submission_benchmark", "\"stable_diffusion\"",
           "") AT(2, "eval_accuracy", "91", ", \"metric\": \"FID\", \"samples_count\": 100")
            AT(2, "eval_accuracy", "0.16", ", \"metric\": \"CLIP\", \"samples_count\": 300")
                AT(2, "eval_accuracy", "0.2", ", \"metric\": \"CLIP\", \"samples_count\": 100") AT(
                    3, "eval_accuracy", "80", ", \"metric\": \"FID\", \"samples_count\": 300")
                    AT(4, "eval_accuracy", "80", ", \"metric\": \"FID\", \"samples_count\": 200")
                        AT(5, "run_stop", "0", ", \"status\": \"success\""));

    (void)state;
    assert_true(l.epochs == 300);
    assert_string_equal(l.evaluations[0].metric, "FID");
    log_release(&l);
}

static void test_odd_values(void **state)
{
    struct log l = read_text(
        AT(1, "eval_accuracy", "{\"BBOX\": 0.378, \"SEGM\": 0.34}", ", \"epoch_num\": 13")
            AT(2, "eval_accuracy", "NaN", ", \"samples_count\": 500") AT(3, "seed", "\"x\"", "")
                AT(4, "opt_gradient_clip_norm", "Infinity", "") AT(5, "submission_org", "7", ""));

    (void)state;
    assert_int_equal(l.evaluations[0].n_members, 2);
    assert_string_equal(l.evaluations[0].members[1].name, "SEGM");
    assert_true(l.evaluations[0].members[1].value == 0.34 && isnan(l.evaluations[0].value));
    assert_true(isnan(l.evaluations[1].value) && isnan(l.evaluations[1].epoch));
    assert_true(l.evaluations[1].samples == 500);
    assert_string_equal(l.seeds[0].value, "\"x\"");
    assert_null(l.org);
    log_release(&l);
}

static void test_troubles_are_counted(void **state)
{
    struct log l = read_text("0: " AT(1, "seed", "1", "") ":::MLLOG {\"time_ms\": 1, \"ke\n"
                                                          ":::MLLOG {\"key\": \"a\"}\n");

    (void)state;
    assert_int_equal(l.n_records, 1);
    assert_int_equal(l.n_troubles, 2);
    assert_string_equal(l.trouble, "line 2, column 28: the record ends before its JSON does");
    log_release(&l);
}

static int stop(void *context, const struct mllog_record *r)
{
    size_t *const n = context;

    (void)r;
    return --*n == 0 ? -100 : 0;
}

static void test_another_visitor_sees_all(void **state)
{
    char *const path = scratch_file(*state, "mlperf.log", whole);
    size_t n = 1000;
    const struct mllog_visitor v = {stop, NULL, &n};
    struct log l;

    assert_int_equal(log_read(&l, path, &v), 0);
    assert_int_equal(n, 1000 - l.n_records);
    log_release(&l);
    n = 3;
    assert_int_equal(log_read(&l, path, &v), -100);
    free(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_whole_log),
        cmocka_unit_test(test_lists),
        cmocka_unit_test(test_nothing_there),
        cmocka_unit_test(test_the_last_one_holds),
        cmocka_unit_test(test_which_start_and_stop),
        cmocka_unit_test(test_epochs_only_of_a_success),
        cmocka_unit_test(test_two_metrics),
        cmocka_unit_test(test_odd_values),
        cmocka_unit_test(test_troubles_are_counted),
        cmocka_unit_test_setup_teardown(test_another_visitor_sees_all, scratch_open, scratch_close),
    };

    return cmocka_run_group_tests_name("log", tests, NULL, NULL);
}
