/* What the runs of a set came to, and what they are worth together. */
#ifndef STAVE_CLI_SET_RESULT_H
#define STAVE_CLI_SET_RESULT_H

#include "cli/run_set.h"
#include "rules/score.h"

/* Looks into the folder of a run that has ended: sets its state and, when it finished, its result.
 * code is its exit code, or -1 when nobody saw it end: then the folder must tell. A run of which
 * nothing tells the end is as it was. */
void set_result_look(struct run_set *s, size_t at, int code);

/* Of the runs that have finished. */
struct set_count {
    size_t finished, missed, untrusted; /* exit codes 1 and 4 are the last two */
};
struct set_count set_count(const struct run_set *s);
/* 0: all runs that have finished reached what they should; 1, 4 as for a run. */
int set_code(const struct set_count *c);

/* Minutes of the runs that have finished, those that missed the target or do not stand among them
 * as the rules count them: as the slowest. */
struct score_estimate set_estimate(const struct run_set *s, int n_drop);

/* Whether that is known to within until_sure per cent. The interval is looked at after every run,
 * and the chance that one of several looks is too kind is larger than for one look: of 95 in 100 at
 * a single one some 90 are left (tests/test_set_result.c). */
int set_is_sure(const struct run_set *s, int n_drop);

#endif
