/* How long the runs of a study are. All of them make the same steps: those that --steps says, or as
 * many epochs as --epochs or --target say, or else as many steps as take about 20 s behind the
 * warm-up, which runs that are thrown away find out. */
#ifndef STAVE_CLI_STUDY_LENGTH_H
#define STAVE_CLI_STUDY_LENGTH_H

#include "cli/child.h"
#include "cli/setup.h"
#include "cli/study.h"

/* Makes a run of the workload's present settings in the folder. */
struct length_trial {
    int (*run)(void *context, size_t workload, const char *folder, struct child_end *end);
    void *context;
};
/* Decides for one workload, says so on stderr, and applies it. */
int study_length(struct study *s, size_t workload, struct setup *setup, struct length_trial trial);
/* Makes the settings those of the study's runs: steps, and what would interrupt them left out
 * unless the study's first command line said it (evaluations, checkpoints on the way). */
void study_apply_length(const struct study *s, size_t workload, struct setup *setup);

#endif
