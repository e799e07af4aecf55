/* The search of learning rate and batch on made models of training: a valley over the logarithm of
 * the rate with an edge beyond which it diverges, whose place depends on batch and budget. `# `
 * lines give the numbers. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/random.h"
#include "verdict/rate_search.h"

enum { SEEDS = 200 };

struct model {
    const char *name;
    double best_rate; /* for batch 64 and a budget of 9 */
    double depth;     /* loss for a factor of ten beside it */
    double edge;      /* factor above the best rate where it diverges */
    double noise;
    double bias;  /* the best rate goes with budget to this power */
    int largest;  /* batch that fits; 0: all */
    int critical; /* batch beyond which more brings nothing; 0: none */
};

static double best_rate(const struct model *m, int batch, double budget)
{
    const double part = m->critical && batch > m->critical ? m->critical : batch;

    return m->best_rate * part / 64 * pow(budget / 9, m->bias);
}

/* What a trial gives without noise; infinite: diverges. */
static double loss(const struct model *m, int batch, double rate, double budget)
{
    const double best = best_rate(m, batch, budget), x = log10(rate / best);
    const double late = m->critical && batch > m->critical ? 0.3 * log2(batch / m->critical) : 0;

    return rate > m->edge * best ? INFINITY : 1 + late + m->depth * x * x + 1 / budget;
}

static struct rate_reading train(const struct model *m, const struct rate_ask *a,
                                 struct random_key key, uint64_t i)
{
    const double l = loss(m, a->batch, a->rate, a->budget);

    if (m->largest && a->batch > m->largest)
        return (struct rate_reading){.end = TRIAL_NO_MEMORY};
    if (!isfinite(l))
        return (struct rate_reading){.end = TRIAL_DIVERGED};
    return (struct rate_reading){.quality = l + m->noise * random_normal(key, i),
                                 .seconds = (a->budget - a->done) * (1 + 64.0 / a->batch)};
}

static struct rate_search *new_search(const struct rate_settings *set)
{
    struct rate_search *s;

    if (rate_search_new(set, &s) < 0)
        fail_msg("%s", err_reason());
    return s;
}

/* Runs to the end; what is asked must be in order. */
static void drive(struct rate_search *s, const struct model *m, uint64_t seed)
{
    const struct random_key key = {.seed = seed, .purpose = RANDOM_TEST};
    struct rate_ask a;
    int asks = 0;

    while (rate_search_ask(s, &a)) {
        const struct rate_reading r = train(m, &a, key, (uint64_t)asks);

        assert_in_range(++asks, 1, RATE_TRIALS * 3);
        assert_true(a.budget > a.done && a.why[0]);
        rate_search_tell(s, &r);
    }
}

/* Of the true best of the batch chosen: the rate within a factor, or the loss within the noise. */
static int is_good(const struct model *m, const struct rate_result *r)
{
    const double best = best_rate(m, r->batch, 9);

    return fabs(log(r->rate / best)) <= log(1.2) ||
           loss(m, r->batch, r->rate, 9) - loss(m, r->batch, best, 9) <= m->noise;
}

static void check_model(const struct model *m, int max_batch, int min_good)
{
    int good = 0, near = 0;
    double spent = 0, batches = 0;

    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        /* The start is anywhere within a factor of ten. */
        const struct random_key key = {.seed = seed, .purpose = RANDOM_TEST, .epoch = 1};
        const double off = pow(10, 2 * random_uniform(key, 0) - 1);
        struct rate_search *const s = new_search(&(struct rate_settings){
            .rate = m->best_rate * off, .batch = 64, .max_batch = max_batch, .noise = m->noise});
        struct rate_result r;

        drive(s, m, seed);
        if (rate_search_result(s, &r) < 0)
            fail_msg("%s: %s", m->name, err_reason());
        good += is_good(m, &r);
        near += fabs(log(r.rate / best_rate(m, r.batch, 9))) <= log(1.2);
        spent += r.spent / SEEDS;
        batches += log2(r.batch) / SEEDS;
        rate_search_free(s);
    }
    printf(
        "# %-20s %3d of %d good, %3d within 20 %% of the rate, batch %.0f; budget %.0f, a grid's "
        "%.0f\n",
        m->name, good, SEEDS, near, exp2(batches), spent,
        9 * log(1e5) / log(1.1) * (log2(max_batch / 64) + 1));
    assert_true(good >= min_good);
}

