#include "train/session.h"

#include <math.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/err.h"

static int build_training(struct session *s)
{
    const struct optim o = train_optim(s->settings);
    const struct sum_weight loss =
        s->task->build(s->task->context, &s->train_graph, s->micro_batch);

    if (s->accumulates) {
        optim_accumulate(&s->train_graph, &o, loss);
        optim_apply(&s->apply_graph, &o);
    } else {
        optim_step(&s->train_graph, &o, loss);
    }
    graph_output(&s->train_graph, "loss", loss.sum);
    graph_output(&s->train_graph, "weight", loss.weight);
    TRY(graph_status(&s->train_graph));
    return s->accumulates ? graph_status(&s->apply_graph) : 0;
}

static int build_evaluation(struct session *s)
{
    const struct sum_weight loss = s->task->build(s->task->context, &s->eval_graph, s->micro_batch);

    graph_output(&s->eval_graph, "loss", loss.sum);
    graph_output(&s->eval_graph, "weight", loss.weight);
    return graph_status(&s->eval_graph);
}

static int make(struct session *s)
{
    const struct plan_options options = {.precision = train_precision(s->settings)};

    TRY(build_training(s));
    store_seal(&s->store);
    TRY(build_evaluation(s));
    TRY(bank_init(&s->bank, s->engine, &s->store));
    TRY(plan_init(&s->train, &s->train_graph, &s->bank, &s->workspace, options));
    if (s->accumulates)
        TRY(plan_init(&s->apply, &s->apply_graph, &s->bank, &s->workspace, options));
    TRY(plan_init(&s->eval, &s->eval_graph, &s->bank, &s->workspace, options));
    if (graph_output_find(&s->eval_graph, "scores"))
        s->scores = xmalloc(tensor_bytes(graph_output_find(&s->eval_graph, "scores")));
    return 0;
}

int session_open(struct session *s, const struct task *task, const struct train_settings *settings,
                 const struct engine *engine)
{
    int rc;

    *s = (struct session){.task = task, .settings = settings, .engine = engine};
    s->accumulates = settings->accumulate > 1;
    s->micro_batch = (int)(settings->batch_size / settings->accumulate);
    s->loss_scale = loss_scale_new(settings->loss_scale, settings->dynamic_loss_scale);
    store_init(&s->store);
    graph_init(&s->train_graph, &s->store, GRAPH_TRAIN);
    graph_init(&s->apply_graph, &s->store, GRAPH_TRAIN);
    graph_init(&s->eval_graph, &s->store, GRAPH_EVAL);
    workspace_init(&s->workspace, engine);
    rc = make(s);
    if (rc < 0)
        session_close(s);
    return rc;
}

void session_close(struct session *s)
{
    free(s->scores);
    s->scores = NULL;
    plan_release(&s->train);
    plan_release(&s->apply);
    plan_release(&s->eval);
    workspace_release(&s->workspace);
    bank_release(&s->bank);
    graph_release(&s->train_graph);
    graph_release(&s->apply_graph);
    graph_release(&s->eval_graph);
    store_release(&s->store);
}

int session_initialise(struct session *s, uint64_t seed)
{
    TRY(workspace_ready(&s->workspace));
    return bank_fill(&s->bank, 0, seed);
}

/* Writes part `part` of the batch into the inputs of a plan that have the name of a tensor of the
 * batch. */
static int feed(struct plan *p, const struct batch *b, size_t samples, size_t part)
{
    for (int i = 0; i < N_BATCH_TENSORS; i++) {
        const struct batch_tensor *const t = &b->tensor[i];
        const size_t bytes = batch_sample_bytes(t) * samples;

        if (plan_has_input(p, t->name))
            TRY(plan_write(p, t->name, (const char *)t->data + part * bytes, bytes));
    }
    return 0;
}

static int read_loss(struct plan *p, struct step_result *add_to)
{
    float loss, weight;

    TRY(plan_read(p, "loss", &loss, sizeof(loss)));
    TRY(plan_read(p, "weight", &weight, sizeof(weight)));
    add_to->loss += loss;
    add_to->weight += weight;
    return 0;
}

static int feed_scalar(struct plan *p, const char *input, double value)
{
    const float v = (float)value;

    return plan_has_input(p, input) ? plan_write(p, input, &v, sizeof(v)) : 0;
}

