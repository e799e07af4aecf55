/* What a run's conditions (cli/conditions.h) ask of its supervisor, and the ways around a machine
 * that gives no control groups. One thread. */
#ifndef STAVE_CLI_GUARD_PLAN_H
#define STAVE_CLI_GUARD_PLAN_H

#include "cli/conditions.h"
#include "cli/guard.h"
#include "data/settings.h"
#include "train/task.h"

enum { GUARD_PLAN_PATHS = TASK_SOURCES + 1 };

struct guard_demand {
    struct guard_plan plan;
    struct ingest_settings ingest;
    const char *dir;                     /* where the run folder will be; borrowed */
    const char *paths[GUARD_PLAN_PATHS]; /* of the plan */
    char how[64];                        /* of plan.instead */
};

/* A size of --cache: "2G", "25%-of-data", where the data set has so many bytes. 1: *bytes is set;
 * 0: none; E_USAGE. */
int guard_cache_bytes(const char *text, uint64_t data_bytes, long long *bytes);

/* dir is where the run folder will be. The task's sources are open. E_USAGE for what can not be
 * read. The demand is used where it lies; always release it. */
int guard_demand_make(struct guard_demand *d, const struct conditions_settings *c,
                      const struct task *task, const char *dir);
void guard_demand_release(struct guard_demand *d);
int guard_demand_is_none(const struct guard_demand *d);

/* guard_open. Where no group can be had for --cache alone, the data set is read past the page cache
 * instead, with a warning: the reader of the settings changes. */
int guard_demand_open(struct guard_demand *d, struct data_settings *data, const struct task *task,
                      struct guard **out);
/* After guard_end: the exit code of a run that would else have this one, with a warning when an
 * ingest was asked for and failed, or a ceiling of --cache never came into force. What was trained
 * stands; what was to be measured does not. */
int guard_demand_judge(const struct guard_demand *d, struct guard *g, int code);
/* What would be in force, on stdout, for --dry-run. Makes nothing. */
void guard_demand_print(const struct guard_demand *d);

#endif
