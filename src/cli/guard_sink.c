#include "cli/guard_sink.h"

#include <stdlib.h>

#include "base/err.h"
#include "cli/guard.h"
#include "cli/warm.h"

struct listener {
    struct guard *guard;
    struct warm warm;
};

static int listener_open(void **state, const void *options)
{
    const struct guard_sink_options *const o = options;
    struct listener *const l = xcalloc(1, sizeof(*l));

    *l = (struct listener){.guard = o->guard, .warm = {.seconds = o->warm}};
    *state = l;
    return 0;
}

static int listener_event(void *state, const struct trace_event *e)
{
    struct listener *const l = state;

    if (warm_over(&l->warm, e))
        guard_warm(l->guard, e->time_ms - e->elapsed_ns / 1000000);
    return 0;
}

static int listener_close(void *state)
{
    free(state);
    return 0;
}

const struct trace_sink_ops guard_sink = {
    .name = "supervisor",
    .shows_only = 1,
    .open = listener_open,
    .event = listener_event,
    .close = listener_close,
};
