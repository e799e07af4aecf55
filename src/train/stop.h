/* Stopping a run from outside. The first SIGINT, SIGTERM or SIGHUP asks for a clean stop, which the
 * training loop polls between steps; the second one ends the process at once with exit code 1. A
 * signal that was sent with sigqueue only asks: a set of runs passes on what the run may have got
 * as well, and one Ctrl-C is one request. SIGPIPE is ignored, so that a reader that went away is a
 * write error like any other. A SIGHUP that was ignored before (nohup) stays so. The command line
 * installs this once, before it starts threads; the other functions may be called from any thread.
 */
#ifndef STAVE_TRAIN_STOP_H
#define STAVE_TRAIN_STOP_H

#include <signal.h>

void stop_install(void);
/* Adds the signals that ask to stop to a set. */
void stop_add_signals(sigset_t *set);
int stop_requested(void);
/* Which signal asked, 0 for none. */
int stop_signal(void);
const char *stop_signal_name(void); /* "SIGINT"; "" for none */
/* Forgets the request: for a command that goes on to another run, and for tests. */
void stop_reset(void);

#endif
