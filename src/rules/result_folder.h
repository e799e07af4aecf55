/* What a run's folder says of it beside the log: run.json and result.json, as `stave run` writes
 * them. Of a folder without them nothing is known. */
#ifndef STAVE_RULES_RESULT_FOLDER_H
#define STAVE_RULES_RESULT_FOLDER_H

struct result_folder {
    const char *ruleset; /* that the run was made under; never released; NULL: not known */
    const char *why;     /* why it is no timed run to a target; NULL: nothing says so */
};

/* log_path is the folder's mlperf.log; of a log of another name nothing is known. */
struct result_folder result_folder_read(const char *log_path);

#endif
