/* A workload whose closed division starts from published weights, from outside. */
#define SMALL_BENCHMARK "bert"
#define SMALL_DIVISION (getenv("SMALL_IS_OPEN") ? "open" : "closed")
#include <stdlib.h>

#include "scratch.h"
#include "small_run.h"

static void published_weights_are_asked_for(void **state)
{
    const char *const data = *state;
    char *const first = file_join(data, "first"), *said;

    small_data(data);
    assert_int_equal(run_words(data, NULL, &said, "-b 6 --steps 1 -d %s --out %s", data, first), 2);
    assert_says(said, "in the closed division of ruleset 4.0.0 bert starts from published weights");
    assert_says(said, "give the published ones with --init FILE");
    assert_false(file_exists(first));
    free(said);
    assert_int_equal(
        run_words(data, NULL, &said, "-b 6 --steps 1 -d %s --dry-run --out %s", data, first), 2);
    free(said);
    assert_int_equal(
        run_words(data, NULL, &said, "-b 6 --steps 1 -d %s --runs 3 --out %s", data, first), 2);
    assert_says(said, "give the published ones with --init FILE");
    assert_false(file_exists(first));
    free(said);
    free(first);
}

static void in_the_open_division(void)
{
    setenv("SMALL_IS_OPEN", "1", 1);
}

/* Somebody gives weights: here those of an open run, which may start as it likes. */
static void given_weights_may_run(void **state)
{
    const char *const data = *state;
    char *said;

    small_data(data);
    assert_int_equal(run_words(data, in_the_open_division, &said,
                               "-b 6 --steps 1 -d %s --out %s/first", data, data),
                     0);
    free(said);
    assert_int_equal(run_words(data, NULL, &said,
                               "-b 6 --steps 1 -d %s --init %s/first --out %s/second", data, data,
                               data),
                     0);
    assert_says(said, "closed division");
    free(said);
    assert_int_equal(
        run_words(data, NULL, &said, "-b 6 --steps 2 -d %s --resume --out %s/second", data, data),
        0);
    free(said);
    assert_int_equal(
        run_words(data, NULL, &said, "-b 6 --steps 2 -d %s --resume --out %s/first", data, data),
        2);
    assert_says(said, "from published weights");
    free(said);
}

#define S(f) cmocka_unit_test_setup_teardown(f, scratch_open, scratch_close)

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        S(published_weights_are_asked_for),
        S(given_weights_may_run),
    };

    small_is_started(argc, argv);
    return cmocka_run_group_tests_name("run_start", tests, NULL, NULL);
}
