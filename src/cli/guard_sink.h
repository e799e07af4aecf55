/* The sink of the event stream that tells a run's supervisor (cli/guard.h) when warm-up is over. */
#ifndef STAVE_CLI_GUARD_SINK_H
#define STAVE_CLI_GUARD_SINK_H

#include "trace/trace.h"

struct guard;

struct guard_sink_options {
    struct guard *guard;
    double warm; /* seconds */
};
extern const struct trace_sink_ops guard_sink;

#endif
