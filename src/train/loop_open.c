/* What is looked at before a run, so that a refusal leaves its folder as it was. */
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/file.h"
#include "data/shard.h"
#include "train/loop_int.h"

long long train_steps_per_epoch(const struct train_run *run)
{
    const struct shard s = {.n_samples = run->task->n_train,
                            .batch_size = (size_t)run->settings->batch_size};

    return (long long)shard_steps(&s);
}

void train_digest(const struct train_run *run, char *text, size_t n)
{
    const enum dtype precision = train_precision(run->settings);

    snprintf(text, n, "%s%s%s in batches of %lld from %llu samples", run->task->name,
             precision == DT_F32 ? "" : " in ", precision == DT_F32 ? "" : dtype_name(precision),
             run->settings->batch_size, (unsigned long long)run->task->n_train);
}

static int check_resumed(const struct train_run *run)
{
    const struct checkpoint_info *const is = &run->from.info;
    char wanted[MAX_DIGEST];

    train_digest(run, wanted, sizeof(wanted));
    if (is->seed == run->seed && strcmp(is->options_digest, wanted) == 0)
        return 0;
    return err(E_USAGE,
               "the checkpoint in %s is of %s and seed %llu, this run of %s and seed %llu; resume "
               "with the same",
               run->dir, is->options_digest, (unsigned long long)is->seed, wanted,
               (unsigned long long)run->seed);
}

static size_t input_bytes(const struct graph *g)
{
    size_t n = 0;

    for (int i = 0; i < g->n_tensors; i++)
        if (g->tensors[i]->kind == T_INPUT)
            n += tensor_bytes(g->tensors[i]);
    return n;
}

/* A layer that was forgotten shows up as little as this. */
static int check_parameters(const struct task *task, long long n)
{
    if (task->parameters == 0 || n == task->parameters)
        return 0;
    return err(E_SHAPE, "the model has %lld parameters, %s has %lld; a layer is missing or extra",
               n, task->name, task->parameters);
}

/* Model and streams are opened to see them refuse, and closed again: those of the run are made
 * between init_start and init_stop, and after run_start. */
static int try_session(struct train_run *run)
{
    struct session s;
    int rc = 0;

    TRY(session_open(&s, run->task, run->settings, run->engine));
    run->needs = (struct train_needs){
        .weights = bank_bytes(&s.bank),
        .activations = s.workspace.bytes,
        .checkpoint =
            s.store.block_bytes[weight_block(T_PARAM)] + s.store.block_bytes[weight_block(T_STATE)],
        .batch = input_bytes(&s.train_graph) * (size_t)run->settings->accumulate +
                 input_bytes(&s.eval_graph),
        .parameters = store_param_count(&s.store),
    };
    rc = check_parameters(run->task, run->needs.parameters);
    if (rc == 0 && run->resume)
        rc = session_check(&s, &run->from);
    else if (rc == 0 && run->init)
        rc = session_match(&s, &run->given, run->names);
    if (rc == 0 && run->resume)
        rc = train_load_scale(&run->from, &s.loss_scale);
    session_close(&s);
    return rc;
}

static int check_pipelines(const struct train_run *run)
{
    const struct train_settings *const s = run->settings;

    if (run->part != TRAIN_ONLY_EVALUATE)
        TRY(run->task->open(run->task->context, PIPELINE_TRAIN, (int)s->batch_size, 0, 0, NULL));
    if (run->part == TRAIN_ONLY_DATA)
        return 0;
    return run->task->open(run->task->context, PIPELINE_EVAL, (int)(s->batch_size / s->accumulate),
                           0, 0, NULL);
}

/* Before the run, not at its first checkpoint: files that are there already make room for new ones.
 */
static int check_space(const struct train_run *run)
{
    const int64_t free_bytes = file_free_bytes(run->dir);
    const size_t files = (size_t)(CHECKPOINT_FILES - checkpoint_count(run->dir)) +
                         CHECKPOINT_KEPT * (size_t)run->n_later;
    const size_t needed = files * run->needs.checkpoint;

    if (free_bytes < 0 || (uint64_t)free_bytes >= needed)
        return 0;
    return err(E_IO,
               "%s has room for %.1f MiB, and the checkpoints of %s take %.1f MiB; free some, "
               "or choose a folder on another disk with --out",
               run->dir, (double)free_bytes / 0x1p20, run->n_later ? "these runs" : "this run",
               (double)needed / 0x1p20);
}

int train_open(struct train_run *run)
{
    long long boundaries[MAX_BOUNDARIES];
    struct schedule schedule;
    int rc = 0;

    TRY(train_schedule(run->settings, train_steps_per_epoch(run), boundaries, &schedule));
    if (run->resume)
        TRY(checkpoint_open(&run->from, run->dir));
    else if (run->init)
        TRY(weights_open(&run->given, run->init));
    if (run->resume)
        rc = check_resumed(run);
    if (rc == 0 && run->part != TRAIN_ONLY_DATA)
        rc = try_session(run);
    if (rc == 0)
        rc = check_pipelines(run);
    if (rc == 0 && run->part == TRAIN_WHOLE)
        rc = check_space(run);
    if (rc < 0)
        train_close(run);
    return rc;
}

void train_close(struct train_run *run)
{
    checkpoint_close(&run->from);
    weights_close(&run->given);
}
