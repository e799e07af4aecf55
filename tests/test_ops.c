/* Every op, from the rows of op_cases.h: shapes, backends against ref, gradients against finite
 * differences, cost and time; and the meta-tests that no op is left out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "graph_fixture.h"
#include "op_cases.h"
#include "plan/bench.h"

enum { MAX_IN = 8 };

/* A case as a running graph. With a gradient to check there is a loss, the sum of output 0 times
 * the input "coef", which the host computes, and its gradients are outputs. */
struct case_run {
    const struct op_case *c;
    struct rig r;
    struct tensor *in[MAX_IN];
    struct tensor *out[MAX_OUT];
    int n_in;
};

static const char *label(const char *stem, int i, char out[16])
{
    snprintf(out, 16, "%s%d", stem, i);
    return out;
}

static size_t input_bytes(const struct case_input *x)
{
    return (size_t)shape_count(x->shape) * dtype_size(x->dtype);
}

static int inputs_of(const struct op_case *c)
{
    int n = 0;

    while (n < MAX_IN && c->in[n].fill != FILL_NONE)
        n++;
    return n;
}

static void fill_floats(const struct case_input *x, int64_t n, uint64_t stream, float *out)
{
    static const float samples[] = {1, 0, 0.5F, 2};
    const struct random_key key = {1, RANDOM_TEST, stream};

    for (int64_t i = 0; i < n; i++) {
        const uint64_t u = (uint64_t)i;
        if (x->fill == FILL_NORMAL)
            out[i] = (float)random_normal(key, u);
        else if (x->fill == FILL_POSITIVE)
            out[i] = (float)(0.5 + random_uniform(key, u));
        else if (x->fill == FILL_SPREAD)
            out[i] = (float)(0.1 *
                             ((double)random_permute(key, (uint64_t)n, u) + 0.5 - (double)(n / 2)));
        else
            out[i] = x->fill == FILL_SAMPLES ? samples[i % 4] : (float)x->arg;
    }
}

static void fill_integers(const struct case_input *x, int64_t n, uint64_t stream, void *out)
{
    const struct random_key key = {1, RANDOM_TEST, stream};

    for (int64_t i = 0; i < n; i++) {
        const int below = (int)(random_uniform(key, (uint64_t)i) * (x->arg + 1)) - 1;
        const int v = x->fill == FILL_INDEX ? below : x->fill == FILL_RISING ? (int)i : (int)x->arg;
        if (x->dtype == DT_I32)
            ((int *)out)[i] = v;
        else
            ((unsigned char *)out)[i] = (unsigned char)(x->fill == FILL_PIXELS ? i * 37 % 256 : v);
    }
}

/* Heap. */
static void *input_data(const struct op_case *c, int i)
{
    const struct case_input *const x = &c->in[i];
    void *const data = xcalloc(input_bytes(x) + 1, 1);

    if (x->dtype == DT_F32)
        fill_floats(x, shape_count(x->shape), (uint64_t)i, data);
    else
        fill_integers(x, shape_count(x->shape), (uint64_t)i, data);
    return data;
}

static int is_weight(const struct op_case *c, int i)
{
    return (c->diff | c->op->writes) >> i & 1;
}

/* The rule alone, with fixed numbers as the gradient of output 0: it needs no kernels but its own.
 */
static void build_gradient(struct case_run *k, const struct node *n)
{
    struct graph *const g = &k->r.graph;
    struct tensor *din[MAX_IN] = {0};
    int want[MAX_IN];
    struct grad gr = {.node = n, .want = want, .din = din};
    char name[16];

    for (int i = 0; i < MAX_IN; i++)
        want[i] = k->c->diff >> i & 1;
    if (!n->op->grad)
        fail_msg("%s has no gradient rule", n->op->name);
    gr.dout[0] = graph_input(g, "coef", DT_F32, k->out[0]->shape);
    g->building_backward = 1;
    n->op->grad(g, &gr);
    g->building_backward = 0;
    for (int i = 0; i < k->n_in; i++) {
        if (want[i] && !din[i])
            fail_msg("%s, %s: no gradient by input %d", k->c->op->name, k->c->what, i);
        graph_output(g, label("grad", i, name), din[i]);
    }
}

