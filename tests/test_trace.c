/* The event stream and its sinks. */
#include <cjson/cJSON.h>
#include <fcntl.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/str.h"
#include "trace/sinks.h"
#include "trace/trace.h"

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

static char *read_log(void)
{
    char *text;
    size_t n;

    assert_int_equal(file_read(path, 1 << 20, &text, &n), 0);
    return text;
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

static void start_mllog(struct trace *t, struct mllog_options o)
{
    o.path = o.path ? o.path : path;
    trace_open(t);
    assert_int_equal(trace_add(t, &mllog_sink, &o), 0);
}

static void start_jsonl(struct trace *t, int mode)
{
    trace_open(t);
    assert_int_equal(trace_add(t, &jsonl_sink, &(struct jsonl_options){.path = path, .mode = mode}),
                     0);
}

static void test_mllog_line_is_exact(void **state)
{
    const int64_t before_ms = clock_wall_ms();
    struct trace t;
    char *text, *expected;
    long long time_ms;
    int line;

    (void)state;
    start_mllog(&t, (struct mllog_options){0});
    line = __LINE__ + 1;
    TRACE_POINT(&t, eval_accuracy, trace_real(0.7601), {"epoch_num", trace_int(35)});
    assert_int_equal(trace_close(&t), 0);
    text = read_log();
    assert_int_equal(sscanf(text, ":::MLLOG {\"namespace\": \"\", \"time_ms\": %lld,", &time_ms),
                     1);
    assert_true(time_ms >= before_ms && time_ms <= clock_wall_ms() + 1);
    expected = xasprintf(":::MLLOG {\"namespace\": \"\", \"time_ms\": %lld, \"event_type\": "
                         "\"POINT_IN_TIME\", \"key\": \"eval_accuracy\", \"value\": 0.7601, "
                         "\"metadata\": {\"file\": \"tests/test_trace.c\", \"lineno\": %d, "
                         "\"epoch_num\": 35}}\n",
                         time_ms, line);
    assert_string_equal(text, expected);
    free(expected);
    free(text);
}

static void test_interval_types_and_absent_metadata(void **state)
{
    static const char expected[] =
        ":::MLLOG {\"namespace\": \"\", \"time_ms\": T, \"event_type\": \"INTERVAL_START\", "
        "\"key\": \"run_start\", \"value\": null, \"metadata\": {\"file\": \"tests/test_trace.c\", "
        "\"lineno\": N}}\n"
        ":::MLLOG {\"namespace\": \"\", \"time_ms\": T, \"event_type\": \"INTERVAL_END\", "
        "\"key\": \"run_stop\", \"value\": null, \"metadata\": {\"file\": \"tests/test_trace.c\", "
        "\"lineno\": N, \"status\": \"aborted\"}}\n";
    struct trace t;
    char *text;

    (void)state;
    start_mllog(&t, (struct mllog_options){0});
    TRACE_START(&t, run_start, trace_none());
    TRACE_END(&t, run_stop, trace_none(), {"epoch_num", trace_none()},
              {"status", trace_string("aborted")});
    assert_int_equal(trace_close(&t), 0);
    text = masked(masked(read_log(), "\"time_ms\": ", "T"), "\"lineno\": ", "N");
    assert_string_equal(text, expected);
    free(text);
}

static void check_value(struct trace_value v, const char *bare, const char *quoted)
{
    struct str out = STR_INIT;

    trace_add_json(&out, &v, TRACE_NONFINITE_BARE);
    assert_string_equal(out.s, bare);
    str_reset(&out);
    trace_add_json(&out, &v, TRACE_NONFINITE_QUOTED);
    assert_string_equal(out.s, quoted ? quoted : bare);
    str_release(&out);
}

static void test_numbers_survive(void **state)
{
    (void)state;
    check_value(trace_int(1281167), "1281167", NULL);
    check_value(trace_int(-9223372036854775807LL - 1), "-9223372036854775808", NULL);
    check_value(trace_real(0.0001), "0.0001", NULL);
    check_value(trace_real(5e-5), "5e-05", NULL);
    check_value(trace_real(0.1), "0.1", NULL);
    check_value(trace_real(0.1 + 0.2), "0.30000000000000004", NULL);
    check_value(trace_real(1.0 / 3), "0.3333333333333333", NULL);
    check_value(trace_real(0), "0.0", NULL);
    check_value(trace_real(2), "2.0", NULL);
    check_value(trace_real(1281167), "1281167.0", NULL);
    check_value(trace_real(1e22), "1e+22", NULL);
    check_value(trace_real(5e-324), "5e-324", NULL);
    check_value(trace_real(1.7976931348623157e308), "1.7976931348623157e+308", NULL);
    check_value(trace_real((double)1e-4f), "9.999999747378752e-05", NULL);
    check_value(trace_real(NAN), "NaN", "\"NaN\"");
    check_value(trace_real(INFINITY), "Infinity", "\"Infinity\"");
    check_value(trace_real(-INFINITY), "-Infinity", "\"-Infinity\"");
    check_value(trace_bool(1), "true", NULL);
    check_value(trace_bool(0), "false", NULL);
    check_value(trace_none(), "null", NULL);
    check_value(trace_string(NULL), "null", NULL);
    check_value(trace_string("say \"a\\b\"\n\xff"), "\"say \\\"a\\\\b\\\"\\n\\u00ff\"", NULL);
    check_value(trace_json("{\"BBOX\": 0.377}"), "{\"BBOX\": 0.377}", NULL);
}

static void test_keys_know_their_audience(void **state)
{
    (void)state;
    for (int k = 0; k < N_TRACE_KEYS; k++)
        assert_true(trace_key_name((enum trace_key)k)[0] != '\0');
    assert_string_equal(trace_key_name(KEY_run_start), "run_start");
    assert_int_equal(trace_key_audience(KEY_run_start), TRACE_STANDARD);
    assert_int_equal(trace_key_audience(KEY_throughput), TRACE_EXTRA);
    assert_int_equal(trace_key_audience(KEY_step), TRACE_PROGRESS);
}

static const struct trace_step a_step = {.epoch = 3,
                                         .step = 120,
                                         .steps_total = 400,
                                         .samples_per_s = 1234.4,
                                         .spread = 0.02,
                                         .loss = 1.5,
                                         .learning_rate = 0.1,
                                         .data_wait_share = 0.125,
                                         .eta_s = 250};

static void emit_extra_and_progress(struct trace *t)
{
    TRACE_POINT(t, throughput, trace_real(812.5), {"step_num", trace_int(10)});
    trace_step(t, __FILE__, __LINE__, &a_step);
    TRACE_POINT(t, seed, trace_int(7));
}

static size_t count(const char *text, const char *what)
{
    size_t n = 0;

    for (const char *at = text; (at = strstr(at, what)); at++)
        n++;
    return n;
}

static void test_mllog_takes_only_what_it_is_asked_for(void **state)
{
    struct trace t;
    char *text;

    (void)state;
    start_mllog(&t, (struct mllog_options){0});
    emit_extra_and_progress(&t);
    assert_int_equal(trace_close(&t), 0);
    text = read_log();
    assert_int_equal(count(text, ":::MLLOG"), 1);
    assert_int_equal(count(text, "\"key\": \"seed\", \"value\": 7,"), 1);
    free(text);

    start_mllog(&t, (struct mllog_options){.keys = MLLOG_EXTRA_KEYS});
    emit_extra_and_progress(&t);
    assert_int_equal(trace_close(&t), 0);
    text = read_log();
    assert_int_equal(count(text, ":::MLLOG"), 2);
    assert_int_equal(count(text, "\"key\": \"throughput\", \"value\": 812.5,"), 1);
    free(text);
}

static void test_append_starts_at_column_0(void **state)
{
    struct trace t;
    char *text;

    (void)state;
    assert_int_equal(file_replace(path, "{\"time_ms\": 1, \"cut", 19), 0);
    for (int i = 1; i <= 2; i++) {
        start_jsonl(&t, JSONL_APPEND);
        TRACE_POINT(&t, seed, trace_int(i));
        assert_int_equal(trace_close(&t), 0);
    }
    text = read_log();
    assert_int_equal(strncmp(text, "{\"time_ms\"", 10), 0); /* the cut line is gone */
    assert_int_equal(count(text, "\n{\"time_ms\""), 1);
    assert_int_equal(count(text, "\n\n"), 0);
    free(text);
}

/* A run that goes on drops the event that a crash cut, so that every line can be read. */
static void test_events_go_on_after_a_cut_line(void **state)
{
    static const char *const left[] = {"{\"a\": 1}\n{\"key\": \"cu", "{\"key\": \"cu",
                                       "{\"a\": 1}\n"};
    struct trace t;
    char *text;

    (void)state;
    for (size_t i = 0; i < COUNT_OF(left); i++) {
        assert_int_equal(file_replace(path, left[i], strlen(left[i])), 0);
        trace_open(&t);
        assert_int_equal(
            trace_add(&t, &jsonl_sink, &(struct jsonl_options){.path = path, .mode = JSONL_APPEND}),
            0);
        TRACE_POINT(&t, seed, trace_int(1));
        assert_int_equal(trace_close(&t), 0);
        text = read_log();
        assert_int_equal(count(text, "cu"), 0);
        assert_int_equal(count(text, "\n"), i == 1 ? 1 : 2);
        assert_int_equal(count(text, "\"key\": \"seed\""), 1);
        free(text);
    }
}

/* Two writers at once: every line is whole. */
static void test_lines_are_not_split(void **state)
{
    enum { WRITERS = 2, LINES = 400 };
    struct trace t;
    char *text;
    size_t whole = 0;
    int status;

    (void)state;
    for (int w = 0; w < WRITERS; w++)
        if (fork() == 0) {
            start_jsonl(&t, JSONL_APPEND);
            for (int i = 0; i < LINES; i++)
                TRACE_POINT(&t, seed, trace_int(i));
            _exit(trace_close(&t) == 0 ? 0 : 1);
        }
    for (int w = 0; w < WRITERS; w++) {
        wait(&status);
        assert_int_equal(status, 0);
    }
    text = read_log();
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
        assert_memory_equal(line, "{\"time_ms\"", 10);
        assert_string_equal(line + strlen(line) - 1, "}");
        whole++;
    }
    assert_int_equal(whole, WRITERS * LINES);
    free(text);
}

