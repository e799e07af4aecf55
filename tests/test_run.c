/* `stave run` from outside: what it refuses and how it says so, where settings come from, the
 * division, and the logs and documents of a run. The null device stands in where numbers do not
 * matter. */
#include <fcntl.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/file.h"
#include "run_fixture.h"
#include "scratch.h"
#include "workloads/workload.h"

/* A run without arithmetic over invented data. */
#define NULL_RUN "run resnet50 -p sample --device null --threads 1 --synthetic --seed 5 "

static void refusals(void **state)
{
    static const struct {
        int code;
        const char *words, *says[2];
    } cases[] = {
        {2, "--bach-size 8", {"no option is called bach-size", "did you mean batch-size?"}},
        {2, "-b 10 --accumulate 4 --synthetic", {"10", "accumulate"}},
        {2, "--eval-every 2 --eval-offset 3 --synthetic", {"epoch 3", "every 2 epochs"}},
        {2, "", {"--data-dir", "stave prepare resnet50 --sample"}},
        {2, "--preset nosuch --synthetic", {"nosuch", "stave list"}},
        {2, "--image-size 64 --synthetic", {"eval-resize", "image-size 64"}},
        {2, "--pixel-mean 1,2 --synthetic", {"pixel-mean", "1,2"}},
        {2, "--pixel-std 1,0,1 --synthetic", {"pixel-std", "positive"}},
        {2, "--schedule steps --decay-at 3,2 --synthetic", {"boundaries must rise", "follows"}},
        {2, "--warmup-epochs 9 --synthetic", {"warm-up", "does not fit"}},
        {2, "--resume --synthetic", {"there is no run", "resume"}},
        {3, "--data-dir /nonexistent/stave", {"/nonexistent/stave", "train"}},
        {3, "--init /nonexistent/w.safetensors --synthetic", {"/nonexistent/w.safetensors", ""}},
        {2, "--device nosuch --synthetic", {"nosuch", ""}},
        {2, "--pixel-mean nan,1,1 --synthetic", {"pixel-mean", "not finite"}},
        {2, "--pixel-std 1,inf,1 --synthetic", {"pixel-std", "not finite"}},
        {2, "--beta1 1 --synthetic", {"beta1", "0.999999"}},
        {2, "--steps 0 --synthetic", {"device null computes nothing", "give --steps N"}},
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char *const said = program_run(
            *state, cases[i].code,
            "run resnet50 -p sample --threads 1 --out %s/r%zu -o device=null -o steps=1 %s",
            (char *)*state, i, cases[i].words);
        assert_says(said, cases[i].says[0]);
        assert_says(said, cases[i].says[1]);
        free(said);
    }
    free(program_run(*state, 2, "run resnet51"));
}

/* A shortened flag looks as if the next word were its value. */
static void workload_behind_a_shortened_flag(void **state)
{
    char *said = program_run(*state, 2, "run --res resnet50");

    assert_says(said, "resnet50");
    assert_says(said, "name the workload first");
    free(said);
}

static void unreadable_records(void **state)
{
    char *said, *path = scratch_file(*state, "train.rec", "these are no records at all, are they");

    run_data(*state, "val", RUN_VAL, NULL);
    said = program_run(*state, 3, "run resnet50 -p sample --device null -d %s --out %s/r",
                       (char *)*state, (char *)*state);
    assert_says(said, path);
    free(said);
    free(path);
}

/* A run folder is used once, unless it is resumed with the same data, batch and seed. */
static void used_folder(void **state)
{
    const char *const dir = *state;
    char *said, *before, *after;

    free(program_run(dir, 0, NULL_RUN "-b 8 --steps 2 --out %s/r", dir));
    before = read_text(dir, "r/mlperf.log");
    said = program_run(dir, 2, NULL_RUN "-b 8 --steps 2 --out %s/r", dir);
    assert_says(said, "holds a run already");
    assert_says(said, "--resume");
    after = read_text(dir, "r/mlperf.log");
    assert_string_equal(before, after);
    free(said);
    said = program_run(dir, 2, NULL_RUN "-b 4 --steps 4 --resume --out %s/r", dir);
    assert_says(said, "batches of 8");
    assert_says(said, "batches of 4");
    free(said);
    free(before);
    free(after);
}

