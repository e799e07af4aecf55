/* The files of a run folder that the command writes: run.json before, result.json and stages.csv
 * on the way and after. */
#ifndef STAVE_CLI_RUN_FOLDER_H
#define STAVE_CLI_RUN_FOLDER_H

#include "base/json.h"
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
/* Gives a file of an earlier start the next free name: mlperf.log becomes mlperf.N.log, samples.csv
 * samples.N.csv. Such a file covers one start. */
int run_folder_keep(const char *dir, const char *name);
/* Now, "2026-01-31T12:00:00Z", heap. */
char *run_folder_utc(void);
/* "runs/KINDWORKLOAD-DATE", heap. */
char *run_folder_default(const char *kind, const char *workload);
/* Whether a run, a set of runs or a study was started here, however far it came. */
int run_folder_holds_run(const char *dir);
/* E_USAGE when a file written to this path would take the place of its source, a checkpoint or run
 * folder, or of a checkpoint or another file of any run folder, or of a link or a device. */
int run_folder_check_target(const char *path, const char *source);
/* Keeps other runs out until *fd is closed or the process ends; E_USAGE when one is at work there.
 */
int run_folder_lock(const char *dir, int *fd);
/* Whether somebody holds the folder, as a run does while it is at work; also where nobody can tell.
 * Looking keeps nobody out. */
int run_folder_is_held(const char *dir);
/* What run.json of an earlier start holds: its seed, and the file that --init named, heap, or NULL.
 * E_IO, E_DATA when it can not be read. */
int run_folder_read_seed(const char *dir, uint64_t *seed);
int run_folder_read_init(const char *dir, char **init);
/* A JSON file of the folder, which cJSON_Delete frees; E_IO, E_DATA. */
int run_folder_read_json(const char *dir, const char *name, cJSON **doc);
/* Says, as a warning, what decides the weights' bits and is not as in run.json: options, and the
 * device with its threads. */
void run_folder_warn_of_changes(const char *dir, const struct setup *s, const struct engine *e);

#endif
