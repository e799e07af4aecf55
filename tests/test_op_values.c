/* What ops refuse, and values by hand where a formula has corners: ties, padding, repeated indices.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "case_input.h"
#include "graph_fixture.h"

/* Uses that must be refused. The message names scope, op and the shapes given in `says`. */
struct misuse {
    const struct op *op;
    struct case_input in[5];
    union attr attr;
    const char *says[2];
};

static const struct misuse misuses[] = {
    {&op_add, .in = {NORMAL(2, 3), NORMAL(2, 4)}, .says = {"[2,3]", "[2,4]"}},
    {&op_mul, .in = {NORMAL(2, 3), NORMAL(3)}, .says = {"[2,3]", "[3]"}},
    {&op_relu, .in = {PIXELS(2, 3)}, .says = {"u8 [2,3]", "f32 [2,3]"}},
    {&op_bias_add, .in = {NORMAL(2, 3), NORMAL(2)}, .says = {"[2]", "[3]"}},
    {&op_matmul, .in = {NORMAL(2, 3), NORMAL(4, 5)}, .says = {"[2,3]", "[4,5]"}},
    {&op_matmul, .in = {NORMAL(2, 3), NORMAL(3)}, .says = {"[3]", "2 dimensions"}},
    {&op_matmul, .in = {PIXELS(2, 3), NORMAL(3, 2)}, .says = {"u8 [2,3]", "f32"}},
    {&op_conv2d, .in = {NORMAL(2, 3), NORMAL(4, 1, 1, 3)}, .attr.conv = {4, 1, 1, 0},
     .says = {"[2,3]", "4 dimensions"}},
    {&op_conv2d, .in = {NORMAL(2, 5, 5, 3), NORMAL(4, 3, 3, 2)}, .attr.conv = {4, 3, 1, 1},
     .says = {"[4,3,3,2]", "[4,3,3,3]"}},
    {&op_conv2d, .in = {NORMAL(2, 2, 2, 3), NORMAL(4, 5, 5, 3)}, .attr.conv = {4, 5, 1, 1},
     .says = {"[2,2,2,3]", "5x5"}},
    {&op_conv2d, .in = {NORMAL(2, 5, 5, 3), NORMAL(4, 3, 3, 3)}, .attr.conv = {4, 3, 0, 1},
     .says = {"stride 0", "positive"}},
    {&op_maxpool, .in = {NORMAL(2, 2, 2, 3)}, .attr.pool = {3, 2, 0}, .says = {"[2,2,2,3]", "3x3"}},
    {&op_maxpool, .in = {NORMAL(2, 9, 9, 3)}, .attr.pool = {3, 2, 3},
     .says = {"window 3", "pad 3"}},
    {&op_maxpool, .in = {PIXELS(2, 9, 9, 3)}, .attr.pool = {3, 2, 1}, .says = {"u8", "[2,9,9,3]"}},
    {&op_avgpool, .in = {NORMAL(2, 3)}, .says = {"[2,3]", "4 dimensions"}},
    {&op_batchnorm, .in = {NORMAL(4), NORMAL(4), NORMAL(4), NORMAL(4), NORMAL(4)},
     .says = {"[4]", "2 dimensions"}},
    {&op_image_norm, .in = {NORMAL(1, 2, 2, 3)}, .says = {"f32 [1,2,2,3]", "u8"}},
    {&op_image_norm, .in = {PIXELS(1, 2, 2, 5)}, .says = {"5 channels", "4"}},
    {&op_softmax_xent, .in = {NORMAL(4, 7), RISING(3), SAMPLES(4)}, .says = {"[3]", "[4]"}},
    {&op_softmax_xent, .in = {NORMAL(4, 7), SAMPLES(4), SAMPLES(4)},
     .says = {"f32 [4]", "i32 [4]"}},
    {&op_softmax_xent, .in = {NORMAL(4, 7), RISING(4), SAMPLES(4)}, .attr.loss = {1.5},
     .says = {"1.5", "smoothing"}},
    {&op_top1, .in = {NORMAL(4, 7), RISING(4), SAMPLES(5)}, .says = {"[5]", "[4]"}},
    {&op_slice, .in = {NORMAL(4, 7)}, .attr.slice = {1, 5, 3}, .says = {"[4,7]", "5 to 8"}},
    {&op_slice, .in = {NORMAL(4, 7)}, .attr.slice = {2, 0, 1}, .says = {"[4,7]", "axis 2"}},
    {&op_concat, .in = {NORMAL(4, 7), NORMAL(3, 7)}, .says = {"[3,7]", "[4,7]"}},
    {&op_gather, .in = {NORMAL(4, 7), NORMAL(3)}, .says = {"f32 [3]", "i32 [3]"}},
    {&op_gather, .in = {NORMAL(4), RISING(3)}, .says = {"[4]", "[3]"}},
    {&op_topk, .in = {NORMAL(4, 7), RISING(3)}, .attr.topk = {2}, .says = {"[3]", "[4]"}},
    {&op_topk, .in = {NORMAL(4, 7), RISING(4)}, .says = {"k is 0", "at least 1"}},
    {&op_all_to_all, .in = {NORMAL(5, 2)}, .attr.exchange = {2}, .says = {"[5,2]", "2 ranks"}},
    {&op_assign, .in = {NORMAL(5, 2), NORMAL(5, 2)}, .says = {"[5,2]", "carry"}},
    {&op_sparse_sgd, .in = {NORMAL(7, 3), RISING(5), NORMAL(5, 2), COUNT(1)},
     .says = {"[5,2]", "[5,3]"}},
};