/* The plan that updates gets the step's learning rate, and Adam its count; those that differentiate
 * or update a scaled loss get its scale. */
static int feed_rates(struct session *s, struct plan *p, double lr, long long number)
{
    TRY(feed_scalar(p, "lr", lr));
    TRY(feed_scalar(p, "step", (double)(number + 1)));
    return feed_scalar(p, "loss_scale", s->loss_scale.value);
}

/* Runs the plan again, looking at every result: the update guards itself, so the weights are those
 * of the broken run. */
static int explain_loss(struct session *s, long long number, double loss)
{
    const char *const what = isnan(loss) ? "not a number" : "infinite";

    if (plan_run_checked(&s->train, 0) < 0)
        return err_prefix(
            E_NUMERIC,
            "the loss of step %lld is %s; the first result that is not finite: ", number + 1, what);
    return err(E_NUMERIC, "the loss of step %lld is %s, and no single step of the plan repeats it",
               number + 1, what);
}

/* After the run of the plan that updates: did it? */
static int follow_scale(struct session *s, struct plan *p, long long number,
                        struct step_result *out)
{
    float scale;

    if (s->loss_scale.value <= 0)
        return 0;
    TRY(plan_read(p, "update_scale", &scale, sizeof(scale)));
    out->skipped = !isfinite(scale);
    if (loss_scale_step(&s->loss_scale, !out->skipped) == 0)
        return 0;
    return err_prefix(E_NUMERIC, "step %lld: ", number + 1);
}

int session_copy(struct session *s, const struct batch *b)
{
    for (size_t part = 0; part < (size_t)s->settings->accumulate; part++)
        TRY(feed(&s->train, b, (size_t)s->micro_batch, part));
    return 0;
}

static int feed_timed(struct session *s, const struct batch *b, size_t part)
{
    const int64_t start = clock_ns();

    TRY(feed(&s->train, b, (size_t)s->micro_batch, part));
    s->counters.copy_ns += clock_ns() - start;
    return 0;
}

static int step(struct session *s, const struct batch *b, double lr, long long number,
                struct step_result *out)
{
    *out = (struct step_result){0};
    TRY(feed_rates(s, &s->train, lr, number));
    for (size_t part = 0; part < (size_t)s->settings->accumulate; part++) {
        TRY(feed_timed(s, b, part));
        TRY(plan_run(&s->train, 0));
        TRY(read_loss(&s->train, out));
        if (!isfinite(out->loss))
            return explain_loss(s, number, out->loss);
    }
    if (!s->accumulates)
        return follow_scale(s, &s->train, number, out);
    TRY(feed_rates(s, &s->apply, lr, number)); /* not earlier: the plans share one workspace */
    TRY(plan_run(&s->apply, 0));
    return follow_scale(s, &s->apply, number, out);
}

int session_step(struct session *s, const struct batch *b, double lr, long long number,
                 struct step_result *out)
{
    const int64_t start = clock_ns(), copied = s->counters.copy_ns;

    TRY(step(s, b, lr, number, out));
    s->counters.samples += b->n_real;
    s->counters.compute_ns += clock_ns() - start - (s->counters.copy_ns - copied);
    return 0;
}

int session_evaluate(struct session *s, const struct batch *b, struct metric *m,
                     struct step_result *out)
{
    const struct tensor *const scores = graph_output_find(&s->eval_graph, "scores");
    const size_t n = (size_t)s->micro_batch, bytes = tensor_bytes(scores);

    TRY(feed(&s->eval, b, n, 0));
    TRY(plan_run(&s->eval, 0));
    TRY(read_loss(&s->eval, out));
    TRY(plan_read(&s->eval, "scores", s->scores, bytes));
    return metric_add(m,
                      (struct metric_array[]){
                          {"scores", METRIC_F32, n, bytes / sizeof(float) / n, s->scores},
                          {"labels", METRIC_I32, n, 1, b->tensor[BATCH_LABELS].data},
                          {"weights", METRIC_F32, n, 1, b->tensor[BATCH_WEIGHTS].data},
                      },
                      3);
}

