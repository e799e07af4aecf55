/* The meter itself: rows and their times, marks, totals that never fall, what happens when the file
 * can not be written; with a tree of files in place of the machine's. */
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "meter/probe.h"
#include "meter/row.h"
#include "meter_fixture.h"
#include "scratch.h"

static void put_io(const char *root, const char *read)
{
    meter_put(root, "proc/self/io",
              "rchar: 7000\nwchar: 8\nsyscr: 1\nsyscw: 1\nread_bytes: %s\nwrite_bytes: "
              "42\ncancelled_write_bytes: 0\n",
              read);
}

static uint64_t next(void *context)
{
    return (*(uint64_t *)context)++;
}

static void check_text(const char *root, int row, const char *column, const char *expected)
{
    const char *const text = csv_text(root, row, column);

    if (!text || strcmp(text, expected) != 0)
        fail_msg("row %d has %s \"%s\", expected \"%s\"", row, column, text ? text : "(none)",
                 expected);
}

static void marks_end_what_was(void **state)
{
    const char *const root = *state;
    uint64_t asked = 1000;
    const struct meter_counter counter = {"loader_asked_bytes", next, &asked};
    struct meter_use use;
    struct meter *m;

    put_io(root, "4096");
    m = meter_begin(root, &counter, 1);
    put_io(root, "8192");
    meter_mark(m, "warmup", 0);
    meter_mark(m, "train", 3);
    assert_true(isnan(meter_last(m, "no_such_column")));
    assert_true(meter_last(m, "io_read_bytes") == 4096);
    use = meter_end(m);
    assert_int_equal(use.n_samples, 4);
    assert_int_equal(use.n_late, 0);
    assert_int_equal(csv_rows(root), 4);
    check_text(root, 1, "phase", "init");
    check_text(root, 2, "phase", "init");
    check_text(root, 3, "phase", "warmup");
    check_text(root, 3, "epoch", "");
    check_text(root, 4, "phase", "train");
    check_text(root, 4, "epoch", "3");
    check_text(root, 1, "io_read_bytes", "0"); /* totals count from the start */
    check_text(root, 2, "io_read_bytes", "4096");
    check_text(root, 4, "io_read_bytes", "4096");
    check_text(root, 4, "io_called_read_bytes", "0");
    check_text(root, 1, "loader_asked_bytes", "0");
    check_text(root, 4, "loader_asked_bytes", "3");
    assert_true(csv_number(root, 1, "elapsed_s") >= 1.5);
    assert_true(csv_number(root, 1, "elapsed_s") < 60);
    /* both clocks say the same, to a millisecond */
    assert_true(fabs(csv_number(root, 4, "time_ms") - 1.7e12 -
                     1e3 * csv_number(root, 4, "elapsed_s")) <= 1);
}

/* A counter that begins anew, wraps or is not there for a while. */
static void totals_never_fall(void **state)
{
    static const char *const reads[] = {"18446744073709551615", "10", "30", "x", "50", "5", "7"};
    static const char *const expected[] = {"0", "0", "20", "", "40", "40", "42"};
    const char *const root = *state;
    struct meter *m;

    put_io(root, reads[0]);
    m = meter_begin(root, NULL, 0);
    for (size_t i = 1; i < COUNT_OF(reads); i++) {
        put_io(root, reads[i]);
        meter_mark(m, "train", 1);
    }
    meter_end(m);
    for (size_t i = 0; i < COUNT_OF(reads); i++)
        check_text(root, (int)i + 1, "io_read_bytes", expected[i]);
}

static void nothing_to_know(void **state)
{
    const char *const root = *state;
    struct meter_use use = meter_end(meter_begin(root, NULL, 0));

    assert_int_equal(use.n_samples, 2);
    assert_null(csv_text(root, 1, "io_read_bytes"));
}

/* At 50 Hz for 0.6 s: rows come by themselves, in order, and not more often than asked for. */
static void rows_come_in_time(void **state)
{
    const char *const root = *state;
    char *const path = file_join(root, "samples.csv");
    const struct meter_config config = {
        .path = path, .hz = 50, .start_ns = clock_ns(), .place = {.root = root}};
    struct meter *m;
    int rows;

    assert_int_equal(meter_open(&config, &m), 0);
    clock_sleep_ns(600000000);
    meter_end(m);
    rows = csv_rows(root);
    if (rows < 8 || rows > 40) /* 32 on a quiet machine */
        fail_msg("%d rows", rows);
    for (int i = 2; i <= rows; i++)
        assert_true(csv_number(root, i, "elapsed_s") >= csv_number(root, i - 1, "elapsed_s"));
    free(path);
}