static double option_of(const cJSON *run, const char *table, const char *name)
{
    const cJSON *const options = cJSON_GetObjectItemCaseSensitive(run, "options");
    const cJSON *const t = cJSON_GetObjectItemCaseSensitive(options, table);

    if (!t)
        fail_msg("run.json echoes no table %s", table);
    return number_of(t, name);
}

static void has_no(const cJSON *object, const char *name)
{
    if (cJSON_GetObjectItemCaseSensitive(object, name))
        fail_msg("%s is not known and must be absent", name);
}

/* defaults < preset < file < command line; run.json and result.json; stdin stays unread. */
static void settings_and_documents(void **state)
{
    const char *const dir = *state;
    char *const config = scratch_file(dir, "c.yaml", "batch-size: 16\nlr: 3\nmomentum: 0.5\n");
    char *const words =
        xasprintf(NULL_RUN "--config %s -o momentum=0.25 --lr 2 --steps 3 --out %s/r", config, dir);
    cJSON *run, *result;
    char *said;
    int pipes[2], left = 0;

    assert_int_equal(pipe(pipes), 0);
    assert_int_equal(write(pipes[1], "unread\n", 7), 7);
    assert_int_equal(program_wait(program_start(dir, 0, pipes[0], words), &said), 0);
    assert_int_equal(ioctl(pipes[0], FIONREAD, &left), 0);
    assert_int_equal(left, 7);
    run = read_json(dir, "r/run.json");
    assert_true(option_of(run, "training", "lr") == 2);          /* line over file over preset */
    assert_true(option_of(run, "training", "momentum") == 0.25); /* -o over file */
    assert_true(option_of(run, "training", "batch-size") == 16); /* file over preset's 128 */
    assert_true(option_of(run, "training", "warmup-epochs") == 0.2); /* preset over default's 0 */
    assert_true(option_of(run, "training", "beta1") == 0.9);         /* default */
    assert_true(number_of(run, "seed") == 5);
    assert_string_equal(string_of(run, "stave_version"), STAVE_VERSION);
    assert_string_equal(string_of(run, "division"), "open");
    result = read_json(dir, "r/result.json");
    assert_string_equal(string_of(result, "status"), "steps done");
    assert_true(number_of(result, "steps") == 3 && number_of(result, "samples_trained") == 48);
    assert_true(number_of(result, "bad_samples") == 0 && number_of(result, "run_ns") > 0);
    has_no(result, "quality"); /* three steps are no epoch: nothing was evaluated */
    has_no(result, "best_quality");
    has_no(result, "best_epoch");
    cJSON_Delete(run);
    cJSON_Delete(result);
    free(said);
    free(config);
    free(words);
    close(pipes[0]);
    close(pipes[1]);
}

/* The keys of mlperf.log in order, without those of the submission and the optimiser. */
static void key_order(const cJSON *log, struct str *out)
{
    static const char *const kept[] = {
        "cache_clear",   "init_start",   "init_stop",   "run_start",    "run_stop",
        "train_samples", "eval_samples", "block_start", "block_stop",   "epoch_start",
        "epoch_stop",    "eval_start",   "eval_stop",   "eval_accuracy"};
    const cJSON *line;

    cJSON_ArrayForEach(line, log)
    {
        const cJSON *const meta = cJSON_GetObjectItemCaseSensitive(line, "metadata");
        const char *const key = string_of(line, "key");
        const double epoch = number_of(meta, "epoch_num");
        for (size_t i = 0; i < COUNT_OF(kept); i++)
            if (strcmp(kept[i], key) == 0)
                str_printf(out, isnan(epoch) ? "%s " : "%s:%.0f ", key, epoch);
    }
}

