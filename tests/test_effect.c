/* What repeats can tell: against numbers worked out elsewhere (tests/golden/effect.py), and against
 * simulated repeats whose truth is known. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/random.h"
#include "verdict/effect.h"

#define NEAR(a, b, within) assert_true(fabs((a) - (b)) <= (within))

enum { MOST = 64, TRIALS = 20000 };

/* ---- against numbers from elsewhere ---- */

static void read_numbers(FILE *f, double *out, size_t n)
{
    for (size_t i = 0; i < n; i++)
        assert_int_equal(fscanf(f, "%lf", &out[i]), 1);
}

static void check_slowdown(FILE *f)
{
    double base[MOST], rates[MOST], want[4];
    struct effect_slowdown s;
    size_t n;

    assert_int_equal(fscanf(f, "%zu", &n), 1);
    read_numbers(f, base, n);
    read_numbers(f, rates, n);
    read_numbers(f, want, 4);
    s = effect_slowdown(base, rates, n);
    assert_int_equal(s.n, n);
    NEAR(s.ratio, want[0], 1e-12);
    NEAR(s.low, want[1], 1e-9);
    NEAR(s.high, want[2], 1e-9);
    NEAR(effect_smallest_difference(s.sd, s.n), want[3], 1e-9);
    assert_int_equal(s.told_apart, want[1] > 0 || want[2] < 0);
}

static void check_ranking(FILE *f)
{
    double values[MOST], w;
    struct effect_ranking r;
    size_t m, n, agreed;

    assert_int_equal(fscanf(f, "%zu %zu", &m, &n), 2);
    read_numbers(f, values, m * n);
    assert_int_equal(fscanf(f, "%lf %zu", &w, &agreed), 2);
    r = effect_ranking(values, m, n);
    NEAR(r.kendall_w, w, 1e-12);
    assert_int_equal(r.pairs, n * (n - 1) / 2);
    assert_int_equal(r.agreed, agreed);
}

static void test_golden(void **state)
{
    FILE *const f = fopen("tests/golden/effect.txt", "r");
    char kind[16];
    int n = 0;

    (void)state;
    assert_non_null(f);
    while (fscanf(f, "%15s", kind) == 1) {
        if (strcmp(kind, "slowdown") == 0)
            check_slowdown(f);
        else
            check_ranking(f);
        n++;
    }
    fclose(f);
    assert_int_equal(n, 16);
}

/* Three pairs by hand: slowdowns 0.1, 0.2 and 0.3, deviation 0.1, and the table's t(0.975, 2) =
 * 4.303, t(0.8, 2) = 1.061 (Abramowitz and Stegun, table 26.10; the latter from the closed form).
 */
static void test_by_hand(void **state)
{
    const double base[] = {100, 200, 10, NAN, 7}, rates[] = {90, 160, 7, 5, 0};
    const struct effect_slowdown s = effect_slowdown(base, rates, 5);
    const struct effect_spread v = effect_spread(base, 5);

    (void)state;
    assert_int_equal(s.n, 3);
    NEAR(s.ratio, 0.2, 1e-12);
    NEAR(s.high - s.low, 2 * 4.303 * 0.1 / sqrt(3), 1e-4);
    NEAR(effect_smallest_difference(s.sd, s.n), (4.303 + 1.061) * 0.1 / sqrt(3), 1e-4);
    assert_false(s.told_apart);
    assert_int_equal(v.n, 4);
    assert_true(v.least == 7 && v.most == 200 && v.mean == 317.0 / 4);
    NEAR(v.sd, 91.336, 0.001); /* of 20.75, 120.75, -69.25, -72.25 around the mean */
}

static void test_one_repeat_tells_nothing(void **state)
{
    const double base[] = {100}, rates[] = {50};
    const struct effect_slowdown s = effect_slowdown(base, rates, 1);

    (void)state;
    assert_true(s.ratio == 0.5 && isnan(s.low) && isnan(s.high) && !s.told_apart);
    assert_true(isnan(effect_smallest_difference(s.sd, 1)));
    assert_true(isnan(effect_smallest_of_all(&s, 1).ratio));
    assert_true(isnan(effect_spread(base, 0).mean) && isnan(effect_spread(base, 1).sd));
    assert_true(isnan(effect_ranking(rates, 1, 1).kendall_w));
    assert_int_equal(effect_ranking(rates, 1, 1).pairs, 0);
}

static void test_rankings(void **state)
{
    const double same[] = {1, 2, 2, 3, 10, 20, 20, 30}, reverse[] = {1, 2, 3, 3, 2, 1};
    const double gap[] = {1, 2, 3, 1, NAN, 3, 4, 5, 6};
    struct effect_ranking r = effect_ranking(same, 2, 4);

    (void)state;
    NEAR(r.kendall_w, 1, 1e-12); /* ties and all */
    assert_int_equal(r.pairs, 6);
    assert_int_equal(r.agreed, 5);
    r = effect_ranking(reverse, 2, 3);
    NEAR(r.kendall_w, 0, 1e-12);
    assert_int_equal(r.agreed, 0);
    r = effect_ranking(gap, 3, 3);
    assert_int_equal(r.repeats, 2);
    NEAR(r.kendall_w, 1, 1e-12);
    assert_int_equal(r.agreed, 3);
}

