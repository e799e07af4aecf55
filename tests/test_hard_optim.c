/* Hard inputs of the optimiser and the loss: tensors that LARS must not touch, norms of zero, ends
 * of schedules, label smoothing. Against closed forms written out here in double. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "backend/backend.h"
#include "graph_fixture.h"
#include "hard_outcome.h"
#include "train/settings.h"
#include "workloads/workload.h"

/* ---- LARS by class of tensor ---- */

enum { ROWS = 4, CLASSES = 3, N_TENSORS = 5, MAX_COUNT = 4 * 3 * 3 * 2 };

/* The names end in slashes and odd words: whom decay skips does not follow from a name. */
static const struct {
    const char *name, *grad;
    int plain, count;
} tensors[N_TENSORS] = {
    {"bn/gamma.weight", "g0", 0, 4 * 3 * 3 * 2},
    {"bn/gamma.bn.weight", "g1", 1, 4},
    {"bn/gamma.bn.bias", "g2", 1, 4},
    {"fc/bias.weight", "g3", 0, CLASSES * 4},
    {"fc/bias.bias", "g4", 1, CLASSES},
};

/* Which tensors start from zero, by bit, and whether the input is zero (hence the convolution's
 * gradient). */
struct lars_case {
    struct optim o;
    double lr;
    int zeros, no_input;
    const char *backend;
};

static struct lars_case lars_case_of(uint64_t *state)
{
    const int cpu = backend_find("cpu") != NULL;

    return (struct lars_case){
        .o = {.kind = OPTIMISER_lars,
              .momentum = draw(state, 10) / 10.0,
              .weight_decay = draw(state, 3) * 0.02,
              .eta = (1 + draw(state, 50)) / 100.0,
              .eps = draw(state, 2) * 0.01,
              .rate_outside = draw(state, 2)},
        .lr = (1 + draw(state, 20)) / 20.0,
        .zeros = draw(state, 1 << N_TENSORS) & draw(state, 1 << N_TENSORS),
        .no_input = draw(state, 3) == 0,
        .backend = cpu && draw(state, 2) ? "cpu" : "ref",
    };
}

static void lars_begin(struct rig *r, const struct lars_case *c, uint64_t stream)
{
    const int32_t labels[ROWS] = {0, 2, 1, 1};
    const float weights[ROWS] = {1, 1, 1, 1};
    float x[ROWS * 5 * 5 * 2] = {0}, zeros[MAX_COUNT] = {0};
    struct sum_weight loss;
    struct graph *const g = &r->graph;
    struct tensor *t;

    rig_begin(r, c->backend, GRAPH_TRAIN);
    t = graph_input(g, "x", DT_F32, SHAPE(ROWS, 5, 5, 2));
    t = conv2d(g, t, "bn/gamma", (struct conv){.out = 4, .k = 3});
    t = avgpool_all(g, batchnorm(g, t, "bn/gamma", (struct norm){0}));
    loss = softmax_xent(g, linear(g, t, "fc/bias", CLASSES, 0.5),
                        graph_input(g, "labels", DT_I32, SHAPE(ROWS)),
                        graph_input(g, "weights", DT_F32, SHAPE(ROWS)), (struct loss){0});
    optim_step(g, &c->o, loss);
    for (int i = 0; i < N_TENSORS; i++)
        graph_output(g, tensors[i].grad,
                     graph_grad(g, graph_bind(g, rig_weight(r, tensors[i].name))));
    assert_int_equal(rig_ready(r, (struct plan_options){0}), 0);
    for (int i = 0; i < N_TENSORS; i++)
        if (c->zeros >> i & 1)
            rig_set(r, tensors[i].name, zeros);
    if (!c->no_input)
        fill_normal(x, (int64_t)COUNT_OF(x), stream);
    assert_int_equal(plan_write(&r->plan, "x", x, sizeof(x)), 0);
    assert_int_equal(plan_write(&r->plan, "labels", labels, sizeof(labels)), 0);
    assert_int_equal(plan_write(&r->plan, "weights", weights, sizeof(weights)), 0);
    rig_write_scalar(r, "lr", (float)c->lr);
}

static double norm_of(const float *x, int n, double scale)
{
    double sum = 0;

    for (int i = 0; i < n; i++)
        sum += scale * (double)x[i] * scale * (double)x[i];
    return sqrt(sum);
}

/* The step of one tensor from its own gradient, and that the trust ratio was what it must be.
 * Returns whether trust was 1 for a norm of zero. */
