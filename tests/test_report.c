/* The page of a run: what may be missing, cut or hostile in its folder, and what stands on it. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/file.h"
#include "report/report.h"
#include "report/table.h"
#include "report/text.h"
#include "scratch.h"

#define NB "\xc2\xa0" /* between a number and its unit */

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
    assert_has(page, "<h1>Reached 81.45" NB "% top-1 in 3" NB "min 15" NB
                     "s; compute is the shortest stave at "
                     "64.9" NB "images/s; the data came from the page cache.</h1>");
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
               "after 60" NB "s, at 25" NB "% top-1.</h1>");
    assert_has(page, "<li>events.jsonl: 1 line is cut or damaged and left out.</li>");
    assert_has(page, "did not end");
    free(page);
}

static void test_warned(void **state)
{
    char *page;

    put_run(*state);
    put(*state, "result.json",
        "{\"status\": \"target reached\", \"quality\": 0.5, \"run_ns\": 2e9, \"resumed\": true, "
        "\"warnings\": [\"the <model> does not learn\", 7], \"exit_code\": 4}");
    put(*state, "run.json",
        "{\"options\": {\"data\": {\"num-threads\": 123456, \"seed\": 260846142685193, \"lr\": "
        "0.0123456}}}");
    page = page_of(*state);
    assert_has(page, "<li>the &lt;model&gt; does not learn</li>");
    assert_null(strstr(page, "<p>None.</p>"));
    assert_has(page, "<h1>Reached 50" NB "% top-1 in 2" NB
                     "s; the result does not stand: a resumed run is no timed result.</h1>");
    assert_has(page, "<li>The run was resumed: samples.csv covers its last start only.</li>");
    assert_has(page, "<td><code>123456</code>");
    assert_has(page, "<td><code>260846142685193</code>");
    assert_has(page, "<td><code>0.0123456</code>");
    free(page);
}

/* The reason of the ingest, and a training that was not part of it. */
static void test_ingest_alone(void **state)
{
    char *page;

    put(*state, "result.json",
        "{\"status\": \"ingest done\", \"run_ns\": 2e9, \"ingest\": {\"error\": 28, \"words\": "
        "\"fio "
        "ended: no space.\"}, \"exit_code\": 4}");
    page = page_of(*state);
    assert_has(page, "<h1>Made the ingest alone, without a training beside it, in 2" NB
                     "s; the result does not stand: fio ended: no space.</h1>");
    assert_null(strstr(page, "class=\"notes\""));
    free(page);
}

static void test_no_run(void **state)
{
    char *path;

    assert_int_equal(report_write(*state, &path), E_IO);
    assert_non_null(strstr(err_reason(), "no run is here"));
}

/* ---- several runs ---- */

static char *page_with_name(const char *dir, const char *name)
{
    char *const path = file_join(dir, name), *text;
    size_t n;

    assert_int_equal(file_read(path, 1 << 24, &text, &n), 0);
    free(path);
    return text;
}

static void test_compare(void **state)
{
    char *const a = file_join(*state, "a"), *const b = file_join(*state, "b");
    char *const out = file_join(*state, "c.html"), *page;
    const char *const dirs[] = {a, b};

    put_run(a);
    put_run(b);
    put(b, "result.json",
        "{\"status\": \"steps done\", \"samples_per_s\": 32.438, \"run_ns\": 5e9, \"exit_code\": "
        "0}");
    put(b, "run.json",
        "{\"unit\": \"images\", \"host\": \"other\", \"options\": {\"data\": {\"num-threads\": "
        "5}}}");
    if (report_compare(dirs, 2, out) < 0)
        fail_msg("%s", err_reason());
    page = page_with_name(*state, "c.html");
    assert_has(page, "<h1>a trained at 64.9 images/s and b at 32.4, which is 50 % less.</h1>");
    assert_has(page, "<th scope=\"row\">num-threads</th><td>2</td><td>5</td>");
    assert_has(page, "<th scope=\"row\">host</th><td>&quot;&lt;b&gt;&amp;&quot;</td>");
    assert_has(page, "\"runs\": [\"a\", \"b\"]");
    assert_has(page, "\"run\": 1, \"table\": 6, \"column\": \"cpu_process_percent\"");
    free(page);
    free(a);
    free(b);
    free(out);
}

