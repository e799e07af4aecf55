/* Less precision: bf16 itself, where the precision pass puts it, what training in it and with a
 * scaled loss does to weights. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/bf16.h"
#include "base/file.h"
#include "base/str.h"
#include "graph_fixture.h"
#include "optim/loss_scale.h"
#include "optim/optim.h"

enum { BATCH = 4, SIZE = 6, CLASSES = 3 };

/* ---- the type ---- */

static void test_every_bf16_survives_the_way_to_float_and_back(void **state)
{
    (void)state;
    for (uint32_t i = 0; i <= 0xffff; i++) {
        const float f = bf16_to_float((uint16_t)i);
        if (isnan(f))
            assert_true(isnan(bf16_to_float(bf16_from_float(f))));
        else
            assert_int_equal(bf16_from_float(f), i);
    }
}

/* The two bf16 around a value are one step of the upper half apart. */
static void test_rounding_is_to_nearest_even(void **state)
{
    const struct random_key key = {3, RANDOM_TEST, 0};

    (void)state;
    for (uint64_t i = 0; i < 100000; i++) {
        const uint32_t bits = (uint32_t)random_hash(key, i) & 0xfeffffffu; /* far from infinity */
        const uint16_t down = (uint16_t)(bits >> 16), up = (uint16_t)(down + 1);
        float f;
        double below, above;
        memcpy(&f, &bits, sizeof(f));
        below = fabs((double)f - bf16_to_float(down));
        above = fabs((double)bf16_to_float(up) - f);
        if (below != above)
            assert_int_equal(bf16_from_float(f), below < above ? down : up);
        else
            assert_int_equal(bf16_from_float(f), down & 1 ? up : down);
    }
    assert_int_equal(bf16_from_float(1.00390625F), 0x3f80); /* a tie above an even one */
    assert_int_equal(bf16_from_float(1.01171875F), 0x3f82); /* and above an odd one */
    assert_true(isinf(bf16_to_float(bf16_from_float(3.4e38F))));
    assert_true(isnan(bf16_to_float(bf16_from_float(NAN))));
}

/* ---- the pass ---- */

static struct tensor *conv_bn(struct graph *g, struct tensor *x, const char *name, struct conv c)
{
    return batchnorm(g, conv2d(g, x, name, c), name, (struct norm){0});
}

/* Pixels to logits: every op that may be narrow, and some that may not. */
static struct tensor *net(struct graph *g)
{
    struct tensor *x = graph_input(g, "x", DT_U8, SHAPE(BATCH, SIZE, SIZE, 2));
    struct tensor *y, *skip;

    x = image_norm(g, x, (struct image_norm){{128, 128}, {0.02F, 0.02F}});
    x = relu(g, conv_bn(g, x, "stem", (struct conv){.out = 8, .k = 3, .pad = 1}));
    x = maxpool(g, x, (struct pool){.k = 3, .stride = 1, .pad = 1});
    y = conv_bn(g, x, "branch", (struct conv){.out = 8, .k = 3, .pad = 1, .stride = 2});
    skip = conv_bn(g, x, "skip", (struct conv){.out = 8, .k = 1, .stride = 2});
    x = relu(g, add(g, y, skip));
    return linear(g, avgpool_all(g, x), "fc", CLASSES, 0.5);
}

static struct sum_weight loss_of(struct graph *g, struct tensor *logits)
{
    return softmax_xent(g, logits, graph_input(g, "labels", DT_I32, SHAPE(BATCH)),
                        constant(g, SHAPE(BATCH), 1), (struct loss){0});
}

static void trained_begin(struct rig *r, const char *backend, struct optim o, enum dtype precision)
{
    struct sum_weight loss;
    struct tensor *logits;

    rig_begin(r, backend, GRAPH_TRAIN);
    logits = net(&r->graph);
    loss = loss_of(&r->graph, logits);
    graph_output(&r->graph, "logits", logits);
    graph_output(&r->graph, "features", logits->maker->in[0]->maker->in[0]);
    graph_output(&r->graph, "loss", loss.sum);
    optim_step(&r->graph, &o, loss);
    if (rig_ready(r, (struct plan_options){.precision = precision}) < 0)
        fail_msg("%s", err_reason());
}

