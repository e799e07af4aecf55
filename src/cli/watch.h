/* A run seen from outside, through the files of its folder, which are only read: the state of the
 * live view (trace/live.h), kept up to date. The folder may be a run's, or hold several of them: a
 * set of runs, a study, runs/; then the newest run is looked at.
 *
 * Opened and released by its owner. One thread. */
#ifndef STAVE_CLI_WATCH_H
#define STAVE_CLI_WATCH_H

#include "trace/live.h"
#include "trace/tail.h"

enum watch_state {
    WATCH_NO_RUN,  /* there is none yet */
    WATCH_AT_WORK, /* somebody holds the folder, or did a moment ago */
    WATCH_BETWEEN, /* a run of several has ended, and somebody is at work on the others */
    WATCH_ENDED,   /* run_stop was written */
    WATCH_KILLED   /* nobody holds the folder, and run_stop was not written */
};

struct watch {
    const char *dir; /* borrowed */
    char *run;       /* the folder looked at; NULL: none yet */
    struct live live;
    enum watch_state state;
    int64_t last_ms, last_ns; /* wall clock, and that of the events, of the last event */
    int64_t news_ns;          /* clock_ns when the files said something */
    char *paths[3];
    struct tail events, samples, ingest;
};

void watch_open(struct watch *w, const char *dir);
/* Reads what is new. patient: a run is taken to be at work for seconds after it wrote something, so
 * that its folder is seldom asked whether it is held. */
enum watch_patience { WATCH_AT_ONCE, WATCH_PATIENT };
void watch_read(struct watch *w, enum watch_patience patience);
void watch_release(struct watch *w);
/* The view, under the run's folder. */
void watch_draw(const struct watch *w, const struct live_space *space, struct str *out);
/* For a program that ends here: 0 a run that is at work, or ended with success; 1 one that did not
 * reach its target, was interrupted or killed. */
int watch_exit_code(const struct watch *w);

#endif
