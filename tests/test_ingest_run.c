/* stave run --ingest with the fio of this machine: to the end, and when one of the three processes
 * (the run, its supervisor, fio) is killed. Afterwards no fio is at work and nothing of it is left
 * but documents in the run folder. The null device stands in: numbers do not matter. */
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "ingest_fixture.h"
#include "run_fixture.h"
#include "scratch.h"

#define TRAINING                                                                                   \
    "run resnet50 -p sample --device null --threads 1 --synthetic --seed 5 -b 1 "                  \
    "--synthetic-samples 1000000000 --warm 0 "
#define RUN TRAINING "--only data " /* starts at once */
#define INGEST "--ingest jobs=2,bs=64k,rate=8M,size=4M "
#define FOREVER "--steps 100000000000 "

/* A run in dir/r with an ingest at work. */
struct running {
    struct program program;
    char *run_dir, *leftovers;
    pid_t supervisor, fio;
};

static int64_t in_ms(int64_t ms)
{
    return clock_ns() + ms * 1000000;
}

static pid_t pid_in(const cJSON *leftovers, const char *name)
{
    return (pid_t)number_of(cJSON_GetObjectItemCaseSensitive(leftovers, name), "pid");
}

/* It is noted a little before it is fio. */
static void wait_for_fio(const char *run_dir)
{
    const int64_t end = in_ms(10000);

    while (!fios_of(run_dir) && clock_ns() < end)
        clock_sleep_ns(10000000);
    assert_int_equal(fios_of(run_dir), 1);
}

static struct running start(const char *dir, const char *more)
{
    char *const words = xasprintf(RUN FOREVER INGEST "%s --out %s/r", more, dir);
    struct running r = {.run_dir = file_join(dir, "r")};
    cJSON *doc;

    need_fio();
    r.leftovers = file_join(r.run_dir, "leftovers.json");
    r.program = program_start(dir, 0, -1, words);
    wait_for_text(r.leftovers, "\"fio\"");
    doc = read_json(r.run_dir, "leftovers.json");
    r.supervisor = pid_in(doc, "supervisor");
    r.fio = pid_in(doc, "fio");
    assert_true(r.supervisor > 0 && r.fio > 0);
    wait_for_fio(r.run_dir);
    kill(r.program.pid, SIGSTOP); /* the ingest goes on, and a processor is free */
    cJSON_Delete(doc);
    free(words);
    return r;
}

static void release(struct running *r)
{
    free(r->run_dir);
    free(r->leftovers);
}

static char *end(struct running *r, int signal, int expected)
{
    char *said;
    int code;

    if (signal)
        kill(r->program.pid, signal);
    kill(r->program.pid, SIGCONT);
    code = program_wait(r->program, &said);
    if (code != expected)
        fail_msg("ends with %d, not %d, and says: %s", code, expected, said);
    return said;
}

static void wait_until_gone(const char *path)
{
    const int64_t end = in_ms(20000);

    while (file_exists(path) && clock_ns() < end)
        clock_sleep_ns(20000000);
    assert_false(file_exists(path));
}

static void assert_nothing_left(const char *dir)
{
    char *const run_dir = file_join(dir, "r");
    const int64_t end = in_ms(5000);

    while (fios_of(run_dir) && clock_ns() < end)
        clock_sleep_ns(20000000);
    assert_int_equal(fios_of(run_dir), 0);
    assert_int_equal(names_in(run_dir, "stave-ingest-"), 0);
    assert_int_equal(names_in(run_dir, "fio_"), 0);
    assert_int_equal(names_in(run_dir, "leftovers.json"), 0);
    assert_int_equal(names_in(dir, ""), 2); /* "r" and "said" */
    free(run_dir);
}

/* The ingest of result.json; the caller frees *doc. */
static const cJSON *ingest_of(const char *dir, cJSON **doc)
{
    char *const run_dir = file_join(dir, "r");
    const cJSON *ingest;

    *doc = read_json(run_dir, "result.json");
    ingest = cJSON_GetObjectItemCaseSensitive(*doc, "ingest");
    assert_non_null(ingest);
    free(run_dir);
    return ingest;
}

static void assert_failed(const char *dir, const char *words)
{
    cJSON *doc;
    const cJSON *const ingest = ingest_of(dir, &doc);

    assert_true(number_of(ingest, "error") != 0);
    assert_says(string_of(ingest, "words"), words);
    cJSON_Delete(doc);
}

static int rows_of(const char *run_dir)
{
    char *const text = read_text(run_dir, "ingest.csv");
    int n = -1;

    for (const char *c = text; *c; c++)
        n += *c == '\n';
    free(text);
    return n;
}

/* ---- before a run ---- */

static void dry_run_tells_what_fio_would_do(void **state)
{
    const char *const dir = *state;
    char *text;

    need_fio();
    text = program_run(dir, 0, RUN "--steps 10 " INGEST "--dry-run --out %s/r", dir);
    assert_says(text, "ingest: engine=sync jobs=2 bs=64K rate=8M size=4M direct=no depth=1\n");
    assert_says(text, "up to 4.0 MiB in ");
    assert_says(text, " fio --name=ingest ");
    assert_says(text, " --size=2097152 ");
    assert_int_equal(names_in(dir, ""), 1); /* "said" */
    free(text);
}

