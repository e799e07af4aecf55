/* The specification of an ingest, what fio is asked to do, and what its documents and logs say. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "ingest_fixture.h"
#include "meter/ingest.h"
#include "meter/ingest_fio.h"
#include "run_fixture.h"
#include "scratch.h"

static void specification_is_read_and_written_again(void **state)
{
    struct ingest_settings s;
    struct str first = STR_INIT, second = STR_INIT;

    (void)state;
    assert_int_equal(ingest_parse("engine=io_uring, jobs=4 bs=128k\trate=1G,size=50g dir=/a/b "
                                  "direct=yes depth=8",
                                  &s),
                     0);
    assert_int_equal(s.engine, INGEST_IO_URING);
    assert_int_equal(s.jobs, 4);
    assert_int_equal(s.bs, 128 << 10);
    assert_int_equal(s.rate, 1LL << 30);
    assert_int_equal(s.size, 50LL << 30);
    assert_string_equal(s.dir, "/a/b");
    assert_int_equal(s.direct, 1);
    assert_int_equal(s.depth, 8);
    ingest_add_spec(&s, &first);
    ingest_release(&s);
    assert_string_equal(first.s, "engine=io_uring jobs=4 bs=128K rate=1G size=50G dir=/a/b "
                                 "direct=yes depth=8");
    assert_int_equal(ingest_parse(first.s, &s), 0);
    ingest_add_spec(&s, &second);
    assert_string_equal(first.s, second.s);
    ingest_release(&s);
    str_release(&first);
    str_release(&second);
}

static void specification_without_words_is_the_default(void **state)
{
    struct ingest_settings s;

    (void)state;
    assert_int_equal(ingest_parse("", &s), 0);
    assert_int_equal(s.engine, INGEST_SYNC);
    assert_int_equal(s.jobs, 1);
    assert_int_equal(s.rate, 0);
    assert_null(s.dir);
    assert_int_equal(ingest_bytes(&s), 1LL << 30);
    ingest_release(&s);
}

static void wrong_specifications_get_a_sentence(void **state)
{
    static const struct {
        const char *spec, *says;
    } wrong[] = {
        {"job=4", "ingest: unknown key \"job\"; did you mean jobs?"},
        {"blocksize=4k", "expected one of engine, jobs, bs, rate, size, dir, direct, depth"},
        {"jobs=2 bs=4k jobs=3", "ingest: jobs is given twice"},
        {"jobs", "\"jobs\" is no KEY=VALUE"},
        {"dir=/a b", "\"b\" is no KEY=VALUE"},
        {"dir=", "ingest: dir= has no value"},
        {"jobs=0", "ingest: jobs: \"0\" does not fit; expected a whole number from 1 to 256"},
        {"bs=12X", "ingest: bs: \"12X\" does not fit"},
        {"bs=-4k", "ingest: bs: \"-4k\" does not fit"},
        {"size=99999999999G", "ingest: size: \"99999999999G\" does not fit"},
        {"engine=mmap", "expected one of sync, psync, libaio, io_uring"},
        {"size=100k", "size=102400 is less than one write of 131072 bytes"},
        {"size=200k jobs=2", "less than one write of 131072 bytes for each of 2 jobs"},
        {"rate=128k jobs=2", "rate=131072 is less than one write of 131072 bytes a second for "
                             "each of 2 jobs"},
        {"direct=yes bs=1000", "multiples of 512 bytes"},
        {"depth=4", "engine sync makes one write at a time"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        struct ingest_settings s;
        assert_int_equal(ingest_parse(wrong[i].spec, &s), E_USAGE);
        assert_says(err_reason(), wrong[i].says);
        assert_null(s.dir);
    }
}

static const char *word_of(char *const *argv, const char *start)
{
    for (; *argv; argv++)
        if (strncmp(*argv, start, strlen(start)) == 0)
            return *argv + strlen(start);
    return NULL;
}

/* fio's sizes are those of one job. */
static void sizes_are_shared_among_the_jobs(void **state)
{
    struct ingest_settings s;
    char **argv;

    (void)state;
    assert_int_equal(ingest_parse("jobs=3 bs=64k rate=3M size=1M", &s), 0);
    argv = ingest_argv(&s, &(struct ingest_job){"/r", "/f:o", "fio-3.33"});
    assert_string_equal(argv[0], "fio");
    assert_string_equal(word_of(argv, "--rate="), "1048576");
    assert_string_equal(word_of(argv, "--size="), "327680"); /* 5 blocks of 64 KiB */
    assert_int_equal(ingest_bytes(&s), 3 * 327680);
    assert_string_equal(word_of(argv, "--directory="), "/f\\:o");
    assert_string_equal(word_of(argv, "--output="), "/r/fio.json");
    assert_null(word_of(argv, "--log_window_value="));
    ingest_argv_free(argv);
    argv = ingest_argv(&s, &(struct ingest_job){"/r", "/f", "fio-3.37"});
    assert_string_equal(word_of(argv, "--log_window_value="), "both");
    ingest_argv_free(argv);
    ingest_release(&s);
}

