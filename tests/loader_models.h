/* What the loader search is tested on: rates over a grid of threads and prefetch depths, recorded
 * or made up, as pure functions. Zero: does not fit in memory. */
#ifndef STAVE_TESTS_LOADER_MODELS_H
#define STAVE_TESTS_LOADER_MODELS_H

#include "verdict/search_space.h"

struct loader_model {
    const char *name;
    struct search_space space;
    double (*rate)(const struct loader_model *m, struct search_point p);
    int floor[3];     /* successes in a hundred that a search must reach, noise 2, 1 and 5 % */
    const char *file; /* recorded: the table in tests/golden */
};

extern const struct loader_model loader_models[];
extern const int n_loader_models;

/* The best rate of an exhaustive grid; *n gets its number of settings. */
double loader_model_best(const struct loader_model *m, int *n);

#endif
