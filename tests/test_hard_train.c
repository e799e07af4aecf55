/* Hard inputs of training: rates that blow up, pictures without content, models that do not learn,
 * layers that are missing, runs that miss their target. */
#include "backend/backend.h"
#include "hard_outcome.h"
#include "run_fixture.h"
#include "trace/mllog_read.h"
#include "trace/sinks.h"
#include "train/learning.h"
#include "train_fixture.h"

/* The status that the run's log ends with; heap. */
static int note_status(void *context, const struct mllog_record *r)
{
    const cJSON *const status = cJSON_GetObjectItemCaseSensitive(r->metadata, "status");

    if (strcmp(r->key, "run_stop") == 0)
        *(char **)context = xstrdup(cJSON_GetStringValue(status));
    return 0;
}

static void assert_status(const char *dir, const char *wanted)
{
    char *const path = file_join(dir, "mlperf.log"), *status = NULL;

    assert_int_equal(
        mllog_read_file(path, &(struct mllog_visitor){.record = note_status, .context = &status}),
        0);
    assert_non_null(status);
    assert_string_equal(status, wanted);
    remove(path);
    free(status);
    free(path);
}

/* Trains and leaves dir/mlperf.log. */
static int train_with_log(struct rig *r)
{
    char *const path = file_join(r->dir, "mlperf.log");
    int rc;

    trace_open(&r->trace);
    assert_int_equal(trace_add(&r->trace, &mllog_sink, &(struct mllog_options){.path = path}), 0);
    rc = rig_train(r);
    if (rc < 0) { /* closing the log says nothing new */
        char *const reason = xstrdup(err_reason());
        assert_int_equal(trace_close(&r->trace), 0);
        err(rc, "%s", reason);
        free(reason);
    } else
        assert_int_equal(trace_close(&r->trace), 0);
    trace_open(&r->trace);
    free(path);
    return rc;
}

/* ---- numbers that are none ---- */

static void rates_that_blow_up(void **state)
{
    static const double rates[] = {1e25, 1e30, 1e38};
    int variants = 0;

    (void)state;
    for (int kind = 0; kind < N_OPTIMISERS; kind++)
        for (size_t i = 0; i < COUNT_OF(rates); i++)
            for (int parts = 1; parts <= BATCH; parts += BATCH - 1, variants++) {
                struct rig r;

                rig_begin(&r);
                r.s.optimizer = kind;
                r.s.lr = rates[i];
                r.s.accumulate = parts;
                r.s.lars_eta = 1;
                assert_int_equal(train_with_log(&r), E_NUMERIC);
                assert_reason_has("the loss of step 2 is "); /* the first was sound */
                assert_reason_has(" in conv");
                assert_int_equal(r.result.status, TRAIN_FAILED);
                assert_int_equal(r.result.steps, 1);
                assert_status(r.dir, "aborted");
                assert_false(checkpoint_exists(r.dir));
                rig_end(&r);
            }
    outcome("E4", variants,
            "a rate of 1e25 to 1e38, three optimisers: stopped in the step after, which is named "
            "with its layer; status aborted, nothing saved");
}

/* Every picture of one grey, of the class its folder says. */
static char *grey_folder(int level)
{
    char *const dir = temp_dir();
    struct bytes jpeg = {0};

    for (int k = 0; k < N_GOOD; k++) {
        uint8_t *const px = xmalloc(40 * 40 * 3);
        char name[64];

        memset(px, level, 40 * 40 * 3);
        make_jpeg(&plain_jpeg, px, 40, 40, &jpeg);
        snprintf(name, sizeof(name), "c%d", k % 3);
        make_dir(dir, name);
        snprintf(name, sizeof(name), "c%d/%03d.jpg", k % 3, k);
        write_file(dir, name, jpeg.data, jpeg.n);
        free(px);
    }
    bytes_release(&jpeg);
    return dir;
}

