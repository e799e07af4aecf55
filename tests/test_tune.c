/* `stave tune` from outside: its folder, its configuration, its trials, on a workload that takes
 * milliseconds. */
#define SMALL_COMMAND "tune"
#include "small_run.h"

#include <math.h>

#include "scratch.h"

static void test_loader(void **state)
{
    static const char *const goals[] = {"run", "data"};
    const char *const dir = *state;

    small_data(dir);
    for (int i = 0; i < 2; i++) {
        char *said, *config;

        assert_int_equal(run_words(dir, NULL, &said,
                                   "-d %s -b 6 -j 1 --prefetch 1 --seconds 0.01 --max-threads 4 "
                                   "--max-prefetch 4 --goal %s --grid --out %s/t%d",
                                   dir, goals[i], dir, i),
                         0);
        assert_int_equal(strstr(said, "the model alone") != NULL, i == 0);
        assert_says(said, "the start");
        assert_says(said, "every setting in powers of two");
        for (int threads = 1; threads <= 4; threads *= 2) { /* a row of three rates each */
            char *const row = xasprintf("\n%10d  ", threads);
            const char *const at = strstr(strstr(said, "every setting"), row);
            double r[3];

            assert_non_null(at);
            assert_int_equal(sscanf(at, "%*d %lf %lf %lf", &r[0], &r[1], &r[2]), 3);
            assert_true(r[0] > 0 && r[1] > 0 && r[2] > 0);
            free(row);
        }
        free(said);
        said = xasprintf("t%d/config.yaml", i);
        config = read_text(dir, said);
        assert_says(config, "# found:\nnum-threads: ");
        assert_says(config, "batch-size: 6\n");
        free(config);
        free(said);
        /* What was found is what a command with it says. */
        assert_int_equal(run_words(dir, NULL, &said,
                                   "--config %s/t%d/config.yaml --goal data --seconds 0.01 "
                                   "--probes 1 --out %s/again%d",
                                   dir, i, dir, i),
                         0);
        free(said);
    }
}

static void test_refuses(void **state)
{
    const char *const dir = *state;
    char *said;

    small_data(dir);
    assert_int_equal(run_words(dir, NULL, &said, "-d %s --out %s", dir, dir), 2);
    assert_says(said, "is there already");
    free(said);
    assert_int_equal(run_words(dir, NULL, &said, "-d %s --synthetic --out %s/t", dir, dir), 2);
    assert_says(said, "synthetic data takes no loader");
    free(said);
}

struct trial {
    double lr, batch, loss;
};

static struct trial read_trial(const char *dir, int i)
{
    char *const run = xasprintf("%s/t/trial-%d", dir, i);
    cJSON *const json = read_json(run, "run.json");
    const cJSON *const options = cJSON_GetObjectItemCaseSensitive(json, "options");
    const struct trial t = {
        .lr = number_of(cJSON_GetObjectItemCaseSensitive(options, "training"), "lr"),
        .batch = number_of(cJSON_GetObjectItemCaseSensitive(options, "training"), "batch-size"),
        .loss = result_of(run, ".", "late_loss"),
    };

    cJSON_Delete(json);
    free(run);
    return t;
}

static double config_number(const char *config, const char *key)
{
    char *const line = xasprintf("\n%s: ", key);
    const char *const at = strstr(config, line);
    const double value = at ? strtod(at + strlen(line), NULL) : NAN;

    free(line);
    return value;
}

/* Powers of ten, finer steps, a larger batch; the rate in the configuration is one of a trial, and
 * no trial of its batch did better by more than the noise that the search assumes. */
static void test_rate(void **state)
{
    const char *const dir = *state;
    struct trial best = {.loss = INFINITY}, chosen = {.loss = NAN};
    char *said, *config;
    double lr, batch;
    int n = 0;

    small_data(dir);
    assert_int_equal(run_words(dir, NULL, &said,
                               "-d %s -b 4 --search rate --optimizer sgd --lr 0.1 --max-batch 8 "
                               "--trial-epochs 1 --rungs 2 --seed 3 --out %s/t",
                               dir, dir),
                     0);
    config = read_text(dir, "t/config.yaml");
    lr = config_number(config, "lr");
    batch = config_number(config, "batch-size");
    assert_says(said, "powers of ten around 0.1");
    assert_says(said, "a step of 1.10");
    assert_says(said, "batch 4 -> 8");
    free(said);
    for (;; n++) {
        char *const folder = xasprintf("%s/t/trial-%d", dir, n);
        const int there = file_exists(folder);
        struct trial t;

        free(folder);
        if (!there)
            break;
        t = read_trial(dir, n);
        if (t.batch == batch && t.loss < best.loss)
            best = t;
        if (t.lr == lr)
            chosen = t;
    }
    assert_true(n >= 8);
    assert_true(chosen.loss <= best.loss + 0.04);
    assert_true(config_number(config, "steps") == 0);
    free(config);
}

/* Rates that break the model, every one: said, and nothing is written as found. */
static void test_all_diverge(void **state)
{
    const char *const dir = *state;
    char *said, *config = file_join(dir, "t/config.yaml");

    small_data(dir);
    assert_int_equal(run_words(dir, NULL, &said,
                               "-d %s -b 4 --search rate --optimizer sgd --lr 1e25 "
                               "--trial-epochs 1 --rungs 1 --seed 3 --out %s/t",
                               dir, dir),
                     1);
    assert_says(said, "diverged");
    assert_false(file_exists(config));
    free(config);
    free(said);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_loader, scratch_open, scratch_close),
        cmocka_unit_test_setup_teardown(test_refuses, scratch_open, scratch_close),
        cmocka_unit_test_setup_teardown(test_rate, scratch_open, scratch_close),
        cmocka_unit_test_setup_teardown(test_all_diverge, scratch_open, scratch_close),
    };

    small_is_started(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
