/* Whole MLPerf logs as the sink writes them. Given a folder, `test_mlperf_log DIR` also leaves
 * there the logs of an open and a closed run, so that they can be handed to the official checker.
 * Those logs are fixtures: no run took place. */
#include <cjson/cJSON.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/file.h"
#include "base/str.h"
#include "trace/sinks.h"
#include "trace/trace.h"

static const char *keep_dir;
static char *dir, *path;

static int make_dir(void **state)
{
    char pattern[] = "/tmp/stave-test-XXXXXX";

    (void)state;
    dir = xstrdup(mkdtemp(pattern));
    path = file_join(dir, "log");
    return 0;
}

static int remove_dir(void **state)
{
    (void)state;
    remove(path);
    assert_int_equal(rmdir(dir), 0);
    free(path);
    free(dir);
    return 0;
}

/* Replaces the digits after each `name` by `mask`. */
static char *masked(char *text, const char *name, const char *mask)
{
    struct str out = STR_INIT;
    const char *from = text, *at;

    while ((at = strstr(from, name))) {
        at += strlen(name);
        str_add_bytes(&out, from, (size_t)(at - from));
        str_add(&out, mask);
        from = at + strspn(at, "0123456789");
    }
    str_add(&out, from);
    free(text);
    return str_detach(&out);
}

static const cJSON *member(const cJSON *object, const char *name)
{
    return cJSON_GetObjectItemCaseSensitive(object, name);
}

struct fixture {
    const char *division;
    long long train_samples, eval_samples, batch;
    long long first_eval, every, epochs;
    double first_quality, last_quality;
};

/* Records in each part. */
enum { BEGINNING = 23, BLOCK = 5, EPOCH = 2 };

static void emit_lars(struct trace *t)
{
    TRACE_POINT(t, opt_name, trace_string("lars"));
    TRACE_POINT(t, lars_opt_base_learning_rate, trace_real(10.5));
    TRACE_POINT(t, lars_opt_end_learning_rate, trace_real(0.0001));
    TRACE_POINT(t, lars_opt_learning_rate_decay_poly_power, trace_int(2));
    TRACE_POINT(t, lars_opt_learning_rate_decay_steps, trace_int(14523));
    TRACE_POINT(t, lars_epsilon, trace_real(0));
    TRACE_POINT(t, lars_opt_learning_rate_warmup_epochs, trace_int(2));
    TRACE_POINT(t, lars_opt_momentum, trace_real(0.9));
    TRACE_POINT(t, lars_opt_weight_decay, trace_real(0.00005));
}

static void emit_beginning(struct trace *t, const struct fixture *f)
{
    TRACE_POINT(t, cache_clear, trace_bool(1));
    TRACE_START(t, init_start, trace_none());
    TRACE_POINT(t, submission_org, trace_string("fixture"));
    TRACE_POINT(t, submission_platform, trace_string("none: a test fixture"));
    TRACE_POINT(t, submission_division, trace_string(f->division));
    TRACE_POINT(t, submission_status, trace_string("research"));
    TRACE_POINT(t, submission_benchmark, trace_string("resnet"));
    TRACE_POINT(t, global_batch_size, trace_int(f->batch));
    TRACE_POINT(t, gradient_accumulation_steps, trace_int(1));
    TRACE_POINT(t, seed, trace_int(20240601));
    emit_lars(t);
    TRACE_END(t, init_stop, trace_none());
    TRACE_START(t, run_start, trace_none());
    TRACE_POINT(t, train_samples, trace_int(f->train_samples));
    TRACE_POINT(t, eval_samples, trace_int(f->eval_samples));
}

static void emit_block(struct trace *t, long long first, long long n, double quality)
{
    const long long last = first + n - 1;

    TRACE_START(t, block_start, trace_none(), {"first_epoch_num", trace_int(first)},
                {"epoch_count", trace_int(n)});
    for (long long e = first; e <= last; e++) {
        TRACE_START(t, epoch_start, trace_none(), {"epoch_num", trace_int(e)});
        TRACE_END(t, epoch_stop, trace_none(), {"epoch_num", trace_int(e)});
    }
    TRACE_START(t, eval_start, trace_none(), {"epoch_num", trace_int(last)});
    TRACE_POINT(t, eval_accuracy, trace_real(quality), {"epoch_num", trace_int(last)});
    TRACE_END(t, eval_stop, trace_none(), {"epoch_num", trace_int(last)});
    TRACE_END(t, block_stop, trace_none(), {"first_epoch_num", trace_int(first)},
              {"epoch_count", trace_int(n)});
}