static void test_misuse_is_refused_with_scope_and_shapes(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(misuses); i++) {
        const struct misuse *const m = &misuses[i];
        struct tensor *in[COUNT_OF(m->in)];
        struct rig r;
        int n = 0;

        rig_begin(&r, "ref", GRAPH_TRAIN);
        scope_begin(&r.graph, "net");
        scope_begin(&r.graph, "layer%d", 3);
        for (; n < (int)COUNT_OF(in) && m->in[n].fill != FILL_NONE; n++)
            in[n] = graph_input(&r.graph, "x", m->in[n].dtype, m->in[n].shape);
        assert_null(graph_node(&r.graph, m->op, m->attr, in, n));
        assert_int_equal(graph_status(&r.graph), E_SHAPE);
        if (!strstr(err_reason(), "net.layer3: ") || !strstr(err_reason(), m->op->name) ||
            !strstr(err_reason(), m->says[0]) || !strstr(err_reason(), m->says[1]))
            fail_msg("%s does not hold net.layer3, %s, %s, %s", err_reason(), m->op->name,
                     m->says[0], m->says[1]);
        rig_end(&r);
    }
}

static void read_ints(struct rig *r, const char *output, const int *want, int n)
{
    int *const have = xmalloc((size_t)n * sizeof(int));

    assert_int_equal(plan_read(&r->plan, output, have, (size_t)n * sizeof(int)), 0);
    for (int i = 0; i < n; i++)
        assert_int_equal(have[i], want[i]);
    free(have);
}

static void read_floats(struct rig *r, const char *output, const float *want, int n)
{
    float *const have = xmalloc((size_t)n * sizeof(float));

    assert_int_equal(plan_read(&r->plan, output, have, (size_t)n * sizeof(float)), 0);
    for (int i = 0; i < n; i++)
        if (!(fabsf(have[i] - want[i]) <= 1e-6F))
            fail_msg("%s[%d] is %g, wanted %g", output, i, have[i], want[i]);
    free(have);
}

