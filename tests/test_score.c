/* The score of several runs: what is dropped, what counts as failed, scaling, windows, statistics.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/random.h"
#include "rules/published.h"
#include "score_fixture.h"
#include "scratch.h"

#define NEAR(a, b, within) assert_true(fabs((a) - (b)) <= (within))

/* ---- statistics ---- */

static void test_how_many_runs(void **state)
{
    (void)state;
    assert_int_equal(score_rule("4.0.0", "resnet").n_runs, 5);
    assert_int_equal(score_rule("4.0.0", "resnet").n_drop, 1);
    assert_int_equal(score_rule("4.0.0", "bert").n_runs, 10);
    assert_int_equal(score_rule("4.0.0", "unet3d").n_runs, 40);
    assert_int_equal(score_rule("4.0.0", "unet3d").n_drop, 4);
    assert_int_equal(score_rule("0.5.0", "ncf").n_runs, 100);
    assert_int_equal(score_rule("0.5.0", "ncf").first_converged, 50);
    assert_int_equal(score_rule("4.0.0", "chess").n_runs, 0);
}

static void test_estimate_by_hand(void **state)
{
    const double x[] = {30, 28, 27, 29, 40};
    const struct score_estimate e = score_estimate(x, 5, 1);

    (void)state;
    assert_true(e.mean == 29 && e.least == 27 && e.most == 40 && e.median == 29);
    NEAR(e.stdev, 5.263078946776307, 1e-12); /* sqrt(110.8 / 4) */
    NEAR(e.high - e.mean, 2.7764451051977934 * 5.263078946776307 / sqrt(5), 1e-12);
    NEAR(e.mean - e.low, e.high - e.mean, 1e-12);
    NEAR(score_uncertainty(&e), (e.high - 29) / 29, 1e-15);
}

static void test_estimate_with_failures(void **state)
{
    const double one[] = {30, 28, INFINITY, 29, 31}, two[] = {30, NAN, INFINITY, 29, 31};
    struct score_estimate e = score_estimate(one, 5, 1);

    (void)state;
    NEAR(e.mean, 30, 1e-12);
    assert_int_equal(e.n_failed, 1);
    assert_true(e.most == 31);
    e = score_estimate(two, 5, 1);
    assert_true(isnan(e.mean) && isnan(e.low));
    assert_int_equal(e.n_failed, 2);
    assert_true(e.median == 30);
}

static void test_estimate_of_few(void **state)
{
    const double x[] = {30, 31, 33};
    struct score_estimate e = score_estimate(x, 0, 1);

    (void)state;
    assert_true(isnan(e.mean) && isnan(e.stdev) && isnan(e.least) && isnan(e.low));
    e = score_estimate(x, 2, 1);
    assert_true(isnan(e.mean) && e.median == 30.5);
    e = score_estimate(x, 3, 1);
    assert_true(e.mean == 31 && isfinite(e.low));
    e = score_estimate(x, 1, 0);
    assert_true(e.mean == 30 && isnan(e.low));
}

/* How often the interval holds the mean of all scores; kind 0: normal, 1: lognormal, 2: most runs
 * take 36 epochs and some 40. */
static double coverage(size_t n, int drop, int kind)
{
    enum { TRIALS = 4000 };
    static struct score_estimate e[TRIALS];
    const struct random_key key = {7, RANDOM_TEST, (uint64_t)kind};
    double truth = 0;
    int held = 0;

    for (size_t t = 0; t < TRIALS; t++) {
        double x[40];

        for (size_t i = 0; i < n; i++) {
            const double z = random_normal(key, 40 * t + i);

            x[i] = kind == 0   ? 30 + z
                   : kind == 1 ? 30 * exp(0.5 * z)
                               : (z > 0.5 ? 40 : 36) + 0.05 * z;
        }
        e[t] = score_estimate(x, n, drop);
        truth += e[t].mean / TRIALS;
    }
    for (size_t t = 0; t < TRIALS; t++)
        held += e[t].low <= truth && truth <= e[t].high;
    return (double)held / TRIALS;
}

/* The bounds leave three standard errors of a simulation of 4000: 0.01. */
static void test_the_interval_holds_the_truth(void **state)
{
    static const struct {
        size_t n;
        int drop, kind;
        double least, most;
    } cases[] = {{3, 1, 0, 0.935, 0.96},  {5, 1, 0, 0.935, 0.96}, {10, 1, 0, 0.935, 0.96},
                 {40, 4, 0, 0.935, 0.96}, {5, 1, 1, 0.92, 0.95},  {10, 1, 1, 0.92, 0.95},
                 {5, 1, 2, 0.75, 0.9},    {10, 1, 2, 0.75, 0.95}};

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const double c = coverage(cases[i].n, cases[i].drop, cases[i].kind);

        if (c < cases[i].least || c > cases[i].most)
            fail_msg("%zu runs, kind %d: %.4f", cases[i].n, cases[i].kind, c);
    }
}

