/* The weights that a run starts from, against what the rules want of a benchmark: a made-up one of
 * each kind. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "workloads/workload.h"

static const struct rule_benchmark random_start = {.name = "random"};
static const struct rule_benchmark published_start = {.name = "published", .published_weights = 1};

/* One deviation more, in settings that have the seed 1. */
static const char *rules(const struct workload_settings *s, const struct task *t, struct str *out)
{
    (void)t;
    return rules_division(workload_start_deviations(&published_start, s, out) +
                          (s->train.seed == 1));
}

static const struct workload workload = {.name = "w", .ruleset = "4.0.0", .rules = rules};

static size_t deviations(const struct rule_benchmark *b, int from_weights, const char *says)
{
    const struct workload_settings s = {.from_weights = from_weights};
    struct str words = STR_INIT;
    const size_t n = workload_start_deviations(b, &s, &words);

    if (says)
        assert_non_null(strstr(words.s, says));
    else
        assert_int_equal(words.len, 0);
    str_release(&words);
    return n;
}

static void each_kind_and_the_other(void **state)
{
    (void)state;
    assert_int_equal(deviations(&random_start, 0, NULL), 0);
    assert_int_equal(deviations(&random_start, 1, "starts from given weights"), 1);
    assert_int_equal(deviations(&published_start, 1, NULL), 0);
    assert_int_equal(deviations(&published_start, 0, "wants the published"), 1);
}

/* Asked for where all else is closed; an open run may start as it likes. */
static void closed_run_without_them_is_refused(void **state)
{
    struct workload_settings s = {0};

    (void)state;
    assert_int_equal(workload_check_start(&workload, &published_start, &s, NULL), E_USAGE);
    assert_string_equal(err_reason(),
                        "in the closed division of ruleset 4.0.0 published starts from published "
                        "weights, and this run would start from random ones; give the published "
                        "ones with --init FILE");
    s.from_weights = 1;
    assert_int_equal(workload_check_start(&workload, &published_start, &s, NULL), 0);
    s.from_weights = 0;
    s.train.seed = 1;
    assert_int_equal(workload_check_start(&workload, &published_start, &s, NULL), 0);
    s.train.seed = 0;
    assert_int_equal(workload_check_start(&workload, &random_start, &s, NULL), 0);
    assert_int_equal(workload_check_start(&workload, NULL, &s, NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_kind_and_the_other),
        cmocka_unit_test(closed_run_without_them_is_refused),
    };

    return cmocka_run_group_tests_name("workload_start", tests, NULL, NULL);
}
