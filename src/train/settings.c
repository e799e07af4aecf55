#include "train/settings.h"

#include <math.h>
#include <stdlib.h>

#include "base/err.h"

static const char *const schedule_names[] = {[SCHEDULE_CONSTANT] = "constant",
                                             [SCHEDULE_STEPS] = "steps",
                                             [SCHEDULE_COSINE] = "cosine",
                                             [SCHEDULE_POLYNOMIAL] = "polynomial",
                                             NULL};
static const char *const lars_rates[] = {"inside", "outside", NULL};
const char *const precision_names[] = {[PRECISION_F32] = "f32", [PRECISION_BF16] = "bf16", NULL};
static const enum dtype precisions[] = {[PRECISION_F32] = DT_F32, [PRECISION_BF16] = DT_BF16};

#define ROW(...) OPT_ROW(train_settings, __VA_ARGS__)

static const struct opt_row rows[] = {
    ROW("batch-size", OPT_INT, batch_size, .dflt = "32", .min = 1, .max = 1 << 20, .arg = "N",
        .letter = 'b', .help = "Samples in one optimiser step"),
    ROW("accumulate", OPT_INT, accumulate, .dflt = "1", .min = 1, .max = 4096, .arg = "N",
        .help = "Run the batch as N smaller ones and add their gradients, to save memory"),
    ROW("epochs", OPT_INT, epochs, .dflt = "1", .min = 1, .max = 1e6, .arg = "N", .letter = 'e',
        .help = "Stop after N epochs, reached or not; the learning rate decays over them unless "
                "decay-epochs is given"),
    ROW("steps", OPT_INT, steps, .dflt = "0", .min = 0, .max = 1e12, .arg = "N",
        .help = "Make N steps and stop with success; 0: train to the target"),
    ROW("target", OPT_REAL, target, .dflt = "0", .min = 0, .max = 1, .arg = "Q",
        .help = "Stop when evaluation reaches this quality; 0: the whole run counts as the goal"),
    ROW("eval-every", OPT_INT, eval_every, .dflt = "1", .min = 1, .max = 1e6, .arg = "N",
        .help = "Evaluate every N epochs and after the last"),
    ROW("eval-offset", OPT_INT, eval_offset, .dflt = "0", .min = 0, .max = 1e6, .arg = "N",
        .help = "First evaluation after epoch N; 0: after eval-every epochs"),
    ROW("checkpoint-every", OPT_INT, checkpoint_every, .dflt = "1", .min = 0, .max = 1e6,
        .arg = "N", .help = "Save a checkpoint every N epochs; 0: only at the end"),
    ROW("checkpoint-steps", OPT_INT, checkpoint_steps, .dflt = "0", .min = 0, .max = 1e12,
        .arg = "N", .help = "Save one also every N steps, within an epoch too; 0: do not"),
    ROW("seed", OPT_INT, seed, .dflt = "0", .min = 0, .max = 9007199254740992.0, .arg = "N",
        .help = "Everything random follows from it; 0: draw one and log it"),
    ROW("optimizer", OPT_CHOICE, optimizer, .dflt = "sgd", .choices = optimiser_names,
        .arg = "NAME", .help = "How gradients become steps"),
    ROW("lr", OPT_REAL, lr, .dflt = "0.1", .min = 0, .max = 1e30, .arg = "RATE",
        .help = "Peak learning rate"),
    ROW("lr-batch", OPT_INT, lr_batch, .dflt = "0", .min = 0, .max = 1 << 20, .arg = "N",
        .help = "lr is meant for batches of N: scale it with the batch; 0: take it as it is"),
    ROW("schedule", OPT_CHOICE, schedule, .dflt = "constant", .choices = schedule_names,
        .arg = "NAME", .help = "How the learning rate decays after warm-up"),
    ROW("warmup-epochs", OPT_REAL, warmup_epochs, .dflt = "0", .min = 0, .max = 1e6, .arg = "E",
        .help = "Epochs of linear warm-up from zero"),
    ROW("decay-epochs", OPT_REAL, decay_epochs, .dflt = "0", .min = 0, .max = 1e6, .arg = "E",
        .help = "Epochs after which the decay has ended; 0: as many as epochs"),
    ROW("end-lr", OPT_REAL, end_lr, .dflt = "0", .min = 0, .max = 1e30, .arg = "RATE",
        .help = "Learning rate at the end of a polynomial or cosine decay"),
    ROW("decay-power", OPT_REAL, decay_power, .dflt = "2", .min = 0, .max = 16, .arg = "P",
        .help = "Power of the polynomial decay"),
    ROW("decay-factor", OPT_REAL, decay_factor, .dflt = "0.1", .min = 0, .max = 1, .arg = "F",
        .help = "Factor of each decay step"),
    ROW("decay-at", OPT_STRING, decay_at, .arg = "E,E",
        .help = "Epochs at which a step schedule decays, rising"),
    ROW("momentum", OPT_REAL, momentum, .dflt = "0.9", .min = 0, .max = 1, .arg = "M",
        .help = "Momentum of SGD and LARS"),
    ROW("nesterov", OPT_BOOL, nesterov, .dflt = "no",
        .help = "Nesterov's form of momentum, for SGD"),
    ROW("weight-decay", OPT_REAL, weight_decay, .dflt = "0", .min = 0, .max = 1, .arg = "D",
        .help = "Weight decay; never on batch-norm parameters and biases"),
    ROW("lars-eta", OPT_REAL, lars_eta, .dflt = "0.001", .min = 0, .max = 1, .arg = "X",
        .help = "Trust coefficient of LARS"),
    ROW("lars-rate", OPT_CHOICE, lars_rate, .dflt = "inside", .choices = lars_rates, .arg = "WHERE",
        .help =
            "Whether the learning rate of LARS goes into the momentum buffer or is applied to it"),
    ROW("epsilon", OPT_REAL, epsilon, .dflt = "0", .min = 0, .max = 1, .arg = "X",
        .help = "Epsilon of LARS and AdamW; 0: none for LARS, 1e-8 for AdamW"),
    ROW("beta1", OPT_REAL, beta1, .dflt = "0.9", .min = 0, .max = 0.999999, .arg = "X",
        .help = "First decay of AdamW"),
    ROW("beta2", OPT_REAL, beta2, .dflt = "0.999", .min = 0, .max = 0.999999, .arg = "X",
        .help = "Second decay of AdamW"),
    ROW("precision", OPT_CHOICE, precision, .dflt = "f32", .choices = precision_names,
        .arg = "TYPE",
        .help = "Type in which activations and their gradients are stored; weights, statistics, "
                "losses and sums are f32 always"),
    ROW("loss-scale", OPT_REAL, loss_scale, .dflt = "0", .min = 0, .max = 1e38, .arg = "X",
        .help =
            "Multiply the loss by this before the backward pass and divide the gradients by it; "
            "0: no scaling"),
    ROW("dynamic-loss-scale", OPT_BOOL, dynamic_loss_scale, .dflt = "no",
        .help = "Start at loss-scale (0: 65536), halve it when gradients overflow, double it after "
                "2000 good steps"),
    ROW("clip-norm", OPT_REAL, clip_norm, .dflt = "0", .min = 0, .max = 1e30, .arg = "X",
        .help = "Largest norm of the whole gradient; 0: no clipping"),
};

