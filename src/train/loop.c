#include "train/loop_int.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "train/learning.h"
#include "train/progress.h"
#include "train/stop.h"

/* The state of one run. Steps and epochs done count from 0; logs speak of epochs from 1. */
struct loop {
    const struct train_run *run;
    struct train_result *result;
    struct session session;
    struct schedule schedule;
    long long boundaries[MAX_BOUNDARIES];
    struct eval_schedule evals;
    long long steps_per_epoch, total_steps, step;
    char digest[MAX_DIGEST];
    long long saved_step; /* of the newest checkpoint, -1 for none */
    int64_t run_start;    /* clock_ns */
    struct pipeline *pipeline;
    struct metric *metric;
    struct progress progress;
    struct learning learning;
    double late_sum; /* of the losses of the steps behind late_from */
    long long late_from;
};

const char *train_status_name(enum train_status s)
{
    static const char *const names[] = {
        "running", "target reached", "steps done", "target not reached", "interrupted", "failed"};

    return names[s];
}

static void note_counts(struct loop *l)
{
    struct train_result *const r = l->result;

    r->steps = l->step;
    r->epochs = l->steps_per_epoch ? l->step / l->steps_per_epoch : 0;
    if (l->pipeline)
        pipeline_counters(l->pipeline, &r->counters);
    r->session = l->session.counters;
    if (l->step > l->late_from && l->run->part == TRAIN_WHOLE)
        r->late_loss = l->late_sum / (double)(l->step - l->late_from);
}

/* Tells the caller where the run stands, so that a run that is killed leaves more than its log. */
static void tell_progress(struct loop *l)
{
    struct train_result *const r = l->result;

    note_counts(l);
    r->run_ns = clock_ns() - l->run_start;
    if (l->run->progress)
        l->run->progress(l->run->progress_context, r);
}

static void tell_bad_samples(struct loop *l, struct pipeline *p)
{
    const struct bad_sample *b;

    while ((b = pipeline_bad_next(p)) != NULL) {
        TRACE_POINT(l->run->trace, bad_sample, trace_string(b->location),
                    {"reason", trace_string(b->reason)},
                    {"epoch_num", trace_int((long long)b->epoch + 1)});
        if (l->result->bad_samples++ < 8)
            warning("bad sample: %s: %s", b->location, b->reason);
    }
}

/* ---- evaluation ---- */

static int eval_batches(struct loop *l, struct pipeline *p, struct step_result *loss)
{
    const struct batch *b;

    for (;;) {
        int rc;
        TRY(pipeline_next(p, &b));
        tell_bad_samples(l, p);
        if (!b)
            return 0;
        if (stop_requested())
            return err(E_STOPPED, "stopped by %s during an evaluation", stop_signal_name());
        rc = session_evaluate(&l->session, b, l->metric, loss);
        pipeline_done(p, b);
        TRY(rc);
    }
}

static void note_quality(struct loop *l, long long epoch, double value)
{
    struct train_result *const r = l->result;
    const struct metric_ops *const m = l->run->task->metric;

    r->quality = value;
    if (isnan(r->best) || metric_reached(m, value, r->best)) {
        r->best = value;
        r->best_epoch = epoch;
    }
}

static int evaluate(struct loop *l, long long epoch)
{
    const struct task *const task = l->run->task;
    struct trace *const t = l->run->trace;
    const int64_t start = clock_ns();
    struct step_result loss = {0};
    struct pipeline *p;
    int rc;

    TRACE_START(t, eval_start, trace_none(), {"epoch_num", trace_int(epoch)});
    metric_reset(l->metric);
    TRY(task->open(task->context, PIPELINE_EVAL, l->session.micro_batch, 0, 0, &p));
    rc = eval_batches(l, p, &loss);
    pipeline_close(p);
    TRY(rc);
    note_quality(l, epoch, metric_value(l->metric));
    l->result->n_values = metric_values(l->metric, l->result->values);
    l->result->eval_loss = loss.weight > 0 ? loss.loss / loss.weight : NAN;
    l->result->last_eval_ns = clock_ns() - start;
    TRACE_POINT(
        t, eval_accuracy, trace_real(l->result->quality), {"epoch_num", trace_int(epoch)},
        {"samples_count", trace_int((long long)task->n_eval)},
        {"eval_loss", loss.weight > 0 ? trace_real(loss.loss / loss.weight) : trace_none()});
    TRACE_END(t, eval_stop, trace_none(), {"epoch_num", trace_int(epoch)});
    l->result->eval_ns += clock_ns() - start;
    tell_progress(l);
    return 0;
}