static void case_build(struct case_run *k, const struct op_case *c, const char *backend)
{
    struct graph *const g = &k->r.graph;
    const struct node *n;
    char name[16];

    *k = (struct case_run){.c = c, .n_in = inputs_of(c)};
    rig_begin(&k->r, backend, GRAPH_TRAIN);
    for (int i = 0; i < k->n_in; i++) {
        const enum tensor_kind kind = c->op->writes >> i & 1 ? T_STATE : T_PARAM;
        label("in", i, name);
        k->in[i] = is_weight(c, i) ? graph_weight(g, name, kind, c->in[i].shape, (struct init){0},
                                                  (struct weight_attr){0})
                                   : graph_input(g, name, c->in[i].dtype, c->in[i].shape);
    }
    n = graph_node(g, c->op, c->attr, k->in, k->n_in);
    for (int i = 0; n && i < c->op->n_out; i++) {
        k->out[i] = n->out[i];
        if (!(c->ignored >> i & 1))
            graph_output(g, label("out", i, name), n->out[i]);
    }
    if (n && c->diff)
        build_gradient(k, n);
    if (graph_status(g) < 0)
        fail_msg("%s, %s: %s", c->op->name, c->what, err_reason());
}

/* Plans, writes all inputs. Returns 0, or E_UNSUPPORTED from a backend other than ref. */
static int case_ready(struct case_run *k)
{
    const int rc = rig_ready(&k->r, (struct plan_options){0});
    char name[16];

    if (rc == E_UNSUPPORTED && strcmp(k->r.engine.backend->name, "ref") != 0)
        return rc;
    if (rc < 0)
        fail_msg("%s, %s: %s", k->c->op->name, k->c->what, err_reason());
    for (int i = 0; i < k->n_in; i++) {
        void *const data = input_data(k->c, i);
        label("in", i, name);
        if (is_weight(k->c, i))
            rig_set(&k->r, name, data);
        else
            assert_int_equal(plan_write(&k->r.plan, name, data, input_bytes(&k->c->in[i])), 0);
        free(data);
    }
    if (k->c->diff) {
        const size_t bytes = tensor_bytes(k->out[0]);
        float *const coef = xmalloc(bytes);
        fill_normal(coef, tensor_count(k->out[0]), 99);
        assert_int_equal(plan_write(&k->r.plan, "coef", coef, bytes), 0);
        free(coef);
    }
    return 0;
}

static void test_shapes(void **state)
{
    char have[SHAPE_TEXT], want[SHAPE_TEXT];
    struct case_run k;

    (void)state;
    for (int i = 0; i < N_OP_CASES; i++) {
        const struct op_case *const c = &op_cases[i];
        case_build(&k, c, "ref");
        for (int j = 0; j < c->op->n_out; j++)
            if (!shape_equal(k.out[j]->shape, c->out[j]))
                fail_msg("%s, %s: output %d is %s, wanted %s", c->op->name, c->what, j,
                         shape_text(k.out[j]->shape, have), shape_text(c->out[j], want));
        rig_end(&k.r);
    }
}

static double dot(const float *a, const float *b, int64_t n)
{
    double v = 0;

    for (int64_t i = 0; i < n; i++)
        v += (double)a[i] * b[i];
    return v;
}

/* The loss in float64, with input i moved by h along dir. */
static double loss_at(struct case_run *k, int i, const float *dir, double h)
{
    const int64_t n = tensor_count(k->in[i]), n_out = tensor_count(k->out[0]);
    float *const x = input_data(k->c, i), *const y = xmalloc((size_t)n_out * sizeof(float)),
                 *const coef = xmalloc((size_t)n_out * sizeof(float));
    char name[16];
    double loss;

    for (int64_t j = 0; j < n; j++)
        x[j] = (float)(x[j] + h * dir[j]);
    rig_set(&k->r, label("in", i, name), x);
    rig_run(&k->r);
    assert_int_equal(plan_read(&k->r.plan, "out0", y, (size_t)n_out * sizeof(float)), 0);
    fill_normal(coef, n_out, 99);
    loss = dot(y, coef, n_out);
    free(x);
    free(y);
    free(coef);
    return loss;
}

static void check_gradient(struct case_run *k, int i)
{
    const int64_t n = tensor_count(k->in[i]);
    const double h = k->c->step > 0 ? k->c->step : 1e-2;
    float *const dir = xmalloc((size_t)n * sizeof(float)), *const grad =
                                                               xmalloc((size_t)n * sizeof(float));
    double measured, claimed, size;
    char name[16];

    fill_normal(dir, n, 77);
    loss_at(k, i, dir, 0);
    assert_int_equal(plan_read(&k->r.plan, label("grad", i, name), grad, (size_t)n * sizeof(float)),
                     0);
    measured = (loss_at(k, i, dir, h) - loss_at(k, i, dir, -h)) / (2 * h);
    loss_at(k, i, dir, 0);
    claimed = dot(grad, dir, n);
    size = sqrt(dot(grad, grad, n)); /* what a random direction sees */
    if (!(fabs(measured - claimed) <= 2e-3 * size) || size == 0)
        fail_msg("%s, %s: gradient by input %d: %g along a direction, finite difference %g; norm "
                 "%g",
                 k->c->op->name, k->c->what, i, claimed, measured, size);
    free(dir);
    free(grad);
}