static void test_valleys(void **state)
{
    static const struct model models[] = {
        {.name = "valley", .best_rate = 0.1, .depth = 1, .edge = 5},
        {.name = "noise", .best_rate = 0.1, .depth = 1, .edge = 5, .noise = 0.01},
        {.name = "more noise", .best_rate = 0.1, .depth = 1, .edge = 5, .noise = 0.05},
        {.name = "edge at the best", .best_rate = 3, .depth = 1, .edge = 1.3, .noise = 0.01},
        {.name = "short trials lie",
         .best_rate = .1,
         .depth = 1,
         .edge = 5,
         .noise = .01,
         .bias = .3},
        {.name = "flat", .best_rate = 0.1, .depth = 0.01, .edge = 20, .noise = 0.02},
        {.name = "narrow", .best_rate = 1e-4, .depth = 20, .edge = 2, .noise = 0.01},
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(models); i++)
        check_model(&models[i], 64, models[i].noise > 0 ? 190 : 200);
}

static void test_batches(void **state)
{
    static const struct model models[] = {
        {.name = "all batches", .best_rate = .1, .depth = 1, .edge = 5, .noise = .01},
        {.name = "no memory over 200",
         .best_rate = .1,
         .depth = 1,
         .edge = 5,
         .noise = .01,
         .largest = 200},
        {.name = "one batch fits",
         .best_rate = .1,
         .depth = 1,
         .edge = 5,
         .noise = .01,
         .largest = 64},
        {.name = "start too large",
         .best_rate = .1,
         .depth = 1,
         .edge = 5,
         .noise = .01,
         .largest = 20},
        {.name = "critical 256",
         .best_rate = .1,
         .depth = 1,
         .edge = 5,
         .noise = .01,
         .critical = 256},
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(models); i++)
        check_model(&models[i], 1024, 186);
}

static const struct model plain = {
    .name = "plain", .best_rate = 0.1, .depth = 1, .edge = 5, .noise = 0.01};
static const struct rate_settings around = {.rate = 0.1, .batch = 64};

/* The sizes that do not fit are met once each, and larger ones never. */
static void test_memory_is_remembered(void **state)
{
    struct model m = plain;
    struct rate_settings set = around;
    const struct rate_trial *t;
    int above = 0;

    (void)state;
    m.largest = 200;
    set.max_batch = 4096;
    set.noise = m.noise;
    struct rate_search *const s = new_search(&set);

    drive(s, &m, 1);
    for (int i = 0, n = rate_search_trials(s, &t); i < n; i++) {
        assert_in_range(t[i].batch, 64, 256);
        above += t[i].end == TRIAL_NO_MEMORY;
    }
    assert_int_equal(above, 1);
    rate_search_free(s);
}

/* The first trials of a batch twice as large: the best rate so far times two and its root. */
static void test_rate_goes_with_batch(void **state)
{
    struct rate_settings set = around;
    const struct rate_trial *t;
    struct rate_search *const s = new_search(&set);
    struct rate_search *larger;
    struct rate_result r;
    int n;

    (void)state;
    drive(s, &plain, 1);
    assert_int_equal(rate_search_result(s, &r), 0);
    set.max_batch = 128;
    larger = new_search(&set);
    drive(larger, &plain, 1);
    n = rate_search_trials(larger, &t);
    for (int i = 0, seen = 0; i < n && seen < 2; i++)
        if (t[i].batch == 128)
            assert_true(fabs(t[i].rate / r.rate - (seen++ ? 2 : sqrt(2))) < 1e-9);
    assert_int_equal(t[n - 1].batch, 128);
    rate_search_free(s);
    rate_search_free(larger);
}

static void test_divergence_is_not_tried_larger(void **state)
{
    struct model m = plain;
    const struct rate_trial *t;
    struct rate_search *const s = new_search(&around);

    (void)state;
    m.edge = 1.2;
    drive(s, &m, 1);
    for (int i = 0, n = rate_search_trials(s, &t); i < n; i++) {
        if (t[i].rate > 1.5)
            assert_true(t[i].budget <= 0);
        if (t[i].end == TRIAL_DIVERGED)
            assert_true(t[i].budget <= 1);
    }
    rate_search_free(s);
}

static int tell_all(const struct rate_reading *reading, struct rate_search *s)
{
    struct rate_ask a;
    int n = 0;

    for (; rate_search_ask(s, &a); n++)
        rate_search_tell(s, reading);
    return n;
}