static const cJSON *member(const cJSON *object, const char *name)
{
    return cJSON_GetObjectItemCaseSensitive(object, name);
}

static void test_jsonl(void **state)
{
    struct trace t;
    cJSON *step, *start;
    const char *end;
    char *text;

    (void)state;
    trace_open(&t);
    assert_int_equal(trace_add(&t, &jsonl_sink, &(struct jsonl_options){.path = path}), 0);
    TRACE_STEP(&t, {.epoch = 3,
                    .step = 120,
                    .samples_per_s = 1234.5,
                    .loss = NAN,
                    .learning_rate = 0.1,
                    .data_wait_share = 0.25,
                    .eta_s = NAN,
                    .spread = NAN});
    text = read_log(); /* on disk before the trace is closed */
    step = cJSON_Parse(text);
    free(text);
    TRACE_START(&t, eval_start, trace_none(), {"epoch_num", trace_int(4)});
    assert_int_equal(trace_close(&t), 0);
    assert_non_null(step);
    assert_string_equal(member(step, "key")->valuestring, "step");
    assert_string_equal(member(step, "type")->valuestring, "point");
    assert_true(member(step, "epoch_num")->valuedouble == 3);
    assert_true(member(step, "samples_per_s")->valuedouble == 1234.5);
    assert_true(member(step, "data_wait_ratio")->valuedouble == 0.25);
    assert_string_equal(member(step, "loss")->valuestring, "NaN");
    assert_null(member(step, "eta_s")); /* unknown is absent */
    assert_null(member(step, "steps_total"));
    assert_null(member(step, "value"));
    assert_string_equal(member(step, "file")->valuestring, "tests/test_trace.c");
    assert_true(member(step, "elapsed_ns")->valuedouble >= 0);
    text = read_log();
    cJSON_Delete(cJSON_ParseWithOpts(text, &end, 0));
    assert_int_equal(*end, '\n');
    start = cJSON_Parse(end);
    assert_string_equal(member(start, "type")->valuestring, "start");
    assert_string_equal(member(start, "key")->valuestring, "eval_start");
    cJSON_Delete(start);
    cJSON_Delete(step);
    free(text);
}

