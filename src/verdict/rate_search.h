/* Finds learning rate and batch size by short trials. It asks, somebody trains and tells: it knows
 * no model and no clock, and is a pure function of what it was told.
 *
 * 1. Powers of ten around the start, from small to large. What diverged is not tried larger. When
 *    the best is the outermost, or all diverged, further powers are added, at most RATE_EXTRA.
 *    When all came to exactly the same, the search ends with the start.
 * 2. Smaller steps around the best: a factor of 3.2, 1.8, 1.33, then steps of 10 %, walked on while
 *    they improve. The minimum of a parabola through the results (over the rate's logarithm) is
 *    tried as well: it averages noise over all of them.
 * 3. The batch is doubled while it fits and pays, the rate with it (linear scaling: Goyal et al.
 *    2017), and beside that by the root of two (Krizhevsky 2014). It pays when the quality after as
 *    many samples is no worse than noise, and the trial takes less time if times are told. Around
 *    the last rate the fine steps are made again.
 *
 * Each group of candidates is evaluated by successive halving (Jamieson, Talwalkar 2016): all get a
 * small budget, the best share (1 / growth) of them `growth` times as much, and so on; a trial is
 * continued, not repeated. The best so far takes part in each comparison by what it reached with
 * the same budget. Candidates within the noise of the cut stay in, since short trials favour small
 * rates (Wu, Ren, Liao, Grosse 2018). Budgets are in epochs or samples, not in steps, so that
 * trials of different batches compare. */
#ifndef STAVE_VERDICT_RATE_SEARCH_H
#define STAVE_VERDICT_RATE_SEARCH_H

#include "base/str.h"

enum { RATE_TRIALS = 64, RATE_RUNGS = 6, RATE_EXTRA = 6 };
enum rate_goal { RATE_LOSS, RATE_ACCURACY }; /* lower is better; higher is better */

/* Zero means the default in brackets. */
struct rate_settings {
    double rate;                  /* the start, > 0 */
    int batch;                    /* the start, >= 1 */
    int max_batch;                /* [batch: it stays] */
    int decades_down, decades_up; /* powers of ten below and above the start [3, 2]; at most 9 */
    double budget, growth;        /* of the first rung [1]; factor from rung to rung [3], >= 1.5 */
    int n_rungs;                  /* [3], at most RATE_RUNGS */
    double noise;                 /* standard deviation of a quality [0] */
    enum rate_goal goal;
};

struct rate_ask {
    int id; /* 0, 1, ...: the trial; asked again with a larger budget to go on */
    int batch;
    double rate, budget, done; /* in all; what the trial has had already */
    const char *why;           /* in words, no full stop; until the next call */
};

enum trial_end { TRIAL_RAN, TRIAL_DIVERGED, TRIAL_NO_MEMORY, TRIAL_FAILED };

struct rate_reading {
    enum trial_end end;
    double quality; /* TRIAL_RAN: at the end of the budget; not finite counts as diverged */
    double seconds; /* from `done` to there; 0: not known */
};

struct rate_trial {
    int batch, rungs; /* rungs: budgets completed */
    double rate, quality[RATE_RUNGS], seconds;
    double budget; /* what it was given in all, also when it ended before that */
    enum trial_end end;
    char why[120];
};

struct rate_search;

/* E_USAGE for settings out of range. */
int rate_search_new(const struct rate_settings *settings, struct rate_search **out);
void rate_search_free(struct rate_search *s); /* NULL is fine */

/* 1: run this, then tell. 0: finished. At most RATE_TRIALS times n_rungs times 1. */
int rate_search_ask(struct rate_search *s, struct rate_ask *out);
void rate_search_tell(struct rate_search *s, const struct rate_reading *reading);

struct rate_result {
    int trial, batch;
    double rate, quality, spent; /* spent: sum of all budgets */
    const char *end;             /* why the search ended */
};
/* E_NUMERIC when all trials diverged, E_UNSUPPORTED when none could be run to the end. */
int rate_search_result(const struct rate_search *s, struct rate_result *out);
int rate_search_trials(const struct rate_search *s, const struct rate_trial **trials);
void rate_search_add_table(const struct rate_search *s, struct str *out);

#endif
