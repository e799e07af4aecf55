/* A run seen from outside: files that grow, and what they say of a run. */
#include <fcntl.h>
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "cli/run_folder.h"
#include "cli/watch.h"
#include "run_fixture.h"
#include "scratch.h"
#include "trace/event_read.h"
#include "trace/sinks.h"
#include "trace/tail.h"

static void append(const char *dir, const char *name, const char *text)
{
    char *const path = file_join(dir, name);
    const int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);

    assert_true(fd >= 0);
    assert_int_equal(file_write_all(fd, text, strlen(text), path), 0);
    close(fd);
    free(path);
}

static void cut(const char *dir, const char *name, long bytes)
{
    char *const path = file_join(dir, name);

    assert_int_equal(truncate(path, bytes), 0);
    free(path);
}

/* ---- a file that grows ---- */

static void assert_tail(struct tail *t, const char *lines)
{
    assert_int_equal(tail_read(t), lines ? TAIL_LINES : TAIL_NOTHING);
    if (lines)
        assert_string_equal(t->lines.s, lines);
}

static void tail_hands_out_whole_lines(void **state)
{
    const char *const dir = *state;
    char *const path = file_join(dir, "f");
    struct tail t = {.path = path};

    assert_tail(&t, NULL); /* not there yet */
    append(dir, "f", "one\ntw");
    assert_tail(&t, "one\n");
    assert_tail(&t, NULL);
    append(dir, "f", "o\n");
    assert_tail(&t, "two\n");
    append(dir, "f", "half a li"); /* which a run that goes on takes away */
    assert_tail(&t, NULL);
    cut(dir, "f", 8);
    append(dir, "f", "three, longer than the half\nfour\n");
    assert_tail(&t, "three, longer than the half\nfour\n");
    assert_tail(&t, NULL);
    tail_release(&t);
    free(path);
}

static void tail_sees_another_file(void **state)
{
    const char *const dir = *state;
    char *const path = file_join(dir, "f");
    struct tail t = {.path = path};

    append(dir, "f", "one\n");
    assert_tail(&t, "one\n");
    assert_int_equal(file_replace(path, "new one, longer\n", 16), 0);
    assert_int_equal(tail_read(&t), TAIL_AGAIN);
    assert_tail(&t, "new one, longer\n");
    cut(dir, "f", 0);
    append(dir, "f", "short\n");
    assert_int_equal(tail_read(&t), TAIL_AGAIN);
    assert_tail(&t, "short\n");
    assert_int_equal(unlink(path), 0); /* for a moment */
    assert_tail(&t, NULL);
    append(dir, "f", "back\n");
    assert_int_equal(tail_read(&t), TAIL_AGAIN);
    assert_tail(&t, "back\n");
    tail_release(&t);
    free(path);
}

static void tail_leaves_out_what_is_too_long(void **state)
{
    const char *const dir = *state;
    char *const path = file_join(dir, "f"), *const lots = xmalloc(700001);
    struct tail t = {.path = path};
    int n = 0;

    memset(lots, 'x', 700000);
    lots[700000] = '\0';
    append(dir, "f", lots);
    while (n++ < 5)
        assert_tail(&t, NULL);
    append(dir, "f", "end of it\nline\n");
    assert_tail(&t, "line\n");
    tail_release(&t);
    free(lots);
    free(path);
}

static void tail_begins_with_the_newest(void **state)
{
    const char *const dir = *state;
    char *const path = file_join(dir, "f");
    struct tail t = {.path = path, .has_header = 1, .newest = 9};

    append(dir, "f", "a,b");
    assert_tail(&t, NULL);
    append(dir, "f", "\n");
    assert_tail(&t, NULL);
    append(dir, "f", "1,2\n3,4\n5,6\n7,8\n");
    assert_tail(&t, "a,b\n1,2\n3,4\n5,6\n7,8\n"); /* it has been followed from its first line */
    tail_release(&t);
    t = (struct tail){.path = path, .has_header = 1, .newest = 9};
    assert_tail(&t, "a,b\n5,6\n7,8\n");
    append(dir, "f", "9,10\n");
    assert_tail(&t, "a,b\n9,10\n");
    tail_release(&t);
    t = (struct tail){.path = path, .has_header = 1, .newest = 5}; /* exactly a line */
    assert_tail(&t, "a,b\n9,10\n");
    tail_release(&t);
    free(path);
}

static void tail_reads_files_only(void **state)
{
    const char *const dir = *state;
    char *const path = file_join(dir, "pipe");
    struct tail t = {.path = path}, folder = {.path = dir};

    assert_int_equal(mkfifo(path, 0600), 0);
    assert_tail(&t, NULL);
    assert_tail(&folder, NULL);
    tail_release(&t);
    free(path);
}