/* A sink that counts, to see what the stream does with a failing neighbour. */
static int n_seen, n_closed;

static int counter_open(void **state, const void *options)
{
    (void)options;
    *state = NULL;
    n_seen = n_closed = 0;
    return 0;
}

static int counter_event(void *state, const struct trace_event *e)
{
    (void)state;
    (void)e;
    n_seen++;
    return 0;
}

static int counter_close(void *state)
{
    (void)state;
    n_closed++;
    return 0;
}

static const struct trace_sink_ops counter_sink = {
    .name = "counter", .open = counter_open, .event = counter_event, .close = counter_close};

static void test_full_disk_is_reported_once(void **state)
{
    const int saved = dup(2), fd = open(path, O_RDWR | O_CREAT, 0600);
    struct trace t;
    char *said;
    int rc;

    (void)state;
    start_mllog(&t, (struct mllog_options){.path = "/dev/full"});
    assert_int_equal(trace_add(&t, &counter_sink, NULL), 0);
    dup2(fd, 2);
    for (int i = 0; i < 3; i++)
        TRACE_POINT(&t, seed, trace_int(i));
    rc = trace_close(&t);
    dup2(saved, 2);
    close(saved);
    close(fd);
    assert_int_equal(rc, E_IO);
    assert_string_equal(err_reason(), "write /dev/full: No space left on device");
    assert_int_equal(n_seen, 3); /* the others go on */
    assert_int_equal(n_closed, 1);
    said = read_log();
    assert_string_equal(said, "stave: warning: MLPerf log: write /dev/full: No space left on "
                              "device; nothing more is written there\n");
    free(said);
}

