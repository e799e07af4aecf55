/* ResNet-50 against PyTorch: logits, loss, every gradient, running statistics, and the change of
 * every weight after five steps of each optimiser, from the same weights and images. Truth is
 * PyTorch in float64; float32 PyTorch's own error is the yardstick (tests/golden/parity.py). */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "models/resnet50.h"
#include "optim/optim.h"
#include "parity_fixture.h"
#include "plan/plan.h"
#include "workloads/workload.h"

enum { N_PIXELS = PARITY_BATCH * PARITY_SIZE * PARITY_SIZE * 3 };

/* The reference may be off by twice as much as float32 PyTorch; below the floor, a few roundings,
 * nothing is asked. Other backends sum in float32 in an order of their own, and an activation that
 * rounding takes across a ReLU's kink moves the gradients before it by some 1e-4 of their norm: a
 * tensor must be within 1e-3, and half of them within twice float32 PyTorch. */
static const double error_floor = 2e-6, error_limit = 1e-3;

static struct parity *fixture;
static struct engine engine;

/* Full steps take the reference minutes: it shows the gradients of one, the fast backend the rest.
 */
static int is_reference(void)
{
    return strcmp(engine.backend->name, "ref") == 0;
}

/* One model on the device, trained or evaluated. */
struct model {
    struct store store;
    struct graph graph;
    struct bank bank;
    struct workspace workspace;
    struct plan plan;
    float **start; /* by weight id: the values it started from */
};

static int open_device(const char *name)
{
    return engine_open(&engine, name, (struct device_options){0});
}

static int load(void **state)
{
    (void)state;
    return parity_load("tests/golden/resnet50.txt", &fixture) < 0 ||
           open_device(backends[0]->name) < 0;
}

static int unload(void **state)
{
    (void)state;
    parity_free(fixture);
    engine_close(&engine);
    return 0;
}

static const char *torch_name(const char *name, char out[128])
{
    assert_true(workload_find("resnet50")->names->theirs(name, out, 128));
    return out;
}

static size_t count_of(const struct weight *w)
{
    return (size_t)shape_count(w->shape);
}

static int is_moment(const struct weight *w)
{
    return strstr(w->name, ".momentum") || strstr(w->name, ".moment1") ||
           strstr(w->name, ".moment2");
}

static struct sum_weight build(struct model *m, enum graph_mode mode)
{
    struct graph *const g = &m->graph;
    struct tensor *images, *labels, *weights, *logits;

    store_init(&m->store);
    graph_init(g, &m->store, mode);
    images = graph_input(g, "images", DT_F32, SHAPE(PARITY_BATCH, PARITY_SIZE, PARITY_SIZE, 3));
    labels = graph_input(g, "labels", DT_I32, SHAPE(PARITY_BATCH));
    weights = graph_input(g, "weights", DT_F32, SHAPE(PARITY_BATCH));
    logits = resnet50(g, images, PARITY_CLASSES);
    graph_output(g, "logits", logits);
    return softmax_xent(g, logits, labels, weights, (struct loss){.smoothing = 0.1});
}

/* Plans what build() and its caller made, and writes the fixture's weights. */
static void make(struct model *m, struct sum_weight loss)
{
    char name[128];

    graph_output(&m->graph, "loss", loss.sum);
    store_seal(&m->store);
    workspace_init(&m->workspace, &engine);
    assert_int_equal(bank_init(&m->bank, &engine, &m->store), 0);
    if (plan_init(&m->plan, &m->graph, &m->bank, &m->workspace, (struct plan_options){0}) < 0)
        fail_msg("%s", err_reason());
    m->start = xcalloc((size_t)m->store.n, sizeof(float *));
    for (int i = 0; i < m->store.n; i++) {
        const struct weight *const w = m->store.weights[i];

        m->start[i] = xcalloc(count_of(w), sizeof(float));
        if (!is_moment(w))
            parity_weight(torch_name(w->name, name), count_of(w) / (size_t)w->shape.dim[0],
                          m->start[i], count_of(w));
        assert_int_equal(bank_write(&m->bank, 0, w, m->start[i]), 0);
    }
}

static void release(struct model *m)
{
    for (int i = 0; i < m->store.n; i++)
        free(m->start[i]);
    free(m->start);
    plan_release(&m->plan);
    workspace_release(&m->workspace);
    bank_release(&m->bank);
    graph_release(&m->graph);
    store_release(&m->store);
}

