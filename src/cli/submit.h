/* A submission in the making: runs of this program, grouped into results, and the description of
 * the machine they ran on. Collected from folders, looked over, then written in MLPerf's layout.
 *
 * The structure owns what it points to until submit_release, but for the options, which are the
 * command line's. One thread. */
#ifndef STAVE_CLI_SUBMIT_H
#define STAVE_CLI_SUBMIT_H

#include "base/json.h"
#include "rules/package.h"

struct submit_options {
    const char *dir;    /* of the runs */
    const char *system; /* the description's file, SYSTEM.json */
    const char *org, *implementation;
    const char *division; /* NULL: the description's */
    struct package_options package;
};

struct submit_run {
    char *dir, *log;
    cJSON *run; /* run.json; NULL: there is none that can be read */
};

/* Runs of one benchmark. */
struct submit_result {
    char *benchmark;
    struct submit_run *runs;
    size_t n_runs;
    struct package_outcome outcome; /* of the lint */
};

struct submit {
    struct submit_options o;
    char *name; /* of the system: the description's file without its folder and ".json" */
    struct system_desc desc;
    struct submit_result *results;
    size_t n_results;
};

/* Finds the run folders (they hold mlperf.log) in o.dir, in the order of their names, run-2 before
 * run-10. E_USAGE, E_IO, E_DATA. */
int submit_collect(struct submit *s, const struct submit_options *o);
void submit_release(struct submit *s);
/* Everything that keeps the runs from becoming a submission; the ruleset is one that there is. */
int submit_lint(struct submit *s, struct findings *f);
/* Writes the submission to a folder that is not there yet, all of it or nothing. It must have
 * passed the lint. */
int submit_write(const struct submit *s, const char *dir);

/* Texts of the implementation's files; each appends. run is run.json. */
void submit_config(const cJSON *run, struct str *out);
void submit_readme(const struct submit *s, const struct submit_result *r, struct str *out);
void submit_setup(const cJSON *run, struct str *out);
void submit_datasets(const cJSON *run, struct str *out);
void submit_run_and_time(const cJSON *run, struct str *out);
/* SYSTEM_IMPLEMENTATION.json: what this implementation was told on this system. */
void submit_details(const struct submit *s, const struct submit_result *r, struct str *out);
/* A text member of run.json that stands in a script as it is: only letters, digits, - and _; NULL
 * when it is not there or holds anything else. */
const char *submit_word(const cJSON *run, const char *name);

#endif
