/* What one MLPerf training log says: who ran what, with which settings, when, and how far it came.
 * It judges nothing; a log that is cut or wrong gives what stands in it.
 *
 * The lines may be of any round: ":::MLLOG" (0.7 on), ":::MLL" (0.6), ":::MLPv0.5.0" (0.5), told
 * apart line by line. Of several records with one key the last one holds, as in MLPerf's own tools,
 * except where it says otherwise below. Absent numbers are NAN, absent texts NULL.
 *
 * log_read and log_read_memory fill a structure whose contents nobody owns yet; it owns its texts
 * and lists until log_release, which may be called on a zeroed one and twice. No state is shared:
 * any thread may read its own log. */
#ifndef STAVE_RULES_LOG_H
#define STAVE_RULES_LOG_H

#include <stddef.h>

#include "trace/mllog_read.h"

struct log_seed {
    char *value;      /* as JSON: "123" */
    char *file;       /* of the metadata; NULL: absent */
    long long lineno; /* of the metadata; -1: absent */
    size_t line;      /* of the log */
};

/* One eval_accuracy or eval_error. A value that is an object (Mask R-CNN's BBOX and SEGM, v0.5's
 * {"epoch": .., "value": ..} excepted) has members and a NAN value. */
struct log_evaluation {
    double time_ms;
    double value;
    double epoch;   /* metadata epoch_num, rounded to three places as the rcp checker does; v0.5's
                       epoch plus one, since that round counts from 0 */
    double samples; /* metadata samples_count */
    double step;    /* metadata step_num */
    char *metric;   /* metadata metric; NULL: absent */
    struct log_member {
        char *name;
        double value;
    } * members;
    size_t n_members;
    size_t line;
};

/* A record that is not one of time or progress: a hyper-parameter, a size, a name. */
struct log_setting {
    char *key;
    char *value; /* as JSON text: "0.9", "\"lars\"", "[1,2]", "null"; or NaN, Infinity, -Infinity */
    char *file;  /* of the metadata; NULL: absent */
    long long lineno;
    size_t line;
};

struct log {
    enum mllog_format format; /* of the last record; of a log without any MLLOG_FORMAT_JSON */
    char *benchmark;          /* submission_benchmark; v0.5: the name in each line */
    char *division, *org, *platform, *status;

    struct log_seed *seeds; /* every seed record, v0.5: run_set_random_seed */
    size_t n_seeds;
    struct log_evaluation *evaluations; /* in the order of the log */
    size_t n_evaluations;
    struct log_setting *settings; /* all of them, in the order of the log */
    size_t n_settings;

    double batch; /* global_batch_size; NAN in v0.5, whose input_batch_size is each worker's own */
    double train_samples, eval_samples;
    double init_start_ms; /* the first */
    double init_stop_ms;
    double run_start_ms, run_stop_ms; /* the pair the summariser takes: reading ends at the record
                                         with which both are known */
    char *run_status; /* "success", "aborted", ...; NULL: absent. Of the last run_stop */
    size_t run_stop_line;

    /* To the target, as the rcp checker counts: the epoch_num of the last evaluation before the
     * last run_stop, when that is a success; else NAN. Of llama2_70b_lora samples_count in place
     * of epoch_num; of stable_diffusion the smallest samples_count (else step_num) at which both
     * metrics passed, since these are logged when they are ready. samples_at_stop is the same of
     * the last record train_samples, which BERT submissions of 1.0 to 2.0 give in place of
     * epoch_num. */
    double epochs;
    double samples_at_stop;

    size_t n_records;  /* read */
    size_t n_troubles; /* records that were cut, glued or without a field */
    char *trouble;     /* the first of these: "line 7, column 12: ..." */
};

/* 0, also for a file without any record; E_IO when it can not be read. also, which may be NULL,
 * gets every record and trouble, too, and a code of its own ends the reading. */
int log_read(struct log *l, const char *path, const struct mllog_visitor *also);
/* The same with records of one format, as mllog_read_file_as. */
int log_read_as(struct log *l, enum mllog_format format, const char *path,
                const struct mllog_visitor *also);
int log_read_memory(struct log *l, const char *bytes, size_t n);
void log_release(struct log *l);

/* The last setting with this key, or NULL; its number, or NAN when it is none. */
const struct log_setting *log_setting(const struct log *l, const char *key);
double log_number(const struct log *l, const char *key);
/* Wall time of the run in minutes; NAN when start or stop is absent. */
double log_minutes(const struct log *l);

#endif
