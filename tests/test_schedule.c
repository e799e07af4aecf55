/* Learning rates against closed forms. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "optim/schedule.h"

struct row {
    long long step;
    double rate;
};

static void check_rows(const struct schedule *s, const struct row *rows, size_t n)
{
    assert_int_equal(schedule_check(s), 0);
    for (size_t i = 0; i < n; i++) {
        const double got = schedule_rate(s, rows[i].step);
        if (fabs(got - rows[i].rate) > 1e-6)
            fail_msg("step %lld: rate %.9g, expected %.9g", rows[i].step, got, rows[i].rate);
    }
}
#define CHECK_ROWS(s, ...)                                                                         \
    do {                                                                                           \
        const struct row rows_[] = {__VA_ARGS__};                                                  \
        check_rows(&(s), rows_, COUNT_OF(rows_));                                                  \
    } while (0)

/* 10 steps an epoch, 2 epochs of warm-up, 5 in all; decay length 50 - 20 + 1 = 31. */
static void test_polynomial(void **state)
{
    const struct schedule s = {.kind = SCHEDULE_POLYNOMIAL,
                               .base = 7.4,
                               .end = 1e-4,
                               .power = 2,
                               .warmup = 20,
                               .total = 50};
    const double span = 7.4 - 1e-4;
    const double t1 = 1.0 / 31, last = 29.0 / 31, after = 30.0 / 31;

    (void)state;
    CHECK_ROWS(s, {0, 0}, {1, 0.37}, {19, 7.03}, {20, 7.4}, {21, 1e-4 + span * (1 - t1) * (1 - t1)},
               {49, 1e-4 + span * (1 - last) * (1 - last)},
               {50, 1e-4 + span * (1 - after) * (1 - after)}, {51, 1e-4}, {52, 1e-4},
               {1000000, 1e-4});
    assert_true(schedule_rate(&s, 51) == 1e-4);
}

static void test_polynomial_powers(void **state)
{
    struct schedule s = {.kind = SCHEDULE_POLYNOMIAL, .base = 1, .end = 0, .power = 1, .total = 9};

    (void)state;
    CHECK_ROWS(s, {0, 1}, {1, 0.9}, {5, 0.5}, {9, 0.1}, {10, 0});
    s.power = 3;
    CHECK_ROWS(s, {0, 1}, {5, 0.125}, {10, 0});
    s.power = 0; /* no decay: x^0 is 1 */
    CHECK_ROWS(s, {0, 1}, {5, 1}, {10, 1});
}

static void test_no_warmup_starts_at_the_base_rate(void **state)
{
    (void)state;
    for (int kind = SCHEDULE_CONSTANT; kind <= SCHEDULE_POLYNOMIAL; kind++) {
        const struct schedule s = {.kind = (enum schedule_kind)kind, .base = 0.1, .total = 50};
        CHECK_ROWS(s, {0, 0.1});
    }
}

static void test_warmup_is_all(void **state)
{
    (void)state;
    for (int kind = SCHEDULE_CONSTANT; kind <= SCHEDULE_POLYNOMIAL; kind++) {
        const struct schedule s = {
            .kind = (enum schedule_kind)kind, .base = 5, .warmup = 50, .total = 50};
        CHECK_ROWS(s, {0, 0}, {1, 0.1}, {25, 2.5}, {49, 4.9}, {50, 5});
    }
}

static void test_constant(void **state)
{
    const struct schedule s = {.kind = SCHEDULE_CONSTANT, .base = 0.3, .warmup = 3};

    (void)state;
    CHECK_ROWS(s, {0, 0}, {1, 0.1}, {2, 0.2}, {3, 0.3}, {4, 0.3}, {999, 0.3});
}

static void test_steps(void **state)
{
    static const long long boundaries[] = {30, 60, 80};
    struct schedule s = {.kind = SCHEDULE_STEPS,
                         .base = 1,
                         .factor = 0.1,
                         .warmup = 5,
                         .total = 90,
                         .boundaries = boundaries,
                         .n_boundaries = 3};

    (void)state;
    CHECK_ROWS(s, {0, 0}, {1, 0.2}, {5, 1}, {29, 1}, {30, 0.1}, {59, 0.1}, {60, 0.01}, {79, 0.01},
               {80, 0.001}, {500, 0.001});
    s.factor = 0.5;
    s.warmup = 40; /* reaches over the first boundary */
    CHECK_ROWS(s, {29, 29.0 / 40}, {30, 0.5 * 30 / 40}, {40, 0.5}, {60, 0.25});
    s.factor = 0;
    CHECK_ROWS(s, {29, 29.0 / 40}, {30, 0}, {60, 0});
}

static void test_cosine(void **state)
{
    const struct schedule s = {
        .kind = SCHEDULE_COSINE, .base = 0.5, .end = 0.1, .warmup = 2, .total = 9};

    (void)state;
    CHECK_ROWS(s, {0, 0}, {1, 0.25}, {2, 0.5}, {3, 0.1 + 0.4 * (1 + cos(acos(-1.0) / 8)) / 2},
               {4, 0.1 + 0.2 * (1 + sqrt(0.5))}, {6, 0.3}, {8, 0.1 + 0.2 * (1 - sqrt(0.5))},
               {10, 0.1}, {99, 0.1});
}

static void test_refusals(void **state)
{
    static const long long falling[] = {30, 20};
    const struct schedule bad[] = {
        {.kind = SCHEDULE_POLYNOMIAL, .base = 1, .warmup = 11, .total = 10},
        {.kind = SCHEDULE_CONSTANT, .base = -1},
        {.kind = SCHEDULE_CONSTANT, .base = NAN},
        {.kind = SCHEDULE_COSINE, .base = 1, .end = INFINITY, .total = 10},
        {.kind = SCHEDULE_CONSTANT, .base = 1, .warmup = -1},
        {.kind = SCHEDULE_STEPS, .base = 1, .total = 50, .boundaries = falling, .n_boundaries = 2},
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        if (schedule_check(&bad[i]) != E_USAGE)
            fail_msg("schedule %zu was taken", i);
    assert_int_equal(schedule_check(&bad[0]), E_USAGE);
    assert_string_equal(err_reason(),
                        "a warm-up of 11 steps does not fit in a run of 10; shorten the warm-up");
}

static void test_scaling(void **state)
{
    (void)state;
    assert_true(schedule_scale(0.1, 1024, 256) == 0.4);
    assert_true(schedule_scale(0.1, 64, 256) == 0.025);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_polynomial),
        cmocka_unit_test(test_polynomial_powers),
        cmocka_unit_test(test_no_warmup_starts_at_the_base_rate),
        cmocka_unit_test(test_warmup_is_all),
        cmocka_unit_test(test_constant),
        cmocka_unit_test(test_steps),
        cmocka_unit_test(test_cosine),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_scaling),
    };

    return cmocka_run_group_tests_name("schedule", tests, NULL, NULL);
}
