/* Runs that a signal ends, and how they go on. The null device stands in: numbers do not matter. */
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
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
#include "train/checkpoint.h"

#define NULL_RUN "run resnet50 -p sample --device null --threads 1 --synthetic --seed 5 "
#define LONG "-b 1 --synthetic-samples 100000000 --steps 100000000"

struct running {
    struct program program;
    char *events;
};

/* Starts the program with --out DIR/r and waits until its events hold a text. */
static struct running start(const char *dir, const char *words, const char *until)
{
    char *const line = xasprintf("%s --out %s/r", words, dir);
    struct running r = {.events = file_join(dir, "r/events.jsonl")};

    r.program = program_start(dir, 0, -1, line);
    free(line);
    wait_for_text(r.events, until);
    return r;
}

static void end(struct running r, int expected)
{
    char *said;
    const int code = program_wait(r.program, &said);

    if (code != expected)
        fail_msg("ends with %d, not %d, and says: %s", code, expected, said);
    free(said);
    free(r.events);
}

static const char *meta_string(const cJSON *line, const char *name)
{
    return string_of(cJSON_GetObjectItemCaseSensitive(line, "metadata"), name);
}

static long long checkpoint_step(const char *dir)
{
    char *const folder = file_join(dir, "r");
    struct checkpoint c;
    long long step;

    if (checkpoint_open(&c, folder) < 0)
        fail_msg("%s", err_reason());
    step = c.info.step;
    checkpoint_close(&c);
    free(folder);
    return step;
}

/* The first signal stops between steps, says so, and leaves a checkpoint that goes on. */
static void first_signal_stops_and_the_run_goes_on(void **state)
{
    const char *const dir = *state;
    struct running r = start(dir, NULL_RUN LONG, "epoch_start");
    const cJSON *last;
    long long step;
    cJSON *log, *events, *result;

    kill(r.program.pid, SIGTERM);
    end(r, 1);
    log = read_lines(dir, "r/mlperf.log");
    assert_int_equal(count_key(log, "run_stop", &last), 1);
    assert_string_equal(meta_string(last, "status"), "aborted");
    events = read_lines(dir, "r/events.jsonl");
    assert_int_equal(count_key(events, "stop_requested", &last), 1);
    assert_string_equal(string_of(last, "value"), "SIGTERM");
    result = read_json(dir, "r/result.json");
    assert_string_equal(string_of(result, "status"), "interrupted");
    step = checkpoint_step(dir);
    assert_true(number_of(result, "steps") == (double)step);
    free(program_run(dir, 0,
                     NULL_RUN "-b 1 --synthetic-samples 100000000 --resume --steps %lld --out %s/r",
                     step + 3, dir));
    assert_true(checkpoint_step(dir) == step + 3);
    cJSON_Delete(log);
    cJSON_Delete(events);
    cJSON_Delete(result);
}

/* The second signal arrives while the first one's checkpoint is written. */
static void second_signal_ends_at_once(void **state)
{
    const char *const dir = *state;
    struct running r = start(dir, NULL_RUN LONG, "epoch_start");
    char *const events = xstrdup(r.events), *const folder = file_join(dir, "r");
    char *text;
    cJSON *result;

    kill(r.program.pid, SIGINT);
    wait_for_text(events, "\"SIGINT\"");
    kill(r.program.pid, SIGINT);
    end(r, 1);
    result = read_json(dir, "r/result.json"); /* as of the start */
    assert_string_equal(string_of(result, "status"), "running");
    cJSON_Delete(result);
    text = read_text(dir, "r/mlperf.log");
    assert_null(strstr(text, "run_stop"));
    assert_false(checkpoint_exists(folder)); /* half a file is none */
    free(text);
    free(events);
    free(folder);
}

/* An evaluation that a signal cut short is made when the run goes on, also after the last epoch. */
static void stopped_evaluation_is_made_up(void **state)
{
    static const char words[] =
        NULL_RUN "-b 1 --synthetic-samples 30000 --steps 30000 --eval-every 1 --checkpoint-every 0";
    const char *const dir = *state;
    struct running r = start(dir, words, "eval_start");
    const cJSON *last;
    cJSON *log, *result;

    kill(r.program.pid, SIGTERM);
    end(r, 1);
    log = read_lines(dir, "r/mlperf.log");
    assert_int_equal(count_key(log, "eval_accuracy", NULL), 0);
    count_key(log, "run_stop", &last);
    assert_string_equal(meta_string(last, "status"), "aborted");
    cJSON_Delete(log);
    assert_true(checkpoint_step(dir) == 30000);
    free(program_run(dir, 0, "%s --resume --out %s/r", words, dir));
    log = read_lines(dir, "r/mlperf.log");
    assert_int_equal(count_key(log, "eval_accuracy", &last), 1);
    assert_true(number_of(cJSON_GetObjectItemCaseSensitive(last, "metadata"), "epoch_num") == 1);
    result = read_json(dir, "r/result.json");
    assert_true(number_of(result, "quality") >= 0); /* not absent */
    cJSON_Delete(log);
    cJSON_Delete(result);
}

/* Weights that are only measured: there is nothing to save. */
static void stopped_evaluation_of_given_weights(void **state)
{
    const char *const dir = *state;
    char *const weights = file_join(dir, "w.safetensors"), *const folder = file_join(dir, "r");
    char *words;
    struct running r;
    const cJSON *last;
    cJSON *log, *result;

    free(program_run(dir, 0, NULL_RUN "-b 8 --steps 1 --out %s/a --export %s", dir, weights));
    words = xasprintf(NULL_RUN LONG " --only evaluate --init %s", weights);
    r = start(dir, words, "eval_start");
    kill(r.program.pid, SIGINT);
    end(r, 1);
    log = read_lines(dir, "r/mlperf.log");
    assert_int_equal(count_key(log, "run_stop", &last), 1);
    assert_string_equal(meta_string(last, "status"), "aborted");
    result = read_json(dir, "r/result.json");
    assert_string_equal(string_of(result, "status"), "interrupted");
    assert_false(checkpoint_exists(folder));
    cJSON_Delete(log);
    cJSON_Delete(result);
    free(words);
    free(weights);
    free(folder);
}

#define S(f) cmocka_unit_test_setup_teardown(f, scratch_open, scratch_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        S(first_signal_stops_and_the_run_goes_on),
        S(second_signal_ends_at_once),
        S(stopped_evaluation_is_made_up),
        S(stopped_evaluation_of_given_weights),
    };

    return cmocka_run_group_tests_name("run_stop", tests, NULL, NULL);
}
