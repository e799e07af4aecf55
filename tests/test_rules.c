/* The ruleset as data. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/str.h"
#include "rules/ruleset.h"

static const struct rule_benchmark *resnet(void)
{
    const struct ruleset *r = ruleset_find("4.0.0");

    assert_non_null(r);
    assert_null(ruleset_find("0.0.0"));
    assert_null(ruleset_benchmark(r, "minesweeper"));
    return ruleset_benchmark(r, "resnet");
}

static const struct rule_setting closed_lars[] = {
    {"opt_name", 0, "lars"},
    {"global_batch_size", 3264, NULL},
    {"gradient_accumulation_steps", 1, NULL},
    {"target", 0.759, NULL},
    {"train_samples", 1281167, NULL},
    {"eval_samples", 50000, NULL},
    {"model_image_size", 224, NULL},
    {"model_classes", 1000, NULL},
    {"eval_every", 4, NULL},
    {"eval_offset", 3, NULL},
    {"label_smoothing", 0.1, NULL},
    {"lars_opt_base_learning_rate", 10.5, NULL},
    {"lars_opt_end_learning_rate", 0.0001, NULL},
    {"lars_opt_learning_rate_decay_poly_power", 2, NULL},
    {"lars_opt_learning_rate_decay_steps", 14523, NULL},
    {"lars_epsilon", 0, NULL},
    {"lars_opt_learning_rate_warmup_epochs", 2, NULL},
    {"lars_opt_momentum", 0.9, NULL},
    {"lars_opt_weight_decay", 5e-5, NULL},
};

static const struct rule_setting closed_sgd[] = {
    {"opt_name", 0, "sgd"},
    {"global_batch_size", 256, NULL},
    {"gradient_accumulation_steps", 1, NULL},
    {"target", 0.76, NULL},
    {"train_samples", 1281167, NULL},
    {"eval_samples", 50000, NULL},
    {"model_image_size", 224, NULL},
    {"model_classes", 1001, NULL},
    {"eval_every", 4, NULL},
    {"eval_offset", 4, NULL},
    {"label_smoothing", 0, NULL},
    {"sgd_opt_base_learning_rate", 0.128, NULL},
    {"sgd_opt_end_learning_rate", 0.0001, NULL},
    {"sgd_opt_learning_rate_decay_poly_power", 2, NULL},
    {"sgd_opt_learning_rate_decay_steps", 450000, NULL},
    {"sgd_opt_weight_decay", 2e-4, NULL},
    {"sgd_opt_momentum", 0.9, NULL},
    {"model_bn_span", 32, NULL},
    {"opt_learning_rate_warmup_epochs", 5, NULL},
};

static void check_all(const struct rule_setting *s, size_t n)
{
    struct str words = STR_INIT;
    const size_t bad = rules_deviations(resnet(), s, n, &words);

    if (bad)
        fail_msg("%zu deviations: %s", bad, words.s);
    assert_string_equal(rules_division(bad), "closed");
}

static void test_closed_settings_pass(void **state)
{
    (void)state;
    check_all(closed_lars, COUNT_OF(closed_lars));
    check_all(closed_sgd, COUNT_OF(closed_sgd));
}

/* Changes one setting; the answer must be exactly one deviation, in these words. */
static void deviates(const struct rule_setting *base, struct rule_setting changed,
                     const char *expected)
{
    struct rule_setting s[COUNT_OF(closed_lars)];
    struct str words = STR_INIT;
    int found = 0;

    for (size_t i = 0; i < COUNT_OF(s); i++) {
        s[i] = base[i];
        if (strcmp(s[i].key, changed.key) == 0) {
            s[i] = changed;
            found = 1;
        }
    }
    assert_true(found);
    assert_int_equal(rules_deviations(resnet(), s, COUNT_OF(s), &words), 1);
    assert_string_equal(words.s, expected);
    str_release(&words);
}