/* ---- results ---- */

static const struct fake_result closed_resnet = {.start_ms = 1000000};
static const struct fake_run five[] = {
    {28, 35, NULL}, {30, 36, NULL}, {27, 35, NULL}, {29, 35, NULL}, {40, 39, NULL}};

static struct result finished(const char *version, const struct fake_result *f,
                              const struct fake_run *runs, int n)
{
    struct result r = fake_result(version, f, runs, n);

    assert_int_equal(result_finish(&r), 0);
    return r;
}

static struct result five_with(const struct fake_result *f, int at, struct fake_run other,
                               const char *version)
{
    struct fake_run runs[5];

    memcpy(runs, five, sizeof(runs));
    if (at >= 0)
        runs[at] = other;
    return finished(version, f, runs, 5);
}

static void test_best_and_worst_are_dropped(void **state)
{
    struct result r = five_with(&closed_resnet, -1, (struct fake_run){0}, "4.0.0");

    (void)state;
    assert_int_equal(r.n_runs, 5);
    NEAR(r.minutes, 29, 1e-9);
    assert_true(r.stands && r.factor == 1 && r.closed);
    assert_string_equal(r.problems.s, "");
    assert_int_equal(r.runs[2].fate, RESULT_FASTEST);
    assert_int_equal(r.runs[4].fate, RESULT_SLOWEST);
    assert_int_equal(r.runs[0].fate, RESULT_COUNTS);
    NEAR(r.epochs.mean, 106. / 3, 1e-9);
    NEAR(r.per_second, (35. + 36 + 35 + 35 + 39) * 1281167 / (154 * 60), 1e-6);
    result_release(&r);
}

static void test_one_failure_is_the_slowest(void **state)
{
    struct result r = five_with(&closed_resnet, 2, (struct fake_run){27, 35, "aborted"}, "4.0.0");

    (void)state;
    NEAR(r.minutes, 33, 1e-9); /* 29, 30, 40 */
    assert_true(r.stands);
    assert_int_equal(r.runs[2].fate, RESULT_FAILED);
    assert_int_equal(r.runs[0].fate, RESULT_FASTEST);
    assert_int_equal(r.runs[4].fate, RESULT_COUNTS);
    assert_string_equal(r.runs[2].why, "run_stop has the status aborted");
    result_release(&r);
}

static void test_two_failures_void_it(void **state)
{
    struct fake_run runs[5];
    struct result r;

    (void)state;
    memcpy(runs, five, sizeof(runs));
    runs[0].status = "aborted";
    runs[3].status = "";
    r = finished("4.0.0", &closed_resnet, runs, 5);
    assert_false(r.stands);
    assert_true(isnan(r.minutes));
    assert_non_null(strstr(r.problems.s, "2 of 5 runs do not count; one may fail. result_0.txt: "
                                         "run_stop has the status aborted.\n"));
    result_release(&r);
}

static void test_unet_may_lose_four(void **state)
{
    const struct fake_result f = {.benchmark = "unet3d", .division = "open", .start_ms = 1};
    struct fake_run runs[40];
    struct result r;

    (void)state;
    for (int i = 0; i < 40; i++)
        runs[i] = (struct fake_run){10 + i, 2000, i >= 36 ? "aborted" : NULL};
    r = finished("2.0.0", &f, runs, 40);
    NEAR(r.minutes, 29.5, 1e-9); /* 14 to 45 */
    assert_true(r.stands);
    assert_int_equal(r.runs[3].fate, RESULT_FASTEST);
    assert_int_equal(r.runs[35].fate, RESULT_COUNTS);
    result_release(&r);
    runs[0].status = "aborted";
    r = finished("2.0.0", &f, runs, 40);
    assert_false(r.stands);
    assert_non_null(
        strstr(r.problems.s, "5 of 40 runs do not count; four may fail. result_0.txt: run_stop"));
    result_release(&r);
}

static void test_number_of_runs(void **state)
{
    struct result r;

    (void)state;
    r = finished("2.0.0", &closed_resnet, five, 4);
    assert_false(r.stands);
    assert_string_equal(r.problems.s, "4 runs: the rules of 2.0.0 ask for 5 of resnet.\n");
    NEAR(r.minutes, 28.5, 1e-9);
    result_release(&r);
}

