/* Small logs of runs, and folders of them as submitters lay them out. */
#ifndef STAVE_TESTS_SCORE_FIXTURE_H
#define STAVE_TESTS_SCORE_FIXTURE_H

#include "rules/result_find.h"

struct fake_run {
    double minutes;
    double epochs;
    const char *status; /* NULL: success; "": no run_stop */
};

struct fake_result {
    const char *benchmark; /* NULL: resnet */
    const char *division;  /* NULL: closed */
    long batch;            /* 0: 3264 */
    long start_ms;         /* of the first run; the others start later, in order */
};

/* Runs whose logs are taken as accepted by the round's checks; not finished yet. The caller
 * releases it. */
struct result fake_result(const char *version, const struct fake_result *f,
                          const struct fake_run *runs, int n);
void fake_add(struct result *r, const struct fake_result *f, const struct fake_run *run,
              int number);
/* Writes dir/name, which the checks of 1.0 and 4.0 accept of resnet. */
void fake_log(const char *dir, const char *name, const struct fake_result *f,
              const struct fake_run *run, int number);
/* Writes dir/sub/result_0.txt ... of n runs. */
void fake_results(const char *dir, const char *sub, const struct fake_result *f,
                  const struct fake_run *runs, int n);
/* The results of dir/sub ("" for dir) under a round's rules; the caller releases them. */
struct results fake_find(const char *dir, const char *sub, const char *version);

#endif
