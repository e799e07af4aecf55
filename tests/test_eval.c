/* Metrics and the evaluation schedule. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/str.h"
#include "eval/eval_schedule.h"
#include "eval/metric.h"

struct batch {
    size_t n, classes;
    const float *scores;
    const int32_t *labels;
    const float *weights;
};

static int add(struct metric *m, struct batch b)
{
    const struct metric_array arrays[] = {
        {"scores", METRIC_F32, b.n, b.classes, b.scores},
        {"labels", METRIC_I32, b.n, 1, b.labels},
        {"weights", METRIC_F32, b.n, 1, b.weights},
    };

    return metric_add(m, arrays, COUNT_OF(arrays));
}

static void check_counts(const struct metric *m, double correct, double samples)
{
    struct metric_value v[METRIC_MAX_VALUES];

    assert_int_equal(metric_values(m, v), 3);
    assert_string_equal(v[1].name, "correct");
    assert_true(v[1].value == correct);
    assert_string_equal(v[2].name, "samples");
    assert_true(v[2].value == samples);
}

static struct metric *top1(void)
{
    const struct metric_ops *ops = metric_find("top1");

    assert_non_null(ops);
    assert_null(metric_find("top2"));
    return metric_new(ops);
}

static void test_top1_counts(void **state)
{
    const float scores[] = {1, 2, 0, /**/ 5, 2, 0, /**/ 0, 0, 1, /**/ -3, -2, -1};
    const int32_t labels[] = {1, 0, 0, 2};
    const float weights[] = {1, 1, 1, 1};
    struct metric *m = top1();

    (void)state;
    assert_true(isnan(metric_value(m)));
    assert_int_equal(add(m, (struct batch){4, 3, scores, labels, weights}), 0);
    check_counts(m, 3, 4);
    assert_true(metric_value(m) == 0.75);
    metric_reset(m);
    check_counts(m, 0, 0);
    metric_free(m);
}

static void test_padding_never_counts(void **state)
{
    /* The padding rows would be right, and one has a label that is out of range. */
    const float scores[] = {1, 0, /**/ 1, 0, /**/ 1, 0, /**/ NAN, NAN};
    const int32_t labels[] = {1, 0, 77, 0};
    const float weights[] = {1, 0, 0, 0};
    struct metric *m = top1();

    (void)state;
    assert_int_equal(add(m, (struct batch){4, 2, scores, labels, weights}), 0);
    check_counts(m, 0, 1);
    metric_free(m);
}

static void test_first_of_equal_scores_wins(void **state)
{
    const float scores[] = {1, 1}, weights[] = {1};
    const int32_t first[] = {0}, second[] = {1};
    struct metric *m = top1();

    (void)state;
    assert_int_equal(add(m, (struct batch){1, 2, scores, first, weights}), 0);
    check_counts(m, 1, 1);
    assert_int_equal(add(m, (struct batch){1, 2, scores, second, weights}), 0);
    check_counts(m, 1, 2);
    metric_free(m);
}

static void test_nan_and_unreadable_samples_are_wrong(void **state)
{
    const float scores[] = {NAN, 1, /**/ 1, NAN, /**/ NAN, NAN, /**/ 2, 1};
    const int32_t labels[] = {1, 0, 0, -1};
    const float weights[] = {1, 1, 1, 1};
    struct metric *m = top1();

    (void)state;
    assert_int_equal(add(m, (struct batch){4, 2, scores, labels, weights}), 0);
    check_counts(m, 0, 4);
    metric_free(m);
}

static void test_label_out_of_range(void **state)
{
    const float scores[] = {1, 0}, weights[] = {1};
    const int32_t high[] = {2}, low[] = {-2};
    struct metric *m = top1();

    (void)state;
    assert_int_equal(add(m, (struct batch){1, 2, scores, high, weights}), E_DATA);
    assert_string_equal(err_reason(), "label 2 in an evaluation of 2 classes");
    assert_int_equal(add(m, (struct batch){1, 2, scores, low, weights}), E_DATA);
    metric_free(m);
}

