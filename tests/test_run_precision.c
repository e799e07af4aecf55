/* Whole runs in less precision and with a scaled loss. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/file.h"
#include "plan/engine.h"
#include "run_fixture.h"
#include "scratch.h"
#include "train/checkpoint.h"

#define CPU_RUN "run resnet50 -p sample --device cpu --threads 1 --seed 5 -b 6 "
#define REF_RUN "run resnet50 -p sample --device ref --synthetic --seed 5 -b 2 "

/* Begins far too high: steps are skipped and the scale falls, over a resume as without one. */
static void a_dynamic_scale_falls_and_is_resumed(void **state)
{
    static const char words[] =
        CPU_RUN "--epochs 3 --dynamic-loss-scale --loss-scale 4e18 --checkpoint-every 0";
    const char *const dir = *state;
    cJSON *result, *events;
    const cJSON *last;

    run_data(dir, "train", RUN_TRAIN, NULL);
    run_data(dir, "val", RUN_VAL, NULL);
    free(program_run(dir, 0, "%s -d %s --steps 7 --out %s/straight", words, dir, dir));
    free(program_run(dir, 0, "%s -d %s --steps 2 --out %s/parts", words, dir, dir));
    free(program_run(dir, 0, "%s -d %s --resume --steps 7 --out %s/parts", words, dir, dir));
    assert_same_file(dir, "straight/" CHECKPOINT_NAME, "parts/" CHECKPOINT_NAME);
    result = read_json(dir, "straight/result.json");
    events = read_lines(dir, "straight/events.jsonl");
    assert_true(number_of(result, "skipped_steps") >= 1);
    assert_true(number_of(result, "skipped_steps") < 7);
    assert_int_equal(count_key(events, "step_skipped", &last),
                     (int)number_of(result, "skipped_steps"));
    cJSON_Delete(result);
    cJSON_Delete(events);
}

/* What is not in the checkpoint is missed before anything is written. */
static void a_checkpoint_without_a_scale_is_refused(void **state)
{
    const char *const dir = *state;
    char *const old_log = file_join(dir, "r/mlperf.1.log");
    char *said;
    cJSON *result;

    run_data(dir, "train", RUN_TRAIN, NULL);
    run_data(dir, "val", RUN_VAL, NULL);
    free(program_run(dir, 0, CPU_RUN "-d %s --steps 1 --out %s/r", dir, dir));
    said = program_run(dir, 3, CPU_RUN "-d %s --steps 2 --dynamic-loss-scale --resume --out %s/r",
                       dir, dir);
    assert_says(said, "no loss scale to go on with");
    assert_false(file_exists(old_log));
    result = read_json(dir, "r/result.json");
    assert_string_equal(string_of(result, "status"), "steps done");
    cJSON_Delete(result);
    free(said);
    free(old_log);
}

static void a_static_scale_that_overflows_ends_the_run(void **state)
{
    const char *const dir = *state;
    char *said;

    run_data(dir, "train", RUN_TRAIN, NULL);
    run_data(dir, "val", RUN_VAL, NULL);
    said = program_run(dir, 1, CPU_RUN "-d %s --loss-scale 1e38 --steps 3 --out %s/r", dir, dir);
    assert_says(said, "step 1: the gradients are not finite at the loss scale 1e+38");
    free(said);
}

static int cpu_has_bf16(void)
{
    struct engine e;
    int has;

    assert_int_equal(engine_open(&e, "cpu", (struct device_options){.threads = 1}), 0);
    has = e.backend->supports(e.device, DT_BF16) == 0;
    engine_close(&e);
    return has;
}

static void a_processor_without_bf16_trains_in_f32_and_says_so(void **state)
{
    const char *const dir = *state;
    const int has = cpu_has_bf16();
    const cJSON *options;
    char *said;
    cJSON *run;

    run_data(dir, "train", RUN_TRAIN, NULL);
    run_data(dir, "val", RUN_VAL, NULL);
    said = program_run(dir, 0, CPU_RUN "-d %s --precision bf16 --steps 1 --out %s/r", dir, dir);
    assert_int_equal(strstr(said, "training in f32 instead of bf16") == NULL, has);
    run = read_json(dir, "r/run.json");
    options = cJSON_GetObjectItem(cJSON_GetObjectItem(run, "options"), "training");
    assert_string_equal(string_of(options, "precision"), has ? "bf16" : "f32");
    cJSON_Delete(run);
    free(said);
}

static void a_run_goes_on_in_its_own_precision_only(void **state)
{
    const char *const dir = *state;
    char *said;

    free(program_run(dir, 0, REF_RUN "--precision bf16 --steps 1 --out %s/r", dir));
    said = program_run(dir, 2, REF_RUN "--resume --steps 2 --out %s/r", dir);
    assert_says(said, "resnet50 in bf16 in batches of 2");
    free(said);
    free(program_run(dir, 0, REF_RUN "--precision bf16 --resume --steps 2 --out %s/r", dir));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_dynamic_scale_falls_and_is_resumed, scratch_open,
                                        scratch_close),
        cmocka_unit_test_setup_teardown(a_checkpoint_without_a_scale_is_refused, scratch_open,
                                        scratch_close),
        cmocka_unit_test_setup_teardown(a_static_scale_that_overflows_ends_the_run, scratch_open,
                                        scratch_close),
        cmocka_unit_test_setup_teardown(a_processor_without_bf16_trains_in_f32_and_says_so,
                                        scratch_open, scratch_close),
        cmocka_unit_test_setup_teardown(a_run_goes_on_in_its_own_precision_only, scratch_open,
                                        scratch_close),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