static int check_tensor(struct rig *r, const struct lars_case *c, int i, const float *before)
{
    const int n = tensors[i].count;
    const double decay = tensors[i].plain ? 0 : c->o.weight_decay;
    float grad[MAX_COUNT], *const after = rig_get(r, tensors[i].name);
    double nw, ng, trust;

    assert_int_equal(plan_read(&r->plan, tensors[i].grad, grad, (size_t)n * sizeof(float)), 0);
    nw = norm_of(before, n, 1);
    ng = norm_of(grad, n, 1.0 / ROWS);
    trust =
        tensors[i].plain || nw <= 0 || ng <= 0 ? 1 : c->o.eta * nw / (ng + decay * nw + c->o.eps);
    for (int k = 0; k < n; k++) {
        const double w = (double)before[k], g = (double)grad[k] / ROWS;
        const double want = w - c->lr * trust * (g + decay * w);

        if (!(fabs((double)after[k] - want) < 2e-6 * (1 + fabs(want))))
            fail_msg("%s[%d] on %s: %.9g, expected %.9g", tensors[i].name, k, c->backend,
                     (double)after[k], want);
    }
    free(after);
    return !tensors[i].plain && (nw <= 0 || ng <= 0);
}

static void lars_by_class_of_tensor(void **state)
{
    enum { CASES = 150 };
    uint64_t draws = 11;
    int zero_norms = 0;

    (void)state;
    for (int k = 0; k < CASES; k++) {
        const struct lars_case c = lars_case_of(&draws);
        float *before[N_TENSORS];
        struct rig r;

        lars_begin(&r, &c, (uint64_t)k);
        for (int i = 0; i < N_TENSORS; i++)
            before[i] = rig_get(&r, tensors[i].name);
        rig_run(&r);
        for (int i = 0; i < N_TENSORS; i++) {
            zero_norms += check_tensor(&r, &c, i, before[i]);
            free(before[i]);
        }
        rig_end(&r);
    }
    assert_true(zero_norms > CASES / 2);
    outcome("E1", CASES,
            "LARS on five classes of tensor: gamma, beta and bias at the plain rate without decay, "
            "whatever their names; trust 1 in %d steps with a norm of zero",
            zero_norms);
}

/* ---- schedules ---- */

/* The closed form of step s: w steps of warm-up, t of them in all. */
static double closed_form(const struct train_settings *s, long long w, long long t, long long step)
{
    const double progress = fmin(1, (double)(step - w) / (double)(t - w + 1));

    if (step < w)
        return s->lr * (double)step / (double)w;
    switch ((enum schedule_kind)s->schedule) {
    case SCHEDULE_COSINE:
        return s->end_lr + (s->lr - s->end_lr) * 0.5 * (1 + cos(acos(-1.0) * progress));
    case SCHEDULE_POLYNOMIAL:
        return s->end_lr + (s->lr - s->end_lr) * pow(1 - progress, s->decay_power);
    default:
        return s->lr;
    }
}

static void rates_at_the_ends(void **state)
{
    static const double shares[] = {0, 0.96, 1, 2, -1}; /* epochs of warm-up; -1: all */
    static const int kinds[] = {SCHEDULE_CONSTANT, SCHEDULE_COSINE, SCHEDULE_POLYNOMIAL};
    uint64_t draws = 21;
    int rows = 0, variants = 0;

    (void)state;
    for (int k = 0; k < 300; k++, variants++) {
        const long long per_epoch = k < 5 ? 10 : 1 + draw(&draws, 5000);
        const double share = shares[k % 5];
        long long boundaries[MAX_BOUNDARIES];
        struct train_settings s;
        struct schedule sched;

        opt_defaults(&train_options, &s);
        s.epochs = k < 5 ? 5 : 3 + draw(&draws, 90);
        s.schedule = kinds[k / 5 % 3];
        s.lr = (1 + draw(&draws, 3000)) / 100.0;
        s.end_lr = 1e-4;
        s.decay_power = 2;
        s.warmup_epochs = share < 0 ? (double)s.epochs : share;
        assert_int_equal(train_schedule(&s, per_epoch, boundaries, &sched), 0);
        const long long t = s.epochs * per_epoch, w = llround(s.warmup_epochs * (double)per_epoch);
        const long long steps[] = {0, 1, w - 1, w, w + 1, t - 1, t, t + 1, 10 * t};
        for (size_t i = 0; i < COUNT_OF(steps); i++, rows++) {
            const long long step = steps[i] < 0 ? 0 : steps[i];
            const double want = closed_form(&s, w, t, step);
            if (!(fabs(schedule_rate(&sched, step) - want) <= 1e-6 * s.lr))
                fail_msg("step %lld of %lld, warm-up %lld: %.12g, expected %.12g", step, t, w,
                         schedule_rate(&sched, step), want);
        }
        assert_true(schedule_rate(&sched, 0) == (w > 0 ? 0 : s.lr));
        assert_true(schedule_rate(&sched, w) == s.lr);
        if (s.schedule != SCHEDULE_CONSTANT && w < t)
            assert_true(fabs(schedule_rate(&sched, t + 1) - s.end_lr) < 1e-15);
        opt_release(&train_options, &s);
    }
    outcome("E2", variants,
            "%d rates at steps 0, 1, w-1, w, w+1, last and behind it, as the closed form; warm-up "
            "of 0, 0.96, 1, 2 and all epochs; the end rate at step total + 1",
            rows);
}

/* ---- label smoothing ---- */

/* Row-wise logits with a margin for one class; the loss in closed form. With margin 0 it is ln C
 * for any smoothing; without smoothing a wide margin gives next to nothing. */
