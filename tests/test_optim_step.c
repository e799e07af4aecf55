/* What optim/ builds around the update kernels: whom weight decay and LARS skip, the mean over the
 * weight of the loss, clipping, accumulation. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "graph_fixture.h"
#include "optim/optim.h"

enum { ROWS = 4, WIDE = 3, CLASSES = 3 };

static const float features[ROWS * WIDE] = {1, -2, 3, 0.5F, 1, -1, 2, 2, 0, -1, 0.25F, 1};
static const int labels[ROWS] = {0, 2, 1, 1};
static const float weights[ROWS] = {2, 0.5F, 0, 1}; /* 3.5 in all */

static struct sum_weight classifier(struct graph *g, int rows)
{
    struct tensor *const x = graph_input(g, "x", DT_F32, SHAPE(rows, WIDE));

    return softmax_xent(g, linear(g, x, "fc", CLASSES, 0.5),
                        graph_input(g, "labels", DT_I32, SHAPE(rows)),
                        graph_input(g, "weights", DT_F32, SHAPE(rows)), (struct loss){0});
}

/* Rows `from` to `from + rows` of the samples. */
static void feed(struct rig *r, int from, int rows)
{
    const size_t n = (size_t)rows;

    assert_int_equal(
        plan_write(&r->plan, "x", features + from * WIDE, n * WIDE * sizeof(features[0])), 0);
    assert_int_equal(plan_write(&r->plan, "labels", labels + from, n * sizeof(labels[0])), 0);
    assert_int_equal(plan_write(&r->plan, "weights", weights + from, n * sizeof(weights[0])), 0);
}

static void whole_begin(struct rig *r, struct optim o)
{
    struct sum_weight loss;

    rig_begin(r, "ref", GRAPH_TRAIN);
    loss = classifier(&r->graph, ROWS);
    optim_step(&r->graph, &o, loss);
    graph_output(&r->graph, "dw",
                 graph_grad(&r->graph, graph_bind(&r->graph, rig_weight(r, "fc.weight"))));
    graph_output(&r->graph, "db",
                 graph_grad(&r->graph, graph_bind(&r->graph, rig_weight(r, "fc.bias"))));
    assert_int_equal(rig_ready(r, (struct plan_options){0}), 0);
}

static void whole_step(struct rig *r, float lr)
{
    feed(r, 0, ROWS);
    rig_write_scalar(r, "lr", lr);
    rig_run(r);
}

static const struct op *const update_ops[N_OPTIMISERS] = {
    [OPTIMISER_sgd] = &op_sgd, [OPTIMISER_lars] = &op_lars, [OPTIMISER_adamw] = &op_adamw};

/* Batch norm and biases are plain, in every optimiser; nothing else is. */
static void test_batch_norm_and_biases_are_plain(void **state)
{
    static const char *const plain[] = {"conv.bn.weight", "conv.bn.bias", "fc.bias"};

    (void)state;
    for (int kind = 0; kind < N_OPTIMISERS; kind++) {
        const struct optim o = {.kind = (enum optimiser_id)kind, .weight_decay = 0.1, .eta = 0.1};
        struct tensor *x;
        int seen = 0;
        struct rig r;

        rig_begin(&r, "ref", GRAPH_TRAIN);
        x = graph_input(&r.graph, "x", DT_F32, SHAPE(ROWS, 5, 5, 2));
        x = conv2d(&r.graph, x, "conv", (struct conv){.out = 3, .k = 3});
        x = avgpool_all(&r.graph, batchnorm(&r.graph, x, "conv", (struct norm){0}));
        optim_step(&r.graph, &o,
                   softmax_xent(&r.graph, linear(&r.graph, x, "fc", CLASSES, 0.5),
                                graph_input(&r.graph, "labels", DT_I32, SHAPE(ROWS)),
                                graph_input(&r.graph, "weights", DT_F32, SHAPE(ROWS)),
                                (struct loss){0}));
        assert_int_equal(graph_status(&r.graph), 0);
        for (int i = 0; i < r.graph.n_nodes; i++) {
            const struct node *const n = r.graph.nodes[i];
            int wanted = 0;

            if (n->op != update_ops[kind])
                continue;
            for (size_t k = 0; k < COUNT_OF(plain); k++)
                wanted |= strcmp(n->in[0]->name, plain[k]) == 0;
            if (n->attr.update.plain != wanted)
                fail_msg("%s: %s is %splain", n->op->name, n->in[0]->name, wanted ? "not " : "");
            seen++;
        }
        assert_int_equal(seen, 5);
        rig_end(&r);
    }
}

