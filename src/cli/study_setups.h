/* The command line of a command on several workloads: read once for each of them, against the
 * tables of each. An option must then be one that all of them have. */
#ifndef STAVE_CLI_STUDY_SETUPS_H
#define STAVE_CLI_STUDY_SETUPS_H

#include "cli/setup.h"

struct study_command {
    const struct opt_table *options; /* of the command */
    size_t options_bytes;            /* of its settings */
    /* n setups and the settings of the first; returns an exit code or an error. */
    int (*work)(struct setup *const *setups, size_t n, void *settings);
};
/* E_USAGE for a workload that is named twice. */
int study_setups_run(const struct command *c, int argc, char **argv, struct study_command s);

#endif
