/* `stave watch`: a run, seen from another terminal. */
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/screen.h"
#include "cli/command_line.h"
#include "cli/watch.h"

static const int64_t every_ns = 200000000;

static const char default_dir[] = "runs";

/* ---- leaving ---- */

static volatile sig_atomic_t is_asked;

static void on_signal(int sig)
{
    (void)sig;
    is_asked = 1;
}

static void catch_signals(void)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
    struct sigaction action = {.sa_handler = on_signal};

    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < COUNT_OF(signals); i++)
        sigaction(signals[i], &action, NULL);
}

/* ---- the view ---- */

static void draw(const struct watch *w)
{
    struct live_space space = live_space_of(STDOUT_FILENO);
    struct str view = STR_INIT;

    space.rows--;
    watch_draw(w, &space, &view);
    space.rows++;
    live_draw_words("Ctrl-C leaves, the run goes on", &space, &view);
    screen_draw(view.s);
    str_release(&view);
}

/* Until the run has ended, or somebody asks to leave. The keyboard is left as it is, so that
 * nothing has to be restored when this is stopped or killed. */
static void follow(struct watch *w)
{
    catch_signals();
    screen_open(STDOUT_FILENO);
    for (;;) {
        watch_read(w, WATCH_PATIENT);
        draw(w);
        if (w->state >= WATCH_ENDED || is_asked)
            break;
        clock_sleep_ns(every_ns);
    }
    screen_close();
}

static void print(const struct watch *w)
{
    struct live_space space = live_space_of(STDOUT_FILENO);
    struct str view = STR_INIT;

    space.rows = 1000;
    space.is_coloured &= isatty(STDOUT_FILENO);
    watch_draw(w, &space, &view);
    fputs(view.s, stdout);
    str_release(&view);
}

static int work(const struct command_line *l, const void *settings)
{
    const char *const dir = l->n_args ? l->args[0] : default_dir;
    struct watch w;
    int rc = EXIT_REACHED;

    (void)settings;
    watch_open(&w, dir);
    if (screen_can_draw(STDOUT_FILENO))
        follow(&w);
    else
        watch_read(&w, WATCH_AT_ONCE);
    if (w.state != WATCH_NO_RUN) {
        print(&w);
        rc = watch_exit_code(&w);
    } else {
        rc = err(E_USAGE, "there is no run in %s; name the folder of a run, or one that holds some",
                 dir);
    }
    watch_release(&w);
    return rc;
}

static int run(const struct command *self, int argc, char **argv)
{
    return command_line_run(self, argc, argv, NULL, work);
}

const struct command command_watch = {
    .name = "watch",
    .args = "[DIR]",
    .min_args = 0,
    .max_args = 1,
    .summary = "Show a run that is at work, or one that has ended",
    .about = "DIR is the folder of a run, or one that holds several, as of a set of runs or a "
             "study: the newest is shown; without DIR that of runs/. On a terminal the view is "
             "drawn in place until the run has ended, and waits for one that has not started; "
             "Ctrl-C leaves it, and the run goes on. Otherwise what is known now is printed once. "
             "The run's files are only "
             "read, so the run does not notice. A run whose process is gone and wrote no end was "
             "killed, and is said to be.\n"
             "Exit status: 0 the run is at work, also when the view was left, or ended with "
             "success; 1 it did not reach its target, was interrupted or killed; 2 usage, also "
             "when there is no run.",
    .run = run,
};
