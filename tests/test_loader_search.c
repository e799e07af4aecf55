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
    struct search_point point;
};

static struct loader_search *new_search(const struct search_space *space,
                                        const struct loader_settings *set)
{
    struct loader_search *s;

    if (loader_search_new(space, set, &s) < 0)
        fail_msg("%s", err_reason());
    return s;
}

/* Measures the model with noise until the search ends. */
static void drive(struct loader_search *s, const struct loader_model *m, double noise,
                  struct random_key key)
{
    struct search_point p;
    const char *why;

    for (uint64_t i = 0; loader_search_ask(s, &p, &why); i++) {
        const double rate = m->rate(m, p);

        assert_true(search_point_inside(&m->space, p));
        assert_true(why[0] != 0);
        loader_search_tell(
            s, &(struct loader_reading){.rate = rate * exp(noise * random_normal(key, i)),
                                        .failed = rate <= 0});
    }
}

static struct outcome search(const struct loader_model *m, double noise, uint64_t seed)
{
    const struct random_key key = {.seed = seed, .purpose = RANDOM_TEST};
    struct loader_settings set = {.noise = noise};
    struct loader_result r;
    struct outcome out;
    int n;
    const double best = loader_model_best(m, &n);

    set.max_probes = n / 10 < LOADER_PROBES ? n / 10 : LOADER_PROBES;
    for (int d = 0; d < m->space.n_dims; d++)
        set.start.v[d] = m->space.dim[d].min;
    struct loader_search *const s = new_search(&m->space, &set);

    drive(s, m, noise, key);
    assert_int_equal(loader_search_result(s, &r), 0);
    if (getenv("TRACE") && m->rate(m, r.point) / best < 0.97) {
        struct str t = {0};
        loader_search_add_table(s, &t);
        printf("%schosen %d %d rate %g end %s\n", t.s, r.point.v[0], r.point.v[1], r.rate, r.end);
        exit(0);
    }
    out = (struct outcome){r.n_probes, set.max_probes, m->rate(m, r.point) / best, r.point};
    loader_search_free(s);
    return out;
}

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* How many of the seeds end within 3 % of the best; all within the allowed probes. */
static int successes(const struct loader_model *m, double noise, int seeds)
{
    double share[SEEDS];
    int good = 0, sum = 0, most = 0, allowed = 0;

    for (int i = 0; i < seeds; i++) {
        const struct outcome o = search(m, noise, (uint64_t)i);

        assert_in_range(o.probes, 1, o.max_probes);
        share[i] = o.share;
        good += o.share >= 0.97;
        sum += o.probes;
        most = o.probes > most ? o.probes : most;
        allowed = o.max_probes;
    }
    qsort(share, (size_t)seeds, sizeof(*share), by_size);
    printf("# %-16s noise %.0f %%: %3d of %d within 3 %%, worst %.1f %%, median %.1f %% off; "
           "probes %.1f on average, %d at most, %d allowed\n",
           m->name, 100 * noise, good, seeds, 100 * (1 - share[0]), 100 * (1 - share[seeds / 2]),
           (double)sum / seeds, most, allowed);
    return good;
}

static void test_models(void **state)
{
    static const double noises[] = {0.01, 0.02, 0.05};

    (void)state;
    const char *only = getenv("ONLY"), *seeds = getenv("NSEEDS");
    for (int i = 0; i < n_loader_models; i++)
        for (size_t k = 0; k < COUNT_OF(noises); k++)
            if (!only || strstr(only, loader_models[i].name))
                successes(&loader_models[i], noises[k], seeds ? atoi(seeds) : SEEDS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_models),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
