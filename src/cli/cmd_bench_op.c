/* `stave bench-op`: single steps of a workload's plan, each alone. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "cli/setup.h"
#include "plan/bench.h"
#include "train/session.h"

struct bench_settings {
    char *match;
    long long runs;
};

/* clang-format off */
#define ROW(...) OPT_ROW(bench_settings, __VA_ARGS__)

static const struct opt_row rows[] = {
    ROW("match", OPT_STRING, match, .arg = "TEXT", .letter = 'm',
        .help = "Only steps whose \"OP SCOPE\" contains this: conv2d, layer3.0, \"conv2d_grad_w layer1\""),
    ROW("runs", OPT_INT, runs, .dflt = "20", .min = 1, .max = 1000, .arg = "N", .help = "Timed runs of each step"),
};
/* clang-format on */

static const struct opt_table options = {"bench-op", rows, COUNT_OF(rows)};

static struct op_use use_of(const struct node *n)
{
    struct op_use u = {.op = n->op, .attr = n->attr, .n_in = n->n_in};

    for (int i = 0; i < n->n_in; i++)
        u.in[i] = (struct op_input){.dtype = n->in[i]->dtype, .shape = n->in[i]->shape};
    return u;
}

/* The same op on the same shapes with the same attributes: the same time. */
static int same_work(const struct node *a, const struct node *b)
{
    if (a->op != b->op || a->n_in != b->n_in || memcmp(&a->attr, &b->attr, sizeof(a->attr)) != 0)
        return 0;
    for (int i = 0; i < a->n_in; i++)
        if (!shape_equal(a->in[i]->shape, b->in[i]->shape))
            return 0;
    return 1;
}

/* How many steps of the plan do this work; 0 when an earlier one does. */
static int count_same(const struct plan *p, int step)
{
    int n = 0;

    for (int i = 0; i < p->n_steps; i++)
        if (same_work(p->steps[i].node, p->steps[step].node)) {
            if (i < step)
                return 0;
            n++;
        }
    return n;
}

static int matches(const struct node *n, const char *match)
{
    struct str what = STR_INIT;
    int yes;

    str_printf(&what, "%s %s", n->op->name, n->scope);
    yes = !match || strstr(what.s, match) != NULL;
    str_release(&what);
    return yes;
}

static int bench_step(const struct engine *e, const struct node *n, int times, int runs)
{
    const struct op_use u = use_of(n);
    char in[SHAPE_TEXT], out[SHAPE_TEXT] = "";
    struct op_time t;

    TRY(op_bench(e, &u, runs, &t));
    if (n->op->n_out)
        shape_text(n->out[0]->shape, out);
    printf("%-18s %-26s %-20s %-20s %-22s x%-3d %10.3f %10.3f %9.1f %8.1f\n", n->op->name, n->scope,
           n->n_in ? shape_text(n->in[0]->shape, in) : "", out, t.impl, times,
           (double)t.median_ns / 1e6, (double)t.min_ns / 1e6, t.flops / (double)t.median_ns,
           t.bytes / (double)t.median_ns);
    return 0;
}

/* Adds to *found the steps of a plan that were timed. */
static int bench_plan(const struct plan *p, const struct bench_settings *own, int *found)
{
    for (int i = 0; i < p->n_steps; i++) {
        const struct node *const n = p->steps[i].node;
        const int times = n->n_in <= OP_USE_INPUTS && matches(n, own->match) ? count_same(p, i) : 0;

        if (!times)
            continue;
        TRY(bench_step(p->engine, n, times, (int)own->runs));
        ++*found;
    }
    return 0;
}

static int bench_session(const struct session *s, const struct bench_settings *own)
{
    int found = 0;

    printf("%-18s %-26s %-20s %-20s %-22s %-4s %10s %10s %9s %8s\n", "op", "scope", "input",
           "output", "kernel", "in plan", "median ms", "best ms", "GFLOP/s", "GB/s");
    TRY(bench_plan(&s->train, own, &found));
    if (s->accumulates)
        TRY(bench_plan(&s->apply, own, &found));
    return found ? 0
                 : err(E_USAGE, "no step of the plan matches \"%s\"; stave explain shows them",
                       own->match);
}

static int bench(struct setup *s, const struct bench_settings *own)
{
    struct session session;
    struct engine engine;
    struct task task;
    int rc;

    s->settings.data.synthetic = 1;
    TRY(s->workload->open(&s->settings, 1, &task));
    rc = setup_engine(s, &engine);
    if (rc == 0) {
        rc = session_open(&session, &task, &s->settings.train, &engine);
        if (rc == 0) {
            rc = bench_session(&session, own);
            session_close(&session);
        }
        engine_close(&engine);
    }
    s->workload->close(&task);
    return rc;
}

static int run(const struct command *self, int argc, char **argv)
{
    struct bench_settings own;
    struct setup setup;
    int rc = setup_parse(&setup, self, argc, argv, &options, &own);

    if (rc == 0)
        rc = bench(&setup, &own);
    setup_release(&setup);
    return rc < 0 ? rc : EXIT_REACHED;
}

static const struct opt_table *const tables[] = {&options, SETUP_TABLES, NULL};

const struct command command_bench_op = {
    .name = "bench-op",
    .args = "WORKLOAD",
    .min_args = 1,
    .max_args = 1,
    .summary = "Time single steps of a workload's training plan, each alone",
    .about = "Steps that do the same work on the same shapes are timed once; the column \"in "
             "plan\" says how many there are. "
             "Rates are floating-point operations and the fewest bytes over the median.",
    .tables = tables,
    .run = run,
};