/* After an epoch on the schedule; sets *done when that reached the target. */
static int evaluate_epoch(struct loop *l, long long epoch, int *done)
{
    const struct train_settings *const s = l->run->settings;

    TRY(evaluate(l, epoch));
    *done |= s->target > 0 && s->steps == 0 &&
             metric_reached(l->run->task->metric, l->result->quality, s->target);
    return 0;
}

/* ---- training ---- */

enum save_when { SAVE_ON_THE_WAY, SAVE_LAST };

enum { N_SCALE_META = 2, MAX_META = 16 };
static const char scale_key[] = "loss_scale", scale_steps_key[] = "loss_scale_good_steps";

/* The state of a scaled loss as metadata; returns how many entries. */
static size_t scale_meta(const struct loss_scale *s, struct safetensors_meta meta[N_SCALE_META],
                         char text[N_SCALE_META][32])
{
    if (s->value <= 0)
        return 0;
    snprintf(text[0], sizeof(text[0]), "%.17g", s->value);
    snprintf(text[1], sizeof(text[1]), "%lld", s->good_steps);
    meta[0] = (struct safetensors_meta){scale_key, text[0]};
    meta[1] = (struct safetensors_meta){scale_steps_key, text[1]};
    return N_SCALE_META;
}

/* The same and the task's facts. */
static size_t extra_meta(const struct loop *l, struct safetensors_meta meta[MAX_META],
                         char text[N_SCALE_META][32])
{
    const struct task *const task = l->run->task;
    size_t n = scale_meta(&l->session.loss_scale, meta, text);

    ASSERT(n + task->n_facts <= MAX_META);
    for (size_t i = 0; i < task->n_facts; i++)
        meta[n++] = task->facts[i];
    return n;
}

/* A checkpoint that can not be written does not end the training, but the run ends with it. A part
 * of a run has nothing to save. */
static int save(struct loop *l, enum save_when when)
{
    const int64_t start = clock_ns();
    const struct train_run *const run = l->run;
    struct safetensors_meta meta[MAX_META];
    char text[N_SCALE_META][32];
    const struct checkpoint_info info = {
        .step = l->step,
        .epoch = l->step / l->steps_per_epoch,
        .seed = run->seed,
        .options_digest = l->digest,
        .init = run->resume ? run->from.info.init : run->init,
        .extra = meta,
        .n_extra = extra_meta(l, meta, text),
    };
    int rc;

    if (l->saved_step == l->step || l->run->part != TRAIN_WHOLE)
        return 0;
    rc = session_save(&l->session, run->dir, info);
    l->result->checkpoint_ns += clock_ns() - start;
    if (rc == E_NUMERIC)
        return err_prefix(rc, "after step %lld: ", l->step);
    if (rc < 0) {
        warning("no checkpoint of step %lld: %s; %s", l->step, err_reason(),
                when == SAVE_LAST ? "the last steps of the run are not saved" : "training goes on");
        l->result->checkpoint_failed = when == SAVE_LAST;
        return 0;
    }
    l->saved_step = l->step;
    TRACE_POINT(run->trace, checkpoint_saved, trace_int(l->step));
    if (when == SAVE_ON_THE_WAY)
        tell_progress(l);
    return 0;
}

static int save_when_due(struct loop *l)
{
    const struct train_settings *const s = l->run->settings;
    const long long epoch = l->step / l->steps_per_epoch;
    const int ends_epoch = l->step % l->steps_per_epoch == 0;

    if ((s->checkpoint_steps && l->step % s->checkpoint_steps == 0) ||
        (s->checkpoint_every && ends_epoch && epoch % s->checkpoint_every == 0))
        return save(l, SAVE_ON_THE_WAY);
    return 0;
}

