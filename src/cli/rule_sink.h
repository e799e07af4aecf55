/* A sink of the event stream that holds the MLPerf log against a ruleset while it is written,
 * record by record, as `stave check` does afterwards. What does not stand is a warning at once, and
 * closing the trace fails in the end. What is missing is looked for only when the run ended as a
 * success: others are no results. */
#ifndef STAVE_CLI_RULE_SINK_H
#define STAVE_CLI_RULE_SINK_H

#include "rules/ruleset.h"
#include "trace/trace.h"

struct rule_sink_options {
    const struct ruleset *ruleset;
    int only_part; /* the log covers no whole run: nothing is missing from it */
};
extern const struct trace_sink_ops rule_sink;

#endif
