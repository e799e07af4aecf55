/* samples.csv read back: numbers as strtod has them, files that are cut, damaged or none, and the
 * figures of phases. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/str.h"
#include "scratch.h"
#include "trace/samples.h"

#define HEAD "time_ms,elapsed_s,phase,epoch,cpu_machine_percent,io_read_bytes\n"

static const char plain[] = HEAD "1000,0,init,,,0\n"
                                 "1100,0.1,init,,50,100\n"
                                 "1300,0.3,train,1,100,300\n"
                                 "1400,0.4,train,1,,\n"
                                 "1500,0.5,train,2,200,900\n"
                                 "1700,0.7,evaluate,,10,950\n"
                                 "1800,0.8,train,2,40,20\n";

static void read_text(const char *text, struct samples *s)
{
    if (samples_read_memory(text, strlen(text), s) < 0)
        fail_msg("%s", err_reason());
}

static void refused(const char *text, const char *why)
{
    struct samples s;

    assert_int_equal(samples_read_memory(text, strlen(text), &s), E_DATA);
    if (!strstr(err_reason(), why))
        fail_msg("\"%s\" does not say \"%s\"", err_reason(), why);
    assert_int_equal(s.n_rows, 0);
    assert_int_equal(s.n_columns, 0);
}

static void columns_by_name(void **state)
{
    struct samples s;
    const double *cpu;

    (void)state;
    read_text(plain, &s);
    assert_int_equal(s.n_rows, 7);
    assert_int_equal(s.n_columns, 2);
    assert_int_equal(s.n_phases, 3);
    assert_int_equal(s.n_left_out, 0);
    cpu = samples_column(&s, "cpu_machine_percent");
    assert_true(isnan(cpu[0]) && cpu[1] == 50 && isnan(cpu[3]) && cpu[6] == 40);
    assert_null(samples_column(&s, "cpu"));
    assert_null(samples_column(&s, "phase"));
    assert_string_equal(s.phases[s.phase[5]], "evaluate");
    assert_int_equal(s.epoch[5], 0);
    assert_int_equal(s.epoch[6], 2);
    assert_true(s.time_ms[6] == 1800 && s.elapsed_s[6] == 0.8);
    assert_true(s.seconds[0] == 0 && fabs(s.seconds[2] - 0.2) < 1e-12);
    samples_release(&s);
}

static void figures_of_a_phase(void **state)
{
    const struct samples_where train = {.phase = "train"}, all = {0}, none = {.phase = "x"},
                               second = {.epoch = 2}, late = {.from_s = 0.5, .to_s = 0.7};
    struct samples s;
    struct samples_level l;
    const double *cpu, *io;

    (void)state;
    read_text(plain, &s);
    cpu = samples_column(&s, "cpu_machine_percent");
    io = samples_column(&s, "io_read_bytes");
    l = samples_level(&s, cpu, &train); /* 100 for 0.2 s, 200 for 0.1 s, 40 for 0.1 s */
    assert_int_equal(l.n, 3);
    assert_true(fabs(l.mean - 110) < 1e-9);
    assert_true(l.p50 == 100 && fabs(l.p95 - 190) < 1e-9 && l.least == 40 && l.most == 200);
    assert_true(fabs(samples_seconds(&s, &train) - 0.5) < 1e-12);
    assert_true(fabs(samples_seconds(&s, &all) - 0.8) < 1e-12);
    assert_int_equal(samples_level(&s, cpu, &none).n, 0);
    assert_true(isnan(samples_level(&s, cpu, &none).mean));
    assert_true(isnan(samples_level(&s, NULL, &all).p95));
    assert_true(samples_level(&s, cpu, &(struct samples_where){.to_s = 0.1}).mean == 50);
    assert_int_equal(samples_level(&s, cpu, &late).n, 2);
    assert_true(samples_growth(&s, io, &train) == 800); /* what was not known counts later */
    assert_true(samples_growth(&s, io, &second) == 600);
    assert_true(samples_growth(&s, io, &all) == 950); /* a fall counts nothing */
    assert_true(isnan(samples_growth(&s, io, &none)));
    assert_true(isnan(samples_growth(&s, NULL, &all)));
    samples_release(&s);
}

static void numbers_are_those_of_strtod(void **state)
{
    static const char *const good[] = {"0",
                                       "-0.5",
                                       "1.",
                                       "0.1",
                                       "123456.789",
                                       "999999999999999",
                                       "9999999999999999",
                                       "0.000000000000001",
                                       "0.30000000000000004",
                                       "18446744073709551615",
                                       "1e5",
                                       "1.5E-300",
                                       "-12.25e+3",
                                       "00012"};
    static const char *const bad[] = {"-",   "+1",  ".5", "1e",  "1e999", "nan", "inf",   "0x10",
                                      "1-2", "1 2", " 1", "1..", "--1",   "1,2", "\"1\"", "1e5e5"};

    (void)state;
    for (size_t i = 0; i < COUNT_OF(good); i++) {
        char *const text =
            xasprintf("time_ms,elapsed_s,a,b\n1,2,%s,7\n1,2,7,%s\n", good[i], good[i]);
        struct samples s;
        read_text(text, &s);
        assert_int_equal(s.n_rows, 2);
        assert_true(s.columns[0][0] == strtod(good[i], NULL));
        assert_true(s.columns[1][1] == strtod(good[i], NULL) && s.columns[1][0] == 7);
        samples_release(&s);
        free(text);
    }
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        char *const text = xasprintf("time_ms,elapsed_s,a\n1,2,%s\n2,3,4\n", bad[i]);
        struct samples s;
        read_text(text, &s);
        if (s.n_rows != 1 || s.n_left_out != 1 || s.columns[0][0] != 4)
            fail_msg("%s was taken", bad[i]);
        samples_release(&s);
        free(text);
    }
}