/* Seven runs from 1.1 on: of three windows of five the one in the middle. */
static void test_the_median_window(void **state)
{
    static const double minutes[] = {10, 11, 12, 13, 14, 30, 40}; /* 12, 13, 19 */
    struct fake_run runs[7];
    struct result r;

    (void)state;
    for (int i = 0; i < 7; i++)
        runs[i] = (struct fake_run){minutes[i], 36, NULL};
    r = finished("2.0.0", &closed_resnet, runs, 7);
    NEAR(r.minutes, 13, 1e-9);
    assert_true(r.stands);
    assert_int_equal(r.runs[0].fate, RESULT_OUTSIDE);
    assert_int_equal(r.runs[1].fate, RESULT_FASTEST);
    assert_int_equal(r.runs[5].fate, RESULT_SLOWEST);
    assert_int_equal(r.runs[6].fate, RESULT_OUTSIDE);
    assert_int_equal(r.n_scored, 5);
    assert_non_null(strstr(r.notes.s, "from result_1.txt to result_5.txt"));
    result_release(&r);
    r = finished("1.0.0", &closed_resnet, runs, 7);
    assert_false(r.stands);
    assert_string_equal(r.problems.s, "7 runs: the rules of 1.0.0 ask for exactly 5 of resnet.\n");
    result_release(&r);
}

static void test_ncf_takes_the_first_fifty(void **state)
{
    const struct fake_result f = {.benchmark = "ncf", .start_ms = 1};
    struct fake_run runs[100];
    struct result r;

    (void)state;
    for (int i = 0; i < 100; i++)
        runs[i] = (struct fake_run){i + 1, 13, i % 5 == 0 ? "aborted" : NULL};
    r = finished("0.5.0", &f, runs, 100);
    NEAR(r.minutes, (1613. - 2 - 63) / 48, 1e-9); /* 1..63 without 1, 6, ..., 61: 1613 */
    assert_true(r.stands);
    assert_int_equal(r.runs[63].fate, RESULT_OUTSIDE);
    result_release(&r);
    for (int i = 0; i < 51; i++)
        runs[i].status = "aborted";
    r = finished("0.5.0", &f, runs, 100);
    assert_false(r.stands);
    assert_non_null(strstr(r.problems.s, "40 of 100 runs converged; the score needs 50.\n"));
    result_release(&r);
}

/* ---- one run twice ---- */

/* Five runs of which the last is the log of number again. */
static struct result four_and(const char *version, const struct fake_result *f, int number)
{
    struct result r = fake_result(version, &closed_resnet, five, 4);

    fake_add(&r, f, &five[0], number);
    assert_int_equal(result_finish(&r), 0);
    return r;
}

static void test_one_run_twice(void **state)
{
    static const char *const rounds[] = {"0.7.0", "1.0.0", "2.0.0", "4.0.0"};

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rounds); i++) {
        struct result r = four_and(rounds[i], &closed_resnet, 0);

        assert_false(r.stands);
        assert_string_equal(r.problems.s,
                            "result_0.txt and result_0.txt have the same start, stop and "
                            "evaluations: they are one run twice.\n");
        result_release(&r);
    }
}

static void test_one_seed_twice(void **state)
{
    const struct fake_result later = {.start_ms = 9000000};
    struct result r = four_and("1.1.0", &later, 1);

    (void)state;
    assert_false(r.stands);
    assert_string_equal(r.problems.s, "result_1.txt and result_1.txt log the same seed, 8 (a.c:1): "
                                      "they are one run twice.\n");
    result_release(&r);
    r = four_and("1.0.0", &later, 1); /* published runs of that round do */
    assert_true(r.stands);
    assert_non_null(strstr(r.notes.s, "log the same seed, 8 (a.c:1).\n"));
    result_release(&r);
    r = four_and("0.7.0", &later, 1);
    assert_true(r.stands && !strstr(r.notes.s, "seed"));
    result_release(&r);
}

/* ---- the reference ---- */

static const struct fake_run at_35[] = {
    {28, 35, NULL}, {30, 35, NULL}, {27, 35, NULL}, {29, 35, NULL}, {40, 35, NULL}};

static void test_scaled_to_the_reference(void **state)
{
    struct result r;

    (void)state;
    r = finished("2.1.0", &closed_resnet, at_35, 5);
    NEAR(r.factor, 1.0043956043956044, 1e-15);
    NEAR(r.minutes, 29 * 1.0043956043956044, 1e-9);
    assert_true(r.stands);
    result_release(&r);
    r = finished("2.0.0", &closed_resnet, at_35, 5); /* not before 2.1 */
    NEAR(r.minutes, 29, 1e-9);
    result_release(&r);
}

static void test_faster_than_allowed(void **state)
{
    struct fake_run runs[5];
    struct result r;
    const struct fake_result open = {.division = "open", .start_ms = 1};

    (void)state;
    memcpy(runs, at_35, sizeof(runs));
    for (int i = 0; i < 5; i++)
        runs[i].epochs = 34;
    r = finished("4.0.0", &closed_resnet, runs, 5);
    assert_false(r.stands);
    assert_non_null(strstr(r.problems.s, "faster than allowed.\n"));
    assert_true(r.factor == 1);
    result_release(&r);
    r = finished("4.0.0", &open, runs, 5);
    assert_true(r.stands && r.factor == 1);
    result_release(&r);
}

