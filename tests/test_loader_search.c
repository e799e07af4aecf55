/* The search of the input pipeline against the exhaustive grids of models that are made up or
 * recorded, under multiplicative noise. `# ` lines give the numbers. */
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
#include "loader_models.h"
#include "verdict/loader_search.h"

enum { SEEDS = 200 };

struct outcome {
    int probes, max_probes;
    double share; /* true rate of the choice / best of the grid */
};

static struct loader_search *new_search(const struct search_space *space,
                                        const struct loader_settings *set)
{
    struct loader_search *s;

    if (loader_search_new(space, set, &s) < 0)
        fail_msg("%s", err_reason());
    return s;
}

static double settings_of(const struct search_space *space)
{
    double n = 1;

    for (int d = 0; d < space->n_dims; d++)
        n *= space->dim[d].max - space->dim[d].min + 1;
    return n;
}

/* One answer of the search, checked: inside, with a reason, not above what failed. 0: finished. */
static int next_point(struct loader_search *s, const struct search_space *space,
                      struct search_point *p)
{
    const struct loader_step *step;
    const int n = loader_search_steps(s, &step);
    const char *why;

    if (!loader_search_ask(s, p, &why))
        return 0;
    assert_in_range(n, 0, LOADER_PROBES - 1);
    assert_true(search_point_inside(space, *p));
    assert_true(why[0] != 0);
    for (int i = 0; i < n; i++)
        if (step[i].reading.failed)
            assert_false(search_point_above(space, *p, step[i].point));
    return 1;
}

/* Measures the model with noise until the search ends. */
static void drive(struct loader_search *s, const struct loader_model *m, double noise,
                  uint64_t seed)
{
    const struct random_key key = {.seed = seed, .purpose = RANDOM_TEST};
    struct search_point p;

    for (uint64_t i = 0; next_point(s, &m->space, &p); i++) {
        const double rate = m->rate(m, p);

        loader_search_tell(
            s, &(struct loader_reading){.rate = rate * exp(noise * random_normal(key, i)),
                                        .failed = rate <= 0});
    }
}

/* From the smallest settings, with a tenth of the grid. */
static struct outcome search(const struct loader_model *m, double best, double noise, uint64_t seed)
{
    const double tenth = settings_of(&m->space) / 10;
    struct loader_settings set = {.noise = noise,
                                  .max_probes = tenth < LOADER_PROBES ? (int)tenth : LOADER_PROBES};
    struct loader_result r;

    for (int d = 0; d < m->space.n_dims; d++)
        set.start.v[d] = m->space.dim[d].min;
    struct loader_search *const s = new_search(&m->space, &set);

    drive(s, m, noise, seed);
    assert_int_equal(loader_search_result(s, &r), 0);
    loader_search_free(s);
    return (struct outcome){r.n_probes, set.max_probes, m->rate(m, r.point) / best};
}

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* How many of the seeds end within 3 % of the best; all within the allowed probes. */
static int successes(const struct loader_model *m, double noise, int seeds)
{
    int good = 0, sum = 0, allowed = 0, n;
    const double best = loader_model_best(m, &n);
    double share[SEEDS];

    for (int i = 0; i < seeds; i++) {
        const struct outcome o = search(m, best, noise, (uint64_t)i);

        assert_in_range(o.probes, 1, o.max_probes);
        share[i] = o.share;
        good += o.share >= 0.97;
        sum += o.probes;
        allowed = o.max_probes;
    }
    qsort(share, (size_t)seeds, sizeof(*share), by_size);
    printf("# %-16s noise %.0f %%: %3d of %d within 3 %%, worst %.1f %%, median %.1f %% off; "
           "%.1f probes on average, %d allowed, grid %d\n",
           m->name, 100 * noise, good, seeds, 100 * (1 - share[0]), 100 * (1 - share[seeds / 2]),
           (double)sum / seeds, allowed, n);
    return good;
}

/* TEST_LONG=1: all seeds at each noise. The floors are per model, in hundredths (loader_models.c).
 */
