/* Learning rate and batch by trials: ordinary runs of this program, each in a folder of its own, so
 * that one that diverges or does not fit costs itself only. */
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/json.h"
#include "cli/child.h"
#include "cli/seed.h"
#include "cli/session_rig.h"
#include "cli/set_options.h"
#include "cli/tune.h"
#include "verdict/rate_search.h"

/* Of a mean loss: a difference that another seed would make, too. */
static const double loss_noise = 0.02;

struct trials {
    struct tune *tune;
    struct engine engine;
    struct task task;
    struct children children;
    uint64_t seed; /* of all of them: what differs is the rate */
};

static struct train_settings *training(const struct trials *t)
{
    return &t->tune->setup->settings.train;
}

static void set_trial(const struct trials *t, const struct rate_ask *a)
{
    struct train_settings *const s = training(t);

    s->lr = a->rate;
    s->lr_batch = 0;
    s->batch_size = a->batch;
    s->eval_every = 1000000; /* the loss is what counts */
    s->steps = llround(fmax(1, a->budget * (double)t->task.n_train / a->batch));
}

/* Looks whether the batch has room, as a run does, without starting one. */
static int fits(struct trials *t, const char *dir, int *fit)
{
    struct setup *const s = t->tune->setup;
    struct train_run run = {
        .task = &t->task, .settings = &s->settings.train, .engine = &t->engine, .dir = dir};
    int rc = train_open(&run);

    *fit = 0;
    if (rc == 0) {
        rc = machine_fit(&s->machine, &run.needs, &s->settings.data.prefetch);
        train_close(&run);
    }
    *fit = rc == 0;
    return rc == E_NOMEM ? 0 : rc;
}

/* What its result says of a run that did not end well. */
static enum trial_end failure_of(const cJSON *result)
{
    const char *const error =
        cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(result, "error"));

    if (error && strcmp(error, err_name(E_NUMERIC)) == 0)
        return TRIAL_DIVERGED;
    return error && strcmp(error, err_name(E_NOMEM)) == 0 ? TRIAL_NO_MEMORY : TRIAL_FAILED;
}

static int read_result(const char *dir, const struct child_end *end, struct rate_reading *out)
{
    char *const path = file_join(dir, "result.json");
    cJSON *doc;
    const cJSON *loss;
    const int rc = json_read_object(path, &doc);

    free(path);
    TRY(rc);
    loss = cJSON_GetObjectItemCaseSensitive(doc, "late_loss");
    if (end->code)
        out->end = failure_of(doc);
    else
        out->quality = cJSON_IsNumber(loss) ? loss->valuedouble : NAN;
    cJSON_Delete(doc);
    return 0;
}

/* The kernel ends one that takes too much memory with SIGKILL; one that ends before its result
 * could be written is not worth more. */
static int judge(struct trials *t, const char *dir, const struct child_end *end,
                 struct rate_reading *out)
{
    if (t->children.stop)
        return err(E_STOPPED, "stopped; the trials so far are in %s", t->tune->dir);
    out->end = end->signal == SIGKILL ? TRIAL_NO_MEMORY : end->signal ? TRIAL_FAILED : TRIAL_RAN;
    if (end->signal)
        return 0;
    if (read_result(dir, end, out) == 0)
        return 0;
    out->end = TRIAL_FAILED;
    return end->code ? 0 : E_DATA;
}

static int start(struct trials *t, const struct rate_ask *a, const char *dir, struct child_end *end)
{
    char **const argv = set_argv(&t->tune->setup->line, t->tune->setup->workload->name,
                                 (struct set_overrides){.command = "run",
                                                        .leave_out = "tune",
                                                        .out = dir,
                                                        .seed = t->seed,
                                                        .clear = "no",
                                                        .resume = a->done > 0});
    const int rc = children_run(&t->children, argv, CHILD_REPORTS, end);

    set_argv_free(argv);
    return rc;
}

static int run_trial(struct trials *t, const struct rate_ask *a, struct rate_reading *out)
{
    char *const dir = xasprintf("%s/trial-%d", t->tune->dir, a->id);
    const int64_t began = clock_ns();
    struct child_end end;
    int fit, rc;

    *out = (struct rate_reading){.end = TRIAL_NO_MEMORY};
    fprintf(stderr, "trial %d: lr %.4g, batch %d, %.3g epochs: %s\n", a->id, a->rate, a->batch,
            a->budget, a->why);
    set_trial(t, a);
    rc = fits(t, dir, &fit);
    if (rc == 0 && fit) {
        out->end = TRIAL_RAN;
        rc = start(t, a, dir, &end);
        if (rc == 0)
            rc = judge(t, dir, &end, out);
        out->seconds = (double)(clock_ns() - began) / 1e9;
    }
    free(dir);
    return rc;
}