/* How often a text stands in another. */
static int count_text(const char *text, const char *part)
{
    int n = 0;

    for (const char *at = text; (at = strstr(at, part)) != NULL; at++)
        n++;
    return n;
}

static int train_and_hear(struct rig *r, char **said)
{
    const int saved = hear(r->dir), rc = rig_train(r);

    *said = heard(r->dir, saved);
    return rc;
}

static void pictures_without_content(void **state)
{
    static const int levels[] = {0, 128, 255};

    (void)state;
    for (size_t i = 0; i < COUNT_OF(levels); i++) {
        struct rig r;
        char *said;

        rig_begin_on(&r, grey_folder(levels[i]));
        r.s.steps = 620;
        assert_int_equal(train_and_hear(&r, &said), 0);
        assert_true(isfinite(r.result.last_loss));
        assert_int_equal(count_text(said, "the model does not learn"), 1);
        assert_says(said, "the mean loss of steps 501 to 600 is 1.");
        assert_says(said, "guessing among 3 classes");
        free(said);
        rig_end(&r);
    }
    outcome("E4", (int)COUNT_OF(levels),
            "pictures of one grey: no variance, no NaN, and one warning after 600 steps that the "
            "model does not learn");
}

/* A sequence of losses; returns how often and, into *at, after which step a warning came. */
static int watch(int classes, double level, double noise, long long *at)
{
    struct learning l = {.classes = classes};
    const struct random_key key = {(uint64_t)classes, RANDOM_TEST, 9};
    int told = 0;

    for (long long step = 1; step <= 3000; step++)
        if (learning_step(&l, level + noise * (random_uniform(key, (uint64_t)step) - 0.5))) {
            told++;
            *at = step;
        }
    return told;
}

static void learning_or_not(void **state)
{
    static const int classes[] = {2, 3, 10, 1000, 1001};
    struct rig r;
    long long at = 0;
    char *said;

    (void)state;
    for (size_t i = 0; i < COUNT_OF(classes); i++) {
        const double guessing = log(classes[i]);

        assert_int_equal(watch(classes[i], guessing, 0, &at), 1);
        assert_int_equal(at, 600);
        assert_int_equal(watch(classes[i], guessing, 0.05 * guessing, &at), 1);
        assert_int_equal(watch(classes[i], 0.98 * guessing, 0.05 * guessing, &at), 0);
        assert_int_equal(watch(classes[i], 1.02 * guessing, 0.05 * guessing, &at), 0);
        assert_int_equal(watch(classes[i], NAN, 0, &at), 0);
    }
    assert_int_equal(watch(0, 0, 0, &at), 0); /* no classes to guess among */
    rig_begin(&r);
    r.s.steps = 620;
    r.s.lr = 0.1;
    assert_int_equal(train_and_hear(&r, &said), 0);
    assert_null(strstr(said, "does not learn"));
    free(said);
    rig_end(&r);
    outcome("E4", 5 * (int)COUNT_OF(classes) + 2,
            "losses at, below and above ln(classes), with noise: one warning, and none for a model "
            "that learns");
}

/* ---- layers ---- */

static void a_missing_layer_is_refused(void **state)
{
    static const long long has = 4 * 3 * 4 * 4 + 4 + 4 + 4 * N_CLASSES + N_CLASSES;
    int variants = 0;

    (void)state;
    for (long long off = -8; off <= 8; off += 4, variants++) { /* a batch norm has 8 */
        struct rig r;
        int rc;

        rig_begin(&r);
        r.parameters = has + off;
        r.s.steps = 1;
        rc = rig_train(&r);
        assert_int_equal(rc, off ? E_SHAPE : 0);
        if (off)
            assert_reason_has("a layer is missing or extra");
        rig_end(&r);
    }
    outcome("E5", variants, "a model with other than the stated number of parameters is refused");
}