static double smooth_loss(int classes, double margin, double eps, int label_is_hot)
{
    const double log_z = log(exp(margin) + classes - 1);
    const double hot = log_z - margin, cold = log_z; /* -log p */
    const double on_label = label_is_hot ? hot : cold;
    const double all = hot + (classes - 1) * cold;

    return (1 - eps) * on_label + eps / classes * all;
}

static double loss_of(const char *backend, int classes, double margin, double eps, int label)
{
    float *const x = xcalloc((size_t)classes, sizeof(*x));
    const int32_t y = label;
    const float w = 1;
    struct sum_weight loss;
    struct rig r;
    double got;

    rig_begin(&r, backend, GRAPH_TRAIN);
    loss =
        softmax_xent(&r.graph, graph_input(&r.graph, "x", DT_F32, SHAPE(1, classes)),
                     graph_input(&r.graph, "y", DT_I32, SHAPE(1)),
                     graph_input(&r.graph, "w", DT_F32, SHAPE(1)), (struct loss){.smoothing = eps});
    graph_output(&r.graph, "loss", loss.sum);
    assert_int_equal(rig_ready(&r, (struct plan_options){0}), 0);
    x[0] = (float)margin;
    assert_int_equal(plan_write(&r.plan, "x", x, (size_t)classes * sizeof(*x)), 0);
    assert_int_equal(plan_write(&r.plan, "y", &y, sizeof(y)), 0);
    assert_int_equal(plan_write(&r.plan, "w", &w, sizeof(w)), 0);
    rig_run(&r);
    got = (double)rig_scalar(&r, "loss");
    rig_end(&r);
    free(x);
    return got;
}

static void smoothed_losses(void **state)
{
    static const char *const names[] = {"ref", "cpu"};
    static const int classes[] = {2, 3, 10, 1000, 1001};
    static const double eps[] = {0, 0.1, 0.5}, margins[] = {0, 1, 5, 20};
    int variants = 0;

    (void)state;
    for (size_t b = 0; b < COUNT_OF(names) && backend_find(names[b]); b++)
        for (size_t c = 0; c < COUNT_OF(classes); c++)
            for (size_t e = 0; e < COUNT_OF(eps); e++)
                for (size_t m = 0; m < COUNT_OF(margins); m++)
                    for (int label = 0; label < 2; label++, variants++) {
                        const double want = smooth_loss(classes[c], margins[m], eps[e], label == 0);
                        const double got = loss_of(names[b], classes[c], margins[m], eps[e], label);
                        if (!(fabs(got - want) <= 2e-6 * (1 + want)))
                            fail_msg("%s, %d classes, smoothing %g, margin %g: %.9g, expected %.9g",
                                     names[b], classes[c], eps[e], margins[m], got, want);
                    }
    outcome("E3", variants,
            "loss of a perfect, a uniform and a wrong prediction as (1-e)*onehot + e/C says, C = 2 "
            "to 1001");
}

/* The smoothing of each loss in a workload's graph; there must be one. */
static double smoothing_in(const struct task *task, enum graph_mode mode)
{
    struct store store;
    struct graph g;
    double found = -1;

    store_init(&store);
    graph_init(&g, &store, mode);
    task->build(task->context, &g, 1);
    assert_int_equal(graph_status(&g), 0);
    for (int i = 0; i < g.n_nodes; i++)
        if (g.nodes[i]->op == &op_softmax_xent)
            found = g.nodes[i]->attr.loss.smoothing;
    graph_release(&g);
    store_release(&store);
    return found;
}

static void evaluation_is_not_smoothed(void **state)
{
    static const char *const amounts[] = {"0", "0.1", "0.3"};
    const struct workload *const w = workload_find("resnet50");

    (void)state;
    for (size_t i = 0; i < COUNT_OF(amounts); i++) {
        struct workload_settings s = {.own = xcalloc(1, w->settings_bytes)};
        struct task task;

        opt_defaults(&train_options, &s.train);
        opt_defaults(&data_options, &s.data);
        opt_defaults(w->options, s.own);
        s.data.synthetic = 1;
        assert_int_equal(
            opt_set(opt_find(w->options, "label-smoothing"), s.own, amounts[i], "test"), 0);
        assert_int_equal(w->open(&s, 1, &task), 0);
        assert_true(smoothing_in(&task, GRAPH_TRAIN) == strtod(amounts[i], NULL));
        assert_true(smoothing_in(&task, GRAPH_EVAL) == 0);
        w->close(&task);
        opt_release(&train_options, &s.train);
        opt_release(&data_options, &s.data);
        opt_release(w->options, s.own);
        free(s.own);
    }
    outcome("E3", (int)COUNT_OF(amounts),
            "the evaluation's loss is not smoothed, the training's is");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lars_by_class_of_tensor),
        cmocka_unit_test(rates_at_the_ends),
        cmocka_unit_test(smoothed_losses),
        cmocka_unit_test(evaluation_is_not_smoothed),
    };

    return cmocka_run_group_tests_name("hard optim", tests, NULL, NULL);
}