/* Runs batch k and returns the mean loss. */
static double run_batch(struct model *m, int k)
{
    static float images[N_PIXELS];
    int32_t labels[PARITY_BATCH];
    float weights[PARITY_BATCH], loss;

    for (int i = 0; i < PARITY_BATCH; i++)
        weights[i] = 1;
    parity_image(k, images);
    parity_labels(k, labels);
    assert_int_equal(plan_write(&m->plan, "images", images, sizeof(images)), 0);
    assert_int_equal(plan_write(&m->plan, "labels", labels, sizeof(labels)), 0);
    assert_int_equal(plan_write(&m->plan, "weights", weights, sizeof(weights)), 0);
    assert_int_equal(plan_run(&m->plan, 0), 0);
    assert_int_equal(plan_read(&m->plan, "loss", &loss, sizeof(loss)), 0);
    return (double)loss / PARITY_BATCH;
}

/* ---- comparison ---- */

struct verdict {
    const char *section;
    double least; /* an error up to this is never held against a tensor */
    double worst, worst_ratio;
    char worst_name[128];
    int n, n_bad, n_close; /* close: within twice float32 PyTorch */
};

static void judge(struct verdict *v, const char *name, const float *x, size_t n)
{
    const struct parity_summary *const want = parity_find(fixture, v->section, name);
    double error, torch;

    if (!want)
        fail_msg("the fixture has no %s %s", v->section, name);
    error = parity_error(want, x, n);
    torch = fmax(want->err32, want->est32);
    v->n++;
    v->n_close += error <= fmax(error_floor, 2 * torch);
    if (error > fmax(v->least, 2 * torch)) { /* for a change: what PyTorch itself can not keep */
        print_message("%s %s: error %.3g, float32 PyTorch %.3g\n", v->section, name, error, torch);
        v->n_bad++;
    }
    if (error > v->worst) {
        v->worst = error;
        v->worst_ratio = error / torch;
        snprintf(v->worst_name, sizeof(v->worst_name), "%s", name);
    }
}

static void conclude(const struct verdict *v)
{
    print_message(
        "%s on %s: %d tensors, %d within twice float32 PyTorch's error; worst error %.3g of "
        "the norm (%s; %.2f times PyTorch's)\n",
        v->section, engine.backend->name, v->n, v->n_close, v->worst, v->worst_name,
        v->worst_ratio);
    assert_int_equal(v->n_bad, 0);
    assert_true(2 * v->n_close >= v->n);
}

static void judge_logits(struct model *m, const char *name)
{
    struct verdict v = {.section = "logits", .least = error_floor};
    float logits[PARITY_BATCH * PARITY_CLASSES];

    assert_int_equal(plan_read(&m->plan, "logits", logits, sizeof(logits)), 0);
    judge(&v, name, logits, PARITY_BATCH * PARITY_CLASSES);
    conclude(&v);
}

static void test_evaluation_logits(void **state)
{
    struct model m = {0};

    (void)state;
    make(&m, build(&m, GRAPH_EVAL));
    run_batch(&m, 0);
    judge_logits(&m, "eval");
    release(&m);
}

static void judge_gradients(struct model *m)
{
    struct verdict v = {.section = "grad", .least = is_reference() ? error_floor : error_limit};
    char name[128];

    for (int i = 0; i < m->store.n; i++) {
        const struct weight *const w = m->store.weights[i];
        float *g;

        if (w->kind != T_PARAM)
            continue;
        g = xcalloc(count_of(w), sizeof(float));
        assert_int_equal(plan_read(&m->plan, w->name, g, count_of(w) * sizeof(float)), 0);
        for (size_t k = 0; k < count_of(w); k++)
            g[k] /= PARITY_BATCH; /* ours is of the sum, PyTorch's of the mean; a power of two */
        judge(&v, torch_name(w->name, name), g, count_of(w));
        free(g);
    }
    assert_int_equal(v.n, 161);
    conclude(&v);
}

/* Reads a weight; the caller frees it. */
static float *read_weight(struct model *m, const struct weight *w)
{
    float *const x = xcalloc(count_of(w), sizeof(float));

    assert_int_equal(bank_read(&m->bank, 0, w, x), 0);
    return x;
}

static void judge_running(struct model *m)
{
    struct verdict v = {.section = "running", .least = error_floor};
    char name[128];
    int n_unbiased = 0;

    for (int i = 0; i < m->store.n; i++) {
        const struct weight *const w = m->store.weights[i];
        float *x;

        if (w->kind != T_STATE)
            continue;
        x = read_weight(m, w);
        judge(&v, torch_name(w->name, name), x, count_of(w));
        /* The biased variance would be another number wherever the batch's share is not tiny. */
        if (strstr(name, "running_var"))
            n_unbiased +=
                parity_error(parity_find(fixture, "running_biased", name), x, count_of(w)) >
                10 * parity_error(parity_find(fixture, "running", name), x, count_of(w));
        free(x);
    }
    assert_int_equal(v.n, 106);
    assert_true(n_unbiased > 20); /* of 53 */
    conclude(&v);
}