static void test_gradients(void **state)
{
    struct case_run k;

    (void)state;
    for (int i = 0; i < N_OP_CASES; i++) {
        if (!op_cases[i].diff)
            continue;
        case_build(&k, &op_cases[i], "ref");
        case_ready(&k);
        for (int j = 0; j < k.n_in; j++)
            if (op_cases[i].diff >> j & 1)
                check_gradient(&k, j);
        rig_end(&k.r);
    }
}

static void compare(const struct op_case *c, const char *name, enum dtype dtype, int64_t n,
                    const void *have, const void *want)
{
    const float *const a = have, *const b = want;
    double top = 1;

    if (dtype != DT_F32) {
        if (memcmp(have, want, (size_t)n * dtype_size(dtype)) != 0)
            fail_msg("%s, %s: %s differs from ref", c->op->name, c->what, name);
        return;
    }
    for (int64_t i = 0; i < n; i++)
        top = fabs(b[i]) > top ? fabs(b[i]) : top;
    for (int64_t i = 0; i < n; i++)
        if (!(fabs((double)a[i] - b[i]) <= 2e-5 * top))
            fail_msg("%s, %s: %s element %lld is %.9g, ref has %.9g", c->op->name, c->what, name,
                     (long long)i, a[i], b[i]);
}

/* All outputs, gradients and weights of two runs of one case. */
static void compare_runs(struct case_run *a, struct case_run *b)
{
    const struct graph *const g = &a->r.graph;

    for (int i = 0; i < g->n_outputs; i++) {
        const struct tensor *const t = g->outputs[i].tensor;
        const size_t bytes = tensor_bytes(t);
        void *const x = xmalloc(bytes), *const y = xmalloc(bytes);
        assert_int_equal(plan_read(&a->r.plan, g->outputs[i].name, x, bytes), 0);
        assert_int_equal(plan_read(&b->r.plan, g->outputs[i].name, y, bytes), 0);
        compare(a->c, g->outputs[i].name, t->dtype, tensor_count(t), x, y);
        free(x);
        free(y);
    }
    for (int i = 0; i < a->r.store.n; i++) {
        const struct weight *const w = a->r.store.weights[i];
        float *const x = rig_get(&a->r, w->name), *const y = rig_get(&b->r, w->name);
        compare(a->c, w->name, DT_F32, shape_count(w->shape), x, y);
        free(x);
        free(y);
    }
}

/* Returns 1 when the backend has the kernels. */
static int case_agrees(const struct op_case *c, const char *backend)
{
    struct case_run have, want;
    int ran;

    case_build(&have, c, backend);
    ran = case_ready(&have) == 0;
    if (ran) {
        case_build(&want, c, "ref");
        case_ready(&want);
        rig_run(&have.r);
        rig_run(&want.r);
        compare_runs(&have, &want);
        rig_end(&want.r);
    }
    rig_end(&have.r);
    return ran;
}

/* ref against itself proves that two runs agree; the other backends are what this is for. */
static void test_backends_against_ref(void **state)
{
    (void)state;
    for (int b = 0; backends[b]; b++) {
        int ran = 0;
        if (!backends[b]->computes)
            continue;
        for (int i = 0; i < N_OP_CASES; i++)
            ran += case_agrees(&op_cases[i], backends[b]->name);
        print_message("%s: %d of %d op cases\n", backends[b]->name, ran, N_OP_CASES);
        assert_true(ran > 0);
    }
}

static void test_cost_and_time(void **state)
{
    struct engine e;
    struct op_time t;

    (void)state;
    assert_int_equal(engine_open(&e, "ref", (struct device_options){0}), 0);
    for (int i = 0; i < N_OP_CASES; i++) {
        const struct op_case *const c = &op_cases[i];
        struct op_use u = {.op = c->op, .attr = c->attr, .n_in = inputs_of(c)};
        for (int j = 0; j < u.n_in; j++)
            u.in[j] = (struct op_input){c->in[j].dtype, c->in[j].shape, input_data(c, j)};
        if (op_bench(&e, &u, 3, &t) < 0)
            fail_msg("%s, %s: %s", c->op->name, c->what, err_reason());
        if (t.min_ns <= 0 || t.median_ns < t.min_ns || t.cost.bytes <= 0 || t.cost.flops < 0)
            fail_msg("%s, %s: %lld ns, %g FLOPs, %g bytes", c->op->name, c->what,
                     (long long)t.min_ns, t.cost.flops, t.cost.bytes);
        for (int j = 0; j < u.n_in; j++)
            free((void *)(uintptr_t)u.in[j].data);
    }
    engine_close(&e);
}

