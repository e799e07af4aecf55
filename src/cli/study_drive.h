/* Making the runs of a study: each an ordinary run in a process of its own. The first signal that
 * asks to stop ends the present run cleanly and the study behind it; what is there stays, and
 * --resume goes on. A run that fails is marked and the others are made all the same. */
#ifndef STAVE_CLI_STUDY_DRIVE_H
#define STAVE_CLI_STUDY_DRIVE_H

#include "cli/setup.h"
#include "cli/study.h"

/* Options that all kinds of studies have. */
struct study_settings {
    char *out;
    int resume, json, clear_cache;
    long long repeats;
};
extern const char *const study_clear_names[]; /* values of clear_cache, as `stave run` has them */

/* Their rows, for the table of a structure that has them as its member `common`. */
/* clang-format off */
#define STUDY_ROWS(owner)                                                                          \
    OPT_ROW(owner, "repeats", OPT_INT, common.repeats, .dflt = "3", .min = 1, .max = STUDY_MAX_REPEATS, .arg = "N", \
            .help = "How often every condition is run; fewer than 3 tell little from noise"),      \
    OPT_ROW(owner, "clear-cache", OPT_CHOICE, common.clear_cache, .dflt = "files", .choices = study_clear_names, .arg = "WHAT", \
            .help = "Clear the page cache before each run, so that all begin alike. files: the data set's; yes: the machine's, " \
                    "where that is allowed; no: leave it"),                                        \
    OPT_ROW(owner, "out", OPT_STRING, common.out, .arg = "DIR",                                    \
            .help = "The folder of the study; in runs/, with its kind, workload and date, by default"), \
    OPT_ROW(owner, "resume", OPT_BOOL, common.resume, .dflt = "no",                                \
            .help = "Go on with the study in the folder; with more --repeats it grows"),           \
    OPT_ROW(owner, "json", OPT_BOOL, common.json, .dflt = "no", .help = "Print study.json instead of the table")
/* clang-format on */

struct study_request {
    const char *kind; /* "study", "ingest": also the owner of the command's own table */
    const char *dir;
    const struct study_settings *common;
    /* Adds the conditions of a new study. */
    int (*plan)(void *context, struct study *s);
    void *context;
};
/* setups[i] is the parsed command line for workload i of n. Returns an exit code or an error. */
int study_drive(struct setup *const *setups, size_t n, struct study_request q);

#endif