static void test_unwritable_path(void **state)
{
    struct trace t;

    (void)state;
    trace_open(&t);
    assert_int_equal(
        trace_add(&t, &mllog_sink, &(struct mllog_options){.path = "/nonexistent/log"}), E_IO);
    assert_non_null(strstr(err_reason(), "/nonexistent/log"));
    assert_int_equal(trace_close(&t), 0);
}

static void emit_terminal_run(struct trace *t)
{
    TRACE_START(t, run_start, trace_none());
    trace_step(t, __FILE__, __LINE__, &a_step);
    TRACE_POINT(t, eval_accuracy, trace_real(0.5), {"epoch_num", trace_int(3)});
    trace_step(t, __FILE__, __LINE__, &a_step);
    trace_step(t, __FILE__, __LINE__, &a_step); /* too soon: not drawn */
    TRACE_POINT(t, eval_accuracy, trace_real(0.25), {"epoch_num", trace_int(4)});
    TRACE_END(t, run_stop, trace_none(), {"status", trace_string("aborted")});
}

static void test_terminal_is_quiet_without_a_tty(void **state)
{
    const int fd = open(path, O_RDWR | O_CREAT, 0600);
    struct trace t;
    char *text;

    (void)state;
    trace_open(&t);
    assert_int_equal(
        trace_add(&t, &terminal_sink,
                  &(struct terminal_options){.fd = fd, .metric = "top-1", .target = 0.759}),
        0);
    emit_terminal_run(&t);
    assert_int_equal(trace_close(&t), 0);
    close(fd);
    text = read_log();
    assert_string_equal(text, "epoch 3: top-1 0.5000 (target 0.759), 0 s\n"
                              "epoch 4: top-1 0.2500 (target 0.759), 0 s\n"
                              "stopped after 0 s without reaching the target (status aborted); "
                              "best so far 0.5000\n");
    free(text);
}

#define IN_DIR(test) cmocka_unit_test_setup_teardown(test, make_dir, remove_dir)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_DIR(test_mllog_line_is_exact),
        IN_DIR(test_interval_types_and_absent_metadata),
        cmocka_unit_test(test_numbers_survive),
        cmocka_unit_test(test_keys_know_their_audience),
        IN_DIR(test_mllog_takes_only_what_it_is_asked_for),
        IN_DIR(test_append_starts_at_column_0),
        IN_DIR(test_events_go_on_after_a_cut_line),
        IN_DIR(test_lines_are_not_split),
        IN_DIR(test_jsonl),
        IN_DIR(test_full_disk_is_reported_once),
        cmocka_unit_test(test_unwritable_path),
        IN_DIR(test_terminal_is_quiet_without_a_tty),
    };

    return cmocka_run_group_tests_name("trace", tests, NULL, NULL);
}
