/* `stave bench-op`: single ops, each alone: the steps of a workload's plan, one op with its shapes,
 * or every op. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "cli/setup.h"
#include "ops/op_text.h"
#include "plan/bound.h"
#include "plan/op_use.h"
#include "train/session.h"

struct bench_settings {
    char *match, *op, *in, *attr;
    int all;
    long long runs;
};

/* clang-format off */
#define ROW(...) OPT_ROW(bench_settings, __VA_ARGS__)

static const struct opt_row rows[] = {
    ROW("match", OPT_STRING, match, .arg = "TEXT", .letter = 'm',
        .help = "Only steps whose \"OP SCOPE\" contains this: conv2d, layer3.0, \"conv2d_grad_w layer1\""),
    ROW("op", OPT_STRING, op, .arg = "NAME", .help = "Time this op alone, on the inputs given"),
    ROW("in", OPT_LIST, in, .arg = "SHAPE",
        .help = "An input of --op, said once for each: 32x56x56x64, i32:32, u8:8x224x224x3, scalar"),
    ROW("attr", OPT_STRING, attr, .arg = "NAME=VALUE,...", .help = "Attributes of --op: stride=2,pad=1"),
    ROW("all", OPT_BOOL, all, .dflt = "no", .help = "Time every op once, on built-in shapes"),
    ROW("runs", OPT_INT, runs, .dflt = "20", .min = 1, .max = 1000, .arg = "N", .help = "Timed runs of each step"),
};
/* clang-format on */

static const struct opt_table options = {"bench-op", rows, COUNT_OF(rows)};

/* Where times go: stdout, beside what the device reaches at best. */
struct bench {
    const struct engine *engine;
    struct ceilings ceilings;
    int runs;
};

static int bench_init(struct bench *b, const struct engine *e, int runs)
{
    *b = (struct bench){.engine = e, .runs = runs};
    if (e->backend->measure) {
        struct str text = STR_INIT;

        TRY(e->backend->measure(e->device, &b->ceilings));
        ceilings_text(&b->ceilings, &text);
        printf("ceilings: %s\n", text.s);
        str_release(&text);
    }
    printf("%-18s %-26s %-34s %-20s %-4s %10s %10s %9s %8s %-6s %8s  %s\n", "op", "scope", "inputs",
           "output", "in plan", "median ms", "best ms", "GFLOP/s", "GB/s", "limit", "of it",
           "kernel");
    return 0;
}

static void add_inputs(const struct op_use *u, struct str *out)
{
    const int shown = u->n_in < 2 ? u->n_in : 2; /* the rest are statistics, scalars, or the same */

    for (int i = 0; i < shown; i++) {
        str_add(out, i ? " " : "");
        type_add_text(u->in[i].dtype, u->in[i].shape, out);
    }
    if (u->n_in > shown)
        str_printf(out, " +%d", u->n_in - shown);
}

static int bench_use(const struct bench *b, const struct op_use *u, const char *scope, int times)
{
    struct str in = STR_INIT, out = STR_INIT;
    struct op_time t;
    struct bound bound;
    double ns;

    TRY(op_bench(b->engine, u, b->runs, &t));
    ns = t.median_ns > 0 ? (double)t.median_ns : 1;
    bound = cost_bound(t.cost, u->n_in > 0 && u->in[0].dtype == DT_BF16, &b->ceilings);
    add_inputs(u, &in);
    if (u->op->n_out)
        type_add_text(t.out[0].dtype, t.out[0].shape, &out);
    printf("%-18s %-26s %-34s %-20s x%-6d %10.3f %10.3f", u->op->name, scope, in.s ? in.s : "",
           out.s ? out.s : "", times, ns / 1e6, (double)t.min_ns / 1e6);
    if (b->engine->backend->computes)
        printf(" %9.1f %8.1f %-6s", t.cost.flops / ns, t.cost.bytes / ns, bound_limit(bound));
    else
        printf(" %9s %8s %-6s", "-", "-", "-");
    if (bound_ns(bound) > 0)
        printf(" %6.1f %%", 100 * bound_ns(bound) / ns);
    else
        printf(" %8s", "-");
    printf("  %s%s%s%s\n", t.impl, *t.why ? " (" : "", t.why, *t.why ? ")" : "");
    str_release(&in);
    str_release(&out);
    return 0;
}

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