static void test_topk_by_hand(void **state)
{
    const float x[] = {1, 3, 3, 2, 5, -1, -2, 0}; /* equal values, and a count that hides the 5 */
    const int count[] = {4, 2};
    struct topk_out t;
    struct rig r;

    (void)state;
    rig_begin(&r, "ref", GRAPH_EVAL);
    t = topk(&r.graph, graph_input(&r.graph, "x", DT_F32, SHAPE(2, 4)),
             graph_input(&r.graph, "count", DT_I32, SHAPE(2)), 3);
    graph_output(&r.graph, "values", t.values);
    graph_output(&r.graph, "places", t.places);
    graph_output(&r.graph, "mask", t.mask);
    assert_int_equal(rig_ready(&r, (struct plan_options){0}), 0);
    assert_int_equal(plan_write(&r.plan, "x", x, sizeof(x)), 0);
    assert_int_equal(plan_write(&r.plan, "count", count, sizeof(count)), 0);
    rig_run(&r);
    read_floats(&r, "values", (const float[]){3, 3, 2, 5, -1, 0}, 6);
    read_ints(&r, "places", (const int[]){1, 2, 3, 0, 1, -1}, 6);
    read_floats(&r, "mask", (const float[]){1, 1, 1, 1, 1, 0}, 6);
    rig_end(&r);
}

static void test_sparse_gradient_by_hand(void **state)
{
    const int index[] = {5, 1, -1, 5, 1, 5};
    const float dy[] = {1, 10, 2, 20, 3, 30, 4, 40, 5, 50, 6, 60};
    struct node *n;
    struct rig r;

    (void)state;
    rig_begin(&r, "ref", GRAPH_EVAL);
    n = GRAPH_NODE(&r.graph, &op_gather_grad, (union attr){0},
                   graph_input(&r.graph, "index", DT_I32, SHAPE(6)),
                   graph_input(&r.graph, "dy", DT_F32, SHAPE(6, 2)),
                   graph_input(&r.graph, "table", DT_F32, SHAPE(9, 2)));
    graph_output(&r.graph, "indices", node_out(n, 0));
    graph_output(&r.graph, "rows", node_out(n, 1));
    graph_output(&r.graph, "count", node_out(n, 2));
    assert_int_equal(rig_ready(&r, (struct plan_options){0}), 0);
    assert_int_equal(plan_write(&r.plan, "index", index, sizeof(index)), 0);
    assert_int_equal(plan_write(&r.plan, "dy", dy, sizeof(dy)), 0);
    rig_run(&r);
    read_ints(&r, "indices", (const int[]){1, 5, -1, -1, -1, -1}, 6);
    read_floats(&r, "rows", (const float[]){7, 70, 11, 110, 0, 0, 0, 0, 0, 0, 0, 0}, 12);
    read_ints(&r, "count", (const int[]){2}, 1);
    rig_end(&r);
}

/* A row counts in loss and weight only with a weight and a label; top-1 takes the first of equals.
 */
static void test_loss_and_top1_by_hand(void **state)
{
    const float logits[] = {0, 0, 0, 0, 0, 0, 1, 2, 0, 0, 9, 0}, weights[] = {2, 0, 1, 1};
    const int labels[] = {0, 0, -1, 1};
    const double nine = log(exp(9) + 2) - 9;
    struct tensor *x, *y, *w;
    struct sum_weight loss;
    struct rig r;

    (void)state;
    rig_begin(&r, "ref", GRAPH_EVAL);
    x = graph_input(&r.graph, "x", DT_F32, SHAPE(4, 3));
    y = graph_input(&r.graph, "y", DT_I32, SHAPE(4));
    w = graph_input(&r.graph, "w", DT_F32, SHAPE(4));
    loss = softmax_xent(&r.graph, x, y, w, (struct loss){0});
    graph_output(&r.graph, "sum", loss.sum);
    graph_output(&r.graph, "weight", loss.weight);
    graph_output(&r.graph, "top1", top1(&r.graph, x, y, w));
    assert_int_equal(rig_ready(&r, (struct plan_options){0}), 0);
    assert_int_equal(plan_write(&r.plan, "x", logits, sizeof(logits)), 0);
    assert_int_equal(plan_write(&r.plan, "y", labels, sizeof(labels)), 0);
    assert_int_equal(plan_write(&r.plan, "w", weights, sizeof(weights)), 0);
    rig_run(&r);
    read_floats(&r, "sum", (const float[]){(float)(2 * log(3) + nine)}, 1);
    read_floats(&r, "weight", (const float[]){3}, 1);
    read_floats(&r, "top1", (const float[]){2}, 1);
    rig_end(&r);
}

