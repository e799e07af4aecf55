#include "plan/bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bf16.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/random.h"

enum { MAX_RUNS = 1000 };

static const char *input_name(int i, char out[16])
{
    snprintf(out, 16, "in%d", i);
    return out;
}

/* Ops are built in float32 and made narrow afterwards, as the precision pass does it. */
static int is_narrowed(const struct op_use *u, int i)
{
    return u->in[i].dtype == DT_BF16 && op_bit(u->op->narrow_in, i);
}

static void narrow(struct node *n, const struct op_use *u)
{
    int any = 0;

    for (int i = 0; i < u->n_in; i++)
        if (is_narrowed(u, i)) {
            n->in[i]->dtype = DT_BF16;
            any = 1;
        }
    if (any)
        node_narrow(n, DT_BF16);
}

/* An input that the op writes must outlive a run, so it is state; the others are written once. */
static void build(struct graph *g, const struct op_use *u)
{
    struct tensor *in[OP_USE_INPUTS];
    struct node *n;
    char name[16];

    for (int i = 0; i < u->n_in; i++) {
        const struct op_input *const x = &u->in[i];
        input_name(i, name);
        in[i] = op_bit(u->op->writes, i)
                    ? graph_weight(g, name, T_STATE, x->shape, (struct init){0},
                                   (struct weight_attr){0})
                    : graph_input(g, name, is_narrowed(u, i) ? DT_F32 : x->dtype, x->shape);
    }
    n = graph_node(g, u->op, u->attr, in, u->n_in);
    if (n)
        narrow(n, u);
    for (int i = 0; n && i < u->op->n_out; i++)
        graph_output(g, input_name(i, name), n->out[i]);
}

/* The smallest dimension of the float inputs: whatever they are indexed by, an index below it is in
 * range. */
static int64_t safe_count(const struct op_use *u)
{
    int64_t least = INT32_MAX;

    for (int i = 0; i < u->n_in; i++)
        for (int k = 0;
             (u->in[i].dtype == DT_F32 || u->in[i].dtype == DT_BF16) && k < u->in[i].shape.rank;
             k++)
            least = u->in[i].shape.dim[k] < least ? u->in[i].shape.dim[k] : least;
    return least;
}

static void fill(const struct op_use *u, const struct op_input *x, size_t bytes, void *out)
{
    const struct random_key key = {1, RANDOM_SYNTHETIC, 0};
    const size_t below = (size_t)safe_count(u);
    float *const f = out;
    uint16_t *const h = out;
    int32_t *const index = out;

    if (x->data)
        memcpy(out, x->data, bytes);
    else
        memset(out, 0, bytes);
    for (size_t i = 0; !x->data && x->dtype == DT_F32 && i < bytes / sizeof(*f); i++)
        f[i] = (float)(0.5 + random_uniform(key, i));
    for (size_t i = 0; !x->data && x->dtype == DT_BF16 && i < bytes / sizeof(*h); i++)
        h[i] = bf16_from_float((float)(0.5 + random_uniform(key, i)));
    for (size_t i = 0; !x->data && x->dtype == DT_I32 && i < bytes / sizeof(*index); i++)
        index[i] = (int32_t)(i % below);
    if (!x->data && x->dtype == DT_I32 && x->shape.rank == 0)
        *index = (int32_t)below; /* a count */
}

static int write_inputs(struct plan *p, const struct op_use *u)
{
    char name[16];
    int rc = 0;

    for (int i = 0; i < u->n_in && rc == 0; i++) {
        const size_t bytes = (size_t)shape_count(u->in[i].shape) * dtype_size(u->in[i].dtype);
        void *const host = xmalloc(bytes);

        fill(u, &u->in[i], bytes, host);
        input_name(i, name);
        rc = op_bit(u->op->writes, i)
                 ? bank_write(p->bank, 0, store_find(p->bank->store, name), host)
                 : plan_write(p, name, host, bytes);
        free(host);
    }
    return rc;
}

static int by_time(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return x < y ? -1 : x > y;
}

static int time_runs(struct plan *p, const struct op_use *u, int runs, struct op_time *out)
{
    int64_t ns[MAX_RUNS];

    TRY(write_inputs(p, u));
    TRY(plan_run(p, 0));
    for (int i = 0; i < runs; i++) {
        const int64_t start = clock_ns();
        TRY(plan_run(p, 0));
        ns[i] = clock_ns() - start;
    }
    qsort(ns, (size_t)runs, sizeof(*ns), by_time);
    out->min_ns = ns[0];
    out->median_ns = ns[runs / 2];
    return 0;
}

/* The op in a graph of its own, with all that the graph stands on. */
struct alone {
    struct store store;
    struct graph graph;
    struct bank bank;
    struct workspace workspace;
    struct plan plan;
};

static void alone_close(struct alone *a)
{
    plan_release(&a->plan);
    bank_release(&a->bank);
    workspace_release(&a->workspace);
    graph_release(&a->graph);
    store_release(&a->store);
}

/* Cost and results are the op's, before the passes change the graph. */
static int alone_plan(struct alone *a, const struct engine *e, struct op_time *out)
{
    const struct node *n;
    const struct step *first;

    TRY(graph_status(&a->graph));
    n = a->graph.nodes[0];
    node_cost(n, &out->cost);
    for (int i = 0; i < n->op->n_out; i++)
        out->out[i] = *n->out[i];
    TRY(bank_init(&a->bank, e, &a->store));
    TRY(plan_init(&a->plan, &a->graph, &a->bank, &a->workspace, (struct plan_options){0}));
    first = &a->plan.steps[0];
    out->steps = a->plan.n_steps;
    memcpy(out->impl, first->impl, sizeof(out->impl));
    snprintf(out->why, sizeof(out->why), "%s", first->why ? first->why : "");
    return 0;
}

/* Fills *out but for the times. */
static int alone_open(struct alone *a, const struct engine *e, const struct op_use *u,
                      struct op_time *out)
{
    int rc;

    ASSERT(u->n_in <= OP_USE_INPUTS);
    *a = (struct alone){0};
    *out = (struct op_time){0};
    store_init(&a->store);
    graph_init(&a->graph, &a->store, GRAPH_TRAIN);
    workspace_init(&a->workspace, e);
    build(&a->graph, u);
    store_seal(&a->store);
    rc = alone_plan(a, e, out);
    if (rc < 0)
        alone_close(a);
    return rc;
}

int op_check(const struct engine *e, const struct op_use *u)
{
    struct op_time out;
    struct alone a;

    TRY(alone_open(&a, e, u, &out));
    alone_close(&a);
    return 0;
}

int op_bench(const struct engine *e, const struct op_use *u, int runs, struct op_time *out)
{
    struct alone a;
    int rc;

    ASSERT(runs >= 1 && runs <= MAX_RUNS);
    TRY(alone_open(&a, e, u, out));
    rc = time_runs(&a.plan, u, runs, out);
    alone_close(&a);
    return rc;
}
