/* Sets of runs of the small workload: what they are started with, and what they must leave. Include
 * this in one file of a test program. */
#ifndef STAVE_TESTS_SET_FIXTURE_H
#define STAVE_TESTS_SET_FIXTURE_H

#include "cli/run_set.h"
#include "small_run.h"

/* A target that the first evaluations reach (a tenth of the pictures right), and one that none does
 * at this rate. */
#define REACHED "-b 6 --epochs 6 --lr 0.05 --target 0.1 --checkpoint-steps 3 --clear-cache files"
#define MISSED "-b 6 --epochs 1 --lr 1e-9 --target 1 --clear-cache files"

enum { N_RUNS = 3 };

/* ---- reading what is left ---- */

UNUSED_FUNCTION struct run_set read_set(const char *dir)
{
    struct run_set s = {.dir = xstrdup(dir)};

    if (run_set_read(&s) < 0)
        fail_msg("%s", err_reason());
    return s;
}

static void check_seed_of(const struct run_set *s, size_t at)
{
    char *const folder = run_set_folder(s, at);
    cJSON *const log = read_lines(folder, "mlperf.log");
    const cJSON *seed;

    assert_int_equal(count_key(log, "seed", &seed), 1);
    assert_true(number_of(seed, "value") == (double)s->runs[at].seed);
    cJSON_Delete(log);
    free(folder);
}

/* As a fault would not have it: compared here, not by the program. */
static void check_seeds_differ(const struct run_set *s)
{
    for (size_t i = 0; i < s->n; i++)
        for (size_t k = 0; k < i; k++)
            assert_true(s->runs[i].seed != s->runs[k].seed);
}

static void check_folder(const struct run_set *s, size_t at)
{
    char *const folder = run_set_folder(s, at);
    cJSON *const log = read_lines(folder, "mlperf.log");
    const cJSON *last;

    small_check_files(folder);
    assert_int_equal(count_key(log, "run_start", NULL), 1);
    assert_int_equal(count_key(log, "run_stop", NULL), 1);
    assert_int_equal(count_key(log, "checkpoint_loaded", NULL), 0);
    assert_int_equal(count_key(log, "cache_clear", &last), 1);
    assert_true(cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(last, "value")));
    cJSON_Delete(log);
    free(folder);
}

/* All runs have finished with this code, each whole, and nothing is lost. */
UNUSED_FUNCTION void check_whole_set(const char *dir, int code)
{
    struct run_set s = read_set(dir);

    assert_int_equal(s.n, N_RUNS);
    check_seeds_differ(&s);
    for (size_t i = 0; i < s.n; i++) {
        assert_int_equal(s.runs[i].state, SET_FINISHED);
        assert_int_equal(s.runs[i].result.code, code);
        check_seed_of(&s, i);
        check_folder(&s, i);
        for (size_t k = 0; k < s.runs[i].n_earlier; k++) {
            char *const earlier = file_join(dir, s.runs[i].earlier[k].folder);
            assert_true(file_is_folder(earlier));
            assert_true(s.runs[i].earlier[k].seed != s.runs[i].seed);
            free(earlier);
        }
    }
    run_set_release(&s);
}

#endif
