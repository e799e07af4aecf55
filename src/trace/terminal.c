#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/debug.h"
#include "base/err.h"
#include "base/file.h"
#include "base/screen.h"
#include "base/str.h"
#include "trace/live.h"
#include "trace/sinks.h"

static const int64_t redraw_ns = 200 * 1000 * 1000;

struct terminal {
    int fd;
    struct live live;
    int64_t zero_ns; /* of the events' clock, on clock_ns */
    double (*last)(void *context, const char *column);
    void *context;
    struct str line; /* scratch of the events */
    /* The thread that draws; it and the events share live under the lock. */
    pthread_t drawer;
    pthread_mutex_t lock;
    pthread_cond_t ended;
    int draws, has_ended;
};

/* ---- the view ---- */

static void sample(struct terminal *t)
{
    const double seconds = (double)t->live.now_ns * 1e-9;

    if (!t->last || t->live.run_start_ns < 0)
        return;
    for (size_t i = 0; i < LIVE_COLUMNS; i++)
        live_sample(&t->live, i, seconds, t->last(t->context, live_column(i)));
}

/* A terminal that went away costs the view only. */
static void redraw(struct terminal *t)
{
    const struct live_space space = live_space_of(t->fd);
    struct str view = STR_INIT;

    t->live.now_ns = clock_ns() - t->zero_ns;
    sample(t);
    str_add(&view, "");
    live_draw(&t->live, &space, &view);
    pthread_mutex_unlock(&t->lock);
    screen_draw(view.s);
    str_release(&view);
    pthread_mutex_lock(&t->lock);
}

static struct timespec after(int64_t ns)
{
    const int64_t at = clock_ns() + ns;

    return (struct timespec){.tv_sec = at / 1000000000, .tv_nsec = at % 1000000000};
}

static void *draw_on(void *context)
{
    struct terminal *const t = context;

    pthread_mutex_lock(&t->lock);
    while (!t->has_ended) {
        const struct timespec next = after(redraw_ns);

        redraw(t);
        while (!t->has_ended && pthread_cond_timedwait(&t->ended, &t->lock, &next) == 0)
            ;
    }
    pthread_mutex_unlock(&t->lock);
    return NULL;
}

static void start_drawing(struct terminal *t)
{
    pthread_condattr_t monotonic;
    sigset_t all, before;

    if (!screen_can_draw(t->fd) || debug_level() != DEBUG_OFF)
        return;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&t->ended, &monotonic);
    pthread_condattr_destroy(&monotonic);
    screen_open(t->fd);
    sigfillset(&all); /* signals are for the thread that trains */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    t->draws = pthread_create(&t->drawer, NULL, draw_on, t) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static void stop_drawing(struct terminal *t)
{
    if (!t->draws)
        return;
    pthread_mutex_lock(&t->lock);
    t->has_ended = 1;
    pthread_cond_signal(&t->ended);
    pthread_mutex_unlock(&t->lock);
    pthread_join(t->drawer, NULL);
    pthread_cond_destroy(&t->ended);
    screen_close();
    t->draws = 0;
}

/* ---- the sink ---- */

static int terminal_open(void **state, const void *options)
{
    const struct terminal_options *o = options;
    struct terminal *t = xcalloc(1, sizeof(*t));

    t->fd = o->fd ? o->fd : STDERR_FILENO;
    t->last = o->last;
    t->context = o->context;
    t->zero_ns = clock_ns();
    live_open(&t->live,
              &(struct live_about){.name = o->name,
                                   .unit = o->unit,
                                   .metric = o->metric,
                                   .target = o->target,
                                   .lower_is_better = o->direction == TERMINAL_LOWER_IS_BETTER});
    pthread_mutex_init(&t->lock, NULL);
    start_drawing(t);
    *state = t;
    return 0;
}

/* A line that stays. */
static int put_line(struct terminal *t)
{
    int rc;

    str_add(&t->line, "\n");
    screen_line_begin();
    rc = file_write_all(t->fd, t->line.s, t->line.len, "the terminal");
    screen_line_end();
    return rc;
}

static int terminal_event(void *state, const struct trace_event *e)
{
    struct terminal *t = state;

    str_reset(&t->line);
    if (e->key == KEY_run_stop)
        stop_drawing(t);
    pthread_mutex_lock(&t->lock);
    t->zero_ns = clock_ns() - e->elapsed_ns;
    live_event(&t->live, e);
    if (e->key == KEY_eval_accuracy)
        live_add_evaluation(&t->live, e, &t->line);
    if (e->key == KEY_run_stop)
        live_add_end(&t->live, &t->line);
    pthread_mutex_unlock(&t->lock);
    return t->line.len ? put_line(t) : 0;
}

static int terminal_close(void *state)
{
    struct terminal *t = state;

    stop_drawing(t);
    pthread_mutex_destroy(&t->lock);
    live_release(&t->live);
    str_release(&t->line);
    free(t);
    return 0;
}

const struct trace_sink_ops terminal_sink = {
    .name = "terminal",
    .shows_only = 1,
    .open = terminal_open,
    .event = terminal_event,
    .close = terminal_close,
};
