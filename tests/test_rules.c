/* The ruleset as data. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/str.h"
#include "rules/check.h"
#include "rules/rcp.h"
#include "rules/ruleset.h"
#include "rules/ruleset_parse.h"

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

static void converges(long long batch, enum rcp_kind kind, const char *expected)
{
    struct str words = STR_INIT;

    assert_int_equal(rcp_say_batch("4.0.0", "resnet", batch, &words), kind);
    assert_string_equal(words.s, expected);
    str_release(&words);
}

static void test_reference_convergence(void **state)
{
    (void)state;
    converges(256, RCP_BELOW,
              "batch 256 has no reference convergence point; the smallest is 1632, and a closed "
              "result below it may not need fewer epochs than its floor of 33.80");
    converges(1632, RCP_FOUND, "batch 1632: the reference needs 35.00 epochs, the floor is 33.80");
    converges(3200, RCP_INTERPOLATED,
              "batch 3200 lies between two reference convergence points: interpolated, the "
              "reference needs 35.15 epochs, the floor is 34.25");
    converges(67840, RCP_FOUND,
              "batch 67840: the reference needs 85.85 epochs, the floor is 85.18");
    converges(67841, RCP_ABOVE,
              "batch 67841 has no reference convergence point; the largest is 67840, and a closed "
              "result above it needs new reference runs");
}

/* ---- the files ---- */

static void test_every_round_loads(void **state)
{
    (void)state;
    for (const char *const *v = ruleset_versions(); *v; v++) {
        const struct ruleset *const r = ruleset_find(*v);
        struct str out = STR_INIT;

        assert_string_equal(r->version, *v);
        assert_ptr_equal(ruleset_find(*v), r);
        ruleset_print(r, &out);
        for (size_t i = 0; i < r->n_benchmarks; i++) {
            assert_true(r->benchmarks[i].n_runs > 0 && r->benchmarks[i].target > 0);
            ruleset_print_benchmark(r, &r->benchmarks[i], &out);
        }
        assert_true(out.len > 1000);
        str_release(&out);
    }
    assert_int_equal(ruleset_unknown("9.9.9"), E_USAGE);
    assert_non_null(strstr(err_reason(), "3.1.0, 4.0.0"));
}

/* Facts of the rounds, from the rules' tables. */
static void test_facts(void **state)
{
    (void)state;
    assert_true(ruleset_benchmark(ruleset_find("0.5.0"), "resnet")->target == 0.749);
    assert_true(resnet()->target == 0.759);
    assert_int_equal(resnet()->eval_every, 4);
    assert_int_equal(ruleset_benchmark(ruleset_find("1.0.0"), "unet3d")->n_runs, 40);
    assert_int_equal(ruleset_benchmark(ruleset_find("4.0.0"), "unet3d")->n_drop, 4);
    assert_int_equal(ruleset_benchmark(ruleset_find("1.1.0"), "ssd")->eval_at[7], 80);
    assert_int_equal(ruleset_benchmark(ruleset_find("2.0.0"), "ssd")->eval_every, 1);
    assert_true(ruleset_benchmark(ruleset_find("2.1.0"), "rnnt")->lower_is_better);
    assert_true(ruleset_benchmark(ruleset_find("2.1.0"), "minigo")->published_weights);
    assert_false(ruleset_benchmark(ruleset_find("4.0.0"), "resnet")->published_weights);
    assert_null(ruleset_benchmark(ruleset_find("4.0.0"), "maskrcnn"));
    assert_int_equal(ruleset_tensors(ruleset_find("2.1.0"), "bert")->n, 398);
    assert_int_equal(ruleset_tensors(ruleset_find("2.1.0"), "resnet")->n, 161);
    assert_string_equal(ruleset_tensors(ruleset_find("1.0.0"), "rnnt")->names[1], "post_rnn");
}

static const char *source(const char *version)
{
    return strcmp(version, "1.0.0") == 0   ? "ruleset 1.0.0\n[log]\na once > 0; opens\nb some\n"
                                             "[x]\nc once\nd once\n"
           : strcmp(version, "round") == 0 ? "from round\n"
                                           : NULL;
}

static void refused(const char *text, const char *words)
{
    struct ruleset *r = NULL;

    assert_int_equal(ruleset_parse("f", text, source, &r), E_DATA);
    assert_string_equal(err_reason(), words);
}

