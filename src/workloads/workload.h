/* A workload: a model with its data, optimiser, target and rules. Mostly data; the loop is
 * train/loop.c. One file each, one line in list.h, and nothing else has to know. */
#ifndef STAVE_WORKLOADS_WORKLOAD_H
#define STAVE_WORKLOADS_WORKLOAD_H

#include "data/generate.h"
#include "data/prepare.h"
#include "data/settings.h"
#include "rules/ruleset.h"
#include "train/name_map.h"
#include "train/settings.h"
#include "train/task.h"

/* Named values for options of any of the tables: defaults < preset < configuration file < command
 * line. */
struct preset {
    const char *name, *help;
    const char *const (*settings)[2]; /* {name, value}, ends with {NULL} */
};

/* All settings of one run; own is the workload's structure, described by its table. */
struct workload_settings {
    struct train_settings train;
    struct data_settings data;
    void *own;
    /* What no option of these tables says but the rules and open ask. */
    int computes;        /* the device's results mean something */
    int from_weights;    /* training starts from weights somebody gives, not from random ones */
    int only_evaluate;   /* open does without the training data */
    const char *ruleset; /* the round that was asked for; NULL: the workload's */
};

/* What the closed division says of one option. */
struct closed_option {
    const char *name;   /* NULL ends a list */
    const char *values; /* demanded, as opt_add_text writes them, | between several; NULL: free, or
                           the ruleset's table checks what follows from it */
    int optimizers;     /* demanded only with these, a bit each; 0: always */
    const char *why;    /* the reason, in words; NULL when values is */
};

struct workload_prepare {
    const char *from, *to;
    int sample;               /* the small bundled data set instead of from's */
    struct prepare_like like; /* or a stand-in for a data set, when like.name is set */
    const char *format;       /* of what is written, see data/sink.h; NULL: recordio */
    uint64_t n_shards;        /* 0: one file */
    struct prepare_progress progress;
};

struct log;

/* What a borrowed configuration must heed of this machine. */
struct workload_borrow {
    const char *from;       /* the log's name, for the comment */
    long long most_at_once; /* samples */
};

struct workload {
    const char *name, *help;
    const char *data; /* what data it needs, in words */
    const struct opt_table *options;
    size_t settings_bytes;
    const struct preset *presets; /* the first is the default; ends with {NULL} */
    /* Checks the settings, opens the data and fills the task. seed is the run's. */
    int (*open)(const struct workload_settings *s, uint64_t seed, struct task *out);
    void (*close)(struct task *t);
    /* Every option of train_options, data_options and the workload's own table must stand here. */
    const struct closed_option *closed;
    const char *ruleset;   /* the pinned MLPerf round: "4.0.0" */
    const char *benchmark; /* its name there: "resnet"; NULL: it is none of MLPerf's */
    /* Appends, a line each, what the pinned rules say of these settings and of the open task's
     * number of samples. Returns the division, "closed" or "open". */
    const char *(*rules)(const struct workload_settings *s, const struct task *t, struct str *out);
    int (*prepare)(const struct workload_prepare *p, struct prepare_result *out);
    const struct name_map *names; /* of the model people already have */
    /* Appends the settings of another submitter's log of this benchmark as a configuration file,
     * with comments on what is derived, missing or different here; NULL: it can not. E_DATA when
     * the log does not say enough. */
    int (*borrow)(const struct log *l, const struct workload_borrow *b, struct str *out);
};

/* The round whose rules hold for a run with these settings. */
const char *workload_ruleset(const struct workload *w, const struct workload_settings *s);
/* E_USAGE when there is no such round, it does without the benchmark, or its logs are not the ones
 * that a run writes. */
int workload_check_ruleset(const struct workload *w, const struct workload_settings *s);

/* Appends a line for each option that is not as the closed division demands, and for one that the
 * list does not know, which nobody has judged yet; returns how many. */
size_t workload_closed_deviations(const struct workload *w, const struct workload_settings *s,
                                  struct str *out);

/* What the rules that hold say of the workload; NULL when they do not know it. */
const struct rule_benchmark *workload_benchmark(const struct workload *w,
                                                const struct workload_settings *s);
/* Random weights or given ones, as the closed division of the benchmark demands: appends a line and
 * returns 1 when the run starts from the others. */
size_t workload_start_deviations(const struct rule_benchmark *b, const struct workload_settings *s,
                                 struct str *out);
/* E_USAGE for a run that would be closed but for the published weights that its benchmark starts
 * from: they are asked for, not passed over. b may be NULL. */
int workload_check_start(const struct workload *w, const struct rule_benchmark *b,
                         const struct workload_settings *s, const struct task *t);

extern const struct workload *const workloads[]; /* ends with NULL */
const struct workload *workload_find(const char *name);
const struct preset *preset_find(const struct workload *w,
                                 const char *name); /* NULL name: the default */

#endif