/* The safetensors view of a weight; data is host memory that the caller frees. */
static struct safetensors_tensor view(const struct weight *w)
{
    struct safetensors_tensor t = {
        .name = w->name,
        .dtype = SAFETENSORS_F32,
        .rank = w->shape.rank,
        .bytes = (size_t)shape_count(w->shape) * dtype_size(w->dtype),
    };

    ASSERT(w->dtype == DT_F32);
    for (int i = 0; i < w->shape.rank; i++)
        t.dims[i] = (size_t)w->shape.dim[i];
    return t;
}

/* A checkpoint that can not be gone on from must not take the place of one that can. */
static int check_finite(const struct weight *w, const float *x)
{
    const int64_t n = shape_count(w->shape);

    for (int64_t i = 0; i < n; i++)
        if (!isfinite(x[i]))
            return err(E_NUMERIC, "%s holds %g at element %lld; the weights are not saved", w->name,
                       (double)x[i], (long long)i);
    return 0;
}

int session_save(struct session *s, const char *dir, struct checkpoint_info info)
{
    struct safetensors_tensor *const t = xcalloc((size_t)s->store.n, sizeof(*t));
    size_t n = 0;
    int rc = 0;

    for (int i = 0; i < s->store.n && rc == 0; i++) {
        const struct weight *const w = s->store.weights[i];
        void *host;

        if (w->kind == T_CARRY)
            continue;
        t[n] = view(w);
        t[n].data = host = xmalloc(t[n].bytes);
        n++;
        rc = bank_read(&s->bank, 0, w, host);
        if (rc == 0)
            rc = check_finite(w, host);
    }
    if (rc == 0)
        rc = checkpoint_save(dir, t, n, info);
    for (size_t i = 0; i < n; i++)
        free((void *)(uintptr_t)t[i].data);
    free(t);
    return rc;
}

static int is_moment(const struct store *s, const struct weight *w)
{
    char owner[WEIGHTS_NAME_BYTES];

    return w->kind == T_STATE && weights_owner(w->name, owner) && store_find(s, owner);
}

int session_check(const struct session *s, const struct checkpoint *c)
{
    for (int i = 0; i < s->store.n; i++) {
        const struct safetensors_tensor want = view(s->store.weights[i]);
        if (s->store.weights[i]->kind != T_CARRY)
            TRY(checkpoint_check(c, &want));
    }
    return 0;
}

int session_load(struct session *s, const struct checkpoint *c)
{
    for (int i = 0; i < s->store.n; i++) {
        const struct weight *const w = s->store.weights[i];
        const struct safetensors_tensor want = view(w);
        void *host;
        int rc;

        if (w->kind == T_CARRY)
            continue;
        host = xmalloc(want.bytes);
        rc = checkpoint_read(c, &want, host);
        if (rc == 0)
            rc = bank_write(&s->bank, 0, w, host);
        free(host);
        TRY(rc);
    }
    return 0;
}

/* What somebody's weights bring: all but carry and the optimiser's. */
static int is_given(const struct session *s, const struct weight *w)
{
    return w->kind != T_CARRY && !is_moment(&s->store, w);
}

enum import { IMPORT_TRY, IMPORT };

static int import(struct session *s, const struct weights *given, enum import how)
{
    for (int i = 0; i < s->store.n; i++) {
        const struct weight *const w = s->store.weights[i];
        const struct safetensors_tensor wanted = view(w);
        float *host;
        int rc;

        if (!is_given(s, w))
            continue;
        host = xmalloc(wanted.bytes);
        rc = weights_read(given, &wanted, host);
        if (rc == 0 && how == IMPORT)
            rc = bank_write(&s->bank, 0, w, host);
        free(host);
        TRY(rc);
    }
    return 0;
}

int session_match(struct session *s, struct weights *given, const struct name_map *map)
{
    struct safetensors_tensor *const wanted = xcalloc((size_t)s->store.n, sizeof(*wanted));
    size_t n = 0;
    int rc;

    for (int i = 0; i < s->store.n; i++)
        if (is_given(s, s->store.weights[i]))
            wanted[n++] = view(s->store.weights[i]);
    rc = weights_match(given, map, wanted, n);
    free(wanted);
    return rc < 0 ? rc : import(s, given, IMPORT_TRY);
}

int session_import(struct session *s, const struct weights *given)
{
    return import(s, given, IMPORT);
}
