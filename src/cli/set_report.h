/* What a person sees of a set of runs. */
#ifndef STAVE_CLI_SET_REPORT_H
#define STAVE_CLI_SET_REPORT_H

#include "cli/run_set.h"
#include "rules/score.h"

struct set_judge {
    struct score_rule rule; /* n_runs is 0 when the rules name no number */
    int timed;              /* the runs train to a target */
    const char *metric;     /* "top-1" */
};
/* The table, a line per run, and the sentence about the score, to stdout. */
void set_print(const struct run_set *s, const struct set_judge *j);
/* The set and its score as one JSON document, to stdout. */
void set_print_json(const struct run_set *s, const struct set_judge *j, int code);
/* Appends how wide the interval of the score is after the runs so far, as one phrase. */
void set_add_certainty(const struct run_set *s, const struct set_judge *j, struct str *out);

#endif
