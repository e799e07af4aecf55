/* Studies: workloads under several conditions, each several times, one run after the other, and
 * what comes of it in one table. A folder with an ordinary run folder for each run, run-01, run-02
 * and so on, and study.json, replaced as a whole after every run, from which an interrupted study
 * goes on (docs/study.md has its schema and the definition of each figure).
 *
 * Every repeat runs all conditions once, in the order that they were asked for and in the next
 * repeat the other way round, so that a machine that changes meanwhile treats all alike. All runs
 * have one seed and one length: they do the same work.
 *
 * A zeroed study is empty; a study owns all it points to until release. One thread. */
#ifndef STAVE_CLI_STUDY_H
#define STAVE_CLI_STUDY_H

#include <stddef.h>
#include <stdint.h>

#include "base/str.h"
#include "verdict/effect.h"

/* Seconds of a run behind its warm-up, where nobody says its length. */
#define STUDY_SECONDS 20.0

enum { STUDY_MAX_CONDITIONS = 256, STUDY_MAX_REPEATS = 100, STUDY_MAX_WORKLOADS = 16 };

enum study_figure {
#define FIGURE(name, where, column) FIGURE_##name,
#include "cli/study_list.h"
    N_FIGURES
};
extern const char *const study_figure_names[N_FIGURES];

enum study_alone { ALONE_TRAINING, ALONE_INGEST, ALONE_BOTH };
extern const char *const study_alone_names[]; /* ends with NULL */

/* One condition; the first one of a study is what the others are compared with. */
struct study_condition {
    char *name;
    char *memory, *cache; /* as --memory and --cache take them; "none" */
    char *data;           /* NULL: the workload's own --data-dir */
    char *ingest;         /* a specification; "off" */
    char *copy_in;        /* a folder whose files are copied meanwhile; NULL: none */
    enum study_alone alone;
};

struct study_workload {
    char *name, *unit; /* unit of a sample: "images" */
    char *options;     /* the effective ones of all tables, as JSON */
    long long steps;   /* of every run; 0: as long as the options say */
    /* The command line said when, so that a fixed number of steps does not leave them out. */
    int says_evaluations, says_checkpoints;
};

enum study_state { STUDY_WAITING, STUDY_DONE };

struct study_run {
    size_t workload, condition, repeat; /* repeat counts from 1 */
    enum study_state state;
    int exit_code;
    int stands;                /* its figures count */
    char why[160];             /* they do not, or what is to be said of them; "" */
    int whole;                 /* too short: rate and wait are those of the whole run */
    double figures[N_FIGURES]; /* NAN: not known */
    char origin[16];           /* of the data: "disk", "cache", "mixed"; "" not known */
};

struct study {
    char *dir;
    const char *kind; /* "study", "ingest" */
    char *stave_version, *started;
    uint64_t seed;
    double warm_s;
    struct study_workload *workloads;
    struct study_condition *conditions;
    size_t n_workloads, n_conditions, n_repeats;
    struct study_run *runs; /* all, in the order in which they are made */
    size_t n_runs;
};

/* ---- the plan (study_plan.c) ---- */

/* The values of a list with commas between, behind those that are there; all heap. */
struct study_values {
    char **all;
    size_t n;
};
void study_split(struct study_values *v, const char *list);
void study_values_release(struct study_values *v);
/* Takes a condition over. */
void study_add_condition(struct study *s, struct study_condition c);
struct study_condition study_copy_condition(const struct study_condition *c);
/* What a user may say of conditions: texts with commas between, folders and specifications; NULL
 * where nothing is said. */
struct study_lists {
    const char *memory, *cache, *data, *copy_in;
    const char *const *ingest;
    size_t n_ingest;
};
/* Makes conditions of them: the first value of each is the baseline, and beside it each other value
 * alone, or with product all combinations. E_USAGE for lists that make no study. */
int study_plan(struct study *s, const struct study_lists *lists, int product);
/* Makes the runs of so many repeats, those of fewer staying as they are. */
void study_set_repeats(struct study *s, size_t n);
void study_release(struct study *s);
/* DIR/run-03 for the run at 2; heap. */
char *study_run_folder(const struct study *s, size_t at);

/* ---- figures of a run (study_figures.c) ---- */

/* Reads what a run that ended with this code left. */
void study_look(const struct study *s, size_t at, int exit_code, struct study_run *out);

/* ---- what they come to (study_result.c) ---- */

struct study_row { /* of the table */
    size_t workload, condition;
    size_t n; /* runs that stand */
    struct effect_spread figures[N_FIGURES];
    char origin[16];
    struct effect_slowdown slowdown; /* of the rate, against the workload's first condition */
};
struct study_result {
    struct study_row *rows; /* workload by workload, in the order of conditions */
    size_t n_rows;
    struct effect_smallest smallest; /* difference that the repeats tell */
    struct effect_ranking ranking;   /* of the conditions that train, by rate; one workload */
    int has_choice;                  /* ingest: a setting was looked for */
    struct effect_choice choice;     /* at is a condition */
    struct str choice_words, words;
};
/* A slowdown under this is said to cost nothing worth speaking of. */
#define STUDY_LIMIT 0.01
void study_judge(const struct study *s, struct study_result *out);
void study_result_release(struct study_result *r);
/* The words of a finding (study_words.c), for study_judge. */
void study_add_words(const struct study *s, struct study_result *r);
/* "200 MB/s", "1.5 GB/s": decimal. */
void study_add_rate(double bytes_per_s, struct str *out);
/* 0.034: "3.4"; 0.123: "12". */
void study_add_percent(double ratio, struct str *out);
void study_print(const struct study *s, const struct study_result *r);

/* ---- study.json (study_json.c, study_read.c) ---- */

void study_add_json(const struct study *s, const struct study_result *r, struct str *out);
/* Judges and writes. */
int study_write(const struct study *s);
int study_exists(const char *dir);
/* Reads s->dir's study.json into an otherwise empty study: plan and finished runs. E_IO, E_DATA. */
int study_read(struct study *s);
int study_parse(struct study *s, const char *text, size_t n);

#endif
