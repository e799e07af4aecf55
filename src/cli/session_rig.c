#include "cli/session_rig.h"

#include "base/err.h"
#include "cli/seed.h"

static int open_stream(void *context, struct rig_loader how, struct pipeline **out)
{
    struct session_rig *const r = context;
    const struct train_settings *const t = &r->setup->settings.train;
    struct data_settings *const d = &r->setup->settings.data;
    const struct data_settings asked = *d;
    const int evaluates = how.mode == PIPELINE_EVAL;
    int rc;

    d->num_threads = how.threads;
    d->prefetch = how.prefetch;
    d->alone = how.alone;
    d->synthetic = how.synthetic;
    if (how.synthetic)
        d->synthetic_samples = (long long)1e12; /* evaluation ends with them, a window may not */
    rc = r->task.open(r->task.context, how.mode,
                      (int)(evaluates ? t->batch_size / t->accumulate : t->batch_size), 0, 0, out);
    *d = asked;
    return rc;
}

/* The rate is zero, so that the weights stay where they are however long this goes on: a step takes
 * the same time at any rate. */
static int work(void *context, enum rig_work what, const struct batch *b)
{
    struct session_rig *const r = context;
    struct step_result unused = {0};

    if (what == RIG_COPY)
        return session_copy(&r->session, b);
    if (what == RIG_EVALUATE)
        return session_evaluate(&r->session, b, r->metric, &unused);
    return session_step(&r->session, b, 0.0, r->n_steps++, &unused);
}

int session_rig_open(struct session_rig *r, struct setup *s)
{
    const long long asked = s->settings.train.seed;
    uint64_t seed = (uint64_t)asked;

    *r = (struct session_rig){.setup = s, .rig = {.context = r, .open = open_stream, .work = work}};
    if (asked == 0)
        TRY(seed_draw(&seed));
    TRY(train_settings_check(&s->settings.train));
    machine_find("", &s->machine);
    TRY(s->workload->open(&s->settings, seed, &r->task));
    if (r->task.n_train >= (uint64_t)s->settings.train.batch_size)
        return 0;
    s->workload->close(&r->task);
    return err(E_USAGE,
               "the data set holds %llu samples, fewer than a batch of %lld: most of it would be "
               "padding; lower --batch-size",
               (unsigned long long)r->task.n_train, s->settings.train.batch_size);
}

static int open_session(struct session_rig *r)
{
    TRY(session_open(&r->session, &r->task, &r->setup->settings.train, &r->engine));
    r->has_session = 1;
    r->metric = metric_new(r->task.metric);
    return session_initialise(&r->session, 1);
}

int session_rig_add_model(struct session_rig *r)
{
    int rc;

    TRY(setup_engine(r->setup, &r->engine));
    rc = open_session(r);
    if (rc < 0 && !r->has_session)
        engine_close(&r->engine);
    return rc;
}

void session_rig_close(struct session_rig *r)
{
    if (r->has_session) {
        metric_free(r->metric);
        session_close(&r->session);
        engine_close(&r->engine);
    }
    r->setup->workload->close(&r->task);
}

struct rig_loader session_rig_loader(const struct session_rig *r)
{
    const struct data_settings *const d = &r->setup->settings.data;

    return (struct rig_loader){.threads = (int)d->num_threads, .prefetch = (int)d->prefetch};
}
