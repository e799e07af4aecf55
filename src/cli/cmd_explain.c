/* `stave explain`: the plan of a workload, step by step. */
#include <stdio.h>

#include "base/err.h"
#include "cli/setup.h"
#include "plan/profile.h"
#include "train/session.h"

struct explain_settings {
    int eval, json;
    long long profile;
};

/* clang-format off */
#define ROW(...) OPT_ROW(explain_settings, __VA_ARGS__)

static const struct opt_row rows[] = {
    ROW("eval", OPT_BOOL, eval, .dflt = "no", .help = "Show the plan of evaluation instead of training"),
    ROW("profile", OPT_INT, profile, .dflt = "0", .min = 0, .max = 1e6, .arg = "N",
        .help = "Run the plan N times on noise; show the time of every step and, by op, what the machine could do"),
    ROW("json", OPT_BOOL, json, .dflt = "no", .help = "Print one JSON document"),
};
/* clang-format on */

static const struct opt_table options = {"explain", rows, COUNT_OF(rows)};

/* One step and one evaluation on noise, so that both plans have inputs and are warm; then the timed
 * runs. */
static int profile(struct session *s, struct plan *p, const struct task *task, long long runs)
{
    struct metric *const metric = metric_new(task->metric);
    struct step_result loss = {0};
    struct pipeline *data;
    const struct batch *b;
    int rc = session_initialise(s, 1);

    if (rc == 0)
        rc = task->open(task->context, PIPELINE_TRAIN, (int)s->settings->batch_size, 0, 0, &data);
    if (rc == 0) {
        rc = pipeline_next(data, &b);
        if (rc == 0)
            rc = session_step(s, b, 0, 0, &loss);
        if (rc == 0)
            rc = session_evaluate(s, b, metric, &loss);
        pipeline_close(data);
    }
    plan_profile(p);
    for (long long i = 0; i < runs && rc == 0; i++)
        rc = plan_run(p, 0);
    metric_free(metric);
    return rc;
}

/* What there is to tell of a session. */
struct explained {
    const struct setup *setup;
    const struct explain_settings *own;
    const struct session *session;
    const struct plan *plan;
    struct profile profile;
};

static void add_title(const struct explained *x, struct str *out)
{
    const struct setup *const s = x->setup;
    const struct engine *const e = x->session->engine;

    str_printf(out, "%s, preset %s, %s, %d of %lld samples of a batch: ", s->workload->name,
               s->preset->name, x->own->eval ? "evaluation" : "training step",
               x->session->micro_batch, s->settings.train.batch_size);
    e->backend->describe(e->device, out);
}

static void add_text(const struct explained *x, struct str *out)
{
    add_title(x, out);
    str_add(out, "\n");
    plan_explain(x->plan, out);
    if (x->session->accumulates && !x->own->eval) {
        str_printf(out, "\nafter %lld such runs, once per step:\n",
                   x->setup->settings.train.accumulate);
        plan_explain(&x->session->apply, out);
    }
    if (x->own->profile > 0) {
        str_printf(out, "\nby op, the mean of %lld runs:\n", x->own->profile);
        profile_text(&x->profile, out);
    }
}

static void add_json(const struct explained *x, struct str *out)
{
    struct str title = STR_INIT;

    add_title(x, &title);
    str_add(out, "{\"plan\": ");
    str_add_json(out, title.s);
    str_printf(out, ", \"runs\": %lld,\n\"steps\": ", x->own->profile);
    plan_json(x->plan, out);
    if (x->session->accumulates && !x->own->eval) {
        str_add(out, ",\n\"apply_steps\": ");
        plan_json(&x->session->apply, out);
    }
    if (x->own->profile > 0) {
        str_add(out, ",\n");
        profile_json(&x->profile, out);
    }
    str_add(out, "}\n");
    str_release(&title);
}

static int explain_session(struct setup *s, const struct explain_settings *own,
                           struct session *session, const struct task *task)
{
    struct plan *const p = own->eval ? &session->eval : &session->train;
    struct explained x = {.setup = s, .own = own, .session = session, .plan = p};
    struct str out = STR_INIT;
    struct ceilings c = {0};

    if (own->profile > 0) {
        if (session->engine->backend->measure)
            TRY(session->engine->backend->measure(session->engine->device, &c));
        TRY(profile(session, p, task, own->profile));
        profile_init(&x.profile, p, &c);
    }
    (own->json ? add_json : add_text)(&x, &out);
    fputs(out.s, stdout);
    profile_release(&x.profile);
    str_release(&out);
    return 0;
}

static int explain(struct setup *s, const struct explain_settings *own)
{
    struct session session;
    struct engine engine;
    struct task task;
    int rc;

    s->settings.data.synthetic = 1; /* a plan depends on no data */
    TRY(s->workload->open(&s->settings, 1, &task));
    rc = setup_engine(s, &engine);
    if (rc == 0) {
        rc = session_open(&session, &task, &s->settings.train, &engine);
        if (rc == 0) {
            rc = explain_session(s, own, &session, &task);
            session_close(&session);
        }
        engine_close(&engine);
    }
    s->workload->close(&task);
    return rc;
}

static int run(const struct command *self, int argc, char **argv)
{
    struct explain_settings own;
    struct setup setup;
    int rc = setup_parse(&setup, self, argc, argv, &options, &own);

    if (rc == 0)
        rc = explain(&setup, &own);
    setup_release(&setup);
    return rc < 0 ? rc : EXIT_REACHED;
}

static const struct opt_table *const tables[] = {&options, SETUP_TABLES, NULL};

const struct command command_explain = {
    .name = "explain",
    .args = "WORKLOAD",
    .min_args = 1,
    .max_args = 1,
    .summary = "Show the plan of a workload: steps, kernels, memory, FLOPs and bytes",
    .about = "One line per step: number, f for forward, b for backward or u for update, op, "
             "scope (the layer), shapes, the kernel chosen, floating-point operations and the "
             "fewest bytes moved, and why that kernel where there was a choice. --device null "
             "plans on any machine.",
    .tables = tables,
    .run = run,
};
