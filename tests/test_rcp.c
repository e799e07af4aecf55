/* Reference convergence points: Student's t, floors, pruning, interpolation, what a submission
 * gets. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/str.h"
#include "base/student.h"
#include "rules/rcp.h"
#include "rules/score.h"

#define NEAR(a, b, within) assert_true(fabs((a) - (b)) <= (within))

/* From scipy.stats.t. */
static void test_student(void **state)
{
    (void)state;
    NEAR(student_cdf(0, 3), 0.5, 1e-15);
    NEAR(student_cdf(1, 1), 0.75, 1e-14);
    NEAR(student_cdf(-2.015048373333024, 5), 0.05, 1e-12);
    NEAR(student_cdf(2.015048373333024, 5), 0.95, 1e-12);
    NEAR(student_cdf(-1.670219483773737, 61), 0.05, 1e-12);
    NEAR(student_cdf(-1.289302842734757, 116), 0.09992888649407086, 1e-13);
    assert_true(student_cdf(-INFINITY, 4) == 0 && student_cdf(INFINITY, 4) == 1);
    NEAR(student_quantile(0.975, 2), 4.302652729749462, 1e-12);
    NEAR(student_quantile(0.975, 4), 2.7764451051977934, 1e-12);
    NEAR(student_quantile(0.05, 1), -6.313751514675044, 1e-12);
    NEAR(student_quantile(0.975, 1000), 1.9623390808264083, 1e-12);
}

static void test_student_is_symmetric_and_rises(void **state)
{
    (void)state;
    for (int df = 1; df < 200; df += 7)
        for (double t = 0; t < 30; t += 0.37) {
            NEAR(student_cdf(t, df) + student_cdf(-t, df), 1, 1e-13);
            assert_true(student_cdf(t + 0.1, df) >= student_cdf(t, df));
        }
}

static void test_olympic_mean(void **state)
{
    const double x[] = {1, 2, 4, 9, 100};

    (void)state;
    assert_true(score_olympic_mean(x, 5, 0) == 23.2);
    assert_true(score_olympic_mean(x, 5, 1) == 5);
    assert_true(score_olympic_mean(x, 5, 2) == 4);
    assert_true(isnan(score_olympic_mean(x, 4, 2)));
    assert_true(isnan(score_olympic_mean(x, 0, 0)));
}

/* The figures of MLPerf's rcp_checker 4.1.68. */
static const struct {
    const char *version, *benchmark;
    double batch, mean, stdev, floor;
    int pruned;
} official[] = {
    {"1.0.0", "resnet", 1632, 35.0, 1.084652, 33.8023, 0},
    {"4.0.0", "resnet", 3264, 35.153846, 0.748331, 34.3096, 0},
    {"4.0.0", "resnet", 4096, 39.875, 1.0, 38.6340, 1},
    {"4.0.0", "resnet", 67840, 85.846154, 0.638877, 85.1826, 0},
    {"1.0.0", "bert", 3072, 2764498.666667, 166119.339578, 2643732.3832, 0},
    {"1.0.0", "unet3d", 80, 1603.777778, 293.828075, 1506.0315, 0},
    {"1.0.0", "dlrm", 55296, 1.901852, 0.015989, 1.8853, 1},
    {"1.0.0", "maskrcnn", 128, 14.000000, 0.000000, 14.0000, 0},
    {"1.1.0", "rnnt", 6144, 95.555556, 6.268174, 90.9987, 0},
    {"2.0.0", "maskrcnn", 8, 12.750000, 0.458258, 12.1813, 0},
    {"2.1.0", "ssd", 1280, 6.666667, 0.476970, 6.1524, 1},
    {"3.0.0", "dlrm_dcnv2", 65536, 0.791071, 0.061554, 0.7493, 1},
    {"3.1.0", "unet3d", 64, 418586.434783, 78327.775474, 393560.8810, 1},
    {"4.0.0", "unet3d", 84, 416640.000000, 84211.660805, 389597.6002, 0},
    {"4.0.0", "bert", 12288, 4465066.666667, 88564.045436, 4400681.9259, 0},
    {"4.0.0", "gpt3", 1536, 1195376640.000000, 45174036.582447, 1076517411.4733, 1},
    {"4.0.0", "llama2_70b_lora", 8, 3178.666667, 299.913588, 2960.6340, 0},
};