/* Four epochs, evaluated after 1, 3 and the last. */
static void log_structure(void **state)
{
    static const char *const once[] = {"submission_benchmark",
                                       "submission_division",
                                       "submission_org",
                                       "submission_platform",
                                       "submission_status",
                                       "seed",
                                       "global_batch_size",
                                       "opt_name",
                                       "train_samples",
                                       "eval_samples",
                                       "cache_clear",
                                       "init_start",
                                       "init_stop",
                                       "run_start",
                                       "run_stop",
                                       "gradient_accumulation_steps",
                                       "lars_opt_base_learning_rate",
                                       "lars_opt_learning_rate_decay_steps"};
    const char *const dir = *state;
    const cJSON *last;
    struct str order = STR_INIT;
    cJSON *log;

    free(program_run(dir, 1,
                     "run resnet50 -p sample --threads 1 --synthetic --seed 5 --lr 0 "
                     "--synthetic-samples 20 -b 5 --epochs 4 --eval-every 2 "
                     "--eval-offset 1 --checkpoint-every 0 --target 1 --out %s/r",
                     dir));
    log = read_lines(dir, "r/mlperf.log");
    key_order(log, &order);
    assert_string_equal(
        order.s, "cache_clear init_start init_stop run_start train_samples eval_samples "
                 "block_start epoch_start:1 epoch_stop:1 eval_start:1 eval_accuracy:1 eval_stop:1 "
                 "block_stop block_start epoch_start:2 epoch_stop:2 epoch_start:3 epoch_stop:3 "
                 "eval_start:3 eval_accuracy:3 eval_stop:3 block_stop block_start epoch_start:4 "
                 "epoch_stop:4 eval_start:4 eval_accuracy:4 eval_stop:4 block_stop run_stop:4 ");
    for (size_t i = 0; i < COUNT_OF(once); i++)
        if (count_key(log, once[i], NULL) != 1)
            fail_msg("%s stands %d times in mlperf.log", once[i], count_key(log, once[i], NULL));
    assert_int_equal(count_key(log, "step", NULL), 0); /* our own keys stay out */
    count_key(log, "run_stop", &last);
    assert_string_equal(string_of(cJSON_GetObjectItemCaseSensitive(last, "metadata"), "status"),
                        "aborted");
    count_key(log, "eval_samples", &last);
    assert_true(number_of(last, "value") == 20);
    str_release(&order);
    cJSON_Delete(log);
}

static void dry_run_says_what_the_rules_say(void **state)
{
    static const char line[] = "run resnet50 --preset imagenet --device null --accumulate %d "
                               "--synthetic --dry-run --out %s/r %s";
    char *said = program_run(*state, 0, line, 816, (char *)*state, "--target 0.7 --lr 9");
    char *const folder = file_join(*state, "r");

    assert_says(said, "division: open");
    assert_says(said, "target is 0.7; the closed division wants at least 0.759");
    assert_says(said, "the data is synthetic");
    assert_says(said, "batch 1632: the reference needs 35.00 epochs");
    assert_says(said, "MiB weights");
    assert_false(file_exists(folder)); /* nothing is written */
    free(said);
    said = program_run(*state, 0, line, 128, (char *)*state, "-b 256");
    assert_says(said, "batch 256 has no reference convergence point; the smallest is 1632");
    free(said);
    free(folder);
}

/* The imagenet preset with one setting changed, on a device that computes. */
static struct workload_settings imagenet(const char *name, const char *value)
{
    const struct workload *const w = workload_find("resnet50");
    const struct opt_table *const tables[] = {&train_options, &data_options, w->options};
    struct workload_settings s = {.own = xcalloc(1, w->settings_bytes), .computes = 1};
    void *const into[] = {&s.train, &s.data, s.own};

    for (size_t t = 0; t < COUNT_OF(tables); t++) {
        const char *const change[][2] = {{name, value}, {NULL, NULL}};
        opt_defaults(tables[t], into[t]);
        for (int pass = 0; pass < 2; pass++)
            for (const char *const(*p)[2] = pass ? change : preset_find(w, "imagenet")->settings;
                 (*p)[0]; p++)
                if (opt_find(tables[t], (*p)[0]))
                    assert_int_equal(
                        opt_set(opt_find(tables[t], (*p)[0]), into[t], (*p)[1], "test"), 0);
    }
    return s;
}

static void release(struct workload_settings *s)
{
    opt_release(&train_options, &s->train);
    opt_release(&data_options, &s->data);
    opt_release(workload_find("resnet50")->options, s->own);
    free(s->own);
}