static void release_is_a_number(void **state)
{
    (void)state;
    assert_int_equal(ingest_fio_release("fio-3.33"), 3033);
    assert_int_equal(ingest_fio_release("fio-3.42-12-gabcdef-dirty"), 3042);
    assert_int_equal(ingest_fio_release("fio-2.21"), 2021);
    assert_int_equal(ingest_fio_release("flexible"), -1);
    assert_int_equal(ingest_fio_release(""), -1);
}

/* ---- before a run ---- */

static int check(const char *spec, const char *run_dir)
{
    struct ingest_settings s;
    char version[64];
    int rc;

    assert_int_equal(ingest_parse(spec, &s), 0);
    rc = ingest_check(&s, run_dir, version, sizeof(version));
    ingest_release(&s);
    return rc;
}

static void make_program(const char *dir)
{
    char *const path = file_join(dir, "fio");

    assert_int_equal(chmod(path, 0755), 0);
    free(path);
}

static void fio_is_looked_for(void **state)
{
    const char *const dir = *state;

    setenv("PATH", dir, 1);
    assert_int_equal(check("size=1M", dir), E_UNSUPPORTED);
    assert_string_equal(err_reason(), "ingest: fio is not installed (there is none in PATH); "
                                      "apt-get install fio");
    free(scratch_file(dir, "fio", "#!/bin/sh\necho fio-2.21\n"));
    make_program(dir);
    assert_int_equal(check("size=1M", dir), E_UNSUPPORTED);
    assert_says(err_reason(), "fio-2.21 is too old; expected fio-3.1 or newer");
    free(scratch_file(dir, "fio", "#!/bin/sh\necho Forensic image opener\n"));
    make_program(dir);
    assert_int_equal(check("size=1M", dir), E_UNSUPPORTED);
    assert_says(err_reason(), "says \"Forensic image opener\"");
    use_fio(dir, "");
    assert_int_equal(check("size=1M", dir), 0);
}

static void folder_is_looked_at(void **state)
{
    const char *const dir = *state;
    char *const new = file_join(dir, "not/there/yet"), *const spec = xasprintf("dir=%s", new);
    char *const file = scratch_file(dir, "file", "");

    use_fio(dir, "");
    assert_int_equal(check("size=1M", new), 0); /* the run makes it */
    assert_int_equal(check(spec, dir), E_USAGE);
    assert_says(err_reason(), "is no folder; make it first");
    assert_int_equal(check("size=1M dir=/proc", dir), E_IO);
    assert_says(err_reason(), "no files can be made in /proc");
    free(file);
    free(new);
    free(spec);
}

static void twentieth_of_the_disk_stays_free(void **state)
{
    const char *const dir = *state;
    struct statvfs fs;
    double room;
    char *spec;

    use_fio(dir, "");
    assert_int_equal(statvfs(dir, &fs), 0);
    room = ((double)fs.f_bavail - (double)fs.f_blocks / 20) * (double)fs.f_frsize;
    if (room < 0x1p30)
        skip();
    spec = xasprintf("size=%.0f", room * 1.02);
    assert_int_equal(check(spec, dir), E_IO);
    assert_says(err_reason(), "would leave less than 5 %");
    free(spec);
    spec = xasprintf("size=%.0f", room * 0.9);
    assert_int_equal(check(spec, dir), 0);
    free(spec);
}

/* ---- fio's document ---- */

#define HEAD "{\n  \"fio version\" : \"fio-3.33\",\n"
#define PERCENTILES                                                                                \
    "\"percentile\":{\"1.000000\":11,\"50.000000\":20,\"95.000000\":40,\"99.000000\":80}"
#define JOB(error, write) "{\"jobname\":\"ingest\",\"error\":" error ",\"write\":{" write "}}"
#define WRITE                                                                                      \
    "\"io_bytes\":50593792,\"io_kbytes\":49408,\"bw_bytes\":20941139,\"bw\":20450,"                \
    "\"runtime\":2416,\"total_ios\":386,\"clat_ns\":{\"mean\":1,\"max\":2},"                       \
    "\"lat_ns\":{\"min\":1,\"max\":99,\"mean\":30.5," PERCENTILES "}"