static void feed(struct rig *r, float loss_scale)
{
    static const int labels[BATCH] = {0, 1, 2, 1};
    const struct random_key key = {1, RANDOM_TEST, 9};
    unsigned char x[BATCH * SIZE * SIZE * 2];

    for (size_t i = 0; i < sizeof(x); i++)
        x[i] = (unsigned char)random_hash(key, i);
    assert_int_equal(plan_write(&r->plan, "x", x, sizeof(x)), 0);
    assert_int_equal(plan_write(&r->plan, "labels", labels, sizeof(labels)), 0);
    rig_write_scalar(r, "lr", 0.05F);
    if (plan_has_input(&r->plan, "loss_scale"))
        rig_write_scalar(r, "loss_scale", loss_scale);
}

static void train(struct rig *r, int steps, float loss_scale)
{
    feed(r, loss_scale);
    for (int i = 0; i < steps; i++)
        rig_run(r);
}

static const struct optim sgd = {.kind = OPTIMISER_sgd, .momentum = 0.9, .weight_decay = 1e-3};

static const struct node *find_node(const struct graph *g, const struct op *op, const char *scope)
{
    for (int i = 0; i < g->n_nodes; i++)
        if (g->nodes[i]->op == op && strcmp(g->nodes[i]->scope, scope) == 0)
            return g->nodes[i];
    fail_msg("no %s in %s", op->name, scope);
    return NULL;
}

static void assert_types(const struct node *n, const char *want)
{
    char have[64] = "";

    for (int k = 0; k < n->n_in; k++)
        strcat(have, n->in[k]->dtype == DT_BF16 ? "b" : ".");
    strcat(have, ">");
    for (int k = 0; k < n->op->n_out; k++)
        strcat(have, n->out[k]->dtype == DT_BF16 ? "b" : ".");
    if (strcmp(have, want) != 0)
        fail_msg("%s in %s has types %s, wanted %s", n->op->name, n->scope, have, want);
}

static void test_activations_and_gradients_are_narrow_and_nothing_else(void **state)
{
    struct rig r;
    const struct graph *g;

    (void)state;
    trained_begin(&r, "ref", sgd, DT_BF16);
    g = &r.graph;
    assert_types(find_node(g, &op_image_norm, ""), ".>b");
    assert_types(find_node(g, &op_conv2d, "branch"), "bb>b");
    assert_types(find_node(g, &op_conv2d_grad_x, "branch"), "bbb>b");
    assert_types(find_node(g, &op_conv2d_grad_w, "branch"), "bb>.");
    assert_types(find_node(g, &op_bn_stats, "branch.bn"), "b>..");
    assert_types(find_node(g, &op_bn_apply, "stem.bn"), "b....>b");
    assert_types(find_node(g, &op_bn_apply, "branch.bn"), "b....b>b");
    assert_types(find_node(g, &op_bn_grad_reduce, "branch.bn"), "bb..>..");
    assert_types(find_node(g, &op_bn_grad_apply, "branch.bn"), "bb.....>b");
    assert_types(find_node(g, &op_maxpool, ""), "b>b.");
    assert_types(find_node(g, &op_maxpool_grad, ""), "b.b>b");
    assert_types(find_node(g, &op_relu_grad, ""), "bb>b");
    assert_types(find_node(g, &op_avgpool, ""), "b>.");
    assert_types(find_node(g, &op_avgpool_grad, ""), ".b>b");
    assert_types(find_node(g, &op_matmul, "fc"), "bb>.");
    assert_types(find_node(g, &op_softmax_xent, ""), "...>..");
    assert_types(find_node(g, &op_sgd, "stem.weight"), ".....>");
    for (int i = 0; i < g->n_tensors; i++)
        assert_false(g->tensors[i]->weight && g->tensors[i]->dtype != DT_F32);
    rig_end(&r);
}

