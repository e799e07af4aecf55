#include "cli/warm.h"

static int is_last(const struct warm *w, const struct trace_event *e)
{
    const double seconds = (double)(e->elapsed_ns - w->run_start_ns) / 1e9;

    return e->key == KEY_epoch_stop || (e->key == KEY_step && seconds >= w->seconds);
}

int warm_over(struct warm *w, const struct trace_event *e)
{
    if (e->key == KEY_run_start) {
        w->running = 1;
        w->run_start_ns = e->elapsed_ns;
    }
    if (!w->running || w->over || !is_last(w, e))
        return 0;
    w->over = 1;
    return 1;
}
