/* `stave profile` and `stave run --only STAGE` from outside. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/file.h"
#include "base/json.h"
#include "run_fixture.h"
#include "scratch.h"

#define SMALL "resnet50 --device null --preset sample --image-size 16 --batch-size 4 -d %s "

static int open_data(void **state)
{
    if (scratch_open(state) < 0)
        return -1;
    run_data(*state, "train", RUN_TRAIN, NULL);
    run_data(*state, "val", RUN_VAL, NULL);
    return 0;
}

static cJSON *profile_json(const char *dir)
{
    char *const text = program_run(
        dir, 0, "profile " SMALL "--classes %d --rounds 2 --seconds 0.02 --json", dir, RUN_CLASSES);
    cJSON *const doc = json_parse(text, strlen(text), NULL);

    assert_non_null(doc);
    free(text);
    return doc;
}

static const cJSON *member(const cJSON *object, const char *name)
{
    const cJSON *const m = cJSON_GetObjectItemCaseSensitive(object, name);

    if (!m)
        fail_msg("no member %s", name);
    return m;
}

static void test_every_stage_has_a_capacity(void **state)
{
    static const char *const names[] = {"read", "decode", "augment",  "loader",
                                        "copy", "model",  "evaluate", "run"};
    cJSON *const doc = profile_json(*state);
    const cJSON *const phases = member(doc, "phases");
    const cJSON *const verdict = member(doc, "verdict");
    double lower;

    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        const cJSON *const p = member(phases, names[i]);

        assert_true(number_of(p, "samples_per_s") > 0);
        assert_true(number_of(p, "least_samples_per_s") <= number_of(p, "samples_per_s"));
        assert_true(number_of(p, "most_samples_per_s") >= number_of(p, "samples_per_s"));
    }
    /* A stage alone ran alone. */
    assert_null(
        cJSON_GetObjectItemCaseSensitive(member(member(phases, "decode"), "stages"), "read"));
    assert_non_null(member(member(member(phases, "loader"), "stages"), "augment"));
    lower = number_of(member(phases, "loader"), "samples_per_s");
    if (number_of(member(phases, "model"), "samples_per_s") < lower)
        lower = number_of(member(phases, "model"), "samples_per_s");
    assert_true(number_of(verdict, "predicted_samples_per_s") <= lower);
    assert_true(number_of(verdict, "measured_samples_per_s") ==
                number_of(member(phases, "run"), "samples_per_s"));
    assert_non_null(strstr(string_of(verdict, "words"), "Predicted"));
    cJSON_Delete(doc);
}

/* Nothing is written. */
static void test_profile_leaves_no_file(void **state)
{
    struct file_names before, after;
    char *text;

    free(program_run(*state, 0, "help")); /* leaves what it said */
    assert_int_equal(file_list(*state, &before), 0);
    text = program_run(*state, 0, "profile " SMALL "--classes %d --rounds 1 --seconds 0.02",
                       (char *)*state, RUN_CLASSES);
    assert_says(text, "per second");
    assert_int_equal(file_list(*state, &after), 0);
    assert_int_equal(before.n, after.n);
    file_names_release(&before);
    file_names_release(&after);
    free(text);
}

static void test_profile_refuses(void **state)
{
    free(program_run(*state, 2, "profile " SMALL "--synthetic", (char *)*state));
    free(program_run(*state, 2, "profile " SMALL "--rounds 0", (char *)*state));
    free(program_run(*state, 2, "profile"));
    free(program_run(*state, 2, "profile nothing"));
}

static void test_only(void **state)
{
    static const char *const stages[] = {"read", "decode", "augment"};
    static const char *const rows[] = {"\nread ", "\ndecode ", "\naugment "};
    char *text;

    for (size_t i = 0; i < 3; i++) {
        text = program_run(*state, 0, "run " SMALL "--classes %d --only %s --steps 12",
                           (char *)*state, RUN_CLASSES, stages[i]);
        assert_says(text, " alone: ");
        assert_says(text, "44 images in"); /* not the first batch */
        for (size_t k = 0; k < 3; k++)
            assert_int_equal(strstr(strstr(text, "us a sample"), rows[k]) != NULL, k == i);
        free(text);
    }
    text = program_run(*state, 0, "run " SMALL "--classes %d --only data --json", (char *)*state,
                       RUN_CLASSES);
    assert_says(text, "\"only\": \"data\"");
    assert_says(text, "\"samples\": 20,"); /* an epoch of 6 batches but the first */
    free(text);
}

/* Epochs of batches without a model: events and result, nothing of a model. */
static void test_only_data_leaves_a_folder(void **state)
{
    char *const dir = *state;
    char *text =
        program_run(dir, 0, "run " SMALL "--classes %d --only data --epochs 3 --out %s/run", dir,
                    RUN_CLASSES, dir);
    cJSON *const events = read_lines(dir, "run/events.jsonl");
    cJSON *const result = read_json(dir, "run/result.json");
    const cJSON *stop;

    assert_says(text, "into nothing: steps done after 3 epochs, 18 batches");
    assert_int_equal(count_key(events, "epoch_start", NULL), 3);
    assert_int_equal(count_key(events, "epoch_stop", NULL), 3);
    assert_int_equal(count_key(events, "eval_start", NULL), 0);
    assert_int_equal(count_key(events, "run_stop", &stop), 1);
    assert_string_equal(string_of(stop, "status"), "success");
    assert_true(number_of(result, "samples_trained") == 3 * RUN_TRAIN);
    assert_null(cJSON_GetObjectItem(result, "last_loss"));
    assert_null(cJSON_GetObjectItem(result, "target"));
    cJSON_Delete(events);
    cJSON_Delete(result);
    free(text);
    text = program_run(dir, 3, "export %s/run --to %s/weights", dir, dir);
    free(text);
    assert_null(strstr(text = read_text(dir, "run/stages.csv"), "decode,0,"));
    free(text);
}

static void test_only_refuses(void **state)
{
    char *const text = program_run(*state, 2, "run " SMALL "--only decode --out x", (char *)*state);

    assert_says(text, "--only decode leaves no run folder; leave out --out");
    free(text);
    free(program_run(*state, 2, "run " SMALL "--only data --dry-run", (char *)*state));
    free(program_run(*state, 2, "run " SMALL "--only data --synthetic", (char *)*state));
    free(program_run(*state, 2, "run " SMALL "--only data --runs 3", (char *)*state));
    free(program_run(*state, 2, "run " SMALL "--only nonsense", (char *)*state));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_every_stage_has_a_capacity, open_data, scratch_close),
        cmocka_unit_test_setup_teardown(test_profile_leaves_no_file, open_data, scratch_close),
        cmocka_unit_test_setup_teardown(test_profile_refuses, open_data, scratch_close),
        cmocka_unit_test_setup_teardown(test_only, open_data, scratch_close),
        cmocka_unit_test_setup_teardown(test_only_data_leaves_a_folder, open_data, scratch_close),
        cmocka_unit_test_setup_teardown(test_only_refuses, open_data, scratch_close),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
