/* `stave tune`: the settings of the input pipeline, then learning rate and batch. The searches
 * (verdict/loader_search.h, verdict/rate_search.h) ask; here is what measures and tells. */
#ifndef STAVE_CLI_TUNE_H
#define STAVE_CLI_TUNE_H

#include "cli/setup.h"

enum tune_search { TUNE_LOADER, TUNE_RATE, TUNE_BOTH };
enum tune_goal { TUNE_RUN, TUNE_DATA };

struct tune_settings {
    int search, goal, grid;
    double seconds, trial_epochs;
    long long max_threads, max_prefetch, probes, max_batch, rungs;
    char *out;
};

struct tune {
    struct setup *setup;
    const struct tune_settings *own;
    const char *dir; /* gets config.yaml and the trials */
};

/* Searches num-threads and prefetch and leaves them in the settings; prints steps and choice. */
int tune_loader(struct tune *t);
/* Searches lr and batch-size by runs in folders of their own below dir, and leaves them in the
 * settings, lr-batch being 0; prints the table of trials. */
int tune_rate(struct tune *t);
/* dir/config.yaml: what the command line said and what was found. */
int tune_write_config(const struct tune *t);

#endif
