/* `stave explain`: the plan of a workload, step by step. */
#include <stdio.h>

#include "base/err.h"
#include "cli/setup.h"
#include "train/session.h"

struct explain_settings {
    int eval;
    long long profile;
};

/* clang-format off */
#define ROW(...) OPT_ROW(explain_settings, __VA_ARGS__)

static const struct opt_row rows[] = {
    ROW("eval", OPT_BOOL, eval, .dflt = "no", .help = "Show the plan of evaluation instead of training"),
    ROW("profile", OPT_INT, profile, .dflt = "0", .min = 0, .max = 1e6, .arg = "N",
        .help = "Run the plan N times on noise and show the time of every step"),
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

static int explain(struct setup *s, const struct explain_settings *own)
{
    struct session session;
    struct engine engine;
    struct str text = STR_INIT, what = STR_INIT;
    struct task task;
    struct plan *p;
    int rc;

    s->settings.data.synthetic = 1; /* a plan depends on no data */
    TRY(s->workload->open(&s->settings, 1, &task));
    rc = setup_engine(s, &engine);
    if (rc == 0) {
        rc = session_open(&session, &task, &s->settings.train, &engine);
        p = own->eval ? &session.eval : &session.train;
        if (rc == 0) {
            engine.backend->describe(engine.device, &what);
            printf("%s, preset %s, %s, %d of %lld samples of a batch: %s\n", s->workload->name,
                   s->preset->name, own->eval ? "evaluation" : "training step", session.micro_batch,
                   s->settings.train.batch_size, what.s);
            if (own->profile > 0)
                rc = profile(&session, p, &task, own->profile);
            plan_explain(p, &text);
            if (session.accumulates && !own->eval) {
                str_printf(&text, "\nafter %lld such runs, once per step:\n",
                           s->settings.train.accumulate);
                plan_explain(&session.apply, &text);
            }
            fputs(text.s, stdout);
            session_close(&session);
        }
        engine_close(&engine);
    }
    s->workload->close(&task);
    str_release(&text);
    str_release(&what);
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