static void test_mistakes_are_named(void **state)
{
    (void)state;
    refused("", "f: a line \"ruleset VERSION\" is missing");
    refused("ruleset 1\n", "f: the first sheet is not [log]");
    refused("ruleset 1\n[log]\na\n", "f:3: how often must the key be there?");
    refused("ruleset 1\n[log]\na twice\n", "f:3: \"twice\" says not how often");
    refused("ruleset 1\n[log]\na at-least 0\n", "f:3: at-least COUNT");
    refused("ruleset 1\n[log]\na once > x\n", "f:3: expected a number, found \"x\"");
    refused("ruleset 1\n[log]\na once > 1 2\n",
            "f:3: expected \";\" or the end of the line, found \"2\"");
    refused("ruleset 1\n[log]\na once is odd\n", "f:3: expected integer, found \"odd\"");
    refused("ruleset 1\n[log]\na once after b\n",
            "f: a of [log] comes after or before b, which the sheet lacks");
    refused("ruleset 1\n[log]\na once tensors x\n",
            "f: a of [log] wants the tensors of x, of which there is no list");
    refused("ruleset 1\n[log]\na once > 0; opens\n[x]\nb once > 0; opens\n",
            "f: [x] is opened by a key of its own or of a sheet that it opens");
    refused("from 7\n", "f:1: there is no round 7");
    refused("from round\n", "round.rules:1: rounds build on one another without end");
    refused("ruleset 1\n[log]\na once = \"b\n", "f:3: a quotation that does not end");
    refused("ruleset 1\n[tensors x]\na{1..b}\n", "f:3: expected a range, such as {0..23}");
}

static void test_a_round_builds_on_another(void **state)
{
    struct ruleset *r = NULL;
    const struct rule_key *const *rows;
    size_t n;

    (void)state;
    assert_int_equal(
        ruleset_parse("f", "ruleset 2\nfrom 1.0.0\n[x]\nc dropped\ne some\n", source, &r), 0);
    assert_string_equal(r->version, "2");
    assert_int_equal(r->sheets[ruleset_sheet(r, "x")].n_keys, 2);
    assert_string_equal(r->sheets[ruleset_sheet(r, "x")].keys[0].name, "d");
    rows = ruleset_rows(r, ruleset_name(r, "a"), &n);
    assert_int_equal(n, 1);
    assert_int_equal(rows[0]->count, RULE_ONCE);
    assert_int_equal(ruleset_name(r, "c"), -1);
    ruleset_free(r);
}

static int count(void *context, const struct rule_finding *f)
{
    *(size_t *)context += f->severity == RULE_ERROR;
    return 0;
}

/* What an earlier sheet found of a key does not count when a later one names it, too. */
static void test_a_later_sheet_takes_back(void **state)
{
    static const char rules[] = "ruleset 1\nlines MLLOG\n[log]\na once opens\nb once > 5\n"
                                "[x]\nb any\n";
    static const char log[] =
        ":::MLLOG {\"time_ms\": 1, \"key\": \"b\", \"value\": 1, \"metadata\": {}}\n"
        ":::MLLOG {\"time_ms\": 1, \"key\": \"a\", \"value\": \"%c\", \"metadata\": {}}\n";
    struct ruleset *r = NULL;
    struct rule_verdict v;
    size_t n = 0;
    char text[512];

    (void)state;
    assert_int_equal(ruleset_parse("f", rules, NULL, &r), 0);
    snprintf(text, sizeof(text), log, 'x');
    assert_int_equal(
        rules_check_memory(text, strlen(text), r, &(struct rule_visitor){count, &n}, &v), 0);
    assert_int_equal(n, 0);
    snprintf(text, sizeof(text), log, 'y'); /* there is no such sheet, and b counts */
    assert_int_equal(
        rules_check_memory(text, strlen(text), r, &(struct rule_visitor){count, &n}, &v), 0);
    assert_int_equal(n, 2);
    ruleset_free(r);
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
        cmocka_unit_test(test_every_round_loads),
        cmocka_unit_test(test_facts),
        cmocka_unit_test(test_mistakes_are_named),
        cmocka_unit_test(test_a_round_builds_on_another),
        cmocka_unit_test(test_a_later_sheet_takes_back),
    };

    return cmocka_run_group_tests_name("rules", tests, NULL, NULL);
}
