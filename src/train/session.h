/* A model on a device, ready to train: the store and its bank, the plans of training and evaluation
 * that share both and one workspace. Built once, before the clock starts; stepping it allocates
 * nothing. One thread. */
#ifndef STAVE_TRAIN_SESSION_H
#define STAVE_TRAIN_SESSION_H

#include "optim/loss_scale.h"
#include "plan/plan.h"
#include "train/checkpoint.h"
#include "train/settings.h"
#include "train/task.h"
#include "train/weights.h"

/* Of the training steps so far. copy: batches into the plan's inputs. */
struct session_counters {
    uint64_t samples; /* with weight */
    int64_t copy_ns, compute_ns;
};

struct session {
    const struct task *task;
    const struct train_settings *settings;
    const struct engine *engine;
    struct store store;
    struct graph train_graph, apply_graph, eval_graph;
    struct bank bank;
    struct workspace workspace;
    struct plan train, apply, eval; /* apply only when accumulating */
    float *scores;                  /* of one evaluation batch; NULL when the task has none */
    struct loss_scale loss_scale;
    struct session_counters counters;
    int accumulates;
    int micro_batch; /* samples in one run of the train plan, and in one of evaluation */
};

int session_open(struct session *s, const struct task *task, const struct train_settings *settings,
                 const struct engine *engine);
void session_close(struct session *s);
/* Allocates the activations (a session that is only looked at does without); weights from the seed,
 * moments and carry zero. */
int session_initialise(struct session *s, uint64_t seed);

struct step_result {
    double loss, weight; /* loss: sum over the batch, weight: what to divide it by */
    int skipped;         /* gradients overflowed at this loss scale: no weight changed */
};
/* One optimiser step; number counts from 0, messages from 1. E_NUMERIC when the loss is not finite,
 * or the gradients of a scaled loss are not and the scale can not fall: the weights are as before
 * the step, and the reason names the first op whose result was not finite. */
int session_step(struct session *s, const struct batch *b, double lr, long long number,
                 struct step_result *out);
/* The first part of a step and no more: the batch into the inputs. */
int session_copy(struct session *s, const struct batch *b);
/* Evaluates one batch: adds to the metric, and loss and weight to *out. */
int session_evaluate(struct session *s, const struct batch *b, struct metric *m,
                     struct step_result *out);

/* Everything that is saved: parameters and state. E_NUMERIC, and nothing is written, when one of
 * them is not finite. */
int session_save(struct session *s, const char *dir, struct checkpoint_info info);
/* Reads every weight from an open checkpoint; one that is missing or differs in shape is an error.
 */
int session_load(struct session *s, const struct checkpoint *c);
/* What session_load would refuse, without reading or changing any weight. */
int session_check(const struct session *s, const struct checkpoint *c);
/* Somebody's weights: session_match checks them against the model, every element, session_import
 * then takes them. The state of the optimiser stays as it is. */
int session_match(struct session *s, struct weights *given, const struct name_map *map);
int session_import(struct session *s, const struct weights *given);

#endif
