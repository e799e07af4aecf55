/* How fast a run goes: turns the times of steps into progress events, about two a second. */
#ifndef STAVE_TRAIN_PROGRESS_H
#define STAVE_TRAIN_PROGRESS_H

#include <stdint.h>

#include "trace/trace.h"

struct progress {
    long long total_steps;
    int64_t last_ns;            /* clock of the last event */
    int64_t n, sum_ns, wait_ns; /* steps since then */
    uint64_t samples;           /* in these steps */
    double sum_squares;
    double mean_step_ns; /* over the last events, for the time left */
};

struct progress_sample {
    long long step, epoch;
    uint64_t samples; /* without padding */
    int64_t step_ns, wait_ns;
    double loss, lr;
};

void progress_init(struct progress *p, long long total_steps);
void progress_step(struct progress *p, struct trace *t, struct progress_sample s);

#endif
