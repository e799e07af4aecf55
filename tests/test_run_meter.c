/* What a run leaves of the meter: samples.csv with its phases and epochs, its figures, the file of
 * an earlier start, and what runs leave that are ended. */
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "run_fixture.h"
#include "scratch.h"
#include "trace/samples.h"

#define NULL_RUN "run resnet50 -p sample --device null --threads 1 --seed 5 --image-size 28 "
#define DATA_RUN                                                                                   \
    NULL_RUN "--eval-resize 28 -b 6 --accumulate 1 --classes 3 --eval-every 1 --target 0 "         \
             "--epochs 2 --steps 8 "

static void read_samples(const char *dir, const char *name, struct samples *s)
{
    char *const path = file_join(dir, name);

    if (samples_read(path, NULL, s) < 0)
        fail_msg("%s", err_reason());
    assert_int_equal(s->n_left_out, 0);
    free(path);
}

/* The bytes of the records of dir/train.rec's pictures are what an epoch asks for; here only that
 * both epochs ask for the same, and evaluation for more. */
static void check_totals(const struct samples *s)
{
    const double *const asked = samples_column(s, "loader_asked_bytes");
    const struct samples_where first = {.epoch = 1}, second = {.epoch = 2}, all = {0};
    double sum = 0;

    assert_non_null(asked);
    for (size_t i = 0; i < s->n_phases; i++) {
        const double part =
            samples_growth(s, asked, &(struct samples_where){.phase = s->phases[i]});
        sum += isnan(part) ? 0 : part;
    }
    assert_true(sum == samples_growth(s, asked, &all)); /* phases add up */
    assert_true(samples_growth(s, asked, &first) > 0);
    assert_true(samples_growth(s, asked, &second) > 0);
    assert_true(sum == asked[s->n_rows - 1]);
}

static void phases_and_epochs(void **state)
{
    static const char *const phases[] = {"init", "warmup", "train", "evaluate", "end"};
    const char *const dir = *state;
    struct samples s;
    char *said, *command;

    run_data(dir, "train", RUN_TRAIN, NULL);
    run_data(dir, "val", RUN_VAL, NULL);
    said = program_run(dir, 0, DATA_RUN "-d %s --sample-rate 100 --warm 3600 --out %s/r", dir, dir);
    assert_says(said, "meter, phase train: ");
    free(said);
    read_samples(dir, "r/samples.csv", &s);
    assert_int_equal(s.n_phases, COUNT_OF(phases));
    assert_string_equal(s.phases[0], "init");
    assert_string_equal(s.phases[s.phase[s.n_rows - 1]], "end");
    for (size_t i = 0; i < s.n_rows; i++) { /* the first epoch is the warm-up here */
        const char *const phase = s.phases[s.phase[i]];
        assert_true(s.epoch[i] != 1 || strcmp(phase, "warmup") == 0);
        assert_true(s.epoch[i] != 2 || strcmp(phase, "train") == 0);
    }
    for (size_t i = 0; i < COUNT_OF(phases); i++)
        assert_true(samples_seconds(&s, &(struct samples_where){.phase = phases[i]}) >= 0);
    check_totals(&s);
    samples_release(&s);
    command = xasprintf("python3 tests/recompute.py '%s/r' >'%s/figures'", dir, dir);
    if (system("python3 -c '' 2>/dev/null") == 0 && system(command) != 0) {
        said = read_text(dir, "figures");
        fail_msg("%s", said);
    }
    free(command);
}

static void none_when_not_asked_for(void **state)
{
    const char *const dir = *state;
    char *const path = file_join(dir, "r/samples.csv");
    char *const said =
        program_run(dir, 0, NULL_RUN "--synthetic -b 4 --steps 1 --sample-rate 0 --out %s/r", dir);
    cJSON *const result = read_json(dir, "r/result.json");

    assert_null(strstr(said, "meter"));
    assert_false(file_exists(path));
    assert_null(cJSON_GetObjectItemCaseSensitive(result, "meter"));
    cJSON_Delete(result);
    free(said);
    free(path);
}