static void write_fixture(const struct fixture *f, const char *file, const char *status)
{
    long long first = 1, n = f->first_eval;
    struct trace t;

    trace_open(&t);
    assert_int_equal(trace_add(&t, &mllog_sink, &(struct mllog_options){.path = file}), 0);
    emit_beginning(&t, f);
    for (; first + n - 1 <= f->epochs; first += n, n = f->every)
        emit_block(&t, first, n, first + n - 1 == f->epochs ? f->last_quality : f->first_quality);
    TRACE_END(&t, run_stop, trace_none(), {"status", trace_string(status)});
    assert_int_equal(trace_close(&t), 0);
}

static const struct fixture closed_run = {.division = "closed",
                                          .train_samples = 1281167,
                                          .eval_samples = 50000,
                                          .batch = 3264,
                                          .first_eval = 3,
                                          .every = 4,
                                          .epochs = 11,
                                          .first_quality = 0.55,
                                          .last_quality = 0.7591};
static const struct fixture open_run = {.division = "open",
                                        .train_samples = 60000,
                                        .eval_samples = 10000,
                                        .batch = 128,
                                        .first_eval = 1,
                                        .every = 1,
                                        .epochs = 2,
                                        .first_quality = 0.81,
                                        .last_quality = 0.8612};

/* Each record is one JSON object with the fields in order, and time never goes back. */
static void check_records(const char *file, size_t n_expected)
{
    static const char *const fields[] = {"namespace", "time_ms", "event_type",
                                         "key",       "value",   "metadata"};
    double time_ms = 0;
    size_t n = 0, bytes;
    char *text;

    assert_int_equal(file_read(file, 1 << 20, &text, &bytes), 0);
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"), n++) {
        cJSON *record;
        const cJSON *at;

        assert_memory_equal(line, ":::MLLOG ", 9);
        record = cJSON_Parse(line + 9);
        assert_non_null(record);
        at = record->child;
        for (size_t i = 0; i < COUNT_OF(fields); i++, at = at->next)
            assert_string_equal(at->string, fields[i]);
        assert_null(at);
        assert_true(member(record, "time_ms")->valuedouble >= time_ms);
        time_ms = member(record, "time_ms")->valuedouble;
        assert_string_equal(member(record, "metadata")->child->string, "file");
        assert_string_equal(member(record, "metadata")->child->next->string, "lineno");
        cJSON_Delete(record);
    }
    assert_int_equal(n, n_expected);
    free(text);
}

static char *log_file(const char *name)
{
    return keep_dir ? file_join(keep_dir, name) : xstrdup(path);
}

static void test_open_run(void **state)
{
    char *file = log_file("open.log");

    (void)state;
    write_fixture(&open_run, file, "success");
    check_records(file, BEGINNING + 2 * BLOCK + 2 * EPOCH + 1);
    free(file);
}

static const char golden_note[] = "# A test fixture written by tests/test_mlperf_log.c; times and "
                                  "line numbers are masked. No run "
                                  "took place.\n";

static void test_closed_run_is_golden(void **state)
{
    const char *root = getenv("STAVE_SOURCE");
    char *golden = xasprintf("%s/tests/golden/closed_resnet_fixture.mllog", root ? root : ".");
    char *file = log_file("closed.log"), *text, *expected, *all;
    size_t n;

    (void)state;
    write_fixture(&closed_run, file, "success");
    check_records(file, BEGINNING + 3 * BLOCK + 11 * EPOCH + 1);
    assert_int_equal(file_read(file, 1 << 20, &text, &n), 0);
    text = masked(masked(text, "\"time_ms\": ", "TIME"), "\"lineno\": ", "LINE");
    all = xasprintf("%s%s", golden_note, text);
    if (getenv("STAVE_UPDATE_GOLDEN"))
        assert_int_equal(file_replace(golden, all, strlen(all)), 0);
    assert_int_equal(file_read(golden, 1 << 20, &expected, &n), 0);
    assert_string_equal(all, expected);
    free(all);
    free(text);
    free(expected);
    free(file);
    free(golden);
}

#define IN_DIR(test) cmocka_unit_test_setup_teardown(test, make_dir, remove_dir)

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        IN_DIR(test_open_run),
        IN_DIR(test_closed_run_is_golden),
    };

    keep_dir = argc > 1 ? argv[1] : NULL;
    return cmocka_run_group_tests_name("mlperf log", tests, NULL, NULL);
}
