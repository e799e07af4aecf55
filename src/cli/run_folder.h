/* The files of a run folder that the command writes: run.json before, result.json and stages.csv
 * on the way and after. */
#ifndef STAVE_CLI_RUN_FOLDER_H
#define STAVE_CLI_RUN_FOLDER_H

#include "cli/setup.h"
#include "train/loop.h"

/* Versions, machine, effective options, seed; run is open. */
int run_folder_write_run(const char *dir, const struct setup *s, const struct task *task,
                         const struct engine *e, const struct train_run *run);
int run_folder_write_result(const char *dir, const struct setup *s, const struct task *task,
                            const struct train_result *r);
/* The result as one JSON object; what is not known is absent. */
void run_folder_result_json(const struct setup *s, const struct task *task,
                            const struct train_result *r, struct str *out);
/* Gives the log of an earlier start the next free name mlperf.N.log: a log covers one start. */
int run_folder_keep_log(const char *dir);
/* The seed that run.json of an earlier start holds; E_DATA when it can not be read. */
int run_folder_read_seed(const char *dir, uint64_t *seed);

#endif
