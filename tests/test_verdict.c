/* The verdict from made numbers: which stave, which level, which words. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "verdict/verdict.h"

/* Two loader threads of which decoding takes most, on four processors, and a device four times as
 * fast that needs no processor. */
static struct staves decode_is_short(void)
{
    return (struct staves){.unit = "images",
                           .threads = 2,
                           .cpus = 4,
                           .alone = {40000, 2500, 10000, 90000, 8000},
                           .loader = 2000,
                           .device = 8000,
                           .run = 1980,
                           .busy_s = {0.00005, 0.00075, 0.0002},
                           .loader_cpu_s = 0.00095,
                           .read_more = 60000,
                           .more_threads = 4,
                           .sample_bytes = 110000};
}

static void assert_words(const struct staves *s, const char *expected)
{
    const struct verdict v = verdict_find(s);
    struct str words = STR_INIT;

    verdict_add_words(s, &v, &words);
    assert_string_equal(words.s, expected);
    str_release(&words);
}

static void test_decode(void **state)
{
    const struct staves s = decode_is_short();
    const struct verdict v = verdict_find(&s);

    (void)state;
    assert_int_equal(v.shortest, STAVE_DECODE);
    assert_false(v.balanced);
    assert_true(v.level == 2000 && v.next == 8000);
    assert_true(v.more_threads == 6); /* 8 threads of 1 ms a sample give 8000 */
    assert_true(v.more_cpus == 4);    /* 8000 * 0.95 ms = 7.6 processors */
    assert_words(
        &s,
        "decode is the shortest stave: 2,000 images/s, the loader gives 2,000 and the "
        "model takes 8,000.\n"
        "The 2 loader threads spend 75 % of the time there; alone it reaches 2,500; 6 "
        "more threads and 4 more processors would raise the level to 8,000, which is the model's.\n"
        "Predicted 2,000 images/s, measured 1,980 (-1.0 %).\n");
}

static void test_augment(void **state)
{
    struct staves s = decode_is_short();

    (void)state;
    s.busy_s[STAVE_DECODE] = 0.0002;
    s.busy_s[STAVE_AUGMENT] = 0.00075;
    assert_int_equal(verdict_find(&s).shortest, STAVE_AUGMENT);
}

/* Reading gives all it has while the loader runs: named though decoding takes longer a sample. */
static void test_read(void **state)
{
    struct staves s = decode_is_short();
    struct verdict v;

    (void)state;
    s.alone[STAVE_READ] = 1050;
    s.loader = s.run = 1000;
    s.busy_s[STAVE_READ] = 0.0006;
    s.read_more = 1060;
    v = verdict_find(&s);
    assert_int_equal(v.shortest, STAVE_READ);
    assert_true(v.level == 1000);
    assert_true(v.next > 2105 && v.next < 2106); /* 2 threads of 0.95 ms */
    assert_words(&s,
                 "read is the shortest stave: 1,000 images/s, the loader gives 1,000 and the model "
                 "takes 8,000.\n"
                 "Reading alone gives 1,050 images/s (115.5 MB/s) with 2 threads and 1,060 with 4, "
                 "so it is the storage: a faster drive, or memory that holds the data set, would "
                 "raise the level to 2,105.\n"
                 "Predicted 1,000 images/s, measured 1,000 (+0.0 %).\n");
    s.read_more = 2000;
    assert_words(&s,
                 "read is the shortest stave: 1,000 images/s, the loader gives 1,000 and the model "
                 "takes 8,000.\n"
                 "Reading alone gives 1,050 images/s (115.5 MB/s) with 2 threads and 2,000 with 4: "
                 "more threads or reads in flight would raise the level to 2,105.\n"
                 "Predicted 1,000 images/s, measured 1,000 (+0.0 %).\n");
}

static void test_device(void **state)
{
    struct staves s = decode_is_short();

    (void)state;
    s.device = s.run = 900;
    s.alone[STAVE_COMPUTE] = 950;
    assert_int_equal(verdict_find(&s).shortest, STAVE_COMPUTE);
    assert_words(&s, "compute is the shortest stave: 900 images/s, the loader gives 2,000 and the "
                     "model takes 900.\n"
                     "Data keeps up: the loader could feed 2,000; a faster device would raise the "
                     "level up to that.\n"
                     "Predicted 900 images/s, measured 900 (+0.0 %).\n");
    s.alone[STAVE_COPY] = 940;
    assert_int_equal(verdict_find(&s).shortest, STAVE_COPY);
}