static void test_models(void **state)
{
    static const double noises[] = {0.02, 0.01, 0.05};
    const int is_long = getenv("TEST_LONG") != NULL, seeds = is_long ? SEEDS : SEEDS / 4;

    (void)state;
    for (int i = 0; i < n_loader_models; i++)
        for (int k = 0; k < (is_long ? 3 : 1); k++) {
            const int good = successes(&loader_models[i], noises[k], seeds);

            if (100 * good < loader_models[i].floor[k] * seeds)
                fail_msg("%s: %d of %d", loader_models[i].name, good, seeds);
        }
}

static const struct loader_model *model(const char *name)
{
    for (int i = 0; i < n_loader_models; i++)
        if (!strcmp(loader_models[i].name, name))
            return &loader_models[i];
    fail_msg("no model %s", name);
    return NULL;
}

static struct loader_result result_of(const struct loader_model *m,
                                      const struct loader_settings *set)
{
    struct loader_search *const s = new_search(&m->space, set);
    struct loader_result r;

    drive(s, m, set->noise, 7);
    assert_int_equal(loader_search_result(s, &r), 0);
    loader_search_free(s);
    return r;
}

static void test_ceiling_ends_it(void **state)
{
    const struct loader_model *const m = model("plateau");
    const struct loader_settings set = {.start = {{1, 1}}, .noise = 0.01, .ceiling = 3000};
    const struct loader_result r = result_of(m, &set);

    (void)state;
    assert_true(r.at_ceiling);
    assert_true(m->rate(m, r.point) >= 0.97 * 3000);
    assert_in_range(r.n_probes, 1, 16);
    assert_non_null(strstr(r.end, "ceiling"));
    assert_false(
        result_of(m, &(struct loader_settings){.start = {{1, 1}}, .ceiling = 9000}).at_ceiling);
}

static void test_equals_cost_least(void **state)
{
    const struct loader_result r =
        result_of(model("flat"), &(struct loader_settings){.start = {{32, 16}}, .noise = 0.001});

    (void)state;
    assert_in_range(r.point.v[0], 1, 2);
    assert_in_range(r.point.v[1], 1, 4);
    assert_true(fabs(r.rate / 500 - 1) < 0.01 && r.sd < 5);
}

static void test_any_start(void **state)
{
    static const struct search_point starts[] = {{{32, 16}}, {{5, 3}}, {{1, 16}}, {{32, 1}}};
    const struct loader_model *const m = model("no memory");
    int n;
    const double best = loader_model_best(m, &n);

    (void)state;
    for (size_t i = 0; i < COUNT_OF(starts); i++) {
        const struct loader_result r =
            result_of(m, &(struct loader_settings){.start = starts[i], .noise = 0.01});

        assert_true(m->rate(m, r.point) >= 0.97 * best);
    }
}

/* Who waited chooses what is doubled first, and stands in the reason. */
static void test_waits(void **state)
{
    const struct loader_model *const m = model("plateau");

    (void)state;
    for (int full = 0; full < 2; full++) {
        struct loader_search *const s =
            new_search(&m->space, &(struct loader_settings){.start = {{2, 2}}});
        struct search_point p;
        const char *why;

        assert_int_equal(loader_search_ask(s, &p, &why), 1);
        loader_search_tell(s, &(struct loader_reading){.rate = 100,
                                                       .has_waits = 1,
                                                       .consumer_waited = full ? 0.1 : 0.61,
                                                       .workers_waited = full ? 0.5 : 0.05});
        assert_int_equal(loader_search_ask(s, &p, &why), 1);
        assert_string_equal(
            why, full ? "prefetch 2 -> 4: data was the limit (the model waited 10 % of the time)"
                      : "threads 2 -> 4: data was the limit (the model waited 61 % of the time)");
        assert_int_equal(p.v[0], full ? 2 : 4);
        assert_int_equal(p.v[1], full ? 4 : 2);
        loader_search_free(s);
    }
}

static void test_nothing_can_be_run(void **state)
{
    const struct loader_model *const m = model("flat");
    struct loader_search *const s =
        new_search(&m->space, &(struct loader_settings){.start = {{32, 16}}});
    struct loader_result r;
    struct search_point p;
    int n = 0;

    (void)state;
    for (; next_point(s, &m->space, &p); n++)
        loader_search_tell(s, &(struct loader_reading){.failed = 1});
    assert_in_range(n, 2, 8);
    assert_int_equal(loader_search_result(s, &r), E_UNSUPPORTED);
    loader_search_free(s);
}

