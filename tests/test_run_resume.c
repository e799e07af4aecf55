/* Runs that go on: resumed to the same bytes, refused without harm, checkpoints that can not be
 * written or read. The null device stands in where numbers do not matter. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/file.h"
#include "base/str.h"
#include "run_fixture.h"
#include "scratch.h"
#include "train/checkpoint.h"

#define NULL_RUN "run resnet50 -p sample --device null --threads 1 --synthetic --seed 5 "
#define CPU_RUN "run resnet50 -p sample --device cpu --threads 1 --seed 5 "

/* Flips a byte in the middle of a file. */
static void damage(const char *dir, const char *name)
{
    char *const path = file_join(dir, name);
    FILE *const f = fopen(path, "r+b");
    int c;

    assert_non_null(f);
    fseek(f, 100000000, SEEK_SET);
    c = fgetc(f);
    fseek(f, 100000000, SEEK_SET);
    fputc(c ^ 0x40, f);
    assert_int_equal(fclose(f), 0);
    free(path);
}

/* Six steps at once and in parts, one of them from a damaged checkpoint's predecessor, end in the
 * same bytes. Steps of 4 an epoch; evaluation after the first. */
static void resumed_run_is_the_same(void **state)
{
    static const char words[] = CPU_RUN "-b 6 --decay-epochs 2 --epochs 2 --checkpoint-every 1";
    const char *const dir = *state;
    char *said;

    run_data(dir, "train", RUN_TRAIN, NULL);
    run_data(dir, "val", RUN_VAL, NULL);
    free(program_run(dir, 0, "%s -d %s --steps 6 --out %s/straight", words, dir, dir));
    free(program_run(dir, 0, "%s -d %s --steps 3 --out %s/parts", words, dir, dir));
    free(program_run(dir, 0, "%s -d %s --resume -j 3 --steps 5 --out %s/parts", words, dir, dir));
    damage(dir, "parts/" CHECKPOINT_NAME); /* of step 5; the previous is of the epoch, step 4 */
    said = program_run(dir, 0, "%s -d %s --resume --steps 6 --out %s/parts", words, dir, dir);
    assert_says(said, "checksum");
    assert_says(said, "looking for an older checkpoint");
    assert_same_file(dir, "straight/" CHECKPOINT_NAME, "parts/" CHECKPOINT_NAME);
    free(said);
}

/* The small files of DIR/r, one after the other; heap. */
static char *folder_state(const char *dir)
{
    static const char *const names[] = {"r/run.json", "r/mlperf.log", "r/events.jsonl",
                                        "r/result.json"};
    struct str all = STR_INIT;

    for (size_t i = 0; i < COUNT_OF(names); i++) {
        char *const text = read_text(dir, names[i]);
        str_add(&all, text);
        free(text);
    }
    return str_detach(&all);
}

/* A resume that is refused leaves the folder as it was, so that the right one still works. */
static void refused_resume_changes_nothing(void **state)
{
    const char *const dir = *state;
    static const struct {
        int code;
        const char *words;
    } refused[] = {
        {3, "--classes 11"},                /* another shape */
        {3, "--optimizer adamw"},           /* a moment that is not there */
        {2, "--area-min 1 --area-max 0.5"}, /* refused by the pipeline */
        {2, "--init nosuch.safetensors"},   /* weights from two places */
        {3, "--classes 11 --dry-run"},      /* the same without a run */
        {2, "--area-min 1 --area-max 0.5 --dry-run"},
    };
    char *before, *after;

    free(program_run(dir, 0, NULL_RUN "-b 8 --steps 2 --out %s/r", dir));
    before = read_text(dir, "r/run.json");
    free(program_run(dir, 2, NULL_RUN "-b 8 --steps 4 --resume --seed 6 --out %s/r", dir));
    after = read_text(dir, "r/run.json");
    assert_string_equal(before, after);
    free(before);
    free(after);
    before = folder_state(dir);
    for (size_t i = 0; i < COUNT_OF(refused); i++) {
        free(program_run(dir, refused[i].code, NULL_RUN "-b 8 --steps 4 --resume --out %s/r %s",
                         dir, refused[i].words));
        after = folder_state(dir);
        assert_string_equal(before, after);
        free(after);
    }
    free(before);
    damage(dir, "r/" CHECKPOINT_NAME);
    before = read_text(dir, "r/mlperf.log");
    free(program_run(dir, 3, NULL_RUN "-b 8 --steps 4 --resume --out %s/r", dir));
    after = read_text(dir, "r/mlperf.log");
    assert_string_equal(before, after);
    free(before);
    free(after);
}