/* Runs of the same name, one of them without its run.json; what only a later run has. */
static void test_compare_names(void **state)
{
    char *const a = file_join(*state, "s1/run-01"), *const b = file_join(*state, "s2/run-01");
    char *const c = file_join(*state, "last/."), *const out = file_join(*state, "c.html"), *page;
    const char *const dirs[] = {a, b, c};

    put_run(a);
    put_run(b);
    put(b, "run.json", "{\"numa\": \"two nodes\", \"options\": {\"new\": {\"width\": 3}}}");
    put(c, "result.json",
        "{\"status\": \"steps done\", \"samples_per_s\": 1, \"quality\": 0.7654, \"exit_code\": "
        "0}");
    assert_int_equal(report_compare(dirs, 3, out), 0);
    page = page_with_name(*state, "c.html");
    assert_has(page, "\"runs\": [\"s1/run-01\", \"s2/run-01\", \"last\"]");
    assert_has(page, "<th scope=\"row\">numa</th><td>–</td><td>&quot;two nodes&quot;</td><td>not "
                     "known</td>");
    assert_has(page, "<th scope=\"row\">width</th><td>–</td><td>3</td><td>not known</td>");
    assert_has(page, "76.54" NB "%</td>");
    free(page);
    assert_int_equal(report_compare(dirs, 1, out), 0);
    page = page_with_name(*state, "c.html");
    assert_has(page, "<h1>One run, run-01.</h1>");
    free(page);
    free(a);
    free(b);
    free(c);
    free(out);
}

/* A study's own words are text, and only folders in it are linked to. */
static void test_study(void **state)
{
    char *const dir = file_join(*state, "a/b"), *page;

    put(*state, "a/b/run-01/report.html", "");
    put(*state, "x/report.html", "");
    put(dir, "study.json",
        "{\"kind\": \"study\", \"words\": \"It <costs> 5 %.\", \"unit\": \"images\", \"repeats\": "
        "3, "
        "\"smallest_difference_ratio\": 0.03, \"conditions\": [{\"name\": \"ingest & all\"}], "
        "\"runs\": "
        "[{\"dir\": \"run-01\", \"condition\": 0, \"repeat\": 1, \"stands\": true}, "
        "{\"dir\": \"run-02\", \"workload\": \"w2\"}, {\"dir\": "
        "\"../../x\", \"condition\": 7, \"stands\": false, \"why\": \"<no>\"}], \"table\": "
        "[{\"workload\": \"w\", \"condition\": 0, \"n\": 3, \"train_samples_per_s\": {\"mean\": "
        "50, "
        "\"least\": 49, \"most\": 51}, \"slowdown\": {\"ratio\": 0.05, \"low\": -0.01, \"high\": "
        "0.09, "
        "\"told_apart\": false}}], \"workloads\": [\"w\", \"w2\"]}");
    page = page_of(dir);
    assert_has(page, "<h1>It &lt;costs&gt; 5 %.</h1>");
    assert_has(page, "<a href=\"run-01/report.html\">run-01</a>");
    assert_null(strstr(page, "href=\"../"));
    assert_has(page, "<th scope=\"row\">run-02</th><td>w2</td>");
    assert_has(page, "\"baseline\": \"ingest \\u0026 all\"");
    assert_has(page, "does not stand: &lt;no&gt;");
    assert_has(page, "5.0" NB "%<small>−1.0" NB "% to 9.0" NB "%, may be noise</small>");
    assert_has(page, "\"condition\": \"ingest \\u0026 all\", \"workload\": \"w\", \"rate\": 50");
    free(page);
    free(dir);
}

static void test_set(void **state)
{
    char *const dir = file_join(*state, "run-1"), *page;

    put_run(dir);
    put(dir, "report.html", "");
    put(*state, "set.json",
        "{\"runs\": [{\"folder\": \"run-1\", \"state\": \"finished\", \"minutes\": 3.2}, "
        "{\"folder\": "
        "\"run-2\", \"state\": \"waiting\"}]}");
    page = page_of(*state);
    assert_has(page, "<a href=\"run-1/report.html\">run-1</a>");
    assert_has(page, "waiting");
    free(page);
    free(dir);
}

/* ---- columns ---- */

static unsigned digit_of(char c)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *const at = strchr(digits, c);

    assert_non_null(at);
    return (unsigned)(at - digits);
}