/* One op on inputs given as floats, its outputs read back; those that it writes are weights. */
struct by_hand {
    const struct op *op;
    union attr attr;
    struct shape shape[8];
    const float *in[8];
    int n_in;
};

static void by_hand_begin(struct rig *r, const struct by_hand *h)
{
    struct tensor *in[COUNT_OF(h->in)];
    const struct node *n;
    char name[16];

    rig_begin(r, "ref", GRAPH_TRAIN);
    for (int i = 0; i < h->n_in; i++) {
        snprintf(name, sizeof(name), "in%d", i);
        in[i] = graph_weight(&r->graph, name, T_STATE, h->shape[i], (struct init){0},
                             (struct weight_attr){0});
    }
    n = graph_node(&r->graph, h->op, h->attr, in, h->n_in);
    for (int i = 0; n && i < h->op->n_out; i++) {
        snprintf(name, sizeof(name), "out%d", i);
        graph_output(&r->graph, name, n->out[i]);
    }
    if (rig_ready(r, (struct plan_options){0}) < 0)
        fail_msg("%s", err_reason());
    for (int i = 0; i < h->n_in; i++) {
        snprintf(name, sizeof(name), "in%d", i);
        rig_set(r, name, h->in[i]);
    }
    rig_run(r);
}

static void weight_is(struct rig *r, const char *name, const float *want, int n)
{
    float *const have = rig_get(r, name);

    for (int i = 0; i < n; i++)
        if (!(fabsf(have[i] - want[i]) <= 1e-6F))
            fail_msg("%s[%d] is %g, wanted %g", name, i, have[i], want[i]);
    free(have);
}

/* A 3x4 image under a 2x2 window with stride 2 and one row of zeros all around: windows start at -1
 * and 1, so the corners of the kernel meet the image one by one. */