static void test_what_is_read_is_f32(void **state)
{
    struct rig r;

    (void)state;
    trained_begin(&r, "ref", sgd, DT_BF16);
    for (int i = 0; i < r.graph.n_outputs; i++)
        assert_int_equal(r.graph.outputs[i].tensor->dtype, DT_F32);
    rig_end(&r);
}

/* A weight that forward and backward read is cast for both at once; no cast undoes another. */
static void test_each_tensor_is_cast_once(void **state)
{
    struct rig r;
    int casts = 0, of_weights = 0;

    (void)state;
    trained_begin(&r, "ref", sgd, DT_BF16);
    for (int i = 0; i < r.graph.n_nodes; i++) {
        const struct node *const n = r.graph.nodes[i];
        if (n->op != &op_cast)
            continue;
        casts++;
        of_weights += n->in[0]->weight != NULL;
        assert_false(n->in[0]->maker && n->in[0]->maker->op == &op_cast);
        for (int k = 0; k < i; k++)
            assert_false(r.graph.nodes[k]->op == &op_cast && r.graph.nodes[k]->in[0] == n->in[0]);
    }
    assert_int_equal(of_weights, 4); /* three convolutions and fc */
    assert_int_equal(casts, 4 + 2);  /* fc's input and the gradient that comes back to it */
    rig_end(&r);
}

static void test_f32_is_left_alone(void **state)
{
    struct rig r;

    (void)state;
    trained_begin(&r, "ref", sgd, DT_F32);
    for (int i = 0; i < r.graph.n_nodes; i++)
        assert_ptr_not_equal(r.graph.nodes[i]->op, &op_cast);
    rig_end(&r);
}

/* A copy of a tensor that was overwritten in between is not used again. */
static void test_a_stale_copy_is_made_anew(void **state)
{
    static const float two[] = {2, 2};
    struct rig r;
    struct tensor *w, *x;
    float y[2];

    (void)state;
    rig_begin(&r, "ref", GRAPH_TRAIN);
    x = graph_input(&r.graph, "x", DT_F32, SHAPE(1, 1));
    w = graph_weight(&r.graph, "w", T_STATE, SHAPE(2, 1), (struct init){INIT_CONSTANT, 1},
                     (struct weight_attr){0});
    graph_output(&r.graph, "before", matmul(&r.graph, x, w, (struct matmul){.transpose_b = 1}));
    accumulate(&r.graph, w, w);
    graph_output(&r.graph, "after", matmul(&r.graph, x, w, (struct matmul){.transpose_b = 1}));
    assert_int_equal(rig_ready(&r, (struct plan_options){.precision = DT_BF16}), 0);
    assert_int_equal(plan_write(&r.plan, "x", two, sizeof(float)), 0);
    rig_run(&r);
    assert_int_equal(plan_read(&r.plan, "before", y, sizeof(y)), 0);
    assert_true(y[0] == 2 && y[1] == 2);
    assert_int_equal(plan_read(&r.plan, "after", y, sizeof(y)), 0);
    assert_true(y[0] == 4 && y[1] == 4);
    rig_end(&r);
}

/* ---- what it computes ---- */

/* On ref, bf16 is rounding of what is stored: features are float32's up to a few roundings. */
static void test_ref_rounds_what_it_stores(void **state)
{
    float f[BATCH * 8], b[BATCH * 8];
    struct rig wide, narrow;
    double largest = 0;

    (void)state;
    trained_begin(&wide, "ref", sgd, DT_F32);
    trained_begin(&narrow, "ref", sgd, DT_BF16);
    train(&wide, 1, 0);
    train(&narrow, 1, 0);
    assert_int_equal(plan_read(&wide.plan, "features", f, sizeof(f)), 0);
    assert_int_equal(plan_read(&narrow.plan, "features", b, sizeof(b)), 0);
    for (size_t i = 0; i < COUNT_OF(f); i++)
        largest = fmax(largest, fabs((double)f[i] - b[i]) / fmax(1, fabs(f[i])));
    assert_true(largest > 1e-6 && largest < 0.03);
    rig_end(&wide);
    rig_end(&narrow);
}

