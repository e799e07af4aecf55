/* What `run`, `explain` and other commands on a workload share: its settings from preset, files and
 * command line, and the device. */
#ifndef STAVE_CLI_SETUP_H
#define STAVE_CLI_SETUP_H

#include "cli/command_line.h"
#include "cli/conditions.h"
#include "cli/machine.h"
#include "plan/engine.h"
#include "workloads/workload.h"

struct setup_settings {
    char *device, *preset;
    long long threads;
};
extern const struct opt_table setup_options;

struct guard;

struct setup {
    struct command_line line;
    const struct workload *workload;
    const struct preset *preset;
    struct setup_settings own;
    struct conditions_settings conditions; /* of a command that has their table */
    struct guard *guard;                   /* the run's supervisor; NULL: none */
    struct workload_settings settings;
    struct machine machine; /* as it was when the device was opened */
};

/* Reads the command line of a command whose first argument is a workload. A command that does
 * without may find none: then workload is NULL and only the machine's options are known. extra may
 * be NULL: the command's own table. Returns like command_line_parse. Always call setup_release. */
int setup_parse(struct setup *s, const struct command *c, int argc, char **argv,
                const struct opt_table *extra, void *extra_settings);
void setup_release(struct setup *s);
/* Looks at the machine and opens the device; notes in the settings whether it computes, and float32
 * when it lacks the precision asked for, with a warning. */
int setup_engine(struct setup *s, struct engine *out);

/* The tables that such a command binds, for its description; each workload adds its own. */
#define SETUP_TABLES &setup_options, &train_options, &data_options

#endif