static void test_hopeless(void **state)
{
    static const struct {
        enum trial_end end;
        int code, asks;
        const char *says;
    } cases[] = {
        /* 0.0001, then six powers of ten below */
        {TRIAL_DIVERGED, E_NUMERIC, 7, "down to 1e-10 diverged"},
        /* batches 64, 32 ... 1 */
        {TRIAL_NO_MEMORY, E_UNSUPPORTED, 7, "even a batch of 1"},
        {TRIAL_FAILED, E_UNSUPPORTED, 6, "no trial ran"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct rate_search *const s = new_search(&around);
        struct rate_result r;

        assert_int_equal(tell_all(&(struct rate_reading){.end = cases[i].end}, s), cases[i].asks);
        assert_int_equal(rate_search_result(s, &r), cases[i].code);
        assert_non_null(strstr(err_reason(), cases[i].says));
        rate_search_free(s);
    }
}

/* Where the rate changes nothing, the start stays. */
static void test_all_alike(void **state)
{
    struct rate_search *const s = new_search(&around);
    struct rate_result r;

    (void)state;
    /* six rates, three budgets */
    assert_int_equal(tell_all(&(struct rate_reading){.quality = 1}, s), 18);
    assert_int_equal(rate_search_result(s, &r), 0);
    assert_true(r.rate == around.rate);
    assert_string_equal(r.end, "all rates did equally well");
    rate_search_free(s);
}

/* Accuracy is loss turned round: the same trials. */
static void test_accuracy(void **state)
{
    struct rate_settings set = around;
    struct rate_search *s[2];
    struct rate_ask a[2];

    (void)state;
    for (int i = 0; i < 2; i++) {
        set.goal = i ? RATE_ACCURACY : RATE_LOSS;
        s[i] = new_search(&set);
    }
    while (rate_search_ask(s[0], &a[0])) {
        struct rate_reading r = train(&plain, &a[0], (struct random_key){.seed = 5}, 0);

        assert_int_equal(rate_search_ask(s[1], &a[1]), 1);
        assert_true(a[0].rate == a[1].rate && a[0].budget == a[1].budget);
        assert_string_equal(a[0].why, a[1].why);
        rate_search_tell(s[0], &r);
        r.quality = -r.quality;
        rate_search_tell(s[1], &r);
    }
    assert_int_equal(rate_search_ask(s[1], &a[1]), 0);
    rate_search_free(s[0]);
    rate_search_free(s[1]);
}

static void test_table(void **state)
{
    struct rate_search *const s = new_search(&around);
    struct str t = STR_INIT;

    (void)state;
    drive(s, &plain, 1);
    rate_search_add_table(s, &t);
    assert_non_null(strstr(t.s, "diverged  powers of ten around 0.1"));
    assert_non_null(strstr(t.s, "is the best so far; a step of 1.33 above"));
    assert_non_null(strchr(t.s, '*'));
    str_release(&t);
    rate_search_free(s);
}

static void test_nonsense_ends(void **state)
{
    (void)state;
    for (uint64_t round = 0; round < 300; round++) {
        struct random_stream draw =
            random_stream((struct random_key){.purpose = RANDOM_TEST}, round);
        struct rate_settings set = {.rate = exp(40 * random_next_uniform(&draw) - 20),
                                    .batch = 1 + (int)(random_next(&draw) % 100),
                                    .n_rungs = 1 + (int)(round % RATE_RUNGS),
                                    .noise = round % 3 ? random_next_uniform(&draw) : 0};
        struct rate_result r;
        struct rate_ask a;
        int n = 0;

        set.max_batch = set.batch * (1 + (int)(random_next(&draw) % 100));
        struct rate_search *const s = new_search(&set);

        for (; rate_search_ask(s, &a); n++) {
            const double u = random_next_uniform(&draw);

            assert_true(a.rate > 0 && isfinite(a.rate) && a.budget > a.done);
            assert_in_range(a.batch, 1, set.max_batch);
            rate_search_tell(s, &(struct rate_reading){
                                    .end = u < 0.1 ? (enum trial_end)(random_next(&draw) % 4) : 0,
                                    .quality = round % 5 == 0   ? 1
                                               : round % 5 == 1 ? -n
                                               : u > 0.95       ? NAN
                                                                : exp(100 * u - 50),
                                    .seconds = round % 2 ? u : NAN});
        }
        assert_in_range(n, 1, RATE_TRIALS * set.n_rungs);
        if (rate_search_result(s, &r) == 0)
            assert_true(isfinite(r.quality) && r.rate > 0);
        rate_search_free(s);
    }
}

static void test_refuses(void **state)
{
    static const struct rate_settings wrong[] = {
        {.rate = 0, .batch = 1},
        {.rate = NAN, .batch = 1},
        {.rate = 1},
        {.rate = 1, .batch = 8, .max_batch = 4},
        {.rate = 1, .batch = 8, .growth = 1.1},
        {.rate = 1, .batch = 8, .n_rungs = RATE_RUNGS + 1},
        {.rate = 1, .batch = 8, .decades_up = 10},
        {.rate = 1, .batch = 8, .noise = -1},
    };
    struct rate_search *s;

    (void)state;
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        assert_int_equal(rate_search_new(&wrong[i], &s), E_USAGE);
        assert_null(s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_valleys),
        cmocka_unit_test(test_batches),
        cmocka_unit_test(test_memory_is_remembered),
        cmocka_unit_test(test_rate_goes_with_batch),
        cmocka_unit_test(test_divergence_is_not_tried_larger),
        cmocka_unit_test(test_hopeless),
        cmocka_unit_test(test_all_alike),
        cmocka_unit_test(test_accuracy),
        cmocka_unit_test(test_table),
        cmocka_unit_test(test_nonsense_ends),
        cmocka_unit_test(test_refuses),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