/* The cosine between what two trainings did to a weight. */
static double cosine_of_change(struct rig *a, struct rig *b, const char *name)
{
    const struct weight *const w = rig_weight(a, name);
    const int64_t n = shape_count(w->shape);
    float *const x = rig_get(a, name), *const y = rig_get(b, name),
                 *const start = xmalloc((size_t)n * sizeof(float));
    double xy = 0, xx = 0, yy = 0;

    weight_initial(w, RIG_SEED, start);
    for (int64_t i = 0; i < n; i++) {
        const double u = (double)x[i] - start[i], v = (double)y[i] - start[i];
        xy += u * v;
        xx += u * u;
        yy += v * v;
    }
    free(x);
    free(y);
    free(start);
    return xy / sqrt(xx * yy);
}

static void test_training_goes_the_same_way(void **state)
{
    struct rig wide, narrow;

    (void)state;
    trained_begin(&wide, "ref", sgd, DT_F32);
    trained_begin(&narrow, "ref", sgd, DT_BF16);
    train(&wide, 5, 0);
    train(&narrow, 5, 0);
    for (int i = 0; i < wide.store.n; i++) {
        const char *const name = wide.store.weights[i]->name;
        double cosine;
        if (wide.store.weights[i]->kind != T_PARAM)
            continue;
        cosine = cosine_of_change(&wide, &narrow, name);
        if (!(cosine > 0.98))
            fail_msg("%s changed in another direction: cosine %g", name, cosine);
    }
    assert_true(fabs(rig_scalar(&wide, "loss") / rig_scalar(&narrow, "loss") - 1) < 0.05);
    rig_end(&wide);
    rig_end(&narrow);
}

static void test_a_bad_value_in_bf16_is_found(void **state)
{
    static const float huge[] = {1, 3e38F};
    struct rig r;
    struct tensor *x;

    (void)state;
    rig_begin(&r, "ref", GRAPH_EVAL);
    x = cast(&r.graph, graph_input(&r.graph, "x", DT_F32, SHAPE(2)), DT_BF16);
    scope_begin(&r.graph, "back");
    graph_output(&r.graph, "y", cast(&r.graph, x, DT_F32));
    scope_end(&r.graph);
    assert_int_equal(rig_ready(&r, (struct plan_options){0}), 0);
    assert_int_equal(plan_write(&r.plan, "x", huge, sizeof(huge)), 0);
    assert_int_equal(plan_run_checked(&r.plan, 0), 0);
    assert_int_equal(plan_write(&r.plan, "x", (const float[]){1, 3.4e38F}, sizeof(huge)), 0);
    assert_int_equal(plan_run_checked(&r.plan, 0), E_NUMERIC);
    assert_non_null(strstr(err_reason(), "cast in the graph: output 0 [2] is not finite at "
                                         "element 1"));
    rig_end(&r);
}

/* ---- the scaled loss ---- */

static void assert_weights(struct rig *a, struct rig *b, int equal)
{
    int same = 1;

    for (int i = 0; i < a->store.n; i++) {
        const struct weight *const w = a->store.weights[i];
        float *const x = rig_get(a, w->name), *const y = rig_get(b, w->name);
        if (w->kind == T_PARAM)
            same &= memcmp(x, y, (size_t)shape_count(w->shape) * sizeof(float)) == 0;
        free(x);
        free(y);
    }
    assert_int_equal(same, equal);
}

/* A power of two changes exponents only, so nothing at all. */
static void check_scale_is_undone(double clip_norm)
{
    struct optim plain = sgd, scaled = sgd;
    struct rig a, b;

    plain.clip_norm = scaled.clip_norm = clip_norm;
    scaled.scaled = 1;
    trained_begin(&a, "ref", plain, DT_F32);
    trained_begin(&b, "ref", scaled, DT_F32);
    train(&a, 3, 0);
    train(&b, 3, 4096);
    assert_true(isfinite(rig_scalar(&b, "update_scale")));
    assert_weights(&a, &b, 1);
    train(&b, 1, 4096);
    assert_weights(&a, &b, 0);
    rig_end(&a);
    rig_end(&b);
}