static int read_document(const char *text, struct ingest_result *r)
{
    return ingest_read(text, strlen(text), r);
}

static void document_is_read(void **state)
{
    struct ingest_result r;

    (void)state;
    assert_int_equal(read_document(HEAD "\"jobs\":[" JOB("0", WRITE) "],\"disk_util\":[]}", &r), 0);
    assert_string_equal(r.fio_version, "fio-3.33");
    assert_int_equal(r.error, 0);
    assert_int_equal(r.write_bytes, 50593792);
    assert_true(r.write_bytes_per_s == 20941139);
    assert_float_equal(r.seconds, 2.416, 1e-12);
    assert_true(r.latency_mean_ns == 30.5);
    assert_true(r.latency_p50_ns == 20);
    assert_true(r.latency_p95_ns == 40);
    assert_true(r.latency_p99_ns == 80);
    assert_true(r.latency_max_ns == 99);
    assert_string_equal(r.words, "");
}

static void words_before_and_after_the_document(void **state)
{
    struct ingest_result r;

    (void)state;
    assert_int_equal(read_document("fio: pid=7, err=28/file:io_u.c:1803, func=io_u error, "
                                   "error=No space left on device\n\n\r \nfio: terminating on "
                                   "signal 2\nfio: {job\x1b[31m}\n" HEAD "\"jobs\":[" JOB(
                                       "28", WRITE) "]}\n\ningest: (groupid=0, jobs=2): {\n{\n",
                                   &r),
                     0);
    assert_int_equal(r.error, 28);
    assert_int_equal(r.write_bytes, 50593792);
    assert_string_equal(r.words,
                        "fio: pid=7, err=28/file:io_u.c:1803, func=io_u error, error=No space "
                        "left on device; fio: {job\\x1b[31m}");
}

/* Names and units changed across the releases; some are missing. */
static void other_releases_are_read(void **state)
{
    struct ingest_result r;

    (void)state;
    assert_int_equal(
        read_document("{\n\"fio version\":\"fio-3.1\",\"fio version\":\"fio-9\",\"jobs\":[" JOB(
                          "0", "\"io_kbytes\":10,\"bw\":5,\"runtime\":2000,\"total_ios\":4,"
                               "\"clat\":{\"mean\":7,\"max\":9," PERCENTILES "}") "]}",
                      &r),
        0);
    assert_string_equal(r.fio_version, "fio-3.1");
    assert_int_equal(r.write_bytes, 10240);
    assert_true(r.write_bytes_per_s == 5120);
    assert_true(r.latency_mean_ns == 7000);
    assert_true(r.latency_p99_ns == 80000);
    assert_int_equal(read_document(HEAD "\"jobs\":[{\"error\":5}]}", &r), 0);
    assert_int_equal(r.error, 5);
    assert_int_equal(r.write_bytes, 0);
    assert_true(isnan(r.latency_mean_ns) && isnan(r.latency_p99_ns));
}

static void jobs_that_are_not_summed_up_are(void **state)
{
    struct ingest_result r;

    (void)state;
    assert_int_equal(
        read_document(HEAD "\"jobs\":["
                           "{\"error\":0,\"write\":{\"io_bytes\":100,\"bw_bytes\":50,\"runtime\":"
                           "2000,\"total_ios\":1,\"lat_ns\":{\"mean\":10,\"max\":70}}},"
                           "{\"error\":5,\"write\":{\"io_bytes\":300,\"bw_bytes\":100,\"runtime\":"
                           "3000,\"total_ios\":3,\"lat_ns\":{\"mean\":20,\"max\":60}}}]}",
                      &r),
        0);
    assert_int_equal(r.error, 5);
    assert_int_equal(r.write_bytes, 400);
    assert_true(r.write_bytes_per_s == 150);
    assert_true(r.seconds == 3);
    assert_float_equal(r.latency_mean_ns, (10 + 3 * 20) / 4.0, 1e-12);
    assert_true(r.latency_max_ns == 70);
}