/* What is told may be nonsense: it ends, stays inside, and says something. */
static struct loader_reading nonsense(struct random_stream *draw, int kind, int i)
{
    const double u = random_next_uniform(draw);

    switch (kind) {
    case 0:
        return (struct loader_reading){.rate = 0};
    case 1:
        return (struct loader_reading){.rate = u < 0.5 ? NAN : u < 0.7 ? INFINITY : u};
    case 2:
        return (struct loader_reading){.rate = 1e9 / (i + 1)};
    case 3:
        return (struct loader_reading){.rate = u < 0.1 ? -1 : exp(60 * u - 30)};
    default:
        return (struct loader_reading){.rate = 10 * u, .failed = u < 0.2};
    }
}

static void test_nonsense_ends(void **state)
{
    (void)state;
    for (int round = 0; round < 40; round++) {
        const struct loader_model *const m = &loader_models[round % n_loader_models];
        struct random_stream draw =
            random_stream((struct random_key){.purpose = RANDOM_TEST}, (uint64_t)round);
        struct loader_settings set = {.max_probes = 1 + round};
        struct search_point p;
        int n = 0;

        for (int d = 0; d < m->space.n_dims; d++)
            set.start.v[d] = m->space.dim[d].min + (int)(random_next(&draw) % 8);
        struct loader_search *const s = new_search(&m->space, &set);
        struct loader_result r;

        for (; next_point(s, &m->space, &p); n++) {
            const struct loader_reading reading = nonsense(&draw, round % 5, n);

            loader_search_tell(s, &reading);
        }
        assert_in_range(n, 1, set.max_probes);
        assert_false(loader_search_ask(s, &p, &(const char *){NULL}));
        if (loader_search_result(s, &r) == 0)
            assert_true(search_point_inside(&m->space, r.point) && isfinite(r.rate));
        loader_search_free(s);
    }
}

static void test_same_words_twice(void **state)
{
    const struct loader_model *const m = model("dip");
    struct str text[2] = {STR_INIT, STR_INIT};

    (void)state;
    for (int i = 0; i < 2; i++) {
        struct loader_search *const s =
            new_search(&m->space, &(struct loader_settings){.start = {{1, 1}}});

        drive(s, m, 0.02, 3);
        loader_search_add_table(s, &text[i]);
        loader_search_free(s);
    }
    assert_string_equal(text[0].s, text[1].s);
    assert_non_null(strstr(text[0].s, "threads 1 -> 2"));
    str_release(&text[0]);
    str_release(&text[1]);
}

static void test_refuses(void **state)
{
    struct search_space space = model("flat")->space;
    struct loader_search *s;

    (void)state;
    assert_int_equal(loader_search_new(&space, &(struct loader_settings){.start = {{0, 1}}}, &s),
                     E_USAGE);
    assert_int_equal(
        loader_search_new(&space, &(struct loader_settings){.start = {{1, 1}}, .noise = NAN}, &s),
        E_USAGE);
    assert_int_equal(loader_search_new(&space,
                                       &(struct loader_settings){.start = {{1, 1}},
                                                                 .max_probes = LOADER_PROBES + 1},
                                       &s),
                     E_USAGE);
    space.dim[0].min = 0;
    assert_int_equal(loader_search_new(&space, &(struct loader_settings){.start = {{1, 1}}}, &s),
                     E_USAGE);
    assert_non_null(strstr(err_reason(), "threads"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_models),
        cmocka_unit_test(test_ceiling_ends_it),
        cmocka_unit_test(test_equals_cost_least),
        cmocka_unit_test(test_any_start),
        cmocka_unit_test(test_waits),
        cmocka_unit_test(test_nothing_can_be_run),
        cmocka_unit_test(test_nonsense_ends),
        cmocka_unit_test(test_same_words_twice),
        cmocka_unit_test(test_refuses),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
