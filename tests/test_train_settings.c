/* From options to the optimiser, the schedule and the evaluations: every option gets where it
 * matters. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/err.h"
#include "train/settings.h"

enum { STEPS_PER_EPOCH = 10 };

static void set(struct train_settings *s, const char *name, const char *value)
{
    const struct opt_row *const row = opt_find(&train_options, name);

    if (!row || opt_set(row, s, value, name) < 0)
        fail_msg("%s %s: %s", name, value, row ? err_reason() : "no such option");
}

/* Pairs of name and value up to a NULL, over the defaults. */
static struct train_settings settings(const char *const (*pairs)[2])
{
    struct train_settings s;

    opt_defaults(&train_options, &s);
    for (; (*pairs)[0]; pairs++)
        set(&s, (*pairs)[0], (*pairs)[1]);
    return s;
}
#define SETTINGS(...) settings((const char *const[][2]){__VA_ARGS__, {NULL, NULL}})

static void test_options_reach_the_optimiser(void **state)
{
    struct train_settings s =
        SETTINGS({"optimizer", "lars"}, {"momentum", "0.5"}, {"weight-decay", "0.25"},
                 {"nesterov", "yes"}, {"lars-eta", "0.125"}, {"lars-rate", "outside"},
                 {"epsilon", "0.75"}, {"beta1", "0.625"}, {"beta2", "0.375"}, {"clip-norm", "3"});
    struct optim o = train_optim(&s);

    (void)state;
    assert_int_equal(o.kind, OPTIMISER_lars);
    assert_true(o.momentum == 0.5 && o.weight_decay == 0.25 && o.eta == 0.125);
    assert_true(o.beta1 == 0.625 && o.beta2 == 0.375 && o.clip_norm == 3 && o.eps == 0.75);
    assert_int_equal(o.nesterov, 1);
    assert_int_equal(o.rate_outside, 1);
    set(&s, "lars-rate", "inside");
    assert_int_equal(train_optim(&s).rate_outside, 0);
    set(&s, "epsilon", "0");
    assert_true(train_optim(&s).eps == 0);
    opt_release(&train_options, &s);
}

static void test_options_reach_the_schedule(void **state)
{
    struct train_settings s =
        SETTINGS({"schedule", "polynomial"}, {"batch-size", "64"}, {"lr", "0.5"},
                 {"warmup-epochs", "0.5"}, {"epochs", "4"}, {"end-lr", "0.125"},
                 {"decay-power", "3"}, {"decay-factor", "0.25"}, {"decay-at", "1,2.5"});
    long long boundaries[MAX_BOUNDARIES];
    struct schedule out;

    (void)state;
    assert_int_equal(train_schedule(&s, STEPS_PER_EPOCH, boundaries, &out), 0);
    assert_int_equal(out.kind, SCHEDULE_POLYNOMIAL);
    assert_true(out.base == 0.5 && out.end == 0.125 && out.power == 3 && out.factor == 0.25);
    assert_int_equal(out.warmup, 5);
    assert_int_equal(out.total, 40);
    assert_int_equal(out.n_boundaries, 2);
    assert_int_equal(out.boundaries[0], 10);
    assert_int_equal(out.boundaries[1], 25);
    set(&s, "decay-epochs", "3");
    set(&s, "lr-batch", "256");
    assert_int_equal(train_schedule(&s, STEPS_PER_EPOCH, boundaries, &out), 0);
    assert_int_equal(out.total, 30);
    assert_true(out.base == 0.125); /* a quarter of the batch, a quarter of the rate */
    opt_release(&train_options, &s);
}

static void test_every_schedule_has_its_name(void **state)
{
    static const struct {
        const char *name;
        enum schedule_kind kind;
    } rows[] = {{"constant", SCHEDULE_CONSTANT},
                {"steps", SCHEDULE_STEPS},
                {"cosine", SCHEDULE_COSINE},
                {"polynomial", SCHEDULE_POLYNOMIAL}};

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct train_settings s = SETTINGS({"schedule", rows[i].name});
        long long boundaries[MAX_BOUNDARIES];
        struct schedule out;

        assert_int_equal(train_schedule(&s, STEPS_PER_EPOCH, boundaries, &out), 0);
        assert_int_equal(out.kind, rows[i].kind);
        opt_release(&train_options, &s);
    }
}

static void test_options_reach_the_evaluations(void **state)
{
    struct train_settings s = SETTINGS({"epochs", "9"}, {"eval-every", "4"}, {"eval-offset", "3"});
    const struct eval_schedule e = train_eval_schedule(&s);
    long long due[9], n = 0;

    (void)state;
    for (long long epoch = 1; epoch <= 9; epoch++)
        if (eval_is_due(&e, epoch))
            due[n++] = epoch;
    assert_int_equal(n, 3);
    assert_true(due[0] == 3 && due[1] == 7 && due[2] == 9);
    opt_release(&train_options, &s);
}

static void test_settings_that_contradict_are_refused(void **state)
{
    struct train_settings s = SETTINGS({"batch-size", "10"}, {"accumulate", "4"});
    long long boundaries[MAX_BOUNDARIES];
    struct schedule out;

    (void)state;
    assert_int_equal(train_settings_check(&s), E_USAGE);
    set(&s, "accumulate", "5");
    assert_int_equal(train_settings_check(&s), 0);
    set(&s, "eval-offset", "2");
    assert_int_equal(train_settings_check(&s), E_USAGE);
    set(&s, "decay-at", "1,x");
    assert_int_equal(train_schedule(&s, STEPS_PER_EPOCH, boundaries, &out), E_USAGE);
    set(&s, "decay-at", "2,1");
    assert_int_equal(train_schedule(&s, STEPS_PER_EPOCH, boundaries, &out), E_USAGE);
    opt_release(&train_options, &s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_options_reach_the_optimiser),
        cmocka_unit_test(test_options_reach_the_schedule),
        cmocka_unit_test(test_every_schedule_has_its_name),
        cmocka_unit_test(test_options_reach_the_evaluations),
        cmocka_unit_test(test_settings_that_contradict_are_refused),
    };

    return cmocka_run_group_tests_name("train settings", tests, NULL, NULL);
}
