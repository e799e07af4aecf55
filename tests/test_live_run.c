/* The program on a terminal: `stave run` and `stave watch`, what a person sees of them and what
 * they leave. The null device stands in: numbers do not matter. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/file.h"
#include "run_fixture.h"
#include "scratch.h"
#include "vt.h"

#define NULL_RUN "run resnet50 -p sample --device null --threads 1 --synthetic --seed 5 -b 1 "
#define LONG NULL_RUN "--synthetic-samples 100000000 --steps 100000000"

/* A program whose terminal this is. */
struct terminal {
    struct pty pty;
    struct vt vt;
    struct termios modes; /* before it began */
    pid_t pid;
};

static _Noreturn void become(const struct terminal *t, char **argv)
{
    setsid();
    ioctl(t->pty.slave, TIOCSCTTY, 0);
    for (int fd = 0; fd < 3; fd++)
        dup2(t->pty.slave, fd);
    execv(argv[0], argv);
    _exit(127);
}

static struct terminal begin(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static struct terminal begin(const char *fmt, ...)
{
    struct terminal t = {.pty = pty_open(80, 24)};
    char words[1024], *argv[64] = {(char[]){STAVE_BUILD "/stave"}}, *save = NULL;
    va_list ap;
    int n = 1;

    va_start(ap, fmt);
    vsnprintf(words, sizeof(words), fmt, ap);
    va_end(ap);
    for (char *w = strtok_r(words, " ", &save); w && n < 63; w = strtok_r(NULL, " ", &save))
        argv[n++] = w;
    vt_open(&t.vt, 80, 24);
    assert_int_equal(tcgetattr(t.pty.master, &t.modes), 0);
    t.pid = fork();
    assert_true(t.pid >= 0);
    if (t.pid == 0)
        become(&t, argv);
    return t;
}

static void type(const struct terminal *t, const char *keys)
{
    assert_int_equal(write(t->pty.master, keys, strlen(keys)), strlen(keys));
}

static void assert_modes(const struct terminal *t)
{
    struct termios modes;

    assert_int_equal(tcgetattr(t->pty.master, &modes), 0);
    assert_int_equal(modes.c_lflag, t->modes.c_lflag);
}

/* Reads until it ends; the screen is as it is to be left: nothing of a view, the cursor in column
 * 0, nothing below it, keys as before. Returns the screen. */
static char *finish(struct terminal *t, int expected)
{
    const int status = pty_end(&t->pty, &t->vt, t->pid);
    char *const text = vt_text(&t->vt);

    if (!WIFEXITED(status) || WEXITSTATUS(status) != expected)
        fail_msg("ends with status %#x, not %d: %s", (unsigned)status, expected, text);
    assert_modes(t);
    close(t->pty.slave);
    close(t->pty.master);
    assert_int_equal(t->vt.column, 0);
    vt_close(&t->vt);
    return text;
}

static void assert_no_view(const char *text)
{
    if (strstr(text, "progress  ") || strstr(text, "staves") || strstr(text, "training,") ||
        strstr(text, "leaves"))
        fail_msg("a view is left: %s", text);
}

static void a_run_leaves_its_lines(void **state)
{
    const char *const dir = *state;
    struct terminal t = begin(NULL_RUN "--synthetic-samples 30000 --steps 60000 --eval-every 1 "
                                       "--checkpoint-every 0 --json --out %s/r",
                              dir);
    char *text;

    pty_wait(&t.pty, &t.vt, "progress ");
    text = finish(&t, 0);
    assert_no_view(text);
    assert_says(text, "epoch 1: top-1 0.0000 (target 0.864), ");
    assert_says(text, "\nepoch 2: top-1 ");
    assert_says(text, "\nfinished after ");
    assert_says(text, "\n{\n  \"status\": \"steps done\"");
    free(text);
}

/* The signal that Ctrl-C sends, without the key: at the key the kernel throws away what the
 * terminal has not taken yet (termios(3), NOFLSH), which may be any part of a view. */
static void ctrl_c_leaves_a_clean_screen(void **state)
{
    const char *const dir = *state;
    struct terminal t = begin(LONG " --out %s/r", dir);
    char *text;

    pty_wait(&t.pty, &t.vt, "step ");
    assert_int_equal(kill(t.pid, SIGINT), 0);
    text = finish(&t, 1);
    assert_no_view(text);
    assert_says(text, "stopped after ");
    free(text);
}

/* The second one ends the process at once, while its checkpoint is written. */
static void ctrl_c_twice_leaves_a_clean_screen(void **state)
{
    const char *const dir = *state;
    char *const events = file_join(dir, "r/events.jsonl");
    struct terminal t = begin(LONG " --out %s/r", dir);
    char *text;

    pty_wait(&t.pty, &t.vt, "step ");
    assert_int_equal(kill(t.pid, SIGINT), 0);
    wait_for_text(events, "\"SIGINT\"");
    assert_int_equal(kill(t.pid, SIGINT), 0);
    text = finish(&t, 1);
    assert_no_view(text);
    assert_null(strstr(text, "stopped after "));
    free(text);
    free(events);
}

static void a_dumb_terminal_gets_plain_lines(void **state)
{
    const char *const dir = *state;
    struct terminal t;
    char *text;

    setenv("TERM", "dumb", 1);
    t = begin(
        NULL_RUN
        "--synthetic-samples 30000 --steps 30000 --eval-every 1 --checkpoint-every 0 --out %s/r",
        dir);
    text = finish(&t, 0);
    setenv("TERM", "xterm", 1);
    assert_no_view(text);
    assert_int_equal(strncmp(text, "epoch 1: top-1 ", 15), 0);
    free(text);
}

/* From before it begins: left with Ctrl-C, which the run does not notice, and in the end by itself.
 * The keyboard is as it was all the time. */
static void watch_shows_a_run_until_it_ends(void **state)
{
    const char *const dir = *state;
    char *const line = xasprintf(LONG " --out %s/r", dir), *text, *said;
    struct terminal t = begin("watch %s/r", dir);
    struct program run;

    pty_wait(&t.pty, &t.vt, "waiting for a run to start\n");
    run = program_start(dir, 0, -1, line);
    for (int i = 0; i < 2; i++) {
        pty_wait(&t.pty, &t.vt, "resnet50: training, epoch 1, step ");
        pty_wait(&t.pty, &t.vt, "Ctrl-C leaves, the run goes on\n");
        assert_modes(&t);
        type(&t, i ? "q\003" : "\003");
        text = finish(&t, 0);
        assert_null(strstr(text, "leaves"));
        assert_says(text, "training, epoch 1, step ");
        free(text);
        t = begin("watch %s", dir);
    }
    pty_wait(&t.pty, &t.vt, "resnet50: training, epoch 1, step ");
    kill(run.pid, SIGTERM);
    text = finish(&t, 1);
    assert_says(text, "resnet50: stopped after ");
    assert_null(strstr(text, "leaves"));
    assert_int_equal(program_wait(run, &said), 1);
    assert_says(said, "interrupted after ");
    free(said);
    free(text);
    free(line);
}

/* Nothing came to be seen. */
static void watch_is_left_without_a_run(void **state)
{
    struct terminal t = begin("watch %s", (const char *)*state);
    char *text;

    pty_wait(&t.pty, &t.vt, "Ctrl-C leaves, the run goes on\n");
    type(&t, "\003");
    text = finish(&t, 2);
    assert_says(text, "there is no run in ");
    assert_no_view(text);
    free(text);
}

#define IN_DIR(test) cmocka_unit_test_setup_teardown(test, scratch_open, scratch_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_DIR(a_run_leaves_its_lines),
        IN_DIR(ctrl_c_leaves_a_clean_screen),
        IN_DIR(ctrl_c_twice_leaves_a_clean_screen),
        IN_DIR(a_dumb_terminal_gets_plain_lines),
        IN_DIR(watch_shows_a_run_until_it_ends),
        IN_DIR(watch_is_left_without_a_run),
    };

    setenv("TERM", "xterm", 1);
    setenv("LANG", "C.UTF-8", 1);
    unsetenv("LC_ALL");
    unsetenv("LC_CTYPE");
    return cmocka_run_group_tests_name("live_run", tests, NULL, NULL);
}