static void test_merge_is_exact(void **state)
{
    const float scores[] = {1, 0}, weights[] = {1};
    const int32_t right[] = {0}, wrong[] = {1};
    struct metric *a = top1(), *b = top1();
    struct str bytes = STR_INIT;

    (void)state;
    for (int i = 0; i < 7; i++)
        assert_int_equal(add(i % 2 ? a : b, (struct batch){1, 2, scores, right, weights}), 0);
    assert_int_equal(add(b, (struct batch){1, 2, scores, wrong, weights}), 0);
    metric_save(b, &bytes);
    assert_int_equal(metric_merge(a, bytes.s, bytes.len), 0);
    check_counts(a, 7, 8);
    assert_int_equal(metric_merge(a, bytes.s, bytes.len - 1), E_DATA);
    memset(bytes.s, 0x7F, 8); /* more correct than counted */
    assert_int_equal(metric_merge(a, bytes.s, bytes.len), E_DATA);
    check_counts(a, 7, 8);
    str_release(&bytes);
    metric_free(a);
    metric_free(b);
}

static void test_target_is_compared_exactly(void **state)
{
    const struct metric_ops *ops = metric_find("top1");

    (void)state;
    assert_true(metric_reached(ops, 37950.0 / 50000.0, 0.759));
    assert_false(metric_reached(ops, 37949.0 / 50000.0, 0.759));
    assert_false(metric_reached(ops, NAN, 0.759));
    assert_false(
        metric_reached(&(struct metric_ops){.direction = METRIC_LOWER_IS_BETTER}, 0.06, 0.058));
    assert_true(
        metric_reached(&(struct metric_ops){.direction = METRIC_LOWER_IS_BETTER}, 0.058, 0.058));
}

static void check_epochs(struct eval_schedule s, const char *expected)
{
    struct str got = STR_INIT;

    assert_int_equal(eval_schedule_check(&s), 0);
    str_add(&got, "");
    for (long long e = 1; e <= 12; e++)
        if (eval_is_due(&s, e))
            str_printf(&got, "%lld ", e);
    assert_string_equal(got.s, expected);
    str_release(&got);
}

static void test_eval_schedule(void **state)
{
    (void)state;
    check_epochs((struct eval_schedule){0}, "1 2 3 4 5 6 7 8 9 10 11 12 ");
    check_epochs((struct eval_schedule){.every = 4}, "4 8 12 ");
    check_epochs((struct eval_schedule){.every = 4, .offset = 1}, "1 5 9 ");
    check_epochs((struct eval_schedule){.every = 4, .offset = 3}, "3 7 11 ");
    check_epochs((struct eval_schedule){.every = 4, .offset = 4, .last = 10}, "4 8 10 12 ");
    check_epochs((struct eval_schedule){.every = 20, .offset = 2}, "2 ");
}

static void test_eval_blocks(void **state)
{
    const struct eval_schedule s = {.every = 4, .offset = 3, .last = 9};

    (void)state;
    assert_int_equal(eval_block_epochs(&s, 1), 3);
    assert_int_equal(eval_block_epochs(&s, 4), 4);
    assert_int_equal(eval_block_epochs(&s, 8), 2);
}

static void test_eval_schedule_refusals(void **state)
{
    (void)state;
    assert_int_equal(eval_schedule_check(&(struct eval_schedule){.every = 4, .offset = 5}),
                     E_USAGE);
    assert_int_equal(eval_schedule_check(&(struct eval_schedule){.every = 4, .offset = -1}),
                     E_USAGE);
    assert_int_equal(eval_schedule_check(&(struct eval_schedule){.every = -4}), E_USAGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_top1_counts),
        cmocka_unit_test(test_padding_never_counts),
        cmocka_unit_test(test_first_of_equal_scores_wins),
        cmocka_unit_test(test_nan_and_unreadable_samples_are_wrong),
        cmocka_unit_test(test_label_out_of_range),
        cmocka_unit_test(test_merge_is_exact),
        cmocka_unit_test(test_target_is_compared_exactly),
        cmocka_unit_test(test_eval_schedule),
        cmocka_unit_test(test_eval_blocks),
        cmocka_unit_test(test_eval_schedule_refusals),
    };

    return cmocka_run_group_tests_name("eval", tests, NULL, NULL);
}
