/* What a workload gives to the training loop: how to build its graphs and where its batches come
 * from. The loop knows nothing else about it. The workload owns the task and keeps it alive during
 * the run. */
#ifndef STAVE_TRAIN_TASK_H
#define STAVE_TRAIN_TASK_H

#include "data/pipeline.h"
#include "data/source.h"
#include "eval/metric.h"
#include "ops/ops.h"
#include "trace/trace.h"
#include "train/safetensors.h"

enum { TASK_SOURCES = 2 };

struct task {
    const char *name; /* "resnet50" */
    const char *unit; /* of samples: "images" */
    const struct metric_ops *metric;
    void *context; /* the workload's own, handed back to the functions below */
    /* Appends model and loss for a batch of this size to a graph whose inputs are named as the
     * tensors of a batch. An evaluation graph also has the outputs that the metric reads
     * ("scores"). */
    struct sum_weight (*build)(void *context, struct graph *g, int batch);
    /* The stream of batches: training from (epoch, step) without end, or one pass of evaluation.
     * Epochs count from 0. out
     * NULL: only checks the settings and touches no sample, for the clock does not run yet. */
    int (*open)(void *context, enum pipeline_mode mode, int batch, uint64_t epoch, uint64_t step,
                struct pipeline **out);
    /* Emits what the rules ask to know: submission_*, batch, hyper-parameters. */
    void (*log)(const void *context, struct trace *t);
    uint64_t n_train, n_eval;
    const struct source *sources[TASK_SOURCES]; /* what the batches are read from; NULL: none */
    /* What somebody must know to use the weights, and whose they are ("workload"): goes into the
     * metadata of checkpoints and from there into exported files. */
    const struct safetensors_meta *facts;
    size_t n_facts;
    int classes;          /* among which the model chooses; 0: it does no such thing */
    long long parameters; /* how many trained numbers the model must have; 0: not known */
};

#endif
