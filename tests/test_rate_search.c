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

static void print_search(struct rate_search *s)
{
    struct str t = STR_INIT;

    rate_search_add_table(s, &t);
    for (char *line = t.s, *next; line && *line; line = next) {
        next = strchr(line, '\n') + 1;
        printf("# %.*s\n", (int)(next - line - 1), line);
    }
    str_release(&t);
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
        if (getenv("TRACE") && !is_good(m, &r))
            print_search(s), exit(1);
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
        check_model(&models[i], 64, 0);
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
        check_model(&models[i], 1024, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_valleys),
        cmocka_unit_test(test_batches),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