static const char *division_of(struct workload_settings s, struct str *out)
{
    const struct task task = {.n_train = 1281167, .n_eval = 50000}; /* ImageNet's size */

    return workload_find("resnet50")->rules(&s, &task, out);
}

static const char *division(const char *name, const char *value, int synthetic, struct str *out)
{
    struct workload_settings s = imagenet(name, value);
    const char *result;

    s.data.synthetic = synthetic;
    result = division_of(s, out);
    release(&s);
    return result;
}

static void only_what_is_free_stays_closed(void **state)
{
    static const struct {
        const char *name, *value, *division, *says;
    } cases[] = {
        {"lr", "7.4", "closed", "batch 1632: the reference needs 35.00 epochs"},
        {"lr", "9.5", "closed", ""},
        {"weight-decay", "2e-4", "closed", ""},
        {"image-size", "192", "open", "model_image_size is 192; the closed division wants 224"},
        {"target", "0.7", "open", "target is 0.7"},
        {"label-smoothing", "0.05", "open", "label_smoothing is 0.05"},
        {"eval-every", "5", "open", "eval_every is 5"},
        {"classes", "10", "open", "model_classes is 10"},
        {"optimizer", "adamw", "open", "opt_name is adamw"},
        {"momentum", "0.8", "open", "lars_opt_momentum is 0.8"},
        {"batch-size", "256", "closed", "the smallest is 1632"},
        {"lr-batch", "816", "closed", ""},
        {"lr-batch", "1632", "closed", ""},
        {"label-offset", "-1", "closed", ""},
        {"label-offset", "1", "open", "label-offset is 1; the closed division wants 0 or -1: "},
        {"steps", "10", "open", "steps is 10; the closed division wants 0: "},
        {"schedule", "cosine", "open", "decay_poly_power is not set"},
        {"schedule", "constant", "open", "schedule is constant; the closed division wants poly"},
        {"lars-eta", "0.002", "open", "lars-eta is 0.002; the closed division wants 0.001: "},
        {"lars-rate", "outside", "open", "lars-rate is outside; the closed division wants in"},
        {"nesterov", "yes", "closed", ""}, /* means nothing to LARS */
        {"clip-norm", "1", "open", "clip-norm is 1; the closed division wants 0: "},
        {"max-pixels", "1M", "open", "max-pixels is 1M; the closed division wants 200M: "},
        {"eval-resize", "224", "open", "eval-resize is 224; the closed division wants 256: "},
        {"area-min", "0.08", "open", "area-min is 0.08; the closed division wants 0.05: "},
        {"area-max", "0.9", "open", "area-max is 0.9; the closed division wants 1: "},
        {"flip", "no", "open", "flip is no; the closed division wants yes: "},
        {"zero-gamma", "yes", "open", "zero-gamma is yes; the closed division wants no: "},
        {"pixel-mean", "0,0,0", "open", "pixel-mean is 0,0,0; the closed division wants 123.68"},
        {"pixel-std", "58,57,57", "open", "pixel-std is 58,57,57; the closed division wants 1,"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct str words = STR_INIT;
        const char *const said = division(cases[i].name, cases[i].value, 0, &words);
        if (strcmp(said, cases[i].division) != 0)
            fail_msg("%s %s is %s: %s", cases[i].name, cases[i].value, said, words.s);
        assert_says(words.s, cases[i].says);
        str_release(&words);
    }
}

static void invented_data_is_never_closed(void **state)
{
    struct str words = STR_INIT;

    (void)state;
    assert_string_equal(division("lr", "7.4", 1, &words), "open");
    assert_says(words.s, "the data is synthetic");
    str_release(&words);
}

static int judged(const struct workload *w, const char *name)
{
    for (const struct closed_option *c = w->closed; c->name; c++)
        if (strcmp(c->name, name) == 0)
            return 1;
    return 0;
}

/* An option that is added later must be called free or given its closed value, and one that is gone
 * must go from the list. */
static void every_option_is_judged(void **state)
{
    (void)state;
    for (int i = 0; workloads[i]; i++) {
        const struct workload *const w = workloads[i];
        const struct opt_table *const tables[] = {&train_options, &data_options, w->options};
        size_t n = 0, n_judged = 0;
        for (size_t t = 0; t < COUNT_OF(tables); n += tables[t++]->n_rows)
            for (size_t r = 0; r < tables[t]->n_rows; r++)
                if (!judged(w, tables[t]->rows[r].name))
                    fail_msg("%s: the closed division's word on %s is missing", w->name,
                             tables[t]->rows[r].name);
        while (w->closed[n_judged].name)
            n_judged++;
        assert_int_equal(n_judged, n);
    }
}

/* What the rules ask and no option of the tables says. */
static void weights_and_device_count(void **state)
{
    struct workload_settings s = imagenet("lr", "7.4");
    struct str words = STR_INIT;

    (void)state;
    assert_string_equal(division_of(s, &words), "closed");
    s.from_weights = 1;
    assert_string_equal(division_of(s, &words), "open");
    assert_says(words.s, "starts from given weights");
    s.from_weights = 0;
    s.computes = 0;
    assert_string_equal(division_of(s, &words), "open");
    assert_says(words.s, "the device computes nothing");
    s.computes = 1;
    s.train.optimizer = OPTIMISER_sgd;
    s.train.nesterov = 1;
    assert_string_equal(division_of(s, &words), "open");
    assert_says(words.s, "nesterov is yes");
    release(&s);
    str_release(&words);
}

/* The log states the rate that is applied, and no power of a decay that is none. */
static void log_states_what_the_run_does(void **state)
{
    const char *const dir = *state;
    const cJSON *last;
    cJSON *log;

    free(program_run(dir, 0, NULL_RUN "-b 8 --lr 2 --lr-batch 32 --steps 1 --out %s/a", dir));
    log = read_lines(dir, "a/mlperf.log");
    assert_int_equal(count_key(log, "lars_opt_base_learning_rate", &last), 1);
    assert_true(number_of(last, "value") == 0.5);
    assert_int_equal(count_key(log, "lars_opt_learning_rate_decay_poly_power", NULL), 1);
    assert_int_equal(count_key(log, "submission_division", &last), 1);
    assert_string_equal(string_of(last, "value"), "open");
    cJSON_Delete(log);
    free(program_run(dir, 0, NULL_RUN "-b 8 --schedule constant --steps 1 --out %s/b", dir));
    log = read_lines(dir, "b/mlperf.log");
    assert_int_equal(count_key(log, "lars_opt_base_learning_rate", NULL), 1);
    assert_int_equal(count_key(log, "lars_opt_learning_rate_decay_poly_power", NULL), 0);
    assert_int_equal(count_key(log, "lars_opt_end_learning_rate", NULL), 0);
    cJSON_Delete(log);
}

/* Whoever reads standard output may stop: the run and its folder do not suffer. */
static void output_may_be_closed(void **state)
{
    char *const line =
        xasprintf("%s/stave " NULL_RUN "-b 8 --steps 2 --json --out %s/r 2>%s/err | head -c 1",
                  STAVE_BUILD, (char *)*state, (char *)*state);
    FILE *const p = popen(line, "r");
    cJSON *result;
    char *err;

    assert_non_null(p);
    assert_int_equal(fgetc(p), '{');
    assert_int_equal(pclose(p), 0);
    result = read_json(*state, "r/result.json");
    assert_string_equal(string_of(result, "status"), "steps done");
    err = read_text(*state, "err");
    assert_null(strstr(err, "Broken pipe"));
    free(err);
    cJSON_Delete(result);
    free(line);
}

#define S(f) cmocka_unit_test_setup_teardown(f, scratch_open, scratch_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        S(refusals),
        S(workload_behind_a_shortened_flag),
        S(unreadable_records),
        S(used_folder),
        S(settings_and_documents),
        S(log_structure),
        S(dry_run_says_what_the_rules_say),
        cmocka_unit_test(only_what_is_free_stays_closed),
        cmocka_unit_test(invented_data_is_never_closed),
        cmocka_unit_test(every_option_is_judged),
        cmocka_unit_test(weights_and_device_count),
        S(log_states_what_the_run_does),
        S(output_may_be_closed),
    };

    return cmocka_run_group_tests_name("run", tests, NULL, NULL);
}