/* Adds to *found the steps of a plan that were timed. */
static int bench_plan(const struct bench *b, const struct plan *p, const char *match, int *found)
{
    for (int i = 0; i < p->n_steps; i++) {
        const struct node *const n = p->steps[i].node;
        const int times = n->n_in <= OP_USE_INPUTS && matches(n, match) ? count_same(p, i) : 0;
        struct op_use u;

        if (!times)
            continue;
        u = use_of(n);
        TRY(bench_use(b, &u, n->scope, times));
        ++*found;
    }
    return 0;
}

static int bench_session(const struct session *s, const struct bench_settings *own)
{
    struct bench b;
    int found = 0;

    TRY(bench_init(&b, s->engine, (int)own->runs));
    TRY(bench_plan(&b, &s->train, own->match, &found));
    if (s->accumulates)
        TRY(bench_plan(&b, &s->apply, own->match, &found));
    return found ? 0
                 : err(E_USAGE, "no step of the plan matches \"%s\"; stave explain shows them",
                       own->match);
}

static int bench_workload(struct setup *s, const struct bench_settings *own)
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

static int bench_one(const struct engine *e, const struct bench_settings *own)
{
    struct op_use u;
    struct bench b;

    TRY(op_use_parse(&u, (struct op_words){own->op, own->in, own->attr}));
    TRY(op_check(e, &u)); /* before the ceilings, which take a second */
    TRY(bench_init(&b, e, (int)own->runs));
    return bench_use(&b, &u, "", 1);
}

/* Every op; one that the device has no kernel for says so. */
static int bench_all(const struct engine *e, const struct bench_settings *own)
{
    struct op_use u;
    struct bench b;

    TRY(bench_init(&b, e, (int)own->runs));
    for (int i = 0; i < N_OPS; i++) {
        int rc = op_use_parse(&u, op_samples[i].words);

        if (rc == 0)
            rc = bench_use(&b, &u, "", 1);
        if (rc == E_UNSUPPORTED)
            printf("%-18s %s\n", ops[i]->name, err_reason());
        else
            TRY(rc);
    }
    return 0;
}

static int check_choice(const struct bench_settings *own)
{
    if (!own->op && (own->in || own->attr))
        return err(E_USAGE, "--in and --attr belong to --op, which is not given");
    if (!own->op && !own->all)
        return err(E_USAGE, "stave bench-op needs WORKLOAD, --op NAME or --all");
    if (own->op && own->all)
        return err(E_USAGE, "--op and --all exclude each other");
    if (own->match)
        return err(E_USAGE, "--match belongs to WORKLOAD, which is not given");
    return 0;
}

static int bench_ops(struct setup *s, const struct bench_settings *own)
{
    struct engine engine;
    int rc;

    TRY(check_choice(own));
    TRY(setup_engine(s, &engine));
    rc = own->op ? bench_one(&engine, own) : bench_all(&engine, own);
    engine_close(&engine);
    return rc;
}

/* The words before a "#": what DEBUG=2 prints after it is a comment also where the shell has not
 * taken it away. */
static int words_before_comment(int argc, char **argv)
{
    int n = 0;

    while (n < argc && strcmp(argv[n], "#") != 0)
        n++;
    return n;
}

static int run(const struct command *self, int argc, char **argv)
{
    struct bench_settings own;
    struct setup setup;
    int rc = setup_parse(&setup, self, words_before_comment(argc, argv), argv, &options, &own);

    if (rc == 0 && setup.workload && (own.op || own.all || own.in || own.attr))
        rc = err(E_USAGE, "WORKLOAD and --op, --all exclude each other");
    if (rc == 0)
        rc = setup.workload ? bench_workload(&setup, &own) : bench_ops(&setup, &own);
    setup_release(&setup);
    return rc < 0 ? rc : EXIT_REACHED;
}

static const struct opt_table *const tables[] = {&options, SETUP_TABLES, NULL};

const struct command command_bench_op = {
    .name = "bench-op",
    .args = "[WORKLOAD]",
    .min_args = 0,
    .max_args = 1,
    .summary = "Time single ops, each alone: of a workload's training plan, or any op",
    .about =
        "With WORKLOAD, every step of its plan; with --op, one op on the shapes given, which "
        "is also "
        "what the environment variable DEBUG=2 prints for every step of a run; with --all, "
        "every op. Steps that do the same work on the same shapes are timed once; the column \"in "
        "plan\" says how many there are. "
        "Rates are floating-point operations and the fewest bytes over the median; \"of it\" "
        "is the share of what the limiting ceiling, measured at the start, would allow.",
    .tables = tables,
    .run = run,
};