/* ---- events read back ---- */

struct seen {
    int n;
    enum trace_key key;
    enum trace_type type;
    int64_t time_ms, elapsed_ns;
    double value, loss, epoch;
    char status[16];
};

static void see(void *context, const struct trace_event *e)
{
    struct seen *const s = context;
    const struct trace_value *const status = trace_find(e, "status");

    *s = (struct seen){.n = s->n + 1,
                       .key = e->key,
                       .type = e->type,
                       .time_ms = e->time_ms,
                       .elapsed_ns = e->elapsed_ns,
                       .value = e->value.kind == TRACE_REAL ? e->value.real : -1,
                       .loss = trace_find_real(e, "loss"),
                       .epoch = trace_find_real(e, "epoch_num")};
    snprintf(s->status, sizeof(s->status), "%s", status ? status->text : "");
}

static void events_are_read_back(void **state)
{
    char *const path = file_join(*state, "events.jsonl"), *text, *end;
    struct seen s = {0};
    struct trace t;
    size_t n;

    trace_open(&t);
    assert_int_equal(trace_add(&t, &jsonl_sink, &(struct jsonl_options){.path = path}), 0);
    TRACE_STEP(&t, {.epoch = 3, .step = 7, .samples_per_s = 5, .loss = INFINITY});
    TRACE_POINT(&t, eval_accuracy, trace_real(0.1), {"epoch_num", trace_int(4)});
    TRACE_END(&t, run_stop, trace_none(), {"status", trace_string("suc\"cess")});
    assert_int_equal(trace_close(&t), 0);
    assert_int_equal(file_read(path, 1 << 20, &text, &n), 0);
    end = strchr(text, '\n');
    *end = '\0';
    assert_true(event_read(text, (size_t)(end - text), see, &s));
    assert_true(s.key == KEY_step && s.type == TRACE_TYPE_POINT && s.epoch == 3);
    assert_true(isinf(s.loss) && s.time_ms > 1600000000000);
    char *const second = end + 1;
    end = strchr(second, '\n');
    *end = '\0';
    assert_true(event_read(second, (size_t)(end - second), see, &s));
    assert_true(s.key == KEY_eval_accuracy && s.value == 0.1 && s.epoch == 4);
    char *const third = end + 1;
    end = strchr(third, '\n');
    *end = '\0';
    assert_true(event_read(third, (size_t)(end - third), see, &s));
    assert_true(s.key == KEY_run_stop && s.type == TRACE_TYPE_END);
    assert_string_equal(s.status, "suc\"cess");
    assert_int_equal(s.n, 3);
    free(text);
    free(path);
}

static void what_is_no_event_is_none(void **state)
{
    static const char *const lines[] = {
        "",
        "null",
        "[]",
        "{}",
        "{\"time_ms\": 1, \"elapsed_ns\": 1, \"type\": \"point\", \"key\": \"nonsense\"}",
        "{\"time_ms\": 1, \"elapsed_ns\": -1, \"type\": \"point\", \"key\": \"seed\"}",
        "{\"time_ms\": 1e300, \"elapsed_ns\": 1, \"type\": \"point\", \"key\": \"seed\"}",
        "{\"time_ms\": 1, \"elapsed_ns\": 1, \"type\": 3, \"key\": \"seed\"}",
        "{\"time_ms\": 1, \"elapsed_ns\": 1, \"type\": \"point\", \"key\": \"se"};
    struct seen s = {0};

    (void)state;
    for (size_t i = 0; i < COUNT_OF(lines); i++)
        assert_false(event_read(lines[i], strlen(lines[i]), see, &s));
    assert_int_equal(s.n, 0);
}

/* ---- a run ---- */

#define EVENT(time, type, key, rest)                                                               \
    "{\"time_ms\": 1700000000000, \"elapsed_ns\": " time ", \"type\": \"" type "\", \"key\": "     \
    "\"" key "\"" rest ", \"file\": \"a.c\", \"lineno\": 1}\n"
#define BEGIN EVENT("0", "start", "init_start", "") EVENT("1000000000", "start", "run_start", "")
#define STEP                                                                                       \
    EVENT("3000000000", "point", "step",                                                           \
          ", \"epoch_num\": 1, \"step_num\": 5, \"steps_total\": 10, \"samples_per_s\": 50, "      \
          "\"loss\": 2.5, \"data_wait_ratio\": 0.5, \"eta_s\": 4")