static void test_balanced(void **state)
{
    struct staves s = decode_is_short();

    (void)state;
    s.device = 2150;
    assert_true(verdict_find(&s).balanced);
    assert_words(&s, "Balanced: the loader gives 2,000 images/s and the model takes 2,150, level "
                     "within 10 %; raising one alone gains nothing.\n"
                     "Predicted 2,000 images/s, measured 1,980 (-1.0 %).\n");
    s.device = 2250;
    assert_false(verdict_find(&s).balanced);
    s.device = 1850;
    assert_true(verdict_find(&s).balanced);
    s.device = 1750;
    assert_false(verdict_find(&s).balanced);
}

/* Loader and model are both fast enough alone, and want the same processors. */
static void test_shared_processors(void **state)
{
    struct staves s = decode_is_short();
    struct verdict v;

    (void)state;
    s.cpus = 2;
    s.device = 2200;
    s.device_cpu_s = 0.00085; /* 1.87 processors at 2200 */
    v = verdict_find(&s);
    assert_int_equal(v.shortest, STAVE_CORES);
    assert_false(v.balanced);
    assert_false(v.others);
    assert_true(v.level > 1111 && v.level < 1112); /* 2 / 1.8 ms */
    assert_true(v.next == 2000 && v.more_cpus == 2);
}

/* A device that fills the processors is the model's business, not a lack of cores for the loader.
 */
static void test_compute_on_the_processors(void **state)
{
    struct staves s = decode_is_short();

    (void)state;
    s.cpus = 2;
    s.device = 20;
    s.device_cpu_s = 0.1;
    assert_int_equal(verdict_find(&s).shortest, STAVE_COMPUTE);
    assert_true(verdict_find(&s).level < 20);
}

static void test_stolen_processors(void **state)
{
    struct staves s = decode_is_short();
    struct verdict v;

    (void)state;
    s.loader = s.run = 800;
    s.loader_starved = 0.6;
    v = verdict_find(&s);
    assert_int_equal(v.shortest, STAVE_CORES);
    assert_true(v.others);
    assert_true(v.next > 1999 && v.next < 2001);
    assert_words(&s, "cores is the shortest stave: 800 images/s, the loader gives 800 and the "
                     "model takes 8,000.\n"
                     "60 % of the time is lost waiting for a processor, and this run does not get "
                     "all 4: other processes take them. Without these the level would be about "
                     "2,000.\n"
                     "Predicted 800 images/s, measured 800 (+0.0 %).\n");
    s.cpus = 0.8; /* now the run has them all */
    v = verdict_find(&s);
    assert_int_equal(v.shortest, STAVE_CORES);
    assert_false(v.others);
}

/* Starved readers are no slow storage, and a starved loader that is fast enough is no matter. */
static void test_what_starving_is_not(void **state)
{
    struct staves s = decode_is_short();

    (void)state;
    s.alone[STAVE_READ] = 820;
    s.loader = 800;
    s.read_starved = s.loader_starved = 0.6;
    assert_int_equal(verdict_find(&s).shortest, STAVE_CORES);
    s.read_starved = 0.1;
    assert_int_equal(verdict_find(&s).shortest, STAVE_READ);
    s.device = 300;
    assert_int_equal(verdict_find(&s).shortest, STAVE_COMPUTE);
}

static void test_a_prediction_that_fails_is_said(void **state)
{
    struct staves s = decode_is_short();
    struct verdict v;
    struct str words = STR_INIT;

    (void)state;
    s.run = 1500;
    v = verdict_find(&s);
    verdict_add_words(&s, &v, &words);
    assert_non_null(strstr(words.s, "Predicted 2,000 images/s, measured 1,500 (-25.0 %). Together "
                                    "the stages cost each other that much"));
    str_reset(&words);
    s.run = 2500;
    verdict_add_words(&s, &v, &words);
    assert_non_null(strstr(words.s, "(+25.0 %). The machine was faster"));
    str_release(&words);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_decode),
        cmocka_unit_test(test_augment),
        cmocka_unit_test(test_read),
        cmocka_unit_test(test_device),
        cmocka_unit_test(test_balanced),
        cmocka_unit_test(test_shared_processors),
        cmocka_unit_test(test_compute_on_the_processors),
        cmocka_unit_test(test_stolen_processors),
        cmocka_unit_test(test_what_starving_is_not),
        cmocka_unit_test(test_a_prediction_that_fails_is_said),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