/* Unpacks what table.h says of a column, into n items of so many bytes. */
static void unpack(const char *coded, size_t n, size_t width, unsigned char *items)
{
    unsigned char packed[4096], planes[4096];
    uLongf size = sizeof(planes);
    size_t n_packed = 0;

    for (; *coded != '<'; coded += 4) {
        const unsigned v = digit_of(coded[0]) << 18 | digit_of(coded[1]) << 12 |
                           (coded[2] == '=' ? 0 : digit_of(coded[2]) << 6) |
                           (coded[3] == '=' ? 0 : digit_of(coded[3]));
        packed[n_packed++] = (unsigned char)(v >> 16);
        packed[n_packed++] = (unsigned char)(v >> 8);
        packed[n_packed++] = (unsigned char)v;
    }
    assert_int_equal(uncompress(planes, &size, packed, n_packed), Z_OK);
    assert_int_equal(size, n * width);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < width; k++)
            items[i * width + k] = planes[k * n + i];
}

/* Packs the numbers and demands the very same back; returns the scale. */
static double packed_and_back(const double *v, size_t n)
{
    struct table t = {0};
    struct str json = STR_INIT, blocks = STR_INIT;
    const char *const prefix = "<script type=\"text/plain\" id=\"c7\">";
    double scale, whole, reals[64];
    int32_t steps[64];
    int id = 7;

    table_add_column(&t, "x");
    for (size_t i = 0; i < n; i++) {
        const size_t row = table_add_row(&t);

        t.columns[0].v[row] = v[i];
    }
    table_pack(&t, &json, &blocks, &id);
    assert_int_equal(id, 8);
    assert_int_equal(
        sscanf(strstr(json.s, "\"scale\": "), "\"scale\": %lf, \"from\": %lf", &scale, &whole), 2);
    assert_int_equal(strncmp(blocks.s, prefix, strlen(prefix)), 0);
    unpack(blocks.s + strlen(prefix), n, scale > 0 ? 4 : 8,
           scale > 0 ? (unsigned char *)steps : (unsigned char *)reals);
    for (size_t i = 0; i < n; i++) {
        if (scale > 0)
            reals[i] = steps[i] == INT32_MIN ? NAN : (whole += steps[i]) / scale;
        assert_true(reals[i] == v[i] || (isnan(reals[i]) && isnan(v[i])));
    }
    table_release(&t);
    str_release(&json);
    str_release(&blocks);
    return scale;
}

static void test_pack(void **state)
{
    static const double times[] = {NAN, 1796041500000, 1796041500100, NAN, 1796041500201};
    static const double cents[] = {0.1, 172.35, NAN, -3.2, 0};
    static const double odd[] = {1.0 / 3, 1e300, NAN, -1e-300}, far[] = {0, 4294967296.0};
    static const double none[] = {NAN, NAN};

    (void)state;
    assert_true(packed_and_back(times, COUNT_OF(times)) == 1);
    assert_true(packed_and_back(cents, COUNT_OF(cents)) == 100);
    assert_true(packed_and_back(odd, COUNT_OF(odd)) == 0);
    assert_true(packed_and_back(far, COUNT_OF(far)) == 0);
    assert_true(packed_and_back(none, COUNT_OF(none)) == 1);
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
    assert_number(text_add_seconds, 59.96, "60" NB "s");
    assert_number(text_add_seconds, 119.6, "2" NB "min 0" NB "s");
    assert_number(text_add_seconds, 3599.7, "1" NB "h 0" NB "min");
    assert_number(text_add_seconds, 86400 * 3 + 7200, "3" NB "d 2" NB "h");
    assert_number(text_add_seconds, 0.85, "850" NB "ms");
    assert_number(text_add_bytes, 999.6, "1" NB "kB");
    assert_number(text_add_bytes, 25276514304.0, "25.3" NB "GB");
    assert_number(text_add_percent, 0.9996, "100" NB "%");
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
        cmocka_unit_test_setup_teardown(test_warned, scratch_open, scratch_close),
        cmocka_unit_test_setup_teardown(test_ingest_alone, scratch_open, scratch_close),
        cmocka_unit_test_setup_teardown(test_compare_names, scratch_open, scratch_close),
        cmocka_unit_test_setup_teardown(test_no_run, scratch_open, scratch_close),
        cmocka_unit_test_setup_teardown(test_compare, scratch_open, scratch_close),
        cmocka_unit_test_setup_teardown(test_study, scratch_open, scratch_close),
        cmocka_unit_test_setup_teardown(test_set, scratch_open, scratch_close),
        cmocka_unit_test(test_pack),
        cmocka_unit_test(test_text),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