static void tell_skipped(struct loop *l)
{
    l->result->skipped_steps++;
    TRACE_POINT(l->run->trace, step_skipped, trace_int(l->step + 1),
                {"loss_scale", trace_real(l->session.loss_scale.value)});
}

static void tell_not_learning(struct loop *l, long long step)
{
    const double mean = l->learning.sum / LEARNING_BLOCK;

    warning("the model does not learn: the mean loss of steps %lld to %lld is %.4f, which guessing "
            "among %d classes gives; look at the learning rate, the labels and the pixel values",
            step - LEARNING_BLOCK + 1, step, mean, l->learning.classes);
    TRACE_POINT(l->run->trace, not_learning, trace_real(mean), {"step", trace_int(step)});
}

static int learn(struct loop *l, const struct batch *b, double lr)
{
    struct train_result *const r = l->result;
    struct step_result loss;

    TRY(session_step(&l->session, b, lr, l->step, &loss));
    if (loss.skipped)
        tell_skipped(l);
    r->last_loss = loss.loss / loss.weight;
    l->late_sum += l->step >= l->late_from ? r->last_loss : 0;
    if (learning_step(&l->learning, r->last_loss))
        tell_not_learning(l, l->step + 1);
    return 0;
}

static int train_step(struct loop *l)
{
    const int64_t start = clock_ns();
    const int learns = l->run->part != TRAIN_ONLY_DATA;
    const double lr = learns ? schedule_rate(&l->schedule, l->step) : NAN;
    const struct batch *b;
    int64_t got;
    size_t n_real;
    int rc;

    TRY(pipeline_next(l->pipeline, &b));
    got = clock_ns();
    tell_bad_samples(l, l->pipeline);
    n_real = b->n_real;
    rc = learns ? learn(l, b, lr) : 0;
    pipeline_done(l->pipeline, b);
    TRY(rc);
    l->step++;
    l->result->samples += n_real;
    l->result->wait_ns += got - start;
    progress_step(&l->progress, l->run->trace,
                  (struct progress_sample){
                      .step = l->step,
                      .epoch = (l->step - 1) / l->steps_per_epoch + 1,
                      .samples = n_real,
                      .step_ns = clock_ns() - start,
                      .wait_ns = got - start,
                      .loss = l->result->last_loss,
                      .lr = lr,
                  });
    return 0;
}

/* The rest of the current epoch, or less when steps run out or somebody asks to stop. */
static int train_epoch(struct loop *l, long long epoch)
{
    const int64_t start = clock_ns(), saving = l->result->checkpoint_ns;
    struct trace *const t = l->run->trace;
    int rc = 0;

    TRACE_START(t, epoch_start, trace_none(), {"epoch_num", trace_int(epoch)});
    while (rc == 0 && l->step < epoch * l->steps_per_epoch && l->step < l->total_steps) {
        if (stop_requested())
            rc = err(E_STOPPED, "stopped by %s after step %lld", stop_signal_name(), l->step);
        else
            rc = train_step(l);
        if (rc == 0 && l->step < epoch * l->steps_per_epoch)
            rc = save_when_due(l);
    }
    l->result->train_ns += clock_ns() - start - (l->result->checkpoint_ns - saving);
    if (rc == 0 && l->step == epoch * l->steps_per_epoch)
        TRACE_END(t, epoch_stop, trace_none(), {"epoch_num", trace_int(epoch)});
    return rc;
}

