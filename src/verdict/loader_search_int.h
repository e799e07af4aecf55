/* Inside of the search of the input pipeline: loader_search.c asks, loader_known.c knows. */
#ifndef STAVE_VERDICT_LOADER_SEARCH_INT_H
#define STAVE_VERDICT_LOADER_SEARCH_INT_H

#include "verdict/loader_search.h"

enum stage { CLIMB, AROUND, EXPLORE, REFINE, FILL, ECONOMY, DONE };

/* All repeats of one point. */
struct site {
    struct search_point point;
    int n;
    double mean, square; /* of the rates; sum of squared deviations */
};

struct loader_search {
    struct search_space space;
    struct loader_settings set;
    struct loader_step step[LOADER_PROBES];
    int n_steps, asked; /* asked: step[n_steps] waits to be told */
    struct site site[LOADER_PROBES];
    int n_sites;
    struct search_point failed[LOADER_PROBES];
    int n_failed;

    enum stage stage;
    int climbing;           /* site that is climbed from; -1 before the first */
    int tried[SEARCH_DIMS]; /* from there */
    int n_explored, n_economy, at_ceiling;
    const char *end;

    struct surface surface; /* of rate / scale, after every tell */
    double scale, noise;
    int n_learned; /* sites when its shape was last chosen */
};

/* The site of p; -1: not measured. */
int loader_site(const struct loader_search *s, struct search_point p);
/* p, or something that needs no more memory, could not be run. */
int loader_excluded(const struct loader_search *s, struct search_point p);
/* What the surface says of p, in units of s->scale. */
struct estimate loader_look(const struct loader_search *s, struct search_point p);
/* The site with the highest estimate, other than `but`; -1: none. */
int loader_best(const struct loader_search *s, int but);
/* The cheapest of those that lose at most this share of the best; at least one site. */
int loader_cheap(const struct loader_search *s, double loss);
/* After a tell: noise, scale and surface. */
void loader_fit(struct loader_search *s);
/* The mean rate and its standard error say that data is no limit any more. */
int loader_at_ceiling(const struct loader_search *s);

#endif
