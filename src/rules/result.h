/* One result: the runs of one benchmark on one system, judged together as a round of MLPerf
 * Training does, in minutes. Nothing is written.
 *
 *     result_init(&r, NULL or "4.0.0");
 *     result_add(&r, &log, path, name) ...   a run each
 *     result_read_system(&r, path)           if there is a description
 *     result_finish(&r);
 *     ... result_release(&r);
 *
 * A run counts when it converged: it has a start, a later stop, a status of success, reached the
 * round's target where that is known, and its log is accepted by the round's checks. More runs than
 * the round asks for: from 1.1 on all windows of N consecutive ones (by start) are scored and the
 * one with the median score stands (training_rules.adoc, "Olympic scoring"; of an even number the
 * slower of the two in the middle); before, that is a finding.
 *
 * A score is scaled by scaling.json beside the logs where there is one (the committee's word), else
 * from 2.1 on, in the closed division, by the factor of the reference convergence test.
 *
 * The structure owns all it points to until release. One thread at a time. */
#ifndef STAVE_RULES_RESULT_H
#define STAVE_RULES_RESULT_H

#include <stddef.h>

#include "base/str.h"
#include "rules/rcp.h"
#include "rules/score.h"

struct log;
struct result_log;

enum result_fate {
    RESULT_COUNTS,
    RESULT_FASTEST, /* dropped */
    RESULT_SLOWEST, /* dropped */
    RESULT_FAILED,  /* did not converge: counts as the slowest */
    RESULT_OUTSIDE, /* of the window that is scored */
};

struct result_run {
    char *path, *name;
    double start_ms;
    double minutes; /* of wall time; NAN: not known */
    char *why;      /* why it does not count, a phrase; NULL: it converged */
    double epochs;  /* as the reference convergence test counts, also of a refused log; NAN: not
                       known or not converged */
    double samples; /* trained on until the target; NAN: not known */
    double quality; /* of the last evaluation; NAN: none, or several values */
    double batch;
    double train_samples, samples_at_stop;
    char **marks; /* its seeds; course: its times and evaluations (result_twice.h) */
    size_t n_marks;
    char *course; /* NULL: it has no end */
    enum result_fate fate;
};

struct result_system {
    char *name, *submitter, *division, *accelerator; /* NULL: not known */
    double nodes, per_node;                          /* accelerators; NAN: not known */
};

struct result {
    const char *version; /* of the ruleset; "" until known */
    int guessed;         /* by the format of the lines */
    int own;             /* version is what the run folders name */
    int unchecked;       /* set by the caller: runs count whose logs the round's checks refuse */
    int n_refused;       /* of these */
    char *folder;        /* NULL: none in particular */
    char *benchmark, *division, *org, *platform; /* as the first log that says it */
    struct result_system system;
    struct result_run *runs;
    size_t n_runs;

    /* filled by result_finish */
    struct score_rule rule;
    size_t n_scored;            /* runs in the window */
    struct score_estimate time; /* minutes, before scaling */
    struct score_estimate epochs;
    struct rcp_test rcp; /* kind RCP_NONE without one */
    int closed;
    double scaling_file; /* scaling.json's factor; NAN: none */
    double factor;       /* that the score was multiplied by */
    double minutes;      /* the score; NAN: none */
    double per_second;   /* samples a second of the runs that converged; NAN */
    double speedup;      /* 0.5: reference time / score; NAN */
    int stands;
    struct str problems; /* why it does not stand, a sentence a line */
    struct str notes;    /* a sentence a line */
};

/* version must outlive the result; NULL: what the first run's folder names, else by the format of
 * the lines, 4.0.0 for ":::MLLOG". E_USAGE when no such round is known. */
int result_init(struct result *r, const char *version);
/* A run by what its log says (result_read.h). name is what the run is called. */
void result_add(struct result *r, const struct result_log *l, const char *path, const char *name);
/* The run added last does not count, for a reason that its log does not tell. */
void result_refuse_last(struct result *r, const char *why);
/* The benchmark's name as the rounds from 0.7 on have it ("mask" is maskrcnn); NULL: none. */
const char *result_benchmark(const struct log *l);
/* Reads systems/NAME.json; a file that can not be understood is a note. */
void result_read_system(struct result *r, const char *path);
/* E_IO or E_DATA when such a description can not be read. */
int result_check_system(const char *path);
/* Reads entry.json, which rounds 0.5 and 0.6 have in place of it. */
void result_read_entry(struct result *r, const char *path);
/* Reads scaling.json. */
void result_read_scaling(struct result *r, const char *path);
/* E_DATA when the points carried along are wrong. */
int result_finish(struct result *r);
void result_release(struct result *r);

double result_accelerators(const struct result *r); /* NAN: not known; 0: none */
const char *result_fate_name(enum result_fate f);   /* for people; "" for one that counts */

#endif