static void test_a_scaled_loss_trains_bit_for_bit_the_same(void **state)
{
    (void)state;
    check_scale_is_undone(0);
}

static void test_a_clipped_norm_is_that_of_the_unscaled_gradient(void **state)
{
    (void)state;
    check_scale_is_undone(0.01);
}

static void test_an_overflow_changes_no_weight(void **state)
{
    struct optim o = sgd;
    struct rig a, b;

    (void)state;
    o.scaled = 1;
    trained_begin(&a, "ref", o, DT_F32);
    trained_begin(&b, "ref", o, DT_F32);
    train(&a, 2, 1);
    train(&b, 2, 1);
    train(&b, 1, 3e38F);
    assert_true(isnan(rig_scalar(&b, "update_scale")));
    assert_true(isfinite(rig_scalar(&b, "loss")));
    assert_weights(&a, &b, 1);
    rig_end(&a);
    rig_end(&b);
}

static void test_a_dynamic_scale_follows(void **state)
{
    struct loss_scale s = loss_scale_new(0, 1);

    (void)state;
    assert_true(s.value == LOSS_SCALE_START);
    for (int i = 0; i < LOSS_SCALE_WINDOW - 1; i++)
        assert_int_equal(loss_scale_step(&s, 1), 0);
    assert_true(s.value == LOSS_SCALE_START);
    assert_int_equal(loss_scale_step(&s, 1), 0);
    assert_true(s.value == 2 * LOSS_SCALE_START && s.good_steps == 0);
    assert_int_equal(loss_scale_step(&s, 1), 0);
    assert_int_equal(loss_scale_step(&s, 0), 0);
    assert_true(s.value == LOSS_SCALE_START && s.good_steps == 0);
    while (s.value > 1)
        assert_int_equal(loss_scale_step(&s, 0), 0);
    assert_int_equal(loss_scale_step(&s, 0), E_NUMERIC);
    assert_non_null(strstr(err_reason(), "even at the loss scale 1"));
    s.value = LOSS_SCALE_MAX;
    for (int i = 0; i < 2 * LOSS_SCALE_WINDOW; i++)
        assert_int_equal(loss_scale_step(&s, 1), 0);
    assert_true(s.value == LOSS_SCALE_MAX);
}

static void test_a_static_scale_stays_and_stops(void **state)
{
    struct loss_scale s = loss_scale_new(128, 0);

    (void)state;
    for (int i = 0; i < 3 * LOSS_SCALE_WINDOW; i++)
        assert_int_equal(loss_scale_step(&s, 1), 0);
    assert_true(s.value == 128);
    assert_int_equal(loss_scale_step(&s, 0), E_NUMERIC);
    assert_non_null(strstr(err_reason(), "not finite at the loss scale 128"));
    assert_true(loss_scale_new(0, 0).value == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_bf16_survives_the_way_to_float_and_back),
        cmocka_unit_test(test_rounding_is_to_nearest_even),
        cmocka_unit_test(test_activations_and_gradients_are_narrow_and_nothing_else),
        cmocka_unit_test(test_what_is_read_is_f32),
        cmocka_unit_test(test_each_tensor_is_cast_once),
        cmocka_unit_test(test_f32_is_left_alone),
        cmocka_unit_test(test_a_stale_copy_is_made_anew),
        cmocka_unit_test(test_ref_rounds_what_it_stores),
        cmocka_unit_test(test_training_goes_the_same_way),
        cmocka_unit_test(test_a_bad_value_in_bf16_is_found),
        cmocka_unit_test(test_a_scaled_loss_trains_bit_for_bit_the_same),
        cmocka_unit_test(test_a_clipped_norm_is_that_of_the_unscaled_gradient),
        cmocka_unit_test(test_an_overflow_changes_no_weight),
        cmocka_unit_test(test_a_dynamic_scale_follows),
        cmocka_unit_test(test_a_static_scale_stays_and_stops),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