/* A fresh run that is refused makes no folder. */
static void refused_run_makes_no_folder(void **state)
{
    const char *const dir = *state;
    char *const folder = file_join(dir, "fresh");

    free(program_run(dir, 0, NULL_RUN "-b 8 --steps 1 --out %s/r", dir));
    free(program_run(dir, 2, NULL_RUN "-b 8 --steps 1 --area-min 1 --area-max 0.5 --out %s/fresh",
                     dir));
    free(program_run(dir, 3,
                     NULL_RUN "-b 8 --steps 1 --classes 11 --init %s/r/" CHECKPOINT_NAME
                              " --out %s/fresh",
                     dir, dir));
    assert_false(file_exists(folder));
    free(folder);
}

/* No file may grow beyond a megabyte: no checkpoint then, but the run goes on, its logs stand, and
 * the exit code tells.
 */
static void full_disk_costs_the_checkpoint(void **state)
{
    const char *const dir = *state;
    char *const words =
        xasprintf(NULL_RUN "-b 8 --synthetic-samples 16 --eval-every 2 --steps 4 --out %s/r", dir);
    char *const folder = file_join(dir, "r");
    char *said;
    cJSON *log, *result;

    assert_int_equal(program_wait(program_start(dir, 1 << 20, -1, words), &said), 3);
    assert_says(said, "no checkpoint of step 2");
    assert_says(said, "no checkpoint of step 4");
    assert_says(said, "the last steps of the run are not saved");
    assert_says(said, "training goes on");
    log = read_lines(dir, "r/mlperf.log");
    assert_int_equal(count_key(log, "run_stop", NULL), 1);
    assert_int_equal(count_key(log, "eval_accuracy", NULL), 1);
    result = read_json(dir, "r/result.json");
    assert_true(number_of(result, "steps") == 4);
    assert_true(cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(result, "checkpoint_failed")));
    assert_false(checkpoint_exists(folder));
    cJSON_Delete(log);
    cJSON_Delete(result);
    free(said);
    free(words);
    free(folder);
}

/* A log covers one start; a target that a resumed run reaches is no timed result. */
static void resumed_target_is_not_timed(void **state)
{
    static const char words[] = CPU_RUN "-b 6 --classes 3 --eval-every 1 --epochs 2";
    const char *const dir = *state;
    cJSON *log, *result;
    char *said;

    run_data(dir, "train", RUN_TRAIN, NULL);
    run_data(dir, "val", RUN_VAL, NULL);
    free(program_run(dir, 0, "%s -d %s --target 0 --steps 1 --out %s/r", words, dir, dir));
    free(program_run(dir, 0, "%s -d %s --target 0 --steps 2 --resume --out %s/r", words, dir, dir));
    said = program_run(dir, 4, "%s -d %s --target 0.000001 --resume --out %s/r", words, dir, dir);
    assert_says(said, "no timed result");
    log = read_lines(dir, "r/mlperf.log");
    assert_int_equal(count_key(log, "run_start", NULL), 1);
    cJSON_Delete(log);
    log = read_lines(dir, "r/mlperf.2.log");
    assert_int_equal(count_key(log, "run_start", NULL), 1);
    cJSON_Delete(log);
    log = read_lines(dir, "r/mlperf.1.log");
    assert_int_equal(count_key(log, "checkpoint_loaded", NULL), 0);
    cJSON_Delete(log);
    result = read_json(dir, "r/result.json");
    assert_string_equal(string_of(result, "status"), "target reached");
    assert_true(cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(result, "resumed")));
    cJSON_Delete(result);
    free(said);
}

#define S(f) cmocka_unit_test_setup_teardown(f, scratch_open, scratch_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        S(resumed_run_is_the_same),     S(refused_resume_changes_nothing),
        S(refused_run_makes_no_folder), S(full_disk_costs_the_checkpoint),
        S(resumed_target_is_not_timed),
    };

    return cmocka_run_group_tests_name("run_resume", tests, NULL, NULL);
}