#define QUALITY EVENT("4000000000", "point", "eval_accuracy", ", \"value\": 0.75, \"epoch_num\": 1")
#define END(status) EVENT("5000000000", "end", "run_stop", ", \"status\": \"" status "\"")
#define RUN_JSON "{\"workload\": \"resnet50\", \"unit\": \"images\"}"
#define RESULT_JSON "{\"metric\": \"top1\", \"target\": 0.7}"
#define SAMPLES "time_ms,elapsed_s,phase,epoch,cpu_process_percent,memory_anon_bytes\n"

/* DIR/NAME with the files of a run, held as by its process where a descriptor is wanted. */
static char *make_run(const char *dir, const char *name, const char *events, int *held)
{
    char *const run = file_join(dir, name);

    assert_int_equal(file_mkdirs(run), 0);
    append(run, "run.json", RUN_JSON);
    append(run, "result.json", RESULT_JSON);
    append(run, "events.jsonl", events);
    if (held)
        assert_int_equal(run_folder_lock(run, held), 0);
    return run;
}

static char *view_of(const struct watch *w)
{
    const struct live_space space = {.columns = 100, .rows = 40, .is_ascii = 1};
    struct str out = STR_INIT;

    watch_draw(w, &space, &out);
    return str_detach(&out);
}

static void assert_view(struct watch *w, enum watch_state state, const char *part)
{
    char *text;

    watch_read(w, WATCH_AT_ONCE);
    assert_int_equal(w->state, state);
    text = view_of(w);
    assert_says(text, part);
    free(text);
}

static void a_run_is_followed_to_its_end(void **state)
{
    const char *const dir = *state;
    char *const run = file_join(dir, "r");
    struct watch w;
    int held;

    watch_open(&w, run);
    assert_view(&w, WATCH_NO_RUN, "waiting for a run to start");
    free(make_run(dir, "r", BEGIN, &held));
    assert_view(&w, WATCH_AT_WORK, "resnet50: training");
    append(run, "events.jsonl", STEP);
    append(run, "samples.csv", SAMPLES "1700000002000,2.000,train,1,150.0,2000000\n17000000");
    assert_view(&w, WATCH_AT_WORK, "resnet50: training, epoch 1, step 5 of 10");
    assert_view(&w, WATCH_AT_WORK, "50.0 images/s, loss 2.5000\n");
    assert_view(&w, WATCH_AT_WORK, "the loader is the shortest stave, data waited for 50 %");
    assert_view(&w, WATCH_AT_WORK, "1.50\nmemory");
    append(run, "samples.csv", "03000,3.000,train,1,,3000000\n1700000004000,4.000,train,1,,0\n");
    assert_view(&w, WATCH_AT_WORK, "anonymous 3.0 MB\n");
    append(run, "events.jsonl", QUALITY "{\"half");
    assert_view(&w, WATCH_AT_WORK, "top-1       0.7500, target 0.7, after epoch 1\n");
    assert_int_equal(watch_exit_code(&w), 0);
    cut(run, "events.jsonl", (long)strlen(BEGIN STEP QUALITY));
    append(run, "events.jsonl", END("success"));
    close(held);
    assert_view(&w, WATCH_ENDED, "resnet50: target reached after 4 s; best so far 0.7500, epoch 1");
    assert_int_equal(watch_exit_code(&w), 0);
    watch_release(&w);
    free(run);
}

static void a_killed_run_is_said_to_be(void **state)
{
    const char *const dir = *state;
    int held;
    char *const run = make_run(dir, "r", BEGIN STEP "{\"time_ms\": 17", &held);
    struct watch w;

    watch_open(&w, run);
    assert_view(&w, WATCH_AT_WORK, "step 5 of 10");
    close(held);
    assert_view(&w, WATCH_KILLED,
                "resnet50: was killed: nobody is at work and no end was written, epoch 1");
    assert_int_equal(watch_exit_code(&w), 1);
    /* it goes on, in the same files */
    assert_int_equal(run_folder_lock(run, &held), 0);
    cut(run, "events.jsonl", (long)strlen(BEGIN STEP));
    append(run, "events.jsonl", BEGIN);
    assert_view(&w, WATCH_AT_WORK, "resnet50: training, ");
    assert_true(isnan(w.live.step));
    append(run, "events.jsonl", END("aborted"));
    close(held);
    assert_view(&w, WATCH_ENDED, "stopped after 4 s without reaching the target (status aborted)");
    assert_int_equal(watch_exit_code(&w), 1);
    watch_release(&w);
    free(run);
}

/* It wrote something a moment ago: the folder is not asked, so that whoever wants to lock it is not
 * in anybody's way. */
static void a_patient_look_does_not_ask(void **state)
{
    char *const run = make_run(*state, "r", BEGIN, NULL);
    struct watch w;

    watch_open(&w, run);
    watch_read(&w, WATCH_PATIENT);
    assert_int_equal(w.state, WATCH_AT_WORK);
    w.news_ns -= (int64_t)60e9;
    watch_read(&w, WATCH_PATIENT);
    assert_int_equal(w.state, WATCH_KILLED);
    watch_release(&w);
    free(run);
}

