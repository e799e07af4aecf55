/* `stave run --runs N`: the runs of a set one after the other, each a process of its own, and what
 * they come to. */
#ifndef STAVE_CLI_SET_DRIVE_H
#define STAVE_CLI_SET_DRIVE_H

#include "cli/setup.h"

struct set_request {
    const char *dir;
    long long runs;    /* 0: as many as the rules ask */
    double until_sure; /* per cent; 0: make all runs */
    int resume, keep_going, json;
    const char *clear; /* value of clear-cache for the runs */
};
/* How many runs that is; E_USAGE when the rules name no number. */
int set_size(const struct setup *s, long long runs);
/* Makes or goes on with a set. Returns the exit code, or an error. */
int set_drive(struct setup *s, struct set_request q);

#endif
