/* When the warm-up of a run is over: at the first event `step` that comes at least so many seconds
 * after run_start, or when the first epoch ends, whichever is first. For sinks of the event stream.
 */
#ifndef STAVE_CLI_WARM_H
#define STAVE_CLI_WARM_H

#include "trace/trace.h"

struct warm {
    double seconds; /* set by the owner; the rest begins as 0 */
    int64_t run_start_ns;
    int running, over;
};

/* Takes every event; 1 for the one with which the warm-up is over, once, otherwise 0. */
int warm_over(struct warm *w, const struct trace_event *e);

#endif