static void the_newest_run_of_several_is_shown(void **state)
{
    const char *const dir = *state;
    int held, set;
    char *const first = make_run(dir, "set/run-1", BEGIN, &held), *second;
    char *const all = file_join(dir, "set");
    struct watch w;

    assert_int_equal(run_folder_lock(all, &set), 0);
    watch_open(&w, dir);
    assert_view(&w, WATCH_AT_WORK, "set/run-1\n");
    watch_release(&w);
    watch_open(&w, all);
    append(first, "events.jsonl", END("success"));
    close(held);
    assert_view(&w, WATCH_BETWEEN, "the next run has not started yet\n");
    usleep(20000);
    second = make_run(dir, "set/run-2", BEGIN STEP, &held);
    assert_view(&w, WATCH_AT_WORK, "set/run-2\n");
    append(second, "events.jsonl", END("success"));
    close(held);
    close(set);
    assert_view(&w, WATCH_ENDED, "finished after 4 s");
    watch_release(&w);
    free(first);
    free(second);
    free(all);
}

/* Looks as run_folder_is_held does, but slowly, a fifth of the time. */
static _Noreturn void look_often(const char *dir)
{
    const int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    for (;;) {
        flock(fd, LOCK_SH | LOCK_NB);
        usleep(200);
        flock(fd, LOCK_UN);
        usleep(800);
    }
}

/* Whoever looks whether a folder is held keeps nobody from taking it. */
static void looking_keeps_nobody_out(void **state)
{
    const char *const dir = *state;
    const pid_t looker = fork();
    int fd, status;

    assert_true(looker >= 0);
    if (looker == 0)
        look_often(dir);
    for (int i = 0; i < 50; i++) {
        usleep(1700);
        if (run_folder_lock(dir, &fd) < 0)
            fail_msg("%s", err_reason());
        assert_true(run_folder_is_held(dir));
        close(fd);
    }
    assert_false(run_folder_is_held("/nonexistent"));
    kill(looker, SIGKILL);
    waitpid(looker, &status, 0);
    assert_false(run_folder_is_held(dir));
    assert_int_equal(run_folder_lock(dir, &fd), 0); /* looking is over */
    close(fd);
}

static void what_files_hold_is_made_printable(void **state)
{
    const char *const dir = *state;
    char *const run = make_run(dir, "r\033[5m", BEGIN END("\\u001b[2J"), NULL);
    struct watch w;
    char *text;

    watch_open(&w, run);
    assert_view(&w, WATCH_ENDED, "r\\x1b[5m\n");
    text = view_of(&w);
    assert_says(text, "(status \\x1b[2J)");
    assert_null(strchr(text, '\033'));
    free(text);
    watch_release(&w);
    free(run);
}

/* ---- the program, without a terminal ---- */

static void prints_once_without_a_terminal(void **state)
{
    const char *const dir = *state;
    int held;
    char *const run = make_run(dir, "r", BEGIN STEP, &held);
    char *said = program_run(dir, 0, "watch %s", run);

    assert_says(said, "resnet50: training, epoch 1, step 5 of 10");
    assert_null(strchr(said, '\033'));
    free(said);
    close(held);
    said = program_run(dir, 1, "watch %s", run);
    assert_says(said, "was killed");
    free(said);
    append(run, "events.jsonl", END("success"));
    said = program_run(dir, 0, "watch %s", dir);
    assert_says(said, "finished after 4 s");
    free(said);
    said = program_run(dir, 2, "watch %s/nothing", dir);
    assert_says(said, "there is no run in ");
    free(said);
    free(run);
}

#define IN_DIR(test) cmocka_unit_test_setup_teardown(test, scratch_open, scratch_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_DIR(tail_hands_out_whole_lines),
        IN_DIR(tail_sees_another_file),
        IN_DIR(tail_leaves_out_what_is_too_long),
        IN_DIR(tail_begins_with_the_newest),
        IN_DIR(tail_reads_files_only),
        IN_DIR(events_are_read_back),
        cmocka_unit_test(what_is_no_event_is_none),
        IN_DIR(a_run_is_followed_to_its_end),
        IN_DIR(a_killed_run_is_said_to_be),
        IN_DIR(a_patient_look_does_not_ask),
        IN_DIR(the_newest_run_of_several_is_shown),
        IN_DIR(looking_keeps_nobody_out),
        IN_DIR(what_files_hold_is_made_printable),
        IN_DIR(prints_once_without_a_terminal),
    };

    return cmocka_run_group_tests_name("watch", tests, NULL, NULL);
}