/* The costs that rooflines stand on, by hand. */
static void test_costs_by_hand(void **state)
{
    struct case_run k;
    struct cost cost;
    int seen = 0;

    (void)state;
    for (int i = 0; i < N_OP_CASES; i++) {
        const struct op_case *const c = &op_cases[i];
        if (c->op != &op_conv2d && c->op != &op_matmul)
            continue;
        case_build(&k, c, "ref");
        node_cost(k.r.graph.nodes[0], &cost);
        if (c->op == &op_conv2d && strcmp(c->what, "7x7 stride 2 pad 3") == 0) {
            /* taps inside 11 rows and 9 columns, from -3, -1, 1, ... on */
            assert_true(cost.flops == 2.0 * (4 + 6 + 7 + 7 + 6 + 4) * (4 + 6 + 7 + 6 + 4) * 4 * 3);
            assert_true(cost.bytes == 4.0 * (11 * 9 * 3 + 4 * 7 * 7 * 3 + 6 * 5 * 4));
            seen++;
        }
        if (c->op == &op_matmul && c->attr.matmul.transpose_a && !c->attr.matmul.transpose_b) {
            assert_true(cost.flops == 2.0 * 3 * 5 * 7);
            seen++;
        }
        rig_end(&k.r);
    }
    assert_int_equal(seen, 2);
}

/* The three convolutions of a 3x3 kernel on one pixel, which the middle tap alone reads: the bound
 * stays one. The gradient of all nine weights is written. */
static void test_padding_costs_nothing(void **state)
{
    const double x = 2.0 * 5, y = 2.0 * 7, w = 7.0 * 5;
    const union attr attr = {.conv = {.out = 7, .k = 3, .stride = 1, .pad = 1}};
    struct tensor *in, *weights, *out;
    struct cost cost;
    struct rig r;

    (void)state;
    rig_begin(&r, "ref", GRAPH_TRAIN);
    in = graph_input(&r.graph, "x", DT_F32, SHAPE(2, 1, 1, 5));
    weights = graph_input(&r.graph, "w", DT_F32, SHAPE(7, 3, 3, 5));
    out = node_out(GRAPH_NODE(&r.graph, &op_conv2d, attr, in, weights), 0);
    GRAPH_NODE(&r.graph, &op_conv2d_grad_x, attr, out, weights, in);
    GRAPH_NODE(&r.graph, &op_conv2d_grad_w, attr, in, out);
    for (int i = 0; i < 3; i++) {
        node_cost(r.graph.nodes[i], &cost);
        assert_true(cost.flops == 2.0 * 2 * 5 * 7);
        assert_true(cost.bytes == 4.0 * (x + y + (i == 2 ? 9 : 1) * w));
    }
    rig_end(&r);
}

/* Every op stands in a graph that was run on ref, or is a composite that was lowered there; every
 * op that is not a composite has a ref kernel; every gradient rule is checked by some row. */
static void test_no_op_is_left_out(void **state)
{
    int built[N_OPS] = {0}, ran[N_OPS] = {0}, checked[N_OPS] = {0};
    struct case_run k;

    (void)state;
    for (int i = 0; i < N_OP_CASES; i++) {
        case_build(&k, &op_cases[i], "ref");
        for (int j = 0; j < k.r.graph.n_nodes; j++)
            built[k.r.graph.nodes[j]->op->id] = 1;
        case_ready(&k);
        for (int j = 0; j < k.r.plan.n_steps; j++)
            ran[k.r.plan.steps[j].node->op->id] = 1;
        checked[op_cases[i].op->id] |= op_cases[i].diff != 0;
        rig_end(&k.r);
    }
    for (int i = 0; i < N_OPS; i++) {
        const int composite = ops[i]->lower != NULL;
        if (!built[i] || ran[i] == composite)
            fail_msg("op %s is in no row of op_cases.h", ops[i]->name);
        if (!composite && !backend_find("ref")->kernels[i])
            fail_msg("op %s has no ref kernel", ops[i]->name);
        if (ops[i]->grad && !checked[i])
            fail_msg("the gradient rule of %s is checked by no row of op_cases.h", ops[i]->name);
        assert_int_equal(ops[i]->id, i);
        assert_ptr_equal(op_find(ops[i]->name), ops[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shapes),
        cmocka_unit_test(test_gradients),
        cmocka_unit_test(test_backends_against_ref),
        cmocka_unit_test(test_cost_and_time),
        cmocka_unit_test(test_costs_by_hand),
        cmocka_unit_test(test_padding_costs_nothing),
        cmocka_unit_test(test_no_op_is_left_out),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
