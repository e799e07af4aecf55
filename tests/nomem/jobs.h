/* What a run of the program is made of, as jobs that can be done again and again: each reads the
 * data set made once by jobs_prepare and returns 0 with a checksum of what it made, or the negative
 * code of a failure with its reason recorded. */
#ifndef STAVE_TESTS_NOMEM_JOBS_H
#define STAVE_TESTS_NOMEM_JOBS_H

#include <stdint.h>

struct job {
    const char *name;
    int (*run)(const char *dir, uint64_t *made); /* dir: an empty folder of this one run */
};

extern const struct job jobs[]; /* ends with NULL */
/* data: an empty folder, which must stay. */
void jobs_prepare(const char *data);
/* 0 unless the files that a job left in dir are torn. */
int jobs_check(const char *dir);

#endif
