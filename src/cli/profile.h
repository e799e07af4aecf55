/* The staves of a rig: every stage alone, the loader into nothing, the device on a batch that is
 * there, and all together, in rounds so that a machine whose speed drifts treats all alike. */
#ifndef STAVE_CLI_PROFILE_H
#define STAVE_CLI_PROFILE_H

#include "train/rig.h"
#include "verdict/verdict.h"

/* In the order in which a round runs them: levels that are compared stand side by side. READ_MORE:
 * with twice the threads. */
enum profile_phase {
    PHASE_READ,
    PHASE_READ_MORE,
    PHASE_DECODE,
    PHASE_AUGMENT,
    PHASE_COPY,
    PHASE_EVALUATE,
    PHASE_LOADER,
    PHASE_DEVICE,
    PHASE_RUN,
    N_PHASES
};
enum { PROFILE_MAX_ROUNDS = 99 };

struct profile {
    struct rig_loader loader; /* of the run */
    double cpus;              /* processors that this process may use */
    const char *unit;
    int min_rounds, max_rounds; /* 1 to PROFILE_MAX_ROUNDS */
    double precision;  /* ends once the levels are known to this: relative standard error */
    int64_t window_ns; /* of the levels; stages alone take a quarter of it */
    int window_batches;
    /* Before each phase that reads: 0 or an error; may be NULL. */
    int (*before_read)(void *context);
    /* Told what runs next; may be NULL. */
    void (*tell)(void *context, int round, enum profile_phase p);
    void *context;
    /* Results, by round. */
    int rounds;
    struct rig_reading reading[N_PHASES][PROFILE_MAX_ROUNDS];
};

const char *phase_key(enum profile_phase p); /* for JSON */
const char *phase_name(enum profile_phase p);
/* Loader threads at work in it; 1 where the device's are. */
int phase_threads(const struct profile *p, enum profile_phase id);
/* Runs the rounds. E_STOPPED on a signal. */
int profile_measure(struct profile *p, const struct rig *rig);

struct profile_rate {
    double median, least, most;        /* samples per second */
    const struct rig_reading *reading; /* the one of the median round */
};
struct profile_rate profile_rate(const struct profile *p, enum profile_phase phase);
/* What the medians say. */
struct staves profile_staves(const struct profile *p);

#endif
