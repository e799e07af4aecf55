/* One log of a submission as the package checker sees it. Within the package's files. */
#ifndef STAVE_RULES_PACKAGE_LOG_H
#define STAVE_RULES_PACKAGE_LOG_H

#include "rules/findings.h"
#include "rules/log.h"

struct package_log {
    const char *path; /* borrowed */
    struct log log;
    int accepted;          /* by the compliance check */
    int parse_errors;      /* lines that MLPerf's parser refuses */
    char *crash;           /* what its tools end in a traceback over; NULL: nothing */
    struct findings found; /* by the compliance check */
    int is_twin;           /* of a log before it, and that was told */
};

/* Reads a log and holds it against a ruleset. E_IO. */
int package_log_read(struct package_log *l, const char *path, const char *ruleset);
void package_log_release(struct package_log *l);

/* Seeds as the seed checker wants them: at least one a log, whole numbers with file and line, and
 * no two logs with the same one at the same place. */
void package_check_seeds(struct package_log *logs, size_t n, struct findings *f);
/* Runs that are there twice, where the seed checker does not look: FINDING_STRICT for a log with a
 * seed of one before it, at the same place. */
void package_check_seed_twins(struct package_log *logs, size_t n, struct findings *f);
/* FINDING_STRICT for a log that is byte for byte one before it, unless it is told to be a twin. */
void package_check_copies(struct package_log *logs, size_t n, struct findings *f);
/* A seed as Python's int() takes it, in canonical digits; NULL when it takes it not. */
char *package_seed_digits(const char *json);

#endif
