/* What a person may set of a training run, whatever the model: one structure, one table of options.
 */
#ifndef STAVE_TRAIN_SETTINGS_H
#define STAVE_TRAIN_SETTINGS_H

#include "base/opt.h"
#include "eval/eval_schedule.h"
#include "optim/optim.h"
#include "optim/schedule.h"

struct train_settings {
    long long batch_size, accumulate;
    long long epochs, steps;
    double target;
    long long eval_every, eval_offset, checkpoint_every, checkpoint_steps;
    long long seed;

    int precision; /* enum precision */
    double loss_scale;
    int dynamic_loss_scale;
    int optimizer, nesterov, lars_rate;
    double lr, momentum, weight_decay, lars_eta, epsilon, beta1, beta2, clip_norm;
    long long lr_batch;
    int schedule; /* enum schedule_kind */
    double warmup_epochs, decay_epochs, end_lr, decay_power, decay_factor;
    char *decay_at;
};

extern const struct opt_table train_options;

/* Values of --precision, their names, and the type of activations that each means. */
enum precision { PRECISION_F32, PRECISION_BF16 };
extern const char *const precision_names[]; /* ends with NULL */
enum dtype train_precision(const struct train_settings *s);
/* The optimiser of these settings. */
struct optim train_optim(const struct train_settings *s);
/* What the run really uses: the peak learning rate at this batch, and the epochs the decay takes.
 */
double train_base_lr(const struct train_settings *s);
double train_decay_epochs(const struct train_settings *s);
/* The learning rate's schedule when an epoch has steps_per_epoch steps. boundaries is the caller's
 * room for the epochs of
 * --decay-at; E_USAGE when they can not be read or do not rise, or the schedule does not fit the
 * run. */
enum { MAX_BOUNDARIES = 16 };
int train_schedule(const struct train_settings *s, long long steps_per_epoch,
                   long long boundaries[MAX_BOUNDARIES], struct schedule *out);
struct eval_schedule train_eval_schedule(const struct train_settings *s);
/* Settings that contradict each other: E_USAGE. */
int train_settings_check(const struct train_settings *s);

#endif
