/* Finds the settings of the input pipeline under which data arrives fastest, from few short
 * measurements. It asks, somebody measures and tells: it knows no pipeline and no clock. Everything
 * is a pure function of what it was told.
 *
 * 1. Doubling. From any start one setting at a time is doubled while that pays; where the
 *    measurement says who waited for whom, that chooses the setting.
 * 2. Looking around. From the best place each setting is doubled on to its bound, also past a place
 *    where it got slower, and halved. Threads that fill the cores may be slower than half or twice
 *    as many, and a hill climber would stop there.
 * 3. Filling in. A smooth surface through all measurements (surface.h) says what is likely at every
 *    other setting. The next probe is the one from which most is to be gained: the expectation of
 *    how much the best known setting improves (knowledge gradient for independent beliefs, Frazier,
 *    Powell, Dayanik 2008). Measuring a place again competes with measuring a new one by the same
 *    rule, so repeats are made where the decision is inside the noise and nowhere else. It ends
 *    when the most promising probe is expected to gain less than `gain`, or at the ceiling: when
 * the best setting is 95 % sure to be within 3 % of it and its estimate is within `equal`.
 * 4. Economy. Settings that are within `equal` of the best count as equal, and the cheapest is
 *    chosen; a few probes look for cheaper ones that may be equal.
 *
 * The noise of a probe is `noise`, corrected by how repeats scatter. A probe that
 * failed is told so, and it and all that need more memory are not asked for again. */
#ifndef STAVE_VERDICT_LOADER_SEARCH_H
#define STAVE_VERDICT_LOADER_SEARCH_H

#include "verdict/search_space.h"

enum { LOADER_ECONOMY = 6, LOADER_PROBES = SURFACE_POINTS };

/* Zero means the default in brackets. */
struct loader_settings {
    struct search_point start; /* must be inside */
    double noise;              /* relative standard deviation of a probe [0.02] */
    double gain;               /* of a further probe, relative, that is not worth it [0.0002] */
    double equal;              /* relative difference that nobody minds [0.01] */
    double ceiling;            /* rate that data can not exceed [none] */
    int max_probes; /* [a tenth of all settings, at least 16, at most 64]; at most LOADER_PROBES */
};

struct loader_reading {
    int failed;    /* nonzero: these settings can not be run (memory); the rest is not looked at */
    double rate;   /* finite and >= 0; anything else counts as failed */
    int has_waits; /* the two shares of the probe's time are known: */
    double consumer_waited, workers_waited; /* for data; for a free place in the ring */
};

struct loader_step {
    struct search_point point;
    struct loader_reading reading;
    char why[160]; /* in words, no full stop */
};

struct loader_search;

/* E_USAGE: the space is not one, the start is not inside, a setting is out of range. */
int loader_search_new(const struct search_space *space, const struct loader_settings *settings,
                      struct loader_search **out);
void loader_search_free(struct loader_search *s); /* NULL is fine */

/* 1: probe this point, then tell. 0: finished. At most max_probes times 1. The reason holds until
 * the next call. */
int loader_search_ask(struct loader_search *s, struct search_point *point, const char **why);
void loader_search_tell(struct loader_search *s, const struct loader_reading *reading);

struct loader_result {
    struct search_point point;
    double rate, sd; /* as estimated from all probes */
    int n_probes, at_ceiling;
    const char *end; /* why the search ended, in words; "" before */
};
/* The choice so far; E_UNSUPPORTED when no probe succeeded. */
int loader_search_result(const struct loader_search *s, struct loader_result *out);
int loader_search_steps(const struct loader_search *s, const struct loader_step **steps);
/* A line for each step: settings, rate, the reason. */
void loader_search_add_table(const struct loader_search *s, struct str *out);

#endif