static void test_points_are_the_official_ones(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(official); i++) {
        struct rcp_points p;
        size_t hits = 0;

        assert_int_equal(rcp_load(&p, official[i].version, official[i].benchmark), 0);
        for (size_t k = 0; k < p.n; k++) {
            if (p.points[k].batch != official[i].batch)
                continue;
            hits++;
            NEAR(p.points[k].mean, official[i].mean, 6e-7 * fmax(1, official[i].mean / 1e3));
            NEAR(p.points[k].stdev, official[i].stdev, 6e-7 * fmax(1, official[i].mean / 1e3));
            NEAR(p.points[k].floor, official[i].floor, 5.1e-5);
            assert_int_equal(p.points[k].pruned, official[i].pruned);
        }
        assert_int_equal(hits, 1);
        rcp_release(&p);
    }
}

static void test_every_round_makes_sense(void **state)
{
    static const char *const versions[] = {"1.0.0", "1.1.0", "2.0.0", "2.1.0",
                                           "3.0.0", "3.1.0", "4.0.0"};
    static const char *const names[] = {"resnet",
                                        "ssd",
                                        "maskrcnn",
                                        "bert",
                                        "dlrm",
                                        "dlrm_dcnv2",
                                        "rnnt",
                                        "unet3d",
                                        "gpt3",
                                        "gnn",
                                        "llama2_70b_lora",
                                        "stable_diffusion"};
    size_t n = 0;

    (void)state;
    for (size_t v = 0; v < COUNT_OF(versions); v++)
        for (size_t b = 0; b < COUNT_OF(names); b++) {
            struct rcp_points p;

            assert_int_equal(rcp_load(&p, versions[v], names[b]), 0);
            for (size_t i = 0; i < p.n; i++) {
                assert_true(p.points[i].floor <= p.points[i].mean && p.points[i].floor > 0);
                assert_true(i == 0 || p.points[i - 1].batch < p.points[i].batch);
            }
            n += p.n;
            rcp_release(&p);
        }
    assert_int_equal(n, 355);
}

static void test_rounds_without_points(void **state)
{
    struct rcp_points p;
    const double epochs[] = {35, 35, 35, 35, 35};

    (void)state;
    assert_int_equal(rcp_load(&p, "0.7.0", "resnet"), 0);
    assert_int_equal(p.n, 0);
    assert_int_equal(rcp_check(&p, 3264, epochs, 5).kind, RCP_NONE);
    assert_int_equal(rcp_load(&p, "4.0.0", "minigo"), 0);
    assert_int_equal(p.n, 0);
    rcp_release(&p);
    rcp_release(&p);
}

/* ---- what a submission gets ---- */

static struct rcp_test check(const char *version, double batch, const double *epochs, size_t n)
{
    struct rcp_points p;
    struct rcp_test t;

    assert_int_equal(rcp_load(&p, version, "resnet"), 0);
    t = rcp_check(&p, batch, epochs, n);
    rcp_release(&p);
    return t;
}

static void says(const struct rcp_test *t, const char *expected)
{
    struct str words = STR_INIT;

    rcp_describe(t, "resnet", &words);
    assert_string_equal(words.s, expected);
    str_release(&words);
}

static void test_a_batch_of_the_reference(void **state)
{
    const double at_35[] = {35, 36, 35, 35, 34}, slow[] = {37, 36, 36, 36, 37},
                 fast[] = {34, 34, 34, 35, 31};
    struct rcp_test t;

    (void)state;
    t = check("4.0.0", 3264, at_35, 5);
    assert_int_equal(t.kind, RCP_FOUND);
    assert_true(t.passed && t.epochs == 35);
    NEAR(t.factor, 1.0043956043956044, 1e-15);
    says(&t, "at batch 3264 the reference needs 35.154 epochs, floor 34.310; these runs needed "
             "35.000: faster than its mean, and allowed");
    t = check("4.0.0", 3264, slow, 5);
    assert_true(t.passed && t.factor == 1);
    t = check("4.0.0", 3264, fast, 5);
    assert_true(!t.passed && t.epochs == 34 && t.factor == 1);
    says(&t, "at batch 3264 the reference needs 35.154 epochs, floor 34.310; these runs needed "
             "34.000: faster than allowed");
}

static void test_a_batch_between_two(void **state)
{
    const double epochs[] = {35, 35, 35, 35, 35};
    const struct rcp_test t = check("4.0.0", 3200, epochs, 5);

    (void)state;
    assert_int_equal(t.kind, RCP_INTERPOLATED);
    assert_true(t.passed);
    NEAR(t.point.mean, 35.14781297134238, 1e-12);
    NEAR(t.factor, 1.0042232277526395, 1e-12);
}