static void resnet50_has_its_parameters(void **state)
{
    static const int classes[] = {10, 1000};
    char *const dir = temp_dir();

    (void)state;
    for (size_t i = 0; i < COUNT_OF(classes); i++) {
        const int n = 25557032 + (classes[i] - 1000) * 2049;
        char *const line = xasprintf("model: %d parameters, as many as this model must have\n", n);
        char *const said = program_run(dir, 0,
                                       "run resnet50 -p sample --device null --synthetic --classes "
                                       "%d --dry-run --out %s/r",
                                       classes[i], dir);

        assert_says(said, line);
        free(said);
        free(line);
    }
    remove_dir(dir);
    outcome("E5", (int)COUNT_OF(classes),
            "--dry-run and run.json state the parameters: 25,557,032 with 1000 classes");
}

/* ---- the program on the processor ---- */

#define CPU_RUN                                                                                    \
    "run resnet50 -p sample --device cpu --threads 1 --synthetic --seed 5 --optimizer sgd "        \
    "--schedule constant --warmup-epochs 0 "

/* One fixed batch of noise is learnt by heart. */
static void loss_falls_on_synthetic_data(void **state)
{
    char *const dir = temp_dir();
    cJSON *result;

    (void)state;
    if (!backend_find("cpu"))
        skip();
    free(program_run(dir, 0,
                     CPU_RUN "-b 4 --synthetic-samples 4 --lr 0.01 --steps 25 --eval-every 100 "
                             "--checkpoint-every 0 --out %s/r",
                     dir));
    result = read_json(dir, "r/result.json");
    assert_true(number_of(result, "last_loss") < 1.2); /* ln 10 is 2.30 */
    cJSON_Delete(result);
    remove_dir(dir);
    outcome("D6", 1, "the program on synthetic data: the loss falls below half of guessing");
}

static void one_epoch_on_noise(void **state)
{
    char *const dir = temp_dir(), *folder, *said;
    cJSON *result;

    (void)state;
    if (!backend_find("cpu"))
        skip();
    said = program_run(dir, 1,
                       CPU_RUN "-b 4 --synthetic-samples 8 --lr 0.001 --epochs 1 --eval-every 1 "
                               "--checkpoint-every 0 --out %s/r",
                       dir);
    assert_says(said, "target not reached after 1 epochs");
    assert_says(said, "(target 0.8640)");
    result = read_json(dir, "r/result.json");
    assert_string_equal(string_of(result, "status"), "target not reached");
    assert_true(number_of(result, "eval_samples") == 8);
    cJSON_Delete(result);
    folder = file_join(dir, "r");
    assert_status(folder, "aborted");
    free(folder);
    free(said);
    remove_dir(dir);
    outcome("F7", 1,
            "one epoch on noise: exit 1, one sentence, and a log with run_stop, status aborted");
}

static void the_program_stops_at_nan(void **state)
{
    char *const dir = temp_dir(), *folder, *said;

    (void)state;
    if (!backend_find("cpu"))
        skip();
    said = program_run(dir, 1, CPU_RUN "-b 4 --synthetic-samples 8 --lr 1e30 --out %s/r", dir);
    assert_says(said, "the loss of step 2 is not a number; the first result that is not finite: ");
    assert_says(said, "bn_stats in ");
    folder = file_join(dir, "r");
    assert_status(folder, "aborted");
    free(folder);
    free(said);
    remove_dir(dir);
    outcome("E4", 1, "the program with --lr 1e30: exit 1 and the layer's name");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rates_that_blow_up),
        cmocka_unit_test(pictures_without_content),
        cmocka_unit_test(learning_or_not),
        cmocka_unit_test(a_missing_layer_is_refused),
        cmocka_unit_test(resnet50_has_its_parameters),
        cmocka_unit_test(loss_falls_on_synthetic_data),
        cmocka_unit_test(one_epoch_on_noise),
        cmocka_unit_test(the_program_stops_at_nan),
    };

    return cmocka_run_group_tests_name("hard train", tests, NULL, NULL);
}