static void a_resumed_run_keeps_the_earlier_file(void **state)
{
    const char *const dir = *state;
    struct samples first, second;

    free(program_run(dir, 0, NULL_RUN "--synthetic -b 4 --steps 1 --out %s/r", dir));
    free(program_run(dir, 0, NULL_RUN "--synthetic -b 4 --steps 2 --resume --out %s/r", dir));
    read_samples(dir, "r/samples.1.csv", &first);
    read_samples(dir, "r/samples.csv", &second);
    assert_string_equal(first.phases[first.phase[first.n_rows - 1]], "end");
    assert_true(second.time_ms[0] >= first.time_ms[first.n_rows - 1]);
    samples_release(&first);
    samples_release(&second);
}

/* Ended by a signal after some time at work. */
static int end_by(const char *dir, int signal_number)
{
    char *const words = xasprintf(NULL_RUN "--synthetic -b 1 --synthetic-samples 100000000 --steps "
                                           "100000000 --warm 0 --sample-rate 100 --out %s/r",
                                  dir);
    const struct program p = program_start(dir, 0, -1, words);
    char *const samples = file_join(dir, "r/samples.csv"), *said;
    int code;

    wait_for_text(samples, ",train,1,");
    clock_sleep_ns(200000000);
    kill(p.pid, signal_number);
    code = program_wait(p, &said);
    free(said);
    free(samples);
    free(words);
    return code;
}

static void an_interrupted_run_has_figures(void **state)
{
    const char *const dir = *state;
    const cJSON *train;
    struct samples s;
    cJSON *result;

    assert_int_equal(end_by(dir, SIGINT), 1);
    result = read_json(dir, "r/result.json");
    train = cJSON_GetObjectItemCaseSensitive(result, "meter");
    train = cJSON_GetObjectItemCaseSensitive(train, "phases");
    train = cJSON_GetObjectItemCaseSensitive(train, "train");
    assert_true(number_of(train, "seconds") > 0.1);
    cJSON_Delete(result);
    read_samples(dir, "r/samples.csv", &s);
    assert_string_equal(s.phases[s.phase[s.n_rows - 1]], "end");
    samples_release(&s);
}

static void a_killed_run_has_its_rows(void **state)
{
    const char *const dir = *state;
    struct samples s;
    char *text;

    assert_int_equal(end_by(dir, SIGKILL), 1000 + SIGKILL);
    text = read_text(dir, "r/samples.csv");
    assert_true(text[strlen(text) - 1] == '\n');
    read_samples(dir, "r/samples.csv", &s);
    assert_string_equal(s.phases[s.phase[s.n_rows - 1]], "train");
    assert_true(s.n_rows > 5);
    samples_release(&s);
    free(text);
}

/* The run goes on without. */
static void a_file_that_can_not_be_made(void **state)
{
    const char *const dir = *state;
    char *const path = file_join(dir, "r"), *said;
    char *const words = xasprintf(NULL_RUN "--synthetic -b 4 --steps 3 --checkpoint-every 0 "
                                           "--sample-rate 1 --out %s/r",
                                  dir);
    int code;

    assert_int_equal(file_mkdirs(path), 0);
    free(scratch_file(path, "samples.csv/in_the_way", ""));
    code = program_wait(program_start(dir, 0, -1, words), &said);
    if (code != 0)
        fail_msg("ends with %d: %s", code, said);
    assert_says(said, "the machine is not measured");
    free(said);
    free(words);
    free(path);
}

#define S(f) cmocka_unit_test_setup_teardown(f, scratch_open, scratch_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        S(phases_and_epochs),
        S(none_when_not_asked_for),
        S(a_resumed_run_keeps_the_earlier_file),
        S(an_interrupted_run_has_figures),
        S(a_killed_run_has_its_rows),
        S(a_file_that_can_not_be_made),
    };

    return cmocka_run_group_tests_name("run_meter", tests, NULL, NULL);
}