/* Epochs up to and including the next evaluation: a block of the MLPerf log. */
static int train_block(struct loop *l, int *done)
{
    const long long first = l->step / l->steps_per_epoch + 1;
    const long long count = eval_block_epochs(&l->evals, first);
    struct trace *const t = l->run->trace;

    TRACE_START(t, block_start, trace_none(), {"first_epoch_num", trace_int(first)},
                {"epoch_count", trace_int(count)});
    for (long long e = first; e < first + count && l->step < l->total_steps; e++) {
        TRY(train_epoch(l, e));
        if (l->step == e * l->steps_per_epoch)
            TRY(save_when_due(l));
    }
    *done = l->step >= l->total_steps;
    if (l->step == (first + count - 1) * l->steps_per_epoch && /* the last epoch was whole */
        l->run->part != TRAIN_ONLY_DATA)
        TRY(evaluate_epoch(l, first + count - 1, done));
    TRACE_END(t, block_stop, trace_none(), {"first_epoch_num", trace_int(first)});
    return 0;
}

/* A checkpoint at the end of an epoch may be older than the epoch's evaluation, which was cut
 * short: a resumed run makes it (again). */
static int evaluate_resumed(struct loop *l, int *done)
{
    const long long epoch = l->step / l->steps_per_epoch;

    *done = l->step >= l->total_steps;
    if (!l->run->resume || epoch == 0 || l->step % l->steps_per_epoch ||
        !eval_is_due(&l->evals, epoch))
        return 0;
    return evaluate_epoch(l, epoch, done);
}

static enum train_status status_of(const struct loop *l)
{
    const struct train_settings *const s = l->run->settings;

    if (s->steps > 0 || s->target <= 0 || l->run->part == TRAIN_ONLY_DATA)
        return TRAIN_STEPS_DONE;
    return metric_reached(l->run->task->metric, l->result->quality, s->target) ? TRAIN_REACHED
                                                                               : TRAIN_NOT_REACHED;
}

static int evaluate_only(struct loop *l)
{
    tell_progress(l);
    TRY(evaluate(l, 0));
    l->result->status = status_of(l);
    return 0;
}

static int train_all(struct loop *l)
{
    const struct task *const task = l->run->task;
    struct trace *const t = l->run->trace;
    int done;

    TRACE_POINT(t, train_samples, trace_int((long long)task->n_train));
    TRACE_POINT(t, eval_samples, trace_int((long long)task->n_eval));
    if (l->run->part == TRAIN_ONLY_EVALUATE)
        return evaluate_only(l);
    TRY(task->open(task->context, PIPELINE_TRAIN, (int)l->run->settings->batch_size,
                   (uint64_t)(l->step / l->steps_per_epoch),
                   (uint64_t)(l->step % l->steps_per_epoch), &l->pipeline));
    tell_progress(l); /* what an earlier start left is out of date */
    TRY(evaluate_resumed(l, &done));
    while (!done)
        TRY(train_block(l, &done));
    TRY(save(l, SAVE_LAST));
    l->result->status = status_of(l);
    return 0;
}

/* ---- before and after ---- */

int train_load_scale(const struct checkpoint *c, struct loss_scale *s)
{
    const char *const value = safetensors_meta(c->file, scale_key);
    const char *const steps = safetensors_meta(c->file, scale_steps_key);
    char *value_end, *steps_end;

    if (s->value <= 0 || !s->dynamic)
        return 0;
    s->value = value ? strtod(value, &value_end) : 0;
    s->good_steps = steps ? strtoll(steps, &steps_end, 10) : -1;
    if (!(s->value >= 1 && isfinite(s->value)) || s->good_steps < 0 || *value_end || *steps_end)
        return err(E_DATA, "%s: its metadata holds no loss scale to go on with", c->file->path);
    return 0;
}

static int load(struct loop *l)
{
    const struct train_run *const run = l->run;

    TRY(session_initialise(&l->session, run->seed));
    if (run->init)
        return session_import(&l->session, &run->given);
    if (!run->resume)
        return 0;
    TRY(session_load(&l->session, &run->from));
    TRY(train_load_scale(&run->from, &l->session.loss_scale));
    l->step = l->saved_step = run->from.info.step;
    if (checkpoint_settle(&run->from, run->dir) < 0)
        warning("%s; training goes on", err_reason());
    TRACE_POINT(run->trace, checkpoint_loaded, trace_int(l->step));
    return 0;
}

