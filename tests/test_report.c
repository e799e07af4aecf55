/* The page of a run: what may be missing, cut or hostile in its folder, and what stands on it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/file.h"
#include "report/report.h"
#include "report/text.h"
#include "scratch.h"

/* A folder's name; it can hold anything but a slash. */
#define HOSTILE_NAME "a<script>alert(1)<!--\"'&\x1b[31m\xff"

static void put(const char *dir, const char *name, const char *text)
{
    free(scratch_file(dir, name, text));
}

static void put_run(const char *dir)
{
    put(dir, "run.json",
        "{\"workload\": \"resnet50\", \"unit\": \"images\", \"host\": \"<b>&\", \"seed\": 7, "
        "\"options\": {\"data\": {\"num-threads\": 2, \"data-dir\": \"</script>\"}}, "
        "\"defaults\": {\"data\": {\"num-threads\": 0}}}");
    put(dir, "result.json",
        "{\"status\": \"target reached\", \"metric\": \"top1\", \"target\": 0.5, \"quality\": "
        "0.8145, \"epochs\": 1, \"steps\": 78, \"samples_trained\": 9984, \"run_ns\": "
        "194720601442, \"train_ns\": 153893344433, \"data_wait_ns\": 40780686, \"samples_per_s\": "
        "64.876, \"origin\": \"cache\", \"exit_code\": 0}");
    put(dir, "stages.csv",
        "stage,samples,busy_ns,cpu_ns,input_wait_ns,output_wait_ns\n"
        "read,10000,2000000000,,,\ndecode,10000,500000000,,,\naugment,10000,250000000,,,\n"
        "copy,9984,9984000000,,,\ncompute,9984,140000000000,,,\n");
    put(dir, "events.jsonl",
        "{\"time_ms\": 1000, \"elapsed_ns\": 0, \"type\": \"start\", \"key\": \"run_start\"}\n"
        "{\"time_ms\": 3000, \"elapsed_ns\": 2000000000, \"type\": \"point\", \"key\": \"step\", "
        "\"step_num\": 1, \"loss\": \"NaN\", \"samples_per_s\": 1e308}\n"
        "{\"time_ms\": 4000, \"elapsed_ns\": 3000000000, \"type\": \"point\", \"key\": "
        "\"bad_sample\", \"value\": \"</script><script>bad()\", \"reason\": \"it's \\u0007\"}\n"
        "{\"time_ms\": 5000, \"elapsed_ns\": 4000000000, \"type\": \"end\", \"key\": "
        "\"run_stop\"}\n");
    put(dir, "samples.csv",
        "time_ms,elapsed_s,phase,epoch,cpu_process_percent,memory_anon_bytes\n"
        "2000,1.000,init,,10,1000\n3000,2.000,train,1,30,2000000\n4000,3.000,train,1,50,\n");
}

/* The page of a folder, heap. */
static char *page_of(const char *dir)
{
    char *path, *text;
    size_t n;

    if (report_write(dir, &path) < 0)
        fail_msg("%s", err_reason());
    assert_int_equal(file_read(path, 1 << 24, &text, &n), 0);
    assert_int_equal(strlen(text), n);
    free(path);
    return text;
}

static void assert_has(const char *page, const char *part)
{
    if (!strstr(page, part))
        fail_msg("the page does not hold: %s", part);
}

static void test_whole(void **state)
{
    char *page;

    put_run(*state);
    page = page_of(*state);
    assert_has(page, "<h1>Reached 81.45 % top-1 in 3 min 15 s; compute is the shortest stave at "
                     "64.9 images/s; the data came from the page cache.</h1>");
    /* 2 threads * 10000 samples / 0.5 s */
    assert_has(page, "<th scope=\"row\">decode</th><td class=\"n\">40,000</td>");
    assert_has(page, "<th scope=\"row\">copy</th><td class=\"n\">1,000</td>");
    assert_has(page, "Estimated</b> from what the run itself counted");
    assert_has(page,
               "<code>num-threads</code></th><td>data</td><td><code>2</code></td><td><code>0");
    assert_has(page, "\"column\": \"cpu_process_percent\"");
    assert_null(strstr(page, "class=\"notes\""));
    free(page);
}

/* Nothing that came from a file becomes markup. */
static void test_escapes(void **state)
{
    char *const dir = file_join(*state, HOSTILE_NAME);
    char *page;

    put_run(dir);
    page = page_of(dir);
    assert_null(strstr(page, "<script>alert"));
    assert_null(strstr(page, "<script>bad"));
    assert_null(strstr(page, "<b>&"));
    assert_null(strchr(page, 0x1b));
    assert_null(strchr(page, 0xff));
    assert_has(page, "folder a&lt;script&gt;alert(1)&lt;!--&quot;&#39;&amp;\\x1b[31m\\xff</li>");
    assert_has(page, "&lt;/script&gt;&lt;script&gt;bad(): it&#39;s \\x07</li>");
    assert_has(page, "[\"a\\u003cscript\\u003ealert(1)\\u003c!--\\\"'\\u0026\\u001b[31m\\u00ff\"]");
    assert_has(page, "<td>&lt;b&gt;&amp;</td>");
    free(page);
    free(dir);
}