static void numbers_without_sense_are_not_taken(void **state)
{
    struct ingest_result r;

    (void)state;
    assert_int_equal(
        read_document(HEAD "\"jobs\":[" JOB(
                          "-1", "\"io_bytes\":-5,\"bw_bytes\":\"fast\",\"runtime\":1e400,"
                                "\"total_ios\":4,\"lat_ns\":{\"mean\":-1,\"max\":null}") "]}",
                      &r),
        0);
    assert_int_equal(r.error, 0);
    assert_int_equal(r.write_bytes, 0);
    assert_true(r.seconds == 0);
    assert_true(isnan(r.latency_mean_ns));
    assert_int_equal(read_document(HEAD "\"jobs\":[" JOB("0", "\"io_bytes\":9e18") "," JOB(
                                       "0", "\"io_bytes\":9e18") "]}",
                                   &r),
                     E_DATA);
    assert_says(r.words, "beyond all measure");
}

static void damaged_documents_get_a_sentence(void **state)
{
    static const struct {
        const char *text, *says;
    } wrong[] = {
        {"", "fio.json can not be used: the document is empty"},
        {"fio: engine x not loadable\nIO engine x not found\n",
         "no document of fio's is in it; before it: fio: engine x not loadable; IO engine "
         "x not found"},
        {HEAD "\"jobs\":[" JOB("0", WRITE), "the document is not whole"},
        {"{\n\"a\":1}", "it names no \"fio version\""},
        {"{\n\"fio version\":\"fio-3.33\"}", "names no jobs"},
        {"{\n\"fio version\":\"fio-3.33\",\"jobs\":[]}", "names no jobs"},
        {"{\n\"fio version\":\"fio-3.33\",\"jobs\":5}", "names no jobs"},
        {"[1]", "no document of fio's is in it"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        struct ingest_result r;
        assert_int_equal(read_document(wrong[i].text, &r), E_DATA);
        assert_says(err_reason(), wrong[i].says);
        assert_int_equal(r.error, INGEST_NOT_MEASURED);
        assert_int_equal(r.write_bytes, 0);
        assert_true(isnan(r.latency_max_ns));
    }
}

static void result_is_written_as_json(void **state)
{
    struct ingest_result r;
    struct str out = STR_INIT;
    cJSON *doc;

    (void)state;
    assert_int_equal(read_document("a \"word\"\n" HEAD "\"jobs\":[" JOB("28", WRITE) "]}", &r), 0);
    str_add(&out, "{");
    ingest_add_json("jobs=2", &r, &out);
    str_add(&out, "}");
    doc = cJSON_Parse(out.s);
    assert_string_equal(string_of(doc, "spec"), "jobs=2");
    assert_true(number_of(doc, "write_bytes") == 50593792);
    assert_float_equal(number_of(doc, "seconds"), 2.416, 1e-9);
    assert_true(number_of(doc, "error") == 28);
    assert_true(number_of(cJSON_GetObjectItem(doc, "latency_ns"), "p95") == 40);
    assert_string_equal(string_of(doc, "words"), "a \"word\"");
    cJSON_Delete(doc);
    str_release(&out);
}

/* ---- fio's logs ---- */

static void put_log(const char *dir, const char *name, int64_t at, const char *fmt)
{
    struct str text = STR_INIT;
    char *path;

    /* '@123' in the text is 123 ms behind the start. */
    str_add(&text, "");
    for (const char *c = fmt; *c; c++)
        if (*c == '@') {
            char *end;
            str_printf(&text, "%lld", (long long)at + strtoll(c + 1, &end, 10));
            c = end - 1;
        } else {
            str_add_bytes(&text, c, 1);
        }
    path = scratch_file(dir, name, text.s);
    free(path);
    str_release(&text);
}

static void assert_csv(const char *dir, int64_t start, const char *expected)
{
    char *const text = read_text(dir, "ingest.csv");
    struct str want = STR_INIT;
    char *path;

    put_log(dir, "want", start, expected);
    path = read_text(dir, "want");
    str_add(&want, "time_ms,elapsed_s,ingest_write_bytes_per_s,ingest_latency_mean_ms,"
                   "ingest_latency_max_ms\n");
    str_add(&want, path);
    assert_string_equal(text, want.s);
    str_release(&want);
    free(path);
    free(text);
}

static int exists(const char *dir, const char *name)
{
    char *const path = file_join(dir, name);
    const int there = file_exists(path);

    free(path);
    return there;
}

/* Two jobs, one line of which is late, one second without a write, and a last line that is torn. */
static void logs_become_seconds(void **state)
{
    const char *const dir = *state;
    const int64_t start = clock_wall_ms() - 60000;

    put_log(dir, "fio_bw.1.log", start,
            "@1310, 100, 1, 0, 0\n@2310, 50, 1, 0, 0\n@4311, 10, 1, 0, 0\n");
    put_log(dir, "fio_bw.2.log", start, "@1312, 300, 1, 0, 0\n@2316, 70, 1, 0, 0\n@33");
    put_log(dir, "fio_lat.1.log", start, "@1310, 1000000, 1, 0, 0\n@2320, 500000, 1, 0, 0\n");
    put_log(dir, "fio_lat.2.log", start, "@1400, 2000000, 1, 0, 0\n");
    put_log(dir, "fio_clat.2.log", start, "@1400, 7, 1, 0, 0\n");
    put_log(dir, "fio_slat.2.log", start, "");
    put_log(dir, "fio_bw.txt", start, "kept\n");
    assert_int_equal(ingest_write_csv(dir, start), 0);
    assert_csv(dir, start,
               "@1310,1.310,409600,1.75,\n"
               "@2310,2.310,122880,0.5,\n"
               "@3310,3.310,0,,\n"
               "@4310,4.310,10240,,\n");
    assert_false(exists(dir, "fio_bw.1.log") || exists(dir, "fio_lat.2.log"));
    assert_false(exists(dir, "fio_clat.2.log") || exists(dir, "fio_slat.2.log"));
    assert_true(exists(dir, "fio_bw.txt"));
}

static void newer_logs_tell_the_longest_write(void **state)
{
    const char *const dir = *state;
    const int64_t start = clock_wall_ms() - 60000;

    put_log(dir, "fio_bw.1.log", start, "@1000, 100, 100, 1, 0, 0\n");
    put_log(dir, "fio_lat.1.log", start, "@1000, 1000000, 9000000, 1, 0, 0\n");
    put_log(dir, "fio_bw.2.log", start, "@1000, 100, 100, 1, 0, 0\n");
    put_log(dir, "fio_lat.2.log", start, "@1000, 3000000, 5000000, 1, 0, 0\n");
    assert_int_equal(ingest_write_csv(dir, start), 0);
    assert_csv(dir, start, "@1000,1.000,204800,2,9\n");
}

/* Lines that are none, of reads, or of another time. */
static void odd_lines_are_left_out(void **state)
{
    const char *const dir = *state;
    const int64_t start = clock_wall_ms() - 60000;

    put_log(dir, "fio_bw.1.log", start,
            "\nhello\n@1000, x, 1, 0\n@1000, 9, 0, 0, 0\n12, 9, 1, 0, 0\n@1000000, 9, 1, 0, 0\n"
            "@1000, -9, 1, 0, 0\n@1000, nan, 1, 0, 0\n@1000, 9\n@1000, 1, 1, 0\n");
    assert_int_equal(ingest_write_csv(dir, start), 0);
    assert_csv(dir, start, "@1000,1.000,1024,,\n");
}

static void no_logs_no_table(void **state)
{
    const char *const dir = *state;

    put_log(dir, "fio_bw.1.log", 0, "");
    assert_int_equal(ingest_write_csv(dir, clock_wall_ms()), 0);
    assert_false(exists(dir, "ingest.csv") || exists(dir, "fio_bw.1.log"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(specification_is_read_and_written_again),
        cmocka_unit_test(specification_without_words_is_the_default),
        cmocka_unit_test(wrong_specifications_get_a_sentence),
        cmocka_unit_test(sizes_are_shared_among_the_jobs),
        cmocka_unit_test(release_is_a_number),
        cmocka_unit_test_setup_teardown(fio_is_looked_for, ingest_scratch_open,
                                        ingest_scratch_close),
        cmocka_unit_test_setup_teardown(folder_is_looked_at, ingest_scratch_open,
                                        ingest_scratch_close),
        cmocka_unit_test_setup_teardown(twentieth_of_the_disk_stays_free, ingest_scratch_open,
                                        ingest_scratch_close),
        cmocka_unit_test(document_is_read),
        cmocka_unit_test(words_before_and_after_the_document),
        cmocka_unit_test(other_releases_are_read),
        cmocka_unit_test(jobs_that_are_not_summed_up_are),
        cmocka_unit_test(numbers_without_sense_are_not_taken),
        cmocka_unit_test(damaged_documents_get_a_sentence),
        cmocka_unit_test(result_is_written_as_json),
        cmocka_unit_test_setup_teardown(logs_become_seconds, scratch_open, scratch_close),
        cmocka_unit_test_setup_teardown(newer_logs_tell_the_longest_write, scratch_open,
                                        scratch_close),
        cmocka_unit_test_setup_teardown(odd_lines_are_left_out, scratch_open, scratch_close),
        cmocka_unit_test_setup_teardown(no_logs_no_table, scratch_open, scratch_close),
    };

    return cmocka_run_group_tests_name("ingest", tests, ingest_room_open, NULL);
}