static void one_step(void)
{
    struct model m = {0};
    struct sum_weight loss = build(&m, GRAPH_TRAIN);
    const double want = parity_value(fixture, "loss", "f64");

    backward(&m.graph, loss.sum);
    for (int i = 0; i < m.store.n; i++)
        if (m.store.weights[i]->kind == T_PARAM)
            graph_output(&m.graph, m.store.weights[i]->name,
                         graph_grad(&m.graph, graph_bound(&m.graph, m.store.weights[i])));
    assert_int_equal((int)store_param_count(&m.store), 25557032);
    make(&m, loss);
    assert_true(fabs(run_batch(&m, 0) - want) < 1e-5 * want);
    judge_logits(&m, "train");
    judge_gradients(&m);
    judge_running(&m);
    release(&m);
}

static void test_loss_gradients_statistics(void **state)
{
    (void)state;
    one_step();
}

static void test_reference_loss_gradients_statistics(void **state)
{
    (void)state;
    engine_close(&engine);
    assert_int_equal(open_device("ref"), 0);
    one_step();
    engine_close(&engine);
    assert_int_equal(open_device(backends[0]->name), 0);
}

static double option(const char *kind, const char *name)
{
    char full[64];

    snprintf(full, sizeof(full), "%s.%s", kind, name);
    return parity_value(fixture, "option", full);
}

static struct optim optim_of(const char *kind)
{
    struct optim o = {.kind = OPTIMISER_sgd, .weight_decay = option(kind, "wd")};

    if (strcmp(kind, "adamw") == 0) {
        o.kind = OPTIMISER_adamw;
        o.beta1 = option(kind, "beta1");
        o.beta2 = option(kind, "beta2");
        o.eps = option(kind, "eps");
        return o;
    }
    o.momentum = option(kind, "momentum");
    o.nesterov = strcmp(kind, "nesterov") == 0;
    if (strncmp(kind, "lars", 4) == 0) {
        o.kind = OPTIMISER_lars;
        o.eta = option(kind, "trust");
        o.eps = option(kind, "eps");
        o.rate_outside = strcmp(kind, "lars_out") == 0;
    }
    return o;
}

/* Five steps; the losses on the way must agree too. */
static void run_steps(struct model *m, const char *kind)
{
    char section[64];
    const double *want;
    size_t n;

    snprintf(section, sizeof(section), "%s.loss", kind);
    want = parity_array(fixture, section, "f64", &n);
    assert_int_equal(n, PARITY_STEPS);
    for (int k = 0; k < PARITY_STEPS; k++) {
        const float lr = (float)option(kind, k < 3 ? "lr0" : "lr1"), count = (float)(k + 1);

        assert_int_equal(plan_write(&m->plan, "lr", &lr, sizeof(lr)), 0);
        if (plan_has_input(&m->plan, "step"))
            assert_int_equal(plan_write(&m->plan, "step", &count, sizeof(count)), 0);
        assert_true(fabs(run_batch(m, k) - want[k]) < 1e-4 * want[k]);
    }
}

static void five_steps(const char *kind)
{
    struct model m = {0};
    struct sum_weight loss = build(&m, GRAPH_TRAIN);
    const struct optim o = optim_of(kind);
    char section[64], name[128];
    struct verdict v = {.section = section, .least = error_limit};

    snprintf(section, sizeof(section), "%s.change", kind);
    optim_step(&m.graph, &o, loss);
    make(&m, loss);
    run_steps(&m, kind);
    for (int i = 0; i < m.store.n; i++) {
        const struct weight *const w = m.store.weights[i];
        float *x;

        if (w->kind != T_PARAM || !parity_find(fixture, section, torch_name(w->name, name)))
            continue;
        x = read_weight(&m, w);
        for (size_t k = 0; k < count_of(w); k++)
            x[k] -= m.start[i][k];
        judge(&v, name, x, count_of(w));
        free(x);
    }
    assert_true(v.n == 161 || v.n == 11);
    conclude(&v);
    release(&m);
}

#define FIVE_STEPS(kind)                                                                           \
    static void test_five_steps_##kind(void **state)                                               \
    {                                                                                              \
        (void)state;                                                                               \
        five_steps(#kind);                                                                         \
    }

FIVE_STEPS(sgd)
FIVE_STEPS(nesterov)
FIVE_STEPS(lars_in)
FIVE_STEPS(lars_out)
FIVE_STEPS(adamw)

/* An argument picks tests: test_parity 'test_five*'. */
int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_evaluation_logits),
        cmocka_unit_test(test_loss_gradients_statistics),
        cmocka_unit_test(test_reference_loss_gradients_statistics),
        cmocka_unit_test(test_five_steps_sgd),
        cmocka_unit_test(test_five_steps_nesterov),
        cmocka_unit_test(test_five_steps_lars_in),
        cmocka_unit_test(test_five_steps_lars_out),
        cmocka_unit_test(test_five_steps_adamw),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests_name("parity", tests, load, unload);
}