static void test_pruned_points_are_passed_over(void **state)
{
    const double epochs[] = {43, 43, 43, 43, 43};
    const struct rcp_test t = check("4.0.0", 8192, epochs, 5);

    (void)state;
    assert_int_equal(t.kind, RCP_INTERPOLATED); /* the reference ran 8192: 41.875 */
    NEAR(t.point.mean,
         35.153846153846153 + (56 - 35.153846153846153) * (8192 - 3264) / (32768. - 3264), 1e-12);
}

static void test_smaller_and_larger_batches(void **state)
{
    const double slow[] = {36, 36, 36, 36, 36}, fast[] = {33, 33, 33, 33, 33};
    struct rcp_test t = check("4.0.0", 256, slow, 5);

    (void)state;
    assert_int_equal(t.kind, RCP_BELOW);
    assert_true(t.passed && t.point.batch == 1632);
    t = check("4.0.0", 256, fast, 5);
    assert_int_equal(t.kind, RCP_BELOW);
    assert_false(t.passed);
    says(&t, "batch 256 is smaller than any the reference ran; at 1632 it needs 35.000 epochs, "
             "floor 33.802; these runs needed 33.000: faster than allowed");
    t = check("4.0.0", 67841, slow, 5);
    assert_int_equal(t.kind, RCP_ABOVE);
    assert_false(t.passed);
}

static void test_runs_that_did_not_converge(void **state)
{
    const double one[] = {36, 35, 37, INFINITY, 36}, two[] = {36, INFINITY, 37, INFINITY, 36};
    struct rcp_test t = check("4.0.0", 3264, one, 5);

    (void)state;
    assert_int_equal(t.kind, RCP_FOUND);
    NEAR(t.epochs, 109. / 3, 1e-13);
    assert_int_equal(check("4.0.0", 3264, two, 5).kind, RCP_NOT_CONVERGED);
    assert_int_equal(check("4.0.0", NAN, one, 5).kind, RCP_NO_BATCH);
    assert_int_equal(check("4.0.0", 3264, one, 2).kind, RCP_NOT_CONVERGED);
}

static void test_bad_text(void **state)
{
    static const char *const texts[] = {
        "point resnet\n 1 2 3 4 5\n", "point resnet 0\n 1 2 3 4\n",
        "point resnet 8\n 1 2 x 4\n", "point resnet 8\n 1 2 3\n",
        "resnet 8\n 1 2 3 4 5\n",     "point resnet 8\n 1 2 -3 4 5\n"};
    struct rcp_points p;

    (void)state;
    for (size_t i = 0; i < COUNT_OF(texts); i++)
        assert_int_equal(rcp_parse(&p, texts[i], "4.0.0", "resnet"), E_DATA);
    assert_int_equal(rcp_parse(&p, "# a comment\npoint ssd 8\n 1\n", "4.0.0", "resnet"), 0);
    assert_int_equal(p.n, 0);
    assert_int_equal(rcp_parse(&p, "point resnet 8\n 5 5 5\n 5\n", "4.0.0", "resnet"), 0);
    assert_true(p.n == 1 && p.points[0].floor == 5 && p.points[0].n_runs == 4);
    rcp_release(&p);
}

/* For tests/agreement/score_agreement. */
static int print_points(const char *version, const char *benchmark)
{
    struct rcp_points p;

    if (rcp_load(&p, version, benchmark) < 0)
        return 1;
    for (size_t i = 0; i < p.n; i++)
        printf("%.10g %.6f %.6f %.4f %d\n", p.points[i].batch, p.points[i].mean, p.points[i].stdev,
               p.points[i].floor, p.points[i].pruned);
    rcp_release(&p);
    return 0;
}

/* With arguments VERSION BENCHMARK: prints the points. */
int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_student),
        cmocka_unit_test(test_student_is_symmetric_and_rises),
        cmocka_unit_test(test_olympic_mean),
        cmocka_unit_test(test_points_are_the_official_ones),
        cmocka_unit_test(test_every_round_makes_sense),
        cmocka_unit_test(test_rounds_without_points),
        cmocka_unit_test(test_a_batch_of_the_reference),
        cmocka_unit_test(test_a_batch_between_two),
        cmocka_unit_test(test_pruned_points_are_passed_over),
        cmocka_unit_test(test_smaller_and_larger_batches),
        cmocka_unit_test(test_runs_that_did_not_converge),
        cmocka_unit_test(test_bad_text),
    };

    if (argc == 3)
        return print_points(argv[1], argv[2]);
    return cmocka_run_group_tests_name("rcp", tests, NULL, NULL);
}
