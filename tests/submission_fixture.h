/* Runs and submissions made here: logs through the program's own sinks, run.json, descriptions. No
 * run takes place. Failures end the test. */
#ifndef STAVE_TESTS_SUBMISSION_FIXTURE_H
#define STAVE_TESTS_SUBMISSION_FIXTURE_H

struct made_run {
    const char *division; /* "open" for NULL */
    long long seed;
    long long batch;                                 /* 3264 for 0 */
    long long epochs;                                /* 39 for 0: one of 3, 7, 11, ... */
    const char *org, *platform, *status, *benchmark; /* "tiny", "testbox", "research", "resnet" */
    const char *run_status;                          /* "success" */
};

/* dir/name/mlperf.log and run.json. */
void make_run(const char *dir, const char *name, struct made_run r);
/* dir/name-1 ... name-5, with seeds 1001 to 1005. */
void make_runs(const char *dir, struct made_run r);
/* dir/name, a description that is filled; division NULL: open. */
void make_description(const char *dir, const char *name, const char *division);
/* Replaces the first `find` in dir/name, which must be there, by `with`; all of them with
 * edit_all. */
void edit_file(const char *dir, const char *name, const char *find, const char *with);
void edit_all(const char *dir, const char *name, const char *find, const char *with);

#endif
