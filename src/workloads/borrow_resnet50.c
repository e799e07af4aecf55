/* The hyper-parameters of a published ResNet log as a configuration of ours. The keys are those of
 * rounds 0.6 to 4.0; lengths of schedules come in several units, see read_decay. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/json.h"
#include "base/str.h"
#include "rules/log.h"
#include "workloads/borrow.h"

enum {
    MOST_KEYS = 3,
    IMAGENET_TRAIN = 1281167,
    MOST_PARTS = 4096,
    MOST_BATCH = 1 << 20,
    MOST_EPOCHS = 1000000,
    MOST_COMPARED = 1000 /* evaluations; the first so many */
};

struct borrow {
    const struct log *log;
    const struct workload_borrow *how;
    struct str *out;
    char optimizer[16]; /* "lars", "sgd" */
    long long batch, accumulate;
    double steps_per_epoch, warmup, last_epoch;
};

/* The value that a log holds under one of several keys. */
struct found {
    const char *key; /* NULL: under none */
    size_t line;
    double number; /* NAN: not a number */
    char text[16]; /* "": not a text */
};

static struct found find(const struct borrow *b, const char *const keys[MOST_KEYS])
{
    struct found f = {.number = NAN};

    for (int i = 0; i < MOST_KEYS && keys[i] && !f.key; i++) {
        const struct log_setting *const s = log_setting(b->log, keys[i]);

        if (!s)
            continue;
        f.key = s->key;
        f.line = s->line;
        f.number = log_number(b->log, keys[i]);
        if (*s->value == '"')
            snprintf(f.text, sizeof(f.text), "%.*s", (int)strcspn(s->value + 1, "\""),
                     s->value + 1);
    }
    return f;
}

#define FIND(b, ...) find((b), (const char *const[MOST_KEYS]){__VA_ARGS__})

/* ---- lines ---- */