/* Numbers that are none, or beyond what anybody measures. */
static void test_numbers(void **state)
{
    char *page;

    put_run(*state);
    put(*state, "result.json",
        "{\"status\": \"target not reached\", \"quality\": 1e999, \"steps\": -5, \"run_ns\": "
        "1e300, "
        "\"train_ns\": 0, \"data_wait_ns\": \"NaN\", \"samples_trained\": 1e308, \"exit_code\": "
        "1}");
    put(*state, "samples.csv",
        "time_ms,elapsed_s,phase,epoch,cpu_process_percent\n2000,1,train,1,nan\n3000,2,train,1,"
        "inf\n4000,3,train,1,1e300\n5000,4,train,1,-1e300\n");
    page = page_of(*state);
    assert_has(page, "<h1>Missed the target");
    assert_null(strstr(page, ">nan"));
    assert_null(strstr(page, ">inf"));
    assert_null(strstr(page, ": nan"));
    assert_null(strstr(page, ": inf"));
    free(page);
}

static const char *const files[] = {"run.json", "result.json", "stages.csv", "events.jsonl",
                                    "samples.csv"};

/* Without any one of its files the page is made, and says what is not there. */
static void test_missing(void **state)
{
    for (size_t i = 0; i < COUNT_OF(files); i++) {
        char *const dir = file_join(*state, files[i]), *path, *page, *note;

        put_run(dir);
        path = file_join(dir, files[i]);
        assert_int_equal(remove(path), 0);
        page = page_of(dir);
        note = xasprintf("<li>%s is not there: ", files[i]);
        assert_int_equal(strstr(page, note) != NULL, strcmp(files[i], "stages.csv") != 0);
        free(note);
        free(page);
        free(path);
        free(dir);
    }
}

/* A killed run may leave any file cut anywhere: each of them, at every length. */
static void test_cut(void **state)
{
    for (size_t i = 0; i < COUNT_OF(files); i++) {
        char *path, *text;
        size_t n;

        put_run(*state);
        path = file_join(*state, files[i]);
        assert_int_equal(file_read(path, 1 << 20, &text, &n), 0);
        for (size_t cut = 0; cut < n; cut += 1 + cut / 40) {
            free(scratch_bytes(*state, files[i], text, cut));
            free(page_of(*state));
        }
        free(text);
        free(path);
    }
}

/* Killed while it trained: no exit code, half a line in events.jsonl and in samples.csv. */
static void test_killed(void **state)
{
    char *page;

    put_run(*state);
    put(*state, "result.json",
        "{\"status\": \"running\", \"metric\": \"top1\", \"quality\": 0.25, \"steps\": 3}");
    put(*state, "events.jsonl",
        "{\"time_ms\": 1000, \"type\": \"start\", \"key\": \"run_start\"}\n"
        "{\"time_ms\": 61000, \"type\": \"point\", \"key\": \"step\", \"step_num\": 9}\n{\"time");
    put(*state, "samples.csv", "time_ms,elapsed_s,phase,epoch,x_percent\n2000,1.000,init,,10\n30");
    page = page_of(*state);
    assert_has(page,
               "<h1>Did not end: it was killed, or is still at work; the last sign of life came "
               "after 60 s, at 25 % top-1.</h1>");
    assert_has(page, "<li>events.jsonl: 1 line is cut or damaged and left out.</li>");
    assert_has(page, "did not end");
    free(page);
}

static void test_no_run(void **state)
{
    char *path;

    assert_int_equal(report_write(*state, &path), E_IO);
    assert_non_null(strstr(err_reason(), "no run is here"));
}

static void assert_number(void (*add)(struct str *, double), double v, const char *expected)
{
    struct str out = STR_INIT;

    add(&out, v);
    assert_string_equal(out.s, expected);
    str_release(&out);
}

static void test_text(void **state)
{
    (void)state;
    assert_number(text_add_number, 193233, "193,233");
    assert_number(text_add_number, -1234, "−1,234");
    assert_number(text_add_number, 4.388, "4.39");
    assert_number(text_add_number, 1.0 / 0.0, "–");
    assert_number(text_add_seconds, 59.96, "60 s");
    assert_number(text_add_seconds, 119.6, "2 min 0 s");
    assert_number(text_add_seconds, 3599.7, "1 h 0 min");
    assert_number(text_add_seconds, 86400 * 3 + 7200, "3 d 2 h");
    assert_number(text_add_seconds, 0.85, "850 ms");
    assert_number(text_add_bytes, 999.6, "1 kB");
    assert_number(text_add_bytes, 25276514304.0, "25.3 GB");
    assert_number(text_add_percent, 0.9996, "100 %");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_whole, scratch_open, scratch_close),
        cmocka_unit_test_setup_teardown(test_escapes, scratch_open, scratch_close),
        cmocka_unit_test_setup_teardown(test_numbers, scratch_open, scratch_close),
        cmocka_unit_test_setup_teardown(test_missing, scratch_open, scratch_close),
        cmocka_unit_test_setup_teardown(test_cut, scratch_open, scratch_close),
        cmocka_unit_test_setup_teardown(test_killed, scratch_open, scratch_close),
        cmocka_unit_test_setup_teardown(test_no_run, scratch_open, scratch_close),
        cmocka_unit_test(test_text),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