/* w -= lr * (sum of the gradients) / (sum of the weights), not divided by the rows. */
static void test_a_step_is_by_the_weighted_mean(void **state)
{
    float *before, *after, dw[CLASSES * WIDE];
    struct rig r;

    (void)state;
    whole_begin(&r, (struct optim){.kind = OPTIMISER_sgd});
    before = rig_get(&r, "fc.weight");
    whole_step(&r, 0.5F);
    after = rig_get(&r, "fc.weight");
    assert_int_equal(plan_read(&r.plan, "dw", dw, sizeof(dw)), 0);
    for (size_t i = 0; i < COUNT_OF(dw); i++) {
        assert_true(fabsf(dw[i]) > 1e-3F);
        assert_true(fabsf(after[i] - (before[i] - 0.5F * dw[i] / 3.5F)) <= 1e-6F);
    }
    free(before);
    free(after);
    rig_end(&r);
}

static double square_change(struct rig *r, const char *name, const float *before)
{
    float *const after = rig_get(r, name);
    double sum = 0;

    for (int64_t i = 0; i < shape_count(rig_weight(r, name)->shape); i++)
        sum += ((double)after[i] - before[i]) * ((double)after[i] - before[i]);
    free(after);
    return sum;
}

/* The length of a step at rate 1 without momentum: the norm of the whole gradient, or the limit. */
static double step_length(double clip_norm)
{
    struct rig r;
    float *w, *b;
    double length;

    whole_begin(&r, (struct optim){.kind = OPTIMISER_sgd, .clip_norm = clip_norm});
    w = rig_get(&r, "fc.weight");
    b = rig_get(&r, "fc.bias");
    whole_step(&r, 1);
    length = sqrt(square_change(&r, "fc.weight", w) + square_change(&r, "fc.bias", b));
    free(w);
    free(b);
    rig_end(&r);
    return length;
}

static void test_the_norm_of_all_gradients_is_clipped(void **state)
{
    const double free_length = step_length(0);

    (void)state;
    assert_true(free_length > 0.1);
    assert_true(fabs(step_length(0.05) - 0.05) <= 1e-5);
    assert_true(fabs(step_length(2 * free_length) - free_length) <= 1e-5);
}

/* Two halves of unequal weight and then the update, three times over: as three whole steps. */
static void test_accumulated_steps_are_whole_steps(void **state)
{
    const struct optim o = {.kind = OPTIMISER_sgd, .momentum = 0.9, .clip_norm = 0.3};
    static const char *const names[] = {"fc.weight", "fc.bias"};
    const float lr = 0.25F;
    struct rig whole, parts;
    struct graph apply;
    struct plan update;

    (void)state;
    whole_begin(&whole, o);
    rig_begin(&parts, "ref", GRAPH_TRAIN);
    optim_accumulate(&parts.graph, &o, classifier(&parts.graph, ROWS / 2));
    graph_init(&apply, &parts.store, GRAPH_TRAIN);
    optim_apply(&apply, &o);
    assert_int_equal(rig_ready(&parts, (struct plan_options){0}), 0);
    assert_int_equal(
        plan_init(&update, &apply, &parts.bank, &parts.workspace, (struct plan_options){0}), 0);
    for (int step = 0; step < 3; step++) {
        whole_step(&whole, lr);
        for (int from = 0; from < ROWS; from += ROWS / 2) {
            feed(&parts, from, ROWS / 2);
            rig_run(&parts);
        }
        assert_int_equal(plan_write(&update, "lr", &lr, sizeof(lr)), 0);
        assert_int_equal(plan_run(&update, 0), 0);
        for (size_t i = 0; i < COUNT_OF(names); i++) {
            float *const w = rig_get(&whole, names[i]);

            if (sqrt(square_change(&parts, names[i], w)) > 1e-5)
                fail_msg("step %d: %s differs", step, names[i]);
            free(w);
        }
    }
    plan_release(&update);
    graph_release(&apply);
    rig_end(&parts);
    rig_end(&whole);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_batch_norm_and_biases_are_plain),
        cmocka_unit_test(test_a_step_is_by_the_weighted_mean),
        cmocka_unit_test(test_the_norm_of_all_gradients_is_clipped),
        cmocka_unit_test(test_accumulated_steps_are_whole_steps),
    };

    return cmocka_run_group_tests_name("optimiser step", tests, NULL, NULL);
}