/* "name: value      # comment" */
static void put(struct borrow *b, const char *name, const char *value, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
static void put(struct borrow *b, const char *name, const char *value, const char *fmt, ...)
{
    char comment[400];
    va_list args;
    size_t begin = b->out->len;

    va_start(args, fmt);
    vsnprintf(comment, sizeof(comment), fmt, args);
    va_end(args);
    str_printf(b->out, "%s: %s", name, value);
    str_printf(b->out, "%*s# %s\n", (int)(begin + 26 > b->out->len ? begin + 26 - b->out->len : 1),
               "", comment);
}

static void put_number(struct borrow *b, const char *name, double value, const struct found *f)
{
    struct str text = STR_INIT;

    str_add_real(&text, value);
    put(b, name, text.s, "%s, line %zu", f->key, f->line);
    str_release(&text);
}

static void put_whole(struct borrow *b, const char *name, long long value, const char *comment)
{
    char text[32];

    snprintf(text, sizeof(text), "%lld", value);
    put(b, name, text, "%s", comment);
}

/* A setting as the log has it, or a comment that it has none, and what holds then. */
static void copy(struct borrow *b, const char *name, struct found f, const char *otherwise)
{
    if (f.key && isfinite(f.number))
        put_number(b, name, f.number, &f);
    else
        str_printf(b->out, "# %s: not in the log; %s\n", name, otherwise);
}

/* ---- the batch ---- */

static long long parts_of(long long batch, long long most_at_once)
{
    long long n = (batch + most_at_once - 1) / most_at_once;

    while (n <= batch && batch % n)
        n++;
    return n;
}

static int read_batch(struct borrow *b)
{
    const double batch = b->log->batch;
    double samples = b->log->train_samples;

    if (!(batch >= 1) || batch != floor(batch) || batch > MOST_BATCH)
        return err(E_DATA, "%s names no global_batch_size that is a whole number up to %d",
                   b->how->from, MOST_BATCH);
    b->batch = (long long)batch;
    b->accumulate = parts_of(b->batch, b->how->most_at_once);
    if (b->accumulate > MOST_PARTS)
        return err(E_DATA,
                   "the log's batch of %lld divides into no parts of at most %lld images, %d parts "
                   "at most; allow more at once with --at-once",
                   b->batch, b->how->most_at_once, MOST_PARTS);
    if (!(samples >= batch))
        samples = IMAGENET_TRAIN;
    b->steps_per_epoch = samples / batch;
    return 0;
}

static void put_batch(struct borrow *b)
{
    const struct found span = FIND(b, "model_bn_span");
    char text[200];
    const long long at_once = b->batch / b->accumulate;

    put_whole(b, "batch-size", b->batch, "global_batch_size");
    if (b->accumulate == 1)
        snprintf(text, sizeof(text), "this machine: the whole batch at once");
    else
        snprintf(text, sizeof(text),
                 "this machine: %lld parts of %lld images, their gradients added", b->accumulate,
                 at_once);
    put_whole(b, "accumulate", b->accumulate, text);
    if (!isnan(span.number) && span.number == (double)at_once)
        str_printf(b->out, "# batch norm: statistics over %lld images, as in the log\n", at_once);
    else if (!isnan(span.number))
        str_printf(b->out,
                   "# batch norm differs: statistics over %lld images here, over %.10g in the log "
                   "(model_bn_span, line %zu)\n",
                   at_once, span.number, span.line);
    else
        str_printf(b->out,
                   "# batch norm may differ: statistics over %lld images here; the log has no "
                   "model_bn_span\n",
                   at_once);
}

/* ---- the schedule ---- */

/* Whole epochs from steps, where the log's own number of steps an epoch, rounded either way,
 * divides them; 0 when it does not. */
static double whole_epochs(const struct borrow *b, double steps)
{
    const double down = floor(b->steps_per_epoch), up = ceil(b->steps_per_epoch);

    if (steps == floor(steps) && up > 0 && fmod(steps, up) == 0)
        return steps / up;
    if (steps == floor(steps) && down > 0 && fmod(steps, down) == 0)
        return steps / down;
    return 0;
}

static double near_whole(double epochs)
{
    return fabs(epochs - round(epochs)) < 0.1 ? round(epochs) : epochs;
}

/* *_opt_learning_rate_decay_steps counts epochs, warm-up included, in most logs (37), and steps in
 * others: with the warm-up (116217 is 37 times 3141) or without it, and then often with one more,
 * as MLPerf's reference has it (13756 is 35 times 393 and 1, behind 2 epochs of warm-up). Which
 * unit: the one in which the schedule is nearer to the epochs that the run took. Which steps: the
 * decay does not end before the last evaluation. */
static double read_decay(const struct borrow *b, double value, const char **how)
{
    const double run = b->last_epoch > 0 ? b->last_epoch : 40;
    const double in_steps = value / b->steps_per_epoch;

    if (fabs(log(value / run)) <= fabs(log(in_steps / run))) {
        *how = "epochs, warm-up included";
        return value;
    }
    if (whole_epochs(b, value - 1) > 0) {
        *how = "steps after the warm-up, and one more";
        return whole_epochs(b, value - 1) + b->warmup;
    }
    if (near_whole(in_steps) >= b->last_epoch) {
        *how = "steps, warm-up included";
        return whole_epochs(b, value) > 0 ? whole_epochs(b, value) : near_whole(in_steps);
    }
    *how = "steps after the warm-up";
    return near_whole(in_steps + b->warmup);
}

static void put_decay(struct borrow *b)
{
    const int lars = strcmp(b->optimizer, "lars") == 0;
    const struct found f = lars ? FIND(b, "lars_opt_learning_rate_decay_steps")
                                : FIND(b, "sgd_opt_learning_rate_decay_steps");
    struct str text = STR_INIT;
    const char *how = "";
    double epochs = f.number > 0 ? read_decay(b, f.number, &how) : b->last_epoch;

    if (f.number > 0 && epochs < MOST_EPOCHS) {
        str_add_real(&text, epochs);
        put(b, "decay-epochs", text.s, "%s, line %zu: %.10g, read as %s (%.10g steps an epoch)",
            f.key, f.line, f.number, how, b->steps_per_epoch);
    } else {
        str_printf(b->out, "# decay-epochs: %s; the decay takes as long as epochs says\n",
                   f.number > 0 ? "the log's is out of all proportion" : "not in the log");
        epochs = b->last_epoch;
    }
    str_release(&text);
    if (epochs < b->last_epoch)
        epochs = b->last_epoch;
    if (epochs > 0)
        put_whole(b, "epochs", (long long)ceil(epochs - 1e-9),
                  "the schedule's length; the run ends before when it reaches the target");
    else
        str_add(b->out, "# epochs: no evaluation and no length of a schedule in the log\n");
}

static void put_schedule(struct borrow *b)
{
    const int lars = strcmp(b->optimizer, "lars") == 0;
    struct found warmup;

    put(b, "schedule", "polynomial", "the only one that the rules of this benchmark allow");
    copy(b, "lr",
         lars ? FIND(b, "lars_opt_base_learning_rate", "opt_base_learning_rate")
              : FIND(b, "sgd_opt_base_learning_rate", "opt_base_learning_rate"),
         "the preset's holds, which may not fit this batch");
    copy(b, "end-lr",
         lars ? FIND(b, "lars_opt_end_learning_rate") : FIND(b, "sgd_opt_end_learning_rate"),
         "the preset's holds");
    copy(b, "decay-power",
         lars ? FIND(b, "lars_opt_learning_rate_decay_poly_power")
              : FIND(b, "sgd_opt_learning_rate_decay_poly_power"),
         "the preset's holds");
    warmup =
        lars ? FIND(b, "lars_opt_learning_rate_warmup_epochs", "opt_learning_rate_warmup_epochs")
             : FIND(b, "opt_learning_rate_warmup_epochs");
    b->warmup = warmup.number >= 0 ? warmup.number : 0;
    copy(b, "warmup-epochs", warmup, "the preset's holds");
    put_decay(b);
}

static void put_optimizer(struct borrow *b)
{
    const int lars = strcmp(b->optimizer, "lars") == 0;
    const struct found f = FIND(b, "opt_name");

    put(b, "optimizer", b->optimizer, "opt_name, line %zu", f.line);
    copy(b, "momentum",
         lars ? FIND(b, "lars_opt_momentum", "opt_momentum")
              : FIND(b, "sgd_opt_momentum", "opt_momentum"),
         "the preset's 0.9 holds, as in MLPerf's reference");
    copy(b, "weight-decay",
         lars ? FIND(b, "lars_opt_weight_decay", "opt_weight_decay")
              : FIND(b, "sgd_opt_weight_decay", "opt_weight_decay"),
         "the preset's holds");
    if (lars) {
        copy(b, "epsilon", FIND(b, "lars_epsilon"), "0 holds, as the rules want it");
        str_add(b->out, "# lars-eta: no log holds it; 0.001 holds, as in MLPerf's reference\n");
    }
    copy(b, "label-smoothing", FIND(b, "label_smoothing", "opt_label_smoothing"),
         "the preset's 0.1 holds, as in MLPerf's reference");
}

/* ---- evaluations ---- */

/* Epochs of the evaluations, whole and above 0, rising; returns how many. */
static size_t read_epochs(const struct borrow *b, long long *epochs)
{
    size_t n = 0;

    for (size_t i = 0; i < b->log->n_evaluations; i++) {
        const double e = round(b->log->evaluations[i].epoch);

        if (e >= 1 && e < MOST_EPOCHS && (n == 0 || (long long)e > epochs[n - 1]))
            epochs[n++] = (long long)e;
    }
    return n;
}

/* The commonest distance of two evaluations. */
static long long distance(const long long *epochs, size_t n)
{
    long long best = 0;
    size_t most = 0;

    if (n > MOST_COMPARED)
        n = MOST_COMPARED;

    for (size_t i = 1; i < n; i++) {
        size_t same = 0;

        for (size_t k = 1; k < n; k++)
            same += epochs[k] - epochs[k - 1] == epochs[i] - epochs[i - 1];
        if (same > most) {
            most = same;
            best = epochs[i] - epochs[i - 1];
        }
    }
    return best;
}

static void put_evaluations(struct borrow *b)
{
    long long *const epochs = xcalloc(b->log->n_evaluations + 1, sizeof(*epochs));
    const size_t n = read_epochs(b, epochs);
    const long long every = distance(epochs, n);
    long long offset;
    char text[160];

    if (n == 0 || every == 0) {
        str_add(b->out, "# eval-every, eval-offset: too few evaluations in the log; the preset's "
                        "hold\n");
        free(epochs);
        return;
    }
    offset = (epochs[n - 1] - 1) % every + 1;
    snprintf(text, sizeof(text), "between the %zu evaluations, lines %zu to %zu", n,
             b->log->evaluations[0].line, b->log->evaluations[b->log->n_evaluations - 1].line);
    put_whole(b, "eval-every", every, text);
    snprintf(text, sizeof(text), "so that epoch %lld is evaluated, the last in the log",
             epochs[n - 1]);
    put_whole(b, "eval-offset", offset, text);
    if (epochs[0] != offset)
        str_printf(b->out, "# the log's first evaluation differs: it came after epoch %lld\n",
                   epochs[0]);
    free(epochs);
}

/* ---- all ---- */

static int read_optimizer(struct borrow *b)
{
    const struct found f = FIND(b, "opt_name");

    if (strcmp(f.text, "lars") != 0 && strcmp(f.text, "sgd") != 0)
        return err(E_DATA,
                   "%s names %s as opt_name; the hyper-parameters of lars and sgd can be borrowed",
                   b->how->from, *f.text ? f.text : "nothing");
    snprintf(b->optimizer, sizeof(b->optimizer), "%s", f.text);
    return 0;
}

static void put_text(struct str *out, const char *what, const char *text)
{
    struct str json = STR_INIT;

    if (text) {
        str_add_json(&json, text);
        str_printf(out, ", %s %s", what, json.s);
    }
    str_release(&json);
}

static void put_head(struct borrow *b)
{
    str_add(b->out, "# The hyper-parameters of a ResNet-50 log of somebody else");
    put_text(b->out, "organisation", b->log->org);
    put_text(b->out, "platform", b->log->platform);
    put_text(b->out, "division", b->log->division);
    str_add(b->out, ".\n# Each line names the record it comes from. Give it to `stave run resnet50 "
                    "--config`.\n");
    if (b->log->n_troubles)
        str_printf(b->out, "# %zu lines of the log can not be read, the first: %s\n",
                   b->log->n_troubles, b->log->trouble);
}

int borrow_resnet50(const struct log *l, const struct workload_borrow *how, struct str *out)
{
    struct borrow b = {.log = l, .how = how, .out = out};

    TRY(read_batch(&b));
    TRY(read_optimizer(&b));
    for (size_t i = 0; i < l->n_evaluations; i++)
        if (l->evaluations[i].epoch > b.last_epoch && l->evaluations[i].epoch < MOST_EPOCHS)
            b.last_epoch = l->evaluations[i].epoch;
    put_head(&b);
    put_batch(&b);
    put_optimizer(&b);
    put_schedule(&b);
    put_evaluations(&b);
    if (!isnan(l->train_samples) && l->train_samples != IMAGENET_TRAIN)
        str_printf(out, "# the log trained on %.10g images, ImageNet-1k has %d\n", l->train_samples,
                   IMAGENET_TRAIN);
    str_add(out, "# target and precision: no log holds them; the preset's hold\n");
    return 0;
}
