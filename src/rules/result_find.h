/* Finds the results in files and folders. A path may be
 *
 *   a log, or a run's folder (with mlperf.log): these, from all paths, make one result a benchmark;
 *   a folder of run folders, as `stave run --runs` leaves it: one result a benchmark;
 *   a folder of result_*.txt: one result; scaling.json beside them is read, and where the folder is
 *     ORG/results/SYSTEM/BENCHMARK the description ORG/systems/SYSTEM.json, too;
 *   any folder above these, searched to its leaves, 16 levels down. Symbolic links are
 *     followed; a folder is searched once, however many ways lead to it.
 *
 * The list owns its results until results_release; they are finished (result_finish). Files are in
 * the order of their names, numbers by value. One thread at a time. */
#ifndef STAVE_RULES_RESULT_FIND_H
#define STAVE_RULES_RESULT_FIND_H

#include <sys/types.h>

#include "base/str.h"
#include "rules/result.h"

struct results {
    struct result *list;
    size_t n;
    const char *version; /* as for result_init */
    int unchecked;       /* as in struct result */
    const char *system;  /* a description that stands for those not found; NULL: none */
    struct str troubles; /* of folders and logs below the paths that could not be read, a line each;
                            the others are there all the same */
    struct results_folder {
        dev_t device;
        ino_t inode;
    } * seen; /* for results_find */
    size_t n_seen;
};

/* version, unchecked and system are set by the caller. E_IO for a path that can not be read,
 * E_USAGE for an unknown version; the list is to be released in any case. */
int results_find(struct results *s, const char *const *paths, size_t n);
void results_release(struct results *s);

#endif
