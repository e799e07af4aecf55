/* This program started again as a process of its own, and waited for, so that what happens to it
 * happens to it alone: one run of a set. Begin before the first one and end after the last; in
 * between the signals that ask to stop (SIGINT, SIGTERM, SIGHUP unless it is ignored) come here
 * only: the first is passed on to the child as a request (train/stop.h), the second ends it at
 * once. Should this process die, the child is asked to stop.
 *
 * Linux. One thread, the program's only one. */
#ifndef STAVE_CLI_CHILD_H
#define STAVE_CLI_CHILD_H

#include <signal.h>
#include <sys/types.h>

struct children {
    sigset_t before, answered;
    int stop; /* the signal that asked to stop; 0: none did */
};

void children_begin(struct children *c);
void children_end(struct children *c);
/* Which signal has asked to stop so far, 0 for none. */
int children_stop(struct children *c);

/* Where what the child says goes. */
enum child_words {
    CHILD_SPEAKS, /* its results and progress to stderr */
    CHILD_REPORTS /* nowhere, unless it fails: then what it said on stderr goes there */
};

struct child_end {
    int code;   /* its exit code; EXIT_WORLD when a signal ended it */
    int signal; /* that ended it; 0: none */
};

/* argv[0] is for show: the program is this one. Returns when it has ended; E_IO when it can not be
 * started. */
int children_run(struct children *c, char *const *argv, enum child_words words,
                 struct child_end *end);

#endif