static void wrong_words_are_refused_before_anything_is_made(void **state)
{
    const char *const dir = *state;
    char *text;

    need_fio();
    text = program_run(dir, 2, RUN "--steps 10 --ingest job=2 --out %s/r", dir);
    assert_says(text, "ingest: unknown key \"job\"; did you mean jobs?");
    free(text);
    text = program_run(dir, 2, RUN "--steps 10 --ingest dir=%s/none --out %s/r", dir, dir);
    assert_says(text, "/none is no folder; make it first");
    free(text);
    text = program_run(dir, 3, RUN "--steps 10 --ingest size=900000G --out %s/r", dir);
    assert_says(text, "would leave less than 5 %");
    free(text);
    text = program_run(dir, 3, RUN "--steps 10 --ingest size=1M,dir=/proc --out %s/r", dir);
    assert_says(text, "no files can be made in /proc");
    free(text);
    assert_int_equal(names_in(dir, ""), 1);
}

static void without_fio_a_run_does_not_begin(void **state)
{
    const char *const dir = *state;
    char *text;

    setenv("PATH", dir, 1);
    text = program_run(dir, 3, RUN "--steps 10 " INGEST "--out %s/r", dir);
    assert_says(text, "fio is not installed (there is none in PATH); apt-get install fio");
    assert_int_equal(names_in(dir, ""), 1);
    free(text);
}

/* ---- ends ---- */

/* The steps take a second or two; what fio wrote of them is less on a busy machine, never none. */
static void run_to_its_end(void **state)
{
    const char *const dir = *state;
    const cJSON *ingest;
    cJSON *doc;

    need_fio();
    free(program_run(dir, 0, TRAINING "--steps 60000 " INGEST "--out %s/r", dir));
    ingest = ingest_of(dir, &doc);
    assert_true(number_of(ingest, "error") == 0);
    assert_true(number_of(ingest, "write_bytes") > 0);
    assert_true(number_of(ingest, "seconds") > 0);
    assert_string_equal(string_of(ingest, "spec"),
                        "engine=sync jobs=2 bs=64K rate=8M size=4M direct=no depth=1");
    cJSON_Delete(doc);
    assert_nothing_left(dir);
}

static void run_that_is_asked_to_stop(void **state)
{
    const char *const dir = *state;
    struct running r = start(dir, "");
    const cJSON *ingest;
    cJSON *doc;

    clock_sleep_ns(2200000000);
    free(end(&r, SIGTERM, 1));
    ingest = ingest_of(dir, &doc);
    assert_true(number_of(ingest, "error") == 0);
    assert_true(number_of(ingest, "write_bytes") > 8e6);
    assert_true(rows_of(r.run_dir) >= 1);
    cJSON_Delete(doc);
    assert_nothing_left(dir);
    release(&r);
}

/* The supervisor outlives it, ends fio, and writes what is missing. */
static void run_that_is_killed(void **state)
{
    const char *const dir = *state;
    struct running r = start(dir, "");
    char *const page = file_join(r.run_dir, "report.html");

    clock_sleep_ns(2200000000);
    free(end(&r, SIGKILL, 1000 + SIGKILL));
    wait_until_gone(r.leftovers);
    assert_nothing_left(dir);
    assert_true(rows_of(r.run_dir) >= 1);
    wait_for_text(page, "</html>");
    free(page);
    release(&r);
}

static void fio_that_is_killed(void **state)
{
    const char *const dir = *state;
    struct running r;
    char *text;

    /* Of steps that end: the run's own result stands, with exit code 4. */
    r = start(dir, "--steps 5000000");
    kill(r.fio, SIGKILL);
    text = end(&r, 0, 4);
    assert_says(text,
                "warning: the ingest failed, and nothing beside the run was measured: signal 9 "
                "ended fio");
    assert_failed(dir, "signal 9 ended fio");
    assert_true(result_of(dir, "r", "steps") == 5000000);
    assert_nothing_left(dir);
    free(text);
    release(&r);
}

/* The run mends what it left. */
static void supervisor_that_is_killed(void **state)
{
    const char *const dir = *state;
    struct running r = start(dir, "");
    int outlived;

    kill(r.supervisor, SIGKILL);
    clock_sleep_ns(300000000);
    outlived = end_fios_of(r.run_dir);
    free(end(&r, SIGTERM, 1));
    assert_int_equal(outlived, 0);
    assert_failed(dir, "the run's supervisor died, and fio with it");
    assert_nothing_left(dir);
    release(&r);
}

/* Nobody is there to mend anything, until somebody asks for it. */
static void both_are_killed(void **state)
{
    const char *const dir = *state;
    struct running r = start(dir, "");

    kill(r.supervisor, SIGSTOP);
    free(end(&r, SIGKILL, 1000 + SIGKILL));
    kill(r.supervisor, SIGKILL);
    assert_int_equal(names_in(r.run_dir, "stave-ingest-"), 1);
    clock_sleep_ns(300000000);
    free(program_run(dir, 0, "clean %s/r", dir));
    assert_nothing_left(dir);
    release(&r);
}

static void run_that_ends_in_its_warm_up(void **state)
{
    const char *const dir = *state;
    char *text;

    need_fio();
    text = program_run(dir, 4, RUN "--steps 2 --warm 600 " INGEST "--out %s/r", dir);
    assert_says(text, "it never began: the run ended before its warm-up did (--warm)");
    assert_failed(dir, "it never began");
    assert_nothing_left(dir);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, ingest_scratch_open, ingest_scratch_close)
        TEST(dry_run_tells_what_fio_would_do),
        TEST(wrong_words_are_refused_before_anything_is_made),
        TEST(without_fio_a_run_does_not_begin),
        TEST(run_to_its_end),
        TEST(run_that_is_asked_to_stop),
        TEST(run_that_is_killed),
        TEST(fio_that_is_killed),
        TEST(supervisor_that_is_killed),
        TEST(both_are_killed),
        TEST(run_that_ends_in_its_warm_up),
    };

    return cmocka_run_group_tests_name("runs with an ingest", tests, ingest_room_open, NULL);
}