const struct opt_table train_options = {"training", rows, COUNT_OF(rows)};

enum dtype train_precision(const struct train_settings *s)
{
    return precisions[s->precision];
}

struct optim train_optim(const struct train_settings *s)
{
    return (struct optim){
        .kind = (enum optimiser_id)s->optimizer,
        .momentum = s->momentum,
        .weight_decay = s->weight_decay,
        .nesterov = s->nesterov,
        .eta = s->lars_eta,
        .eps = s->epsilon,
        .rate_outside = s->lars_rate,
        .beta1 = s->beta1,
        .beta2 = s->beta2,
        .clip_norm = s->clip_norm,
        .scaled = s->loss_scale > 0 || s->dynamic_loss_scale,
    };
}

/* "30,60,80" in epochs, to steps. */
static int read_boundaries(const char *text, long long steps_per_epoch,
                           long long out[MAX_BOUNDARIES])
{
    int n = 0;

    for (const char *p = text; p && *p; n++) {
        char *end;
        const double epoch = strtod(p, &end);
        if (n == MAX_BOUNDARIES || end == p || (*end && *end != ',') || !(epoch > 0 && epoch < 1e9))
            return err(E_USAGE,
                       "decay-at: \"%s\" is not a list of up to %d epochs such as 30,60,80", text,
                       MAX_BOUNDARIES);
        out[n] = llround(epoch * (double)steps_per_epoch);
        p = *end ? end + 1 : end;
    }
    return n;
}

double train_base_lr(const struct train_settings *s)
{
    return schedule_scale(s->lr, s->batch_size, s->lr_batch ? s->lr_batch : s->batch_size);
}

double train_decay_epochs(const struct train_settings *s)
{
    return s->decay_epochs > 0 ? s->decay_epochs : (double)s->epochs;
}

int train_schedule(const struct train_settings *s, long long steps_per_epoch,
                   long long boundaries[MAX_BOUNDARIES], struct schedule *out)
{
    const int n = read_boundaries(s->decay_at, steps_per_epoch, boundaries);

    TRY(n);
    *out = (struct schedule){
        .kind = (enum schedule_kind)s->schedule,
        .base = train_base_lr(s),
        .end = s->end_lr,
        .power = s->decay_power,
        .factor = s->decay_factor,
        .warmup = llround(s->warmup_epochs * (double)steps_per_epoch),
        .total = llround(train_decay_epochs(s) * (double)steps_per_epoch),
        .boundaries = boundaries,
        .n_boundaries = (size_t)n,
    };
    return schedule_check(out);
}

struct eval_schedule train_eval_schedule(const struct train_settings *s)
{
    return (struct eval_schedule){
        .every = s->eval_every, .offset = s->eval_offset, .last = s->epochs};
}

int train_settings_check(const struct train_settings *s)
{
    const struct eval_schedule e = train_eval_schedule(s);

    if (s->batch_size % s->accumulate)
        return err(E_USAGE,
                   "batch-size %lld does not divide into %lld equal parts; change batch-size or "
                   "accumulate",
                   s->batch_size, s->accumulate);
    return eval_schedule_check(&e);
}