static void test_every_lars_deviation_is_named(void **state)
{
    (void)state;
    deviates(closed_lars,
             (struct rule_setting){"lars_opt_end_learning_rate", 9.999999747378752e-05, NULL},
             "lars_opt_end_learning_rate is 9.999999747e-05; the closed division wants 0.0001\n");
    deviates(closed_lars, (struct rule_setting){"lars_epsilon", 1e-7, NULL},
             "lars_epsilon is 1e-07; the closed division wants 0\n");
    deviates(closed_lars, (struct rule_setting){"lars_opt_weight_decay", 3e-4, NULL},
             "lars_opt_weight_decay is 0.0003; the closed division wants 0.0001 times a power of "
             "two\n");
    deviates(closed_lars, (struct rule_setting){"lars_opt_weight_decay", 0, NULL},
             "lars_opt_weight_decay is 0; the closed division wants 0.0001 times a power of two\n");
    deviates(closed_lars, (struct rule_setting){"lars_opt_learning_rate_decay_poly_power", 1, NULL},
             "lars_opt_learning_rate_decay_poly_power is 1; the closed division wants 2\n");
    deviates(closed_lars, (struct rule_setting){"lars_opt_momentum", 0.94, NULL},
             "lars_opt_momentum is 0.94; the closed division wants 0.9 for batches below 32768\n");
    deviates(closed_lars, (struct rule_setting){"target", 0.7589, NULL},
             "target is 0.7589; the closed division wants at least 0.759\n");
    deviates(closed_lars, (struct rule_setting){"eval_every", 1, NULL},
             "eval_every is 1; the closed division wants 4\n");
    deviates(closed_lars, (struct rule_setting){"eval_offset", 0, NULL},
             "eval_offset is 0; the closed division wants 1 to 4\n");
    deviates(closed_lars, (struct rule_setting){"label_smoothing", 0.2, NULL},
             "label_smoothing is 0.2; the closed division wants 0 or 0.1\n");
    deviates(closed_lars, (struct rule_setting){"train_samples", 60000, NULL},
             "train_samples is 60000; the closed division wants 1281167\n");
    deviates(closed_lars, (struct rule_setting){"opt_name", 0, "adam"},
             "opt_name is adam; the closed division wants sgd or lars\n");
    deviates(closed_lars, (struct rule_setting){"lars_opt_base_learning_rate", NAN, NULL},
             "lars_opt_base_learning_rate is nan; the closed division wants more than 0\n");
}

static void test_every_sgd_deviation_is_named(void **state)
{
    (void)state;
    deviates(closed_sgd, (struct rule_setting){"sgd_opt_base_learning_rate", 0.1285, NULL},
             "sgd_opt_base_learning_rate is 0.1285; the closed division wants a multiple of "
             "0.001\n");
    deviates(closed_sgd, (struct rule_setting){"opt_learning_rate_warmup_epochs", 2.5, NULL},
             "opt_learning_rate_warmup_epochs is 2.5; the closed division wants a whole number\n");
    deviates(closed_sgd, (struct rule_setting){"sgd_opt_momentum", 0.95, NULL},
             "sgd_opt_momentum is 0.95; the closed division wants 0.9\n");
    deviates(closed_sgd, (struct rule_setting){"model_bn_span", 0, NULL},
             "model_bn_span is 0; the closed division wants more than 0\n");
}

static void test_missing_setting_is_a_deviation(void **state)
{
    struct str words = STR_INIT;

    (void)state;
    assert_int_equal(rules_deviations(resnet(), closed_lars, COUNT_OF(closed_lars) - 1, &words), 1);
    assert_string_equal(words.s, "lars_opt_weight_decay is not set; the closed division wants "
                                 "0.0001 times a power of two\n");
    assert_string_equal(rules_division(1), "open");
    str_release(&words);
}

static void test_momentum_is_free_for_large_batches(void **state)
{
    struct rule_setting s[COUNT_OF(closed_lars)];

    (void)state;
    memcpy(s, closed_lars, sizeof(s));
    for (size_t i = 0; i < COUNT_OF(s); i++) {
        if (strcmp(s[i].key, "global_batch_size") == 0)
            s[i].number = 32768;
        if (strcmp(s[i].key, "lars_opt_momentum") == 0)
            s[i].number = 0.94;
    }
    check_all(s, COUNT_OF(s));
}

static void converges(long long batch, enum rule_convergence kind, const char *expected)
{
    struct str words = STR_INIT;

    assert_int_equal(rules_convergence(resnet(), batch, &words), kind);
    assert_string_equal(words.s, expected);
    str_release(&words);
}

static void test_reference_convergence(void **state)
{
    (void)state;
    converges(256, RULE_POINT_BELOW,
              "batch 256 has no reference convergence point; the smallest is 1632, and a closed "
              "result below it may not need fewer epochs than its floor of 33.80");
    converges(1632, RULE_POINT_EXACT,
              "batch 1632: the reference needs 35.00 epochs, the floor is 33.80");
    converges(3200, RULE_POINT_INTERPOLATED,
              "batch 3200 lies between two reference convergence points: interpolated, the "
              "reference needs 35.15 epochs, the floor is 34.25");
    converges(67840, RULE_POINT_EXACT,
              "batch 67840: the reference needs 85.85 epochs, the floor is 85.18");
    converges(67841, RULE_POINT_ABOVE,
              "batch 67841 has no reference convergence point; the largest is 67840, and a closed "
              "result above it needs new reference runs");
}

static void test_tables_make_sense(void **state)
{
    const struct rule_benchmark *b = resnet();

    (void)state;
    assert_true(b->target == 0.759);
    assert_int_equal(b->eval_every, 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_closed_settings_pass),
        cmocka_unit_test(test_every_lars_deviation_is_named),
        cmocka_unit_test(test_every_sgd_deviation_is_named),
        cmocka_unit_test(test_missing_setting_is_a_deviation),
        cmocka_unit_test(test_momentum_is_free_for_large_batches),
        cmocka_unit_test(test_reference_convergence),
        cmocka_unit_test(test_tables_make_sense),
    };

    return cmocka_run_group_tests_name("rules", tests, NULL, NULL);
}