static int search(struct trials *t, struct rate_search *s)
{
    struct rate_ask ask;

    while (rate_search_ask(s, &ask)) {
        struct rate_reading m;

        TRY(run_trial(t, &ask, &m));
        rate_search_tell(s, &m);
    }
    return 0;
}

/* Losses of trials as long as the chosen one's that differ by less than noise say nothing. */
static void warn_alike(const struct rate_search *s, const struct rate_result *r)
{
    const struct rate_trial *all;
    const int n = rate_search_trials(s, &all), rungs = all[r->trial].rungs;
    double worst = r->quality;

    for (int i = 0; i < n; i++)
        if (all[i].end == TRIAL_RAN && all[i].rungs == rungs)
            worst = fmax(worst, all[i].quality[rungs - 1]);
    if (worst - r->quality < loss_noise)
        warning("the losses of the longest trials differ by %.3g: they are too short to tell one "
                "rate from another; raise --trial-epochs",
                worst - r->quality);
}

/* The settings are those of the last trial: what was asked for takes their place, and of it what
 * was found. */
static int report(struct trials *t, struct rate_search *s, const struct train_settings *asked)
{
    struct train_settings *const train = training(t);
    struct rate_result r;
    struct str table = STR_INIT;
    int rc;

    rate_search_add_table(s, &table);
    printf("%s", table.s);
    str_release(&table);
    *train = *asked;
    rc = rate_search_result(s, &r);
    TRY(rc);
    warn_alike(s, &r);
    printf("%s\nlr %.4g, batch-size %d: loss %.4f in trial %d; %.3g epochs in all\n", r.end, r.rate,
           r.batch, r.quality, r.trial, r.spent);
    train->lr = r.rate;
    train->lr_batch = 0;
    train->batch_size = r.batch;
    return 0;
}

/* Trials of less than two steps, or within the warm-up. */
static int check_length(const struct trials *t)
{
    const struct train_settings *const s = training(t);
    const struct tune_settings *const own = t->tune->own;
    const double steps = own->trial_epochs * (double)t->task.n_train / (double)s->batch_size;
    const double longest = own->trial_epochs * pow(3, (double)own->rungs - 1);

    if (steps < 2)
        return err(E_USAGE,
                   "a trial of %g epochs is %.3g steps of batch %lld; raise --trial-epochs to %.3g",
                   own->trial_epochs, steps, s->batch_size, 2 / steps * own->trial_epochs);
    if (longest < 2 * s->warmup_epochs)
        warning("the longest trial has %.3g epochs and the warm-up %.3g: rates are compared mostly "
                "before they are reached; lower --warmup-epochs or raise --trial-epochs",
                longest, s->warmup_epochs);
    return 0;
}

static int run_search(struct trials *t)
{
    const struct tune_settings *const own = t->tune->own;
    const struct rate_settings settings = {.rate = train_base_lr(training(t)),
                                           .batch = (int)training(t)->batch_size,
                                           .max_batch = (int)own->max_batch,
                                           .budget = own->trial_epochs,
                                           .n_rungs = (int)own->rungs,
                                           .noise = loss_noise,
                                           .goal = RATE_LOSS};
    const struct train_settings asked = *training(t);
    struct rate_search *s;
    int rc;

    TRY(check_length(t));
    TRY(rate_search_new(&settings, &s));
    children_begin(&t->children);
    rc = search(t, s);
    children_end(&t->children);
    if (rc == 0)
        rc = report(t, s, &asked);
    rate_search_free(s);
    return rc;
}

int tune_rate(struct tune *t)
{
    struct setup *const s = t->setup;
    struct trials trials = {.tune = t, .seed = (uint64_t)s->settings.train.seed};
    int rc;

    if (trials.seed == 0)
        TRY(seed_draw(&trials.seed));
    TRY(s->workload->open(&s->settings, trials.seed, &trials.task));
    rc = setup_engine(s, &trials.engine);
    if (rc == 0) {
        rc = run_search(&trials);
        engine_close(&trials.engine);
    }
    s->workload->close(&trials.task);
    return rc;
}
