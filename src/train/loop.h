/* The training loop, the only one: epochs of steps, evaluations on schedule, checkpoints, and the
 * reasons to stop. It emits the events of a run in the order that MLPerf asks for and leaves a
 * result. One thread; loaders have their own. */
#ifndef STAVE_TRAIN_LOOP_H
#define STAVE_TRAIN_LOOP_H

#include "data/cache_clear.h"
#include "trace/trace.h"
#include "train/session.h"

enum train_status {
    TRAIN_RUNNING,     /* not at its end; stays in the files of a run that was killed */
    TRAIN_REACHED,     /* the target was met by an evaluation */
    TRAIN_STEPS_DONE,  /* the steps asked for were made, or all epochs when there was no target */
    TRAIN_NOT_REACHED, /* all epochs done, target not met */
    TRAIN_INTERRUPTED, /* a signal */
    TRAIN_FAILED,      /* an error; its reason is recorded */
};

/* Bytes. */
struct train_needs {
    size_t weights, activations; /* on the device */
    size_t checkpoint;           /* one file */
    size_t batch;                /* one place of the rings: a batch each of training, evaluation */
    long long parameters;        /* trained numbers */
};

struct train_result;

/* The part of a run that is made. */
enum train_part {
    TRAIN_WHOLE,
    TRAIN_ONLY_EVALUATE, /* one evaluation, no training, no checkpoint; wants init */
    TRAIN_ONLY_DATA,     /* the epochs' batches, which nothing is done with: no model, no target */
};

struct train_run {
    const struct task *task;
    const struct train_settings *settings;
    const struct engine *engine;
    struct trace *trace;
    const char *dir;                 /* the run folder */
    const char *init;                /* a file or run folder to take weights from, or NULL */
    const struct name_map *names;    /* whose names that file may have besides ours; may be NULL */
    const struct cache_clear *cache; /* what was done to the page cache before; NULL: nothing */
    long long n_later;               /* runs that will leave their checkpoints beside this one's */
    enum train_part part;
    int resume; /* go on from the newest checkpoint in dir */
    uint64_t seed;
    /* Called at the start and after each evaluation and checkpoint with the result so far; may be
     * NULL. */
    void (*progress)(void *context, const struct train_result *so_far);
    void *progress_context;
    struct checkpoint from;   /* of resume; train_open's */
    struct weights given;     /* of init; train_open's */
    struct train_needs needs; /* set by train_open */
};

struct train_result {
    enum train_status status;
    int error;             /* when failed */
    int resumed;           /* times and samples are those since the last start only */
    int checkpoint_failed; /* the last state is not saved */
    double quality, best;  /* of the last and the best evaluation; NAN when there was none */
    long long best_epoch, epochs, steps; /* done in all */
    uint64_t samples;                    /* trained on in this process */
    int64_t run_ns;                      /* from run_start to run_stop */
    int64_t init_ns, train_ns, eval_ns, wait_ns,
        checkpoint_ns; /* parts of it; wait is part of train */
    uint64_t bad_samples;
    long long skipped_steps; /* whose gradients overflowed at their loss scale */
    double last_loss;
    double late_loss; /* mean of the second half of the steps of this start; NAN before them */
    /* Of the last evaluation: the metric's values, loss and time. */
    struct metric_value values[METRIC_MAX_VALUES];
    size_t n_values;
    double eval_loss; /* NAN when there was none */
    int64_t last_eval_ns;
    const struct cache_clear *cache; /* the run's */
    int exit_code; /* of the program, set by the command at the run's end; -1: not there yet */
    struct pipeline_counters counters; /* of the training pipeline */
    struct session_counters session;
    /* Members of result.json that whoever makes the run has to say, each with a comma in front;
     * NULL: none. */
    const char *more;
};

const char *train_status_name(enum train_status s);
/* Opens the checkpoint to start from and checks all there is to check before anything is written:
 * the schedule, the model on the device, the checkpoint against the model, the settings of the
 * pipelines. What is refused here leaves the run folder as it was. */
int train_open(struct train_run *run);
void train_close(struct train_run *run);
/* The run itself, after train_open. Returns 0 when the result stands, whatever its status; negative
 * when it failed (result.error). */
int train_run(const struct train_run *run, struct train_result *result);

#endif
