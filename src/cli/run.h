/* One run of `stave run`: what was asked for, what is open, what came of it; and its words. Within
 * the command. */
#ifndef STAVE_CLI_RUN_H
#define STAVE_CLI_RUN_H

#include "cli/guard_plan.h"
#include "cli/meter_sink.h"
#include "cli/setup.h"
#include "train/loop.h"

/* Values of --only; behind them the stages of the input pipeline alone, in its order. */
enum only { ONLY_ALL, ONLY_EVALUATE, ONLY_DATA };
enum clear { CLEAR_AUTO, CLEAR_NO, CLEAR_YES, CLEAR_FILES };

struct run_settings {
    char *out, *init, *export, *ruleset;
    int resume, only, clear_cache, keep_going, dry_run, json;
    long long runs;
    double until_sure;
};

struct run {
    struct setup setup;
    struct run_settings own;
    struct engine engine;
    struct task task;
    struct trace trace;
    struct train_result result;
    uint64_t seed;
    const char *division;
    char *dir;
    struct cache_clear cache;
    struct guard_demand demand; /* of its conditions, on its supervisor, setup.guard */
    struct meter_report metered;
    /* Of result.json, see train_result; a line of the text; lines of it. */
    struct str more, metered_line, origins_text;
    int lock;    /* file descriptor that keeps other runs out of the folder, -1 before */
    int goes_on; /* from a checkpoint: --resume, and there is one */
};

/* Opens the trace with all of its sinks; a resumed run's earlier files keep a name of their own. */
int run_open_trace(struct run *r);
/* Runs of the set after the first one. */
long long run_later(const struct run *r);
/* On stdout: the settings and what the run takes; what came of it. */
void run_print_needs(struct run *r, const struct train_needs *n);
void run_print_result(const struct run *r);

#endif