/* Under 4.0, with this beside it. */
static struct result scaled_by(const char *dir, const char *text)
{
    struct result r = fake_result("4.0.0", &closed_resnet, at_35, 5);
    char *const path = scratch_file(dir, "scaling.json", text);

    result_read_scaling(&r, path);
    free(path);
    assert_int_equal(result_finish(&r), 0);
    return r;
}

static void test_scaling_json(void **state)
{
    struct result r = scaled_by(*state, "{\"scaling_factor\": 1.0043956043956044}");

    NEAR(r.minutes, 29 * 1.0043956043956044, 1e-9);
    assert_string_equal(r.notes.s, "");
    result_release(&r);
    r = scaled_by(*state, "{\"scaling_factor\": 1.02}");
    NEAR(r.minutes, 29 * 1.02, 1e-9);
    assert_string_equal(r.notes.s, "scaling.json says 1.020000; the reference convergence test "
                                   "gives 1.004396. The file's is used.\n");
    result_release(&r);
    r = scaled_by(*state, "[1");
    NEAR(r.factor, 1.0043956043956044, 1e-15);
    assert_non_null(strstr(r.notes.s, "holds no JSON object"));
    result_release(&r);
    r = scaled_by(*state, "{\"scaling_factor\": -1}");
    NEAR(r.factor, 1.0043956043956044, 1e-15);
    assert_non_null(strstr(r.notes.s, "holds no scaling_factor above 0"));
    result_release(&r);
}

static void test_different_batches(void **state)
{
    const struct fake_result other = {.batch = 4096, .start_ms = 1};
    struct result r = fake_result("4.0.0", &closed_resnet, five, 4);

    (void)state;
    fake_add(&r, &other, &five[4], 4);
    assert_int_equal(result_finish(&r), 0);
    assert_false(r.stands);
    assert_non_null(strstr(r.problems.s, "or different ones.\n"));
    result_release(&r);
}

static void test_reference_times(void **state)
{
    (void)state;
    assert_true(isnan(published_reference_minutes("1.0.0", "resnet")));
    NEAR(published_reference_minutes("0.5.0", "resnet"), 8831.283333333333, 1e-9);
    NEAR(published_reference_minutes("0.5.0", "maskrcnn"), 4999.516666666666, 1e-9);
    assert_true(isnan(published_reference_minutes("0.5.0", "ssd")));
}

static void count_anchor(void *context, const struct anchor *a)
{
    int *const n = context;

    assert_true(a->minutes > 0 && a->accelerators >= -1 && a->system[0]);
    n[0]++;
    n[1] += strcmp(a->benchmark, "resnet") == 0 && strcmp(a->round, "0.7") == 0 &&
            a->accelerators == 8 && a->minutes == 33.37;
    n[1] += strcmp(a->benchmark, "resnet") == 0 && strcmp(a->round, "1.0") == 0 &&
            a->accelerators == 8 && a->minutes == 27.38;
}

static void test_anchors(void **state)
{
    int n[2] = {0};

    (void)state;
    published_anchors("resnet", count_anchor, n);
    assert_int_equal(n[1], 2);
    n[0] = 0;
    published_anchors(NULL, count_anchor, n);
    assert_true(n[0] > 100);
}

#define SCRATCH(f) cmocka_unit_test_setup_teardown(f, scratch_open, scratch_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_how_many_runs),
        cmocka_unit_test(test_estimate_by_hand),
        cmocka_unit_test(test_estimate_with_failures),
        cmocka_unit_test(test_estimate_of_few),
        cmocka_unit_test(test_the_interval_holds_the_truth),
        cmocka_unit_test(test_best_and_worst_are_dropped),
        cmocka_unit_test(test_one_failure_is_the_slowest),
        cmocka_unit_test(test_two_failures_void_it),
        cmocka_unit_test(test_unet_may_lose_four),
        cmocka_unit_test(test_number_of_runs),
        cmocka_unit_test(test_the_median_window),
        cmocka_unit_test(test_ncf_takes_the_first_fifty),
        cmocka_unit_test(test_one_run_twice),
        cmocka_unit_test(test_one_seed_twice),
        cmocka_unit_test(test_scaled_to_the_reference),
        cmocka_unit_test(test_faster_than_allowed),
        SCRATCH(test_scaling_json),
        cmocka_unit_test(test_different_batches),
        cmocka_unit_test(test_reference_times),
        cmocka_unit_test(test_anchors),
    };

    return cmocka_run_group_tests_name("score", tests, NULL, NULL);
}