static int prepare_model(struct loop *l)
{
    const struct train_run *const run = l->run;

    TRY(session_open(&l->session, run->task, run->settings, run->engine));
    l->metric = metric_new(run->task->metric);
    l->learning.classes = run->task->classes;
    return load(l);
}

static int prepare(struct loop *l)
{
    const struct train_run *const run = l->run;
    const struct train_settings *const s = run->settings;

    l->steps_per_epoch = train_steps_per_epoch(run);
    l->total_steps = s->steps > 0 ? s->steps : s->epochs * l->steps_per_epoch;
    l->evals = train_eval_schedule(s);
    if (s->steps > 0)
        l->evals.last = 0;
    train_digest(run, l->digest, sizeof(l->digest));
    TRY(train_schedule(s, l->steps_per_epoch, l->boundaries, &l->schedule));
    if (run->part != TRAIN_ONLY_DATA)
        TRY(prepare_model(l));
    l->late_from = l->step + (l->total_steps - l->step) / 2;
    progress_init(&l->progress, l->total_steps);
    return 0;
}

static int fail(struct loop *l, int rc)
{
    struct trace *const t = l->run->trace;

    if (rc == E_STOPPED) {
        l->result->error = rc;
        l->result->status = TRAIN_INTERRUPTED;
        TRACE_POINT(t, stop_requested, trace_string(stop_signal_name()));
        rc = save(l, SAVE_LAST);
        if (rc == 0)
            return 0;
    }
    l->result->error = rc;
    l->result->status = TRAIN_FAILED;
    if (rc == E_NUMERIC)
        TRACE_POINT(t, not_finite, trace_string(err_reason()));
    return rc;
}

static void finish(struct loop *l)
{
    note_counts(l);
    pipeline_close(l->pipeline);
    if (l->metric)
        metric_free(l->metric);
    session_close(&l->session);
}

static struct trace_value bytes_of(const struct cache_clear *c, uint64_t n)
{
    return c->n_measured > 0 ? trace_int((long long)n) : trace_none();
}

static void tell_cache(const struct train_run *run)
{
    const struct cache_clear none = {0}, *const c = run->cache ? run->cache : &none;

    TRACE_POINT(run->trace, cache_clear, trace_bool(c->done), {"how", trace_string(c->how)},
                {"data_bytes", bytes_of(c, c->share.bytes)},
                {"resident_bytes", bytes_of(c, c->share.resident)},
                {"reason", trace_string(c->why[0] ? c->why : NULL)});
}

int train_run(const struct train_run *run, struct train_result *result)
{
    struct loop l = {.run = run, .result = result, .saved_step = -1};
    struct trace *const t = run->trace;
    int64_t start = clock_ns();
    char reason[1024];
    int rc;

    *result = (struct train_result){.quality = NAN,
                                    .best = NAN,
                                    .last_loss = NAN,
                                    .late_loss = NAN,
                                    .eval_loss = NAN,
                                    .resumed = run->resume,
                                    .cache = run->cache,
                                    .exit_code = -1};
    tell_cache(run);
    TRACE_START(t, init_start, trace_none());
    run->task->log(run->task->context, t);
    TRACE_POINT(t, seed, trace_int((long long)run->seed));
    rc = prepare(&l);
    TRACE_END(t, init_stop, trace_none());
    result->init_ns = clock_ns() - start;
    TRACE_START(t, run_start, trace_none());
    l.run_start = start = clock_ns();
    if (rc == 0)
        rc = train_all(&l);
    if (rc < 0)
        rc = fail(&l, rc);
    TRACE_END(t, run_stop, trace_none(),
              {"status",
               trace_string(result->status == TRAIN_REACHED || result->status == TRAIN_STEPS_DONE
                                ? "success"
                                : "aborted")},
              {"epoch_num", trace_int(l.steps_per_epoch ? l.step / l.steps_per_epoch : 0)});
    result->run_ns = clock_ns() - start;
    strncpy(reason, err_reason(), sizeof(reason) - 1);
    reason[sizeof(reason) - 1] = '\0';
    finish(&l);
    return rc < 0 ? err(rc, "%s", reason) : rc;
}