static void test_conv2d_by_hand(void **state)
{
    const float x[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, w[] = {1, 10, 100, 1000};
    const struct by_hand h = {.op = &op_conv2d,
                              .attr.conv = {1, 2, 2, 1},
                              .shape = {SHAPE(1, 3, 4, 1), SHAPE(1, 2, 2, 1)},
                              .in = {x, w},
                              .n_in = 2};
    struct rig r;

    (void)state;
    by_hand_begin(&r, &h);
    read_floats(&r, "out0",
                (const float[]){1000, 2 * 100 + 3 * 1000, 4 * 100, 5 * 10 + 9 * 1000,
                                6 + 7 * 10 + 10 * 100 + 11 * 1000, 8 + 12 * 100},
                6);
    rig_end(&r);
}

/* Equal maxima: the first in the window wins; padding never does, even above negative values. */
static void test_maxpool_by_hand(void **state)
{
    const float x[] = {-5, -5, -5, -7, -1, -1, -9, -2, -1};
    const struct by_hand h = {.op = &op_maxpool,
                              .attr.pool = {3, 2, 1},
                              .shape = {SHAPE(1, 3, 3, 1)},
                              .in = {x},
                              .n_in = 1};
    unsigned char places[4];
    struct rig r;

    (void)state;
    by_hand_begin(&r, &h);
    read_floats(&r, "out0", (const float[]){-1, -1, -1, -1}, 4);
    assert_int_equal(plan_read(&r.plan, "out1", places, sizeof(places)), 0);
    assert_memory_equal(places, ((const unsigned char[]){8, 6, 2, 0}), 4);
    rig_end(&r);
}

/* x = 1, 2, 6: mean 3, biased variance 14/3, unbiased 7. */
static void test_batchnorm_by_hand(void **state)
{
    const float x[] = {1, 2, 6}, gamma[] = {2}, beta[] = {-1}, mean[] = {10}, var[] = {20};
    const float inv = (float)(1 / sqrt(14.0 / 3 + 0.25));
    const struct shape c = SHAPE(1);
    const struct by_hand h = {.op = &op_batchnorm,
                              .attr.norm = {0.25, 0.1, 0},
                              .shape = {SHAPE(3, 1), c, c, c, c},
                              .in = {x, gamma, beta, mean, var},
                              .n_in = 5};
    struct rig r;

    (void)state;
    by_hand_begin(&r, &h);
    read_floats(&r, "out0", (const float[]){-4 * inv - 1, -2 * inv - 1, 6 * inv - 1}, 3);
    read_floats(&r, "out1", (const float[]){3}, 1);
    read_floats(&r, "out2", (const float[]){inv}, 1);
    weight_is(&r, "in3", (const float[]){0.9F * 10 + 0.1F * 3}, 1);
    weight_is(&r, "in4", (const float[]){0.9F * 20 + 0.1F * 7}, 1);
    rig_end(&r);
}

static void test_frozen_batchnorm_by_hand(void **state)
{
    const float x[] = {1, 2, 6}, gamma[] = {2}, beta[] = {-1}, mean[] = {4}, var[] = {3.75F};
    const struct shape c = SHAPE(1);
    const struct by_hand h = {.op = &op_batchnorm,
                              .attr.norm = {0.25, 0.1, 1},
                              .shape = {SHAPE(3, 1), c, c, c, c},
                              .in = {x, gamma, beta, mean, var},
                              .n_in = 5};
    struct rig r;

    (void)state;
    by_hand_begin(&r, &h);
    read_floats(&r, "out0", (const float[]){-4, -3, 1}, 3);
    weight_is(&r, "in3", mean, 1);
    weight_is(&r, "in4", var, 1);
    rig_end(&r);
}

/* g = 0.5 * 4 = 2; d = 2 + 0.1 * 10 = 3; m = 0.9 * 1 + 3 = 3.9; rate 2 * 0.5 = 1. */
static void test_sgd_by_hand(void **state)
{
    const float w[] = {10}, g[] = {4}, m[] = {1}, lr[] = {0.5F}, by[] = {0.5F};
    struct by_hand h = {.op = &op_sgd,
                        .attr.update = {.momentum = 0.9, .weight_decay = 0.1, .lr_mult = 2},
                        .shape = {SHAPE(1), SHAPE(1), SHAPE(1)},
                        .in = {w, g, m, lr, by},
                        .n_in = 5};
    struct rig r;

    (void)state;
    by_hand_begin(&r, &h);
    weight_is(&r, "in2", (const float[]){3.9F}, 1);
    weight_is(&r, "in0", (const float[]){10 - 3.9F}, 1);
    rig_end(&r);
    h.attr.update.nesterov = 1;
    by_hand_begin(&r, &h);
    weight_is(&r, "in0", (const float[]){10 - (3 + 0.9F * 3.9F)}, 1);
    rig_end(&r);
    h.attr.update.plain = 1;
    by_hand_begin(&r, &h);
    weight_is(&r, "in2", (const float[]){2.9F}, 1);
    rig_end(&r);
}

/* |w| = 5, |g| = 10: trust = 0.1 * 5 / (10 + 0.2 * 5) = 1/22. */
static void test_lars_by_hand(void **state)
{
    const float w[] = {3, 4}, g[] = {6, 8}, m[] = {1, 2}, lr[] = {0.5F}, one[] = {1};
    const struct shape s = SHAPE(2);
    const float trust = 1.0F / 22;
    const float inside[] = {0.9F + 0.5F * trust * 6.6F, 1.8F + 0.5F * trust * 8.8F};
    const float outside[] = {0.9F + trust * 6.6F, 1.8F + trust * 8.8F};
    struct by_hand h = {
        .op = &op_lars,
        .attr.update = {.momentum = 0.9, .weight_decay = 0.2, .eta = 0.1, .lr_mult = 1},
        .shape = {s, s, s},
        .in = {w, g, m, lr, one},
        .n_in = 5};
    struct rig r;

    (void)state;
    by_hand_begin(&r, &h);
    weight_is(&r, "in2", inside, 2);
    weight_is(&r, "in0", (const float[]){3 - inside[0], 4 - inside[1]}, 2);
    rig_end(&r);
    h.attr.update.rate_outside = 1;
    by_hand_begin(&r, &h);
    weight_is(&r, "in2", outside, 2);
    weight_is(&r, "in0", (const float[]){3 - 0.5F * outside[0], 4 - 0.5F * outside[1]}, 2);
    rig_end(&r);
    h.attr.update.plain = 1;
    by_hand_begin(&r, &h);
    weight_is(&r, "in2", (const float[]){0.9F + 6, 1.8F + 8}, 2);
    rig_end(&r);
}

/* The first step: m/(1-b1) = g and v/(1-b2) = g^2, so w moves by lr * sign(g), after decay. */
static void test_adamw_by_hand(void **state)
{
    const float w[] = {10, 10}, g[] = {4, -3}, zero[] = {0, 0}, lr[] = {0.5F}, one[] = {1};
    const struct shape s = SHAPE(2);
    const struct by_hand h = {
        .op = &op_adamw,
        .attr.update = {.weight_decay = 0.1, .beta1 = 0.9, .beta2 = 0.99, .lr_mult = 1},
        .shape = {s, s, s, s},
        .in = {w, g, zero, zero, lr, one, one},
        .n_in = 7};
    struct rig r;

    (void)state;
    by_hand_begin(&r, &h);
    weight_is(&r, "in0", (const float[]){9.5F - 0.5F, 9.5F + 0.5F}, 2);
    weight_is(&r, "in2", (const float[]){0.4F, -0.3F}, 2);
    weight_is(&r, "in3", (const float[]){0.16F, 0.09F}, 2);
    rig_end(&r);
}

/* A scale that is not finite leaves weights and moments as they were. */
static void test_broken_scale_updates_nothing(void **state)
{
    const struct op *const updates[] = {&op_sgd, &op_lars, &op_adamw};
    const float w[] = {10}, g[] = {4}, m[] = {1}, v[] = {2}, lr[] = {0.5F}, bad[] = {NAN},
                step[] = {1};
    const struct shape s = SHAPE(1);
    struct by_hand h = {.attr.update = {.momentum = 0.9,
                                        .weight_decay = 0.1,
                                        .eta = 0.1,
                                        .beta1 = 0.9,
                                        .beta2 = 0.99,
                                        .lr_mult = 1},
                        .shape = {s, s, s},
                        .in = {w, g, m, lr, bad},
                        .n_in = 5};
    struct rig r;

    (void)state;
    for (size_t i = 0; i < COUNT_OF(updates); i++) {
        h.op = updates[i];
        if (h.op == &op_adamw)
            h = (struct by_hand){.op = h.op,
                                 .attr = h.attr,
                                 .shape = {s, s, s, s},
                                 .in = {w, g, m, v, lr, bad, step},
                                 .n_in = 7};
        by_hand_begin(&r, &h);
        weight_is(&r, "in0", w, 1);
        weight_is(&r, "in2", m, 1);
        rig_end(&r);
    }
}

static void test_scalars_by_hand(void **state)
{
    const float three[] = {3}, four[] = {4}, half[] = {0.5F}, inf[] = {INFINITY};
    const struct by_hand norm = {.op = &op_global_norm, .in = {three, four}, .n_in = 2};
    const struct by_hand clips = {
        .op = &op_clip_scale, .attr.reals = {.a = 1}, .in = {half, four}, .n_in = 2};
    const struct by_hand leaves = {
        .op = &op_clip_scale, .attr.reals = {.a = 3}, .in = {half, four}, .n_in = 2};
    const struct by_hand inverse = {.op = &op_reciprocal, .in = {four, three}, .n_in = 2};
    const struct by_hand guarded = {.op = &op_reciprocal, .in = {four, inf}, .n_in = 2};
    const struct by_hand *const all[] = {&norm, &clips, &leaves, &inverse, &guarded};
    const float want[] = {5, 0.25F, 0.5F, 0.25F, NAN};
    struct rig r;

    (void)state;
    for (size_t i = 0; i < COUNT_OF(all); i++) {
        float have;
        by_hand_begin(&r, all[i]);
        have = rig_scalar(&r, "out0");
        assert_true(isnan(want[i]) ? isnan(have) : fabsf(have - want[i]) <= 1e-6F);
        rig_end(&r);
    }
}

static void test_gather_names_an_index_past_the_table(void **state)
{
    const int index[] = {0, 4};
    struct rig r;

    (void)state;
    rig_begin(&r, "ref", GRAPH_EVAL);
    scope_begin(&r.graph, "words");
    graph_output(&r.graph, "y",
                 gather(&r.graph, graph_input(&r.graph, "table", DT_F32, SHAPE(4, 2)),
                        graph_input(&r.graph, "index", DT_I32, SHAPE(2))));
    assert_int_equal(rig_ready(&r, (struct plan_options){0}), 0);
    assert_int_equal(plan_write(&r.plan, "index", index, sizeof(index)), 0);
    assert_int_equal(plan_run(&r.plan, 0), E_DATA);
    assert_string_equal(err_reason(), "words: index 4 at element 1, but the table has 4 rows");
    rig_end(&r);
}

static void test_loss_names_a_label_past_the_classes(void **state)
{
    const int labels[] = {0, 3};
    struct sum_weight loss;
    struct rig r;

    (void)state;
    rig_begin(&r, "ref", GRAPH_EVAL);
    scope_begin(&r.graph, "loss");
    loss = softmax_xent(&r.graph, graph_input(&r.graph, "x", DT_F32, SHAPE(2, 3)),
                        graph_input(&r.graph, "y", DT_I32, SHAPE(2)),
                        constant(&r.graph, SHAPE(2), 1), (struct loss){0});
    graph_output(&r.graph, "loss", loss.sum);
    assert_int_equal(rig_ready(&r, (struct plan_options){0}), 0);
    assert_int_equal(plan_write(&r.plan, "y", labels, sizeof(labels)), 0);
    assert_int_equal(plan_run(&r.plan, 0), E_DATA);
    assert_string_equal(err_reason(), "loss: label 3 in row 1, but there are 3 classes");
    rig_end(&r);
}

static void test_all_to_all_of_many_ranks_is_declined_by_one(void **state)
{
    struct rig r;

    (void)state;
    rig_begin(&r, "ref", GRAPH_EVAL);
    graph_output(&r.graph, "y",
                 all_to_all(&r.graph, graph_input(&r.graph, "x", DT_F32, SHAPE(4, 2)),
                            (struct exchange){.ranks = 2}));
    assert_int_equal(rig_ready(&r, (struct plan_options){0}), E_UNSUPPORTED);
    assert_non_null(strstr(err_reason(), "2 ranks"));
    rig_end(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_misuse_is_refused_with_scope_and_shapes),
        cmocka_unit_test(test_topk_by_hand),
        cmocka_unit_test(test_sparse_gradient_by_hand),
        cmocka_unit_test(test_loss_and_top1_by_hand),
        cmocka_unit_test(test_conv2d_by_hand),
        cmocka_unit_test(test_maxpool_by_hand),
        cmocka_unit_test(test_batchnorm_by_hand),
        cmocka_unit_test(test_frozen_batchnorm_by_hand),
        cmocka_unit_test(test_sgd_by_hand),
        cmocka_unit_test(test_lars_by_hand),
        cmocka_unit_test(test_adamw_by_hand),
        cmocka_unit_test(test_broken_scale_updates_nothing),
        cmocka_unit_test(test_scalars_by_hand),
        cmocka_unit_test(test_gather_names_an_index_past_the_table),
        cmocka_unit_test(test_loss_names_a_label_past_the_classes),
        cmocka_unit_test(test_all_to_all_of_many_ranks_is_declined_by_one),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