/* ---- simulated repeats ---- */

/* Box and Muller. */
static double normal(struct random_key key, uint64_t at)
{
    return sqrt(-2 * log(1 - random_uniform(key, 2 * at))) *
           cos(6.283185307179586 * random_uniform(key, 2 * at + 1));
}

/* The share of studies of n repeats that tell a condition that is slower by truth apart, with this
 * noise in every run, and drift from run to run: in every other repeat the baseline is last. */
struct simulated {
    size_t n;
    double truth, noise, drift;
};
static double told_apart(struct simulated c)
{
    int told = 0;

    for (uint64_t i = 0; i < TRIALS; i++) {
        const struct random_key key = {i, RANDOM_TEST, c.n};
        double base[MOST], rates[MOST];

        for (size_t k = 0; k < c.n; k++) {
            const double level = 100 * (1 + c.drift * (double)(2 * k));
            const int last = k % 2 == 1;
            base[k] = level * (1 + c.drift * last) * (1 + c.noise * normal(key, 2 * k));
            rates[k] = level * (1 + c.drift * !last) * (1 - c.truth) *
                       (1 + c.noise * normal(key, 2 * k + 1));
        }
        told += effect_slowdown(base, rates, c.n).told_apart;
    }
    return (double)told / TRIALS;
}

static void test_false_alarms(void **state)
{
    (void)state;
    for (size_t n = 2; n <= 10; n++) {
        const double share = told_apart((struct simulated){.n = n, .noise = 0.02});
        if (share < 0.04 || share > 0.06)
            fail_msg("%zu repeats: %.3f of conditions that change nothing are told apart", n,
                     share);
    }
    /* a machine that gets faster by 1 % from run to run: the order that turns round makes noise of
     * it, not an effect */
    assert_true(told_apart((struct simulated){.n = 4, .noise = 0.001, .drift = 0.01}) < 0.05);
}

/* A difference of the size that is said to be the smallest is found about four times out of five.
 */
static void test_smallest_difference(void **state)
{
    (void)state;
    for (size_t n = 3; n <= 10; n++) {
        const double noise = 0.01, truth = effect_smallest_difference(noise * sqrt(2), n);
        const double share = told_apart((struct simulated){.n = n, .noise = noise, .truth = truth});
        print_message("# %zu repeats, smallest difference %.4f: found in %.3f\n", n, truth, share);
        if (share < 0.75 || share > 0.85)
            fail_msg("%zu repeats: a difference of %.4f is found in %.3f", n, truth, share);
    }
}

static void test_smallest_of_all(void **state)
{
    const struct effect_slowdown all[] = {
        {.n = 3, .sd = 0.03}, {.n = 1, .sd = NAN}, {.n = 4, .sd = 0.04}};

    (void)state;
    assert_int_equal(effect_smallest_of_all(all, 3).n, 3);
    NEAR(effect_smallest_of_all(all, 3).ratio, effect_smallest_difference(sqrt(0.00125), 3), 1e-15);
}

/* ---- the choice ---- */

static struct effect_offer offer(double gain, double ratio, double half)
{
    return (struct effect_offer){
        gain, {.n = 3, .ratio = ratio, .low = ratio - half, .high = ratio + half}};
}

static void test_choice(void **state)
{
    const struct effect_offer offers[] = {
        offer(50, 0.001, 0.005), offer(100, 0.004, 0.005), offer(200, 0.008, 0.02),
        offer(800, 0.2, 0.01),   offer(NAN, -1, 0),        offer(900, NAN, NAN),
    };
    struct effect_choice c = effect_choose(offers, COUNT_OF(offers), 0.01);

    (void)state;
    assert_int_equal(c.certainty, EFFECT_SURE);
    assert_int_equal(c.at, 1);
    c = effect_choose(offers + 2, 4, 0.01);
    assert_int_equal(c.certainty, EFFECT_LIKELY);
    assert_int_equal(c.at, 0);
    assert_int_equal(effect_choose(offers + 3, 3, 0.01).certainty, EFFECT_NONE);
    assert_int_equal(effect_choose(offers, 0, 0.01).certainty, EFFECT_NONE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_golden),
        cmocka_unit_test(test_by_hand),
        cmocka_unit_test(test_one_repeat_tells_nothing),
        cmocka_unit_test(test_rankings),
        cmocka_unit_test(test_false_alarms),
        cmocka_unit_test(test_smallest_difference),
        cmocka_unit_test(test_smallest_of_all),
        cmocka_unit_test(test_choice),
    };

    return cmocka_run_group_tests_name("effect", tests, NULL, NULL);
}