static void lines_that_are_none(void **state)
{
    static const char text[] = HEAD "1000,1,init,,1,0\n"
                                    "\n"
                                    "1001,2,init,,1\n"
                                    "1002,2,init,,1,0,\n"
                                    "1003,0.5,init,,1,0\n" /* before its time */
                                    ",2,init,,1,0\n"
                                    "1004,,init,,1,0\n"
                                    "1005,2,in it,,1,0\n"
                                    "1006,2,init,-1,1,0\n"
                                    "1007,2,init,1.5,1,0\n"
                                    "1008,2,init,,\x01,0\n"
                                    "1009,3,init,1,2,0\r\n"
                                    "1010,4,tra";
    struct samples s;

    (void)state;
    read_text(text, &s);
    assert_int_equal(s.n_rows, 2);
    assert_int_equal(s.n_left_out, 10);
    assert_true(s.time_ms[1] == 1009 && s.seconds[1] == 2);
    samples_release(&s);
    read_text("time_ms,elapsed_s,a\n", &s);
    assert_int_equal(s.n_rows, 0);
    assert_int_equal(s.n_columns, 1);
    assert_int_equal(samples_level(&s, s.columns[0], &(struct samples_where){0}).n, 0);
    samples_release(&s);
}

static void files_that_are_none(void **state)
{
    char *const path = scratch_file(*state, "samples.csv", "time_ms,what\n");
    struct samples s;

    refused("", "no whole first line");
    refused("time_ms,elapsed_s", "no whole first line");
    refused("\n", "list of at most");
    refused("time_ms\n", "not time_ms and elapsed_s");
    refused("elapsed_s,time_ms\n", "not time_ms and elapsed_s");
    refused("a,time_ms,elapsed_s\n", "not time_ms and elapsed_s");
    refused("time_ms,elapsed_s,a,a\n", "two columns a");
    refused("time_ms,elapsed_s,phase,phase\n", "two columns phase");
    refused("time_ms,elapsed_s,time_ms\n", "two columns time_ms");
    refused("time_ms,elapsed_s,\n", "list of at most");
    refused("time_ms,elapsed_s,a b\n", "list of at most");
    refused("\x89PNG\r\n\x1a\n", "list of at most");
    assert_int_equal(samples_read(path, NULL, &s), E_DATA);
    assert_non_null(strstr(err_reason(), "samples.csv can not be read as samples"));
    assert_int_equal(samples_read("/nowhere/samples.csv", NULL, &s), E_IO);
    free(path);
}

/* More than one piece of the reader, only some columns wanted, a line longer than a piece, and the
 * same figures as from memory. */
static void large_files(void **state)
{
    static const char *const wanted[] = {"b", "not_there", NULL};
    struct str text = STR_INIT;
    struct samples s, m;
    char *path;

    str_add(&text, "time_ms,elapsed_s,a,b\n");
    for (int i = 0; i < 100000; i++) {
        str_printf(&text, "%d,%d.%03d,%d.5,%d\n", i, i / 10, i % 10 * 100, i, i * 7);
        for (int k = 0; i == 500 && k < 3 << 20; k++)
            str_add_bytes(&text, "x", 1);
        str_add(&text, i == 500 ? "\n" : "");
    }
    path = scratch_bytes(*state, "samples.csv", text.s, text.len);
    if (samples_read(path, wanted, &s) < 0)
        fail_msg("%s", err_reason());
    read_text(text.s, &m);
    assert_int_equal(s.n_rows, 100000);
    assert_int_equal(s.n_left_out, 1);
    assert_int_equal(s.n_columns, 1);
    assert_string_equal(s.names[0], "b");
    assert_int_equal(m.n_rows, 100000);
    assert_int_equal(m.n_columns, 2);
    for (size_t i = 0; i < s.n_rows; i++)
        assert_true(s.columns[0][i] == 7 * (double)i && m.columns[0][i] == (double)i + 0.5);
    assert_true(samples_level(&s, s.columns[0], &(struct samples_where){0}).p50 == 7 * 49999.5);
    samples_release(&s);
    samples_release(&m);
    str_release(&text);
    free(path);
}

/* A small file with many names or many lines makes no large columns. */
static void memory_is_bounded(void **state)
{
    struct str text = STR_INIT;
    struct samples s;

    (void)state;
    str_add(&text, "time_ms,elapsed_s");
    for (int i = 2; i < SAMPLES_MAX_COLUMNS; i++)
        str_printf(&text, ",c%d", i);
    str_add(&text, "\n");
    for (int i = 0; i < 100000; i++)
        str_add(&text, "\n");
    read_text(text.s, &s);
    assert_int_equal(s.n_columns, SAMPLES_MAX_COLUMNS - 2);
    assert_int_equal(s.n_left_out, 100000);
    samples_release(&s);
    str_reset(&text);
    str_add(&text, "time_ms,elapsed_s");
    for (int i = 2; i <= SAMPLES_MAX_COLUMNS; i++)
        str_printf(&text, ",c%d", i);
    str_add(&text, "\n");
    refused(text.s, "list of at most");
    str_release(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_by_name),
        cmocka_unit_test(figures_of_a_phase),
        cmocka_unit_test(numbers_are_those_of_strtod),
        cmocka_unit_test(lines_that_are_none),
        cmocka_unit_test_setup_teardown(files_that_are_none, scratch_open, scratch_close),
        cmocka_unit_test_setup_teardown(large_files, scratch_open, scratch_close),
        cmocka_unit_test(memory_is_bounded),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
