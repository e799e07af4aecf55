/* Several runs of one workload that make one result: a folder with an ordinary run folder for each,
 * run-1, run-2 and so on, and set.json, which says what belongs to all of them: the options, the
 * seeds, drawn before the first run and each another one, and how far each run came. set.json is
 * replaced as a whole at every change, so a set that was interrupted goes on from it.
 *
 * A run that was interrupted starts again from its beginning, with a new seed, for a resumed run is
 * no timed result; what it left stays, as run-3.interrupted-1 (or .failed-1).
 *
 * A zeroed set is empty; a set owns all it points to until release. One thread. */
#ifndef STAVE_CLI_RUN_SET_H
#define STAVE_CLI_RUN_SET_H

#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

enum { SET_MAX_RUNS = 1000 };

enum set_state {
    SET_WAITING,
    SET_RUNNING,     /* also what a set that was killed leaves */
    SET_INTERRUPTED, /* asked to stop */
    SET_FAILED,      /* by the machine or the command line: it says nothing about the model */
    SET_FINISHED,
    N_SET_STATES
};
extern const char *const set_state_names[N_SET_STATES];

/* What a run came to. */
struct set_result {
    int code;                        /* the run's exit code */
    char status[24];                 /* of result.json; "" not known */
    double quality, epochs, minutes; /* NAN: not known */
    int cache_cleared;               /* -1: not known */
    char why[160];                   /* it does not stand; "" */
};

struct set_run {
    uint64_t seed;
    enum set_state state;
    struct set_result result; /* when it has finished */
    struct set_attempt {
        char *folder;
        uint64_t seed;
    } * earlier; /* attempts that did not come to their end */
    size_t n_earlier;
};

struct run_set {
    char *dir;
    char *stave_version, *workload, *ruleset, *started;
    char *options;     /* the effective ones of all tables, as JSON */
    double until_sure; /* per cent; 0: make all runs */
    struct set_run *runs;
    size_t n;
};

/* Makes n runs that wait, with seeds drawn from the system's entropy; E_IO when it gives none. */
int run_set_draw(struct run_set *s, size_t n);
/* Whether DIR holds a set. */
int run_set_exists(const char *dir);
/* Reads s->dir's set.json into an otherwise empty set; E_IO, E_DATA when it is not one of ours. */
int run_set_read(struct run_set *s);
int run_set_parse(struct run_set *s, const char *text, size_t n);
int run_set_write(const struct run_set *s);
void run_set_add_json(const struct run_set *s, struct str *out);
void run_set_release(struct run_set *s);

/* DIR/run-3 for the run at 2; heap. */
char *run_set_folder(const struct run_set *s, size_t at);
/* Makes a run that did not come to its end wait again: what it left gets the next free name that
 * says what it is, and the run a new seed. The caller writes set.json. */
int run_set_start_again(struct run_set *s, size_t at);

#endif