static void a_full_disk_leaves_whole_lines(void **state)
{
    const char *const root = *state;
    char *const path = file_join(root, "samples.csv"), *text;
    struct rlimit was, small;
    struct meter_use use;
    struct meter *m;
    size_t n;

    put_io(root, "1");
    getrlimit(RLIMIT_FSIZE, &was);
    small = was;
    small.rlim_cur = 300;
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &small);
    m = meter_begin(root, NULL, 0);
    for (int i = 0; i < 20; i++)
        meter_mark(m, "train", 1);
    setrlimit(RLIMIT_FSIZE, &was);
    assert_int_equal(meter_close(m, &use), E_IO);
    assert_non_null(strstr(err_reason(), "samples.csv"));
    assert_true(use.n_samples > 1 && use.n_samples < 20);
    assert_int_equal(csv_rows(root), (int)use.n_samples);
    assert_int_equal(file_read(path, 1 << 20, &text, &n), 0);
    assert_true(n < 300 && text[n - 1] == '\n');
    free(text);
    free(path);
}

static void a_folder_that_is_not_there(void **state)
{
    char *const path = xasprintf("%s/none/samples.csv", (char *)*state);
    const struct meter_config config = {.path = path, .hz = 1, .place = {.root = *state}};
    struct meter_use use;
    struct meter *m;

    assert_int_equal(meter_open(&config, &m), E_IO);
    assert_null(m);
    assert_int_equal(meter_close(NULL, &use), 0);
    assert_int_equal(use.n_samples, 0);
    free(path);
}

static void numbers_as_text(void **state)
{
    static const struct {
        double v;
        const char *text;
    } cases[] = {{0, "0"},
                 {1, "1"},
                 {-1, "-1"},
                 {12.5, "12.5"},
                 {99.9996, "100"},
                 {1.0004, "1"},
                 {3.0625, "3.063"},
                 {0.25, "0.25"},
                 {0.0000049, "0.000005"},
                 {-0.0000001, "0"},
                 {0.000123, "0.000123"},
                 {1073741824, "1073741824"},
                 {9007199254740992, "9007199254740992"},
                 {18446744073709549568.0, "18446744073709549568"},
                 {1e300, "1e+300"},
                 {NAN, ""},
                 {INFINITY, ""}};
    char text[ROW_NUMBER_BYTES + 1];

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        *row_add_number(text, cases[i].v) = '\0';
        assert_string_equal(text, cases[i].text);
    }
    *row_add_seconds(text, 12034999999) = '\0';
    assert_string_equal(text, "12.034");
    *row_add_seconds(text, -5) = '\0';
    assert_string_equal(text, "0.000");
}

static void rates(void **state)
{
    struct probe_rate r = {0};

    (void)state;
    assert_true(isnan(probe_rate(&r, 100, 0)));
    assert_true(probe_rate(&r, 150, 0.5) == 100);
    assert_true(isnan(probe_rate(&r, 151, 0.001))); /* too short: it counts with the next */
    assert_true(probe_rate(&r, 250, 0.999) == 100);
    assert_true(isnan(probe_rate(&r, 5, 1))); /* it began anew */
    assert_true(probe_rate(&r, 6, 1) == 1);
    assert_true(isnan(probe_rate(&r, NAN, 1)));
    assert_true(probe_rate(&r, 10, 1) == 2); /* over both seconds */
}

static void words_of_files(void **state)
{
    static const char text[] = "rchar: 1\nread_bytes: 22\nwrite_bytes:x\nanon\t7\nlast 5";
    char small[8];
    int fd;

    assert_true(probe_field(text, "read_bytes:") == 22);
    assert_true(probe_field(text, "anon") == 7);
    assert_true(probe_field(text, "last") == 5);
    assert_true(isnan(probe_field(text, "bytes:")));
    assert_true(isnan(probe_field(text, "write_bytes:")));
    assert_true(isnan(probe_field(text, "none")));
    assert_true(isnan(probe_field("a 99999999999999999999999", "a")));
    meter_put(*state, "sys/a/b", "0123456789");
    fd = probe_open(*state, "/sys/%s/b", "a");
    assert_true(fd >= 0);
    assert_string_equal(probe_again(fd, small, sizeof(small)), "0123456");
    meter_put(*state, "sys/a/b", "9");
    assert_string_equal(probe_again(fd, small, sizeof(small)), "9");
    probe_close(fd);
    assert_int_equal(probe_open(*state, "/sys/none"), -1);
    assert_string_equal(probe_again(-1, small, sizeof(small)), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(marks_end_what_was, scratch_open, scratch_close),
        cmocka_unit_test_setup_teardown(totals_never_fall, scratch_open, scratch_close),
        cmocka_unit_test_setup_teardown(nothing_to_know, scratch_open, scratch_close),
        cmocka_unit_test_setup_teardown(rows_come_in_time, scratch_open, scratch_close),
        cmocka_unit_test_setup_teardown(a_full_disk_leaves_whole_lines, scratch_open,
                                        scratch_close),
        cmocka_unit_test_setup_teardown(a_folder_that_is_not_there, scratch_open, scratch_close),
        cmocka_unit_test(numbers_as_text),
        cmocka_unit_test(rates),
        cmocka_unit_test_setup_teardown(words_of_files, scratch_open, scratch_close),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
