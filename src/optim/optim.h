/* Optimisers as graph builders: for each parameter that trains they append one update node, and
 * create the moments it needs as state of the store ("<weight>.momentum"). The learning rate is an
 * input of the graph, "lr", that the training loop writes before each step; Adam also wants "step",
 * counted from 1. */
#ifndef STAVE_OPTIM_OPTIM_H
#define STAVE_OPTIM_OPTIM_H

#include "ops/ops.h"

/* clang-format off */
enum optimiser_id {
#define OPTIMISER(name, help) OPTIMISER_##name,
#include "optim/list.h"
#undef OPTIMISER
    N_OPTIMISERS
};
/* clang-format on */

extern const char *const optimiser_names[]; /* ends with NULL */

struct optim {
    enum optimiser_id kind;
    double momentum, weight_decay;
    int nesterov;
    double eta, eps;
    int rate_outside;
    double beta1, beta2;
    double clip_norm; /* 0: none; else the largest norm of the whole gradient */
    int scaled; /* the loss is scaled, see loss_scale.h: the graphs have an input "loss_scale",
                   and the updating one an output "update_scale", not finite when the gradients
                   were not and nothing was updated */
};

/* What the builders need of one parameter. */
struct optim_param {
    struct tensor *w, *grad;
    struct tensor *lr, *step, *scale;
    struct update update;
};

/* clang-format off */
#define OPTIMISER(name, help) void optimiser_##name##_update(struct graph *g, const struct optim_param *p);
#include "optim/list.h"
#undef OPTIMISER
/* clang-format on */

struct optimiser {
    const char *name, *help;
    void (*update)(struct graph *g, const struct optim_param *p);
};
extern const struct optimiser optimisers[N_OPTIMISERS];

/* One step in one graph: gradients from backward(), divided by the loss weight, clipped, applied.
 */
void optim_step(struct graph *g, const struct optim *o, struct sum_weight loss);

/* The same in two graphs over one store, for gradient accumulation: the first, run once per
 * micro-batch, adds gradients, loss and weight to carried sums; the second, run once per step,
 * updates from the sums and clears them. */
void optim_accumulate(struct graph *g, const struct optim *o, struct sum_weight loss);
void optim_apply(struct graph *g, const struct optim *o);

/* For the builders, which run in the scope of w: a state of w's shape named "<w>.<suffix>",
 * starting from zero. */
struct tensor *optim_moment(struct graph *g, const struct tensor *w, const char *suffix);

#endif
