/* Runs of a set that did not come to their end: their folders stay in the set's, named after the
 * run that was made in their place, run-3.interrupted-1 or run-3.failed-1, and are no part of its
 * result. */
#ifndef STAVE_RULES_ATTEMPT_H
#define STAVE_RULES_ATTEMPT_H

enum attempt { ATTEMPT_INTERRUPTED, ATTEMPT_FAILED };

/* "run-3.interrupted-1" for the run "run-3"; heap. */
char *attempt_name(const char *run, enum attempt what, int number);
/* Whether a folder is called like one. */
int attempt_is_name(const char *name);

#endif
