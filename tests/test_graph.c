/* Graph and store: sticky errors, scopes, binding by name, and what backward() gives and refuses.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "graph_fixture.h"

static struct tensor *weight(struct graph *g, const char *name, enum tensor_kind kind,
                             struct shape shape)
{
    return graph_weight(g, name, kind, shape, (struct init){INIT_NORMAL, 1},
                        (struct weight_attr){0});
}

static void test_first_error_sticks_with_its_scope(void **state)
{
    struct tensor *x, *y;
    struct rig r;

    (void)state;
    rig_begin(&r, "ref", GRAPH_TRAIN);
    scope_begin(&r.graph, "stem");
    x = graph_input(&r.graph, "x", DT_F32, SHAPE(2, 3));
    y = add(&r.graph, x, graph_input(&r.graph, "y", DT_F32, SHAPE(3, 2)));
    assert_null(y);
    scope_end(&r.graph);
    scope_begin(&r.graph, "later");
    y = relu(&r.graph, linear(&r.graph, y, "fc", 4, 1)); /* builders take NULL and go on */
    assert_null(y);
    assert_null(matmul(&r.graph, x, x, (struct matmul){0})); /* a second mistake is not reported */
    backward(&r.graph, y);
    graph_output(&r.graph, "y", y);
    scope_end(&r.graph);
    assert_int_equal(graph_status(&r.graph), E_SHAPE);
    assert_string_equal(err_reason(), "stem: add: input 1 is f32 [3,2], wanted f32 [2,3]");
    assert_int_equal(rig_ready(&r, (struct plan_options){0}), E_SHAPE); /* and the plan refuses */
    assert_non_null(strstr(err_reason(), "stem: add"));
    rig_end(&r);
}

static void test_scopes_name_weights_and_nodes(void **state)
{
    struct tensor *x;
    struct rig r;

    (void)state;
    rig_begin(&r, "ref", GRAPH_TRAIN);
    x = graph_input(&r.graph, "x", DT_F32, SHAPE(1, 4, 4, 3));
    scope_begin(&r.graph, "layer%d", 1);
    scope_begin(&r.graph, "%d", 0);
    x = conv2d(&r.graph, x, "conv1", (struct conv){.out = 5, .k = 3});
    x = batchnorm(&r.graph, x, "conv1", (struct norm){0});
    scope_end(&r.graph);
    scope_end(&r.graph);
    relu(&r.graph, x);
    assert_non_null(store_find(&r.store, "layer1.0.conv1.weight"));
    assert_non_null(store_find(&r.store, "layer1.0.conv1.bn.running_var"));
    assert_string_equal(r.graph.nodes[0]->scope, "layer1.0.conv1");
    assert_string_equal(r.graph.nodes[1]->scope, "layer1.0.conv1.bn");
    assert_string_equal(r.graph.nodes[2]->scope, "");
    assert_int_equal(store_param_count(&r.store), 5 * 3 * 3 * 3 + 5 + 5);
    rig_end(&r);
}

static struct tensor *small_net(struct graph *g)
{
    struct tensor *x = graph_input(g, "x", DT_F32, SHAPE(4, 5, 5, 2));

    x = conv2d(g, x, "conv", (struct conv){.out = 3, .k = 3, .pad = 1});
    x = relu(g, batchnorm(g, x, "bn", (struct norm){0}));
    return linear(g, avgpool_all(g, x), "fc", 2, 0.5);
}

static void test_evaluation_binds_to_what_training_made(void **state)
{
    struct graph eval, wrong;
    struct rig r;
    int made;

    (void)state;
    rig_begin(&r, "ref", GRAPH_TRAIN);
    small_net(&r.graph);
    made = r.store.n;
    store_seal(&r.store);
    graph_init(&eval, &r.store, GRAPH_EVAL);
    small_net(&eval);
    assert_int_equal(graph_status(&eval), 0);
    assert_int_equal(r.store.n, made);
    assert_ptr_equal(weight(&eval, "fc.weight", T_PARAM, SHAPE(2, 3))->weight,
                     store_find(&r.store, "fc.weight"));
    graph_init(&wrong, &r.store, GRAPH_EVAL);
    scope_begin(&wrong, "head");
    assert_null(weight(&wrong, "weight", T_PARAM, SHAPE(2, 3)));
    assert_int_equal(graph_status(&wrong), E_SHAPE);
    assert_non_null(strstr(err_reason(), "no weight is named head.weight"));
    graph_release(&wrong);
    graph_release(&eval);
    rig_end(&r);
}

/* The batch has mean 6 and another variance than the running one; neither moves what is saved. */
static void test_evaluation_uses_running_statistics(void **state)
{
    const float x[] = {3, 9}, mean[] = {1}, var[] = {4};
    struct tensor *y;
    float *after, have[2];
    struct rig r;

    (void)state;
    rig_begin(&r, "ref", GRAPH_EVAL);
    y = graph_input(&r.graph, "x", DT_F32, SHAPE(2, 1));
    graph_output(&r.graph, "y", batchnorm(&r.graph, y, "a", (struct norm){.eps = 1e-9}));
    assert_int_equal(rig_ready(&r, (struct plan_options){0}), 0);
    rig_set(&r, "a.bn.running_mean", mean);
    rig_set(&r, "a.bn.running_var", var);
    assert_int_equal(plan_write(&r.plan, "x", x, sizeof(x)), 0);
    rig_run(&r);
    assert_int_equal(plan_read(&r.plan, "y", have, sizeof(have)), 0);
    assert_true(fabsf(have[0] - 1) < 1e-6F && fabsf(have[1] - 4) < 1e-6F);
    after = rig_get(&r, "a.bn.running_mean");
    assert_true(after[0] == mean[0]);
    free(after);
    after = rig_get(&r, "a.bn.running_var");
    assert_true(after[0] == var[0]);
    free(after);
    rig_end(&r);
}

static void test_a_name_has_one_shape_and_one_kind(void **state)
{
    struct rig r;

    (void)state;
    for (int kind_differs = 0; kind_differs < 2; kind_differs++) {
        rig_begin(&r, "ref", GRAPH_TRAIN);
        assert_non_null(weight(&r.graph, "w", T_PARAM, SHAPE(2, 3)));
        assert_null(weight(&r.graph, "w", kind_differs ? T_STATE : T_PARAM,
                           kind_differs ? SHAPE(2, 3) : SHAPE(3, 2)));
        assert_int_equal(graph_status(&r.graph), E_SHAPE);
        assert_non_null(strstr(err_reason(), "weight w exists as f32 [2,3]"));
        rig_end(&r);
    }
}

/* loss = sum(w * a + w * b), so dw = a + b. */
static void test_tied_weight_adds_its_gradients(void **state)
{
    const float a[] = {1, 2, 3}, b[] = {10, 20, 30};
    struct tensor *w, *again;
    float grad[3];
    struct rig r;

    (void)state;
    rig_begin(&r, "ref", GRAPH_TRAIN);
    w = weight(&r.graph, "w", T_PARAM, SHAPE(3));
    again = weight(&r.graph, "w", T_PARAM, SHAPE(3));
    assert_ptr_equal(w, again);
    backward(
        &r.graph,
        sum(&r.graph, add(&r.graph, mul(&r.graph, w, graph_input(&r.graph, "a", DT_F32, SHAPE(3))),
                          mul(&r.graph, again, graph_input(&r.graph, "b", DT_F32, SHAPE(3))))));
    graph_output(&r.graph, "grad", graph_grad(&r.graph, w));
    assert_int_equal(rig_ready(&r, (struct plan_options){0}), 0);
    assert_int_equal(plan_write(&r.plan, "a", a, sizeof(a)), 0);
    assert_int_equal(plan_write(&r.plan, "b", b, sizeof(b)), 0);
    rig_run(&r);
    assert_int_equal(plan_read(&r.plan, "grad", grad, sizeof(grad)), 0);
    for (int i = 0; i < 3; i++)
        assert_true(grad[i] == a[i] + b[i]);
    rig_end(&r);
}

/* d(w * w)/dw = 2 w: one node that reads a tensor twice. */
static void test_a_tensor_read_twice_by_one_node(void **state)
{
    const float w_values[] = {1, -2, 3};
    struct tensor *w;
    float grad[3];
    struct rig r;

    (void)state;
    rig_begin(&r, "ref", GRAPH_TRAIN);
    w = weight(&r.graph, "w", T_PARAM, SHAPE(3));
    backward(&r.graph, sum(&r.graph, mul(&r.graph, w, w)));
    graph_output(&r.graph, "grad", graph_grad(&r.graph, w));
    assert_int_equal(rig_ready(&r, (struct plan_options){0}), 0);
    rig_set(&r, "w", w_values);
    rig_run(&r);
    assert_int_equal(plan_read(&r.plan, "grad", grad, sizeof(grad)), 0);
    for (int i = 0; i < 3; i++)
        assert_true(grad[i] == 2 * w_values[i]);
    rig_end(&r);
}

static int count_backward(const struct graph *g)
{
    int n = 0;

    for (int i = 0; i < g->n_nodes; i++)
        n += g->nodes[i]->backward;
    return n;
}

static void test_frozen_weight_costs_no_gradient(void **state)
{
    struct tensor *x, *frozen, *trained;
    struct rig r;

    (void)state;
    rig_begin(&r, "ref", GRAPH_TRAIN);
    x = graph_input(&r.graph, "x", DT_F32, SHAPE(2, 3));
    frozen = graph_weight(&r.graph, "frozen", T_PARAM, SHAPE(4, 3), (struct init){INIT_NORMAL, 1},
                          (struct weight_attr){.frozen = 1});
    trained = weight(&r.graph, "trained", T_PARAM, SHAPE(2, 4));
    x = matmul(&r.graph, x, frozen, (struct matmul){.transpose_b = 1});
    backward(&r.graph, sum(&r.graph, mul(&r.graph, x, trained)));
    assert_null(graph_grad(&r.graph, frozen));
    assert_null(graph_grad(&r.graph, x)); /* nothing below it trains */
    assert_non_null(graph_grad(&r.graph, trained));
    assert_int_equal(count_backward(&r.graph), 3); /* the seed, the sum's, the product's */
    for (int i = 0; i < r.graph.n_nodes; i++)
        assert_false(r.graph.nodes[i]->backward && r.graph.nodes[i]->op == &op_matmul);
    rig_end(&r);
}

static void test_dead_branch_gets_no_gradient(void **state)
{
    struct tensor *w, *unused, *dead;
    struct rig r;

    (void)state;
    rig_begin(&r, "ref", GRAPH_TRAIN);
    w = weight(&r.graph, "w", T_PARAM, SHAPE(3));
    unused = weight(&r.graph, "unused", T_PARAM, SHAPE(3));
    dead = relu(&r.graph, mul(&r.graph, w, unused)); /* feeds nothing */
    backward(&r.graph, sum(&r.graph, w));
    assert_non_null(graph_grad(&r.graph, w));
    assert_null(graph_grad(&r.graph, unused));
    assert_null(graph_grad(&r.graph, dead));
    assert_int_equal(count_backward(&r.graph), 2);
    rig_end(&r);
}

static void test_backward_nodes_carry_the_forward_scope(void **state)
{
    struct tensor *x;
    struct rig r;
    int seen = 0;

    (void)state;
    rig_begin(&r, "ref", GRAPH_TRAIN);
    scope_begin(&r.graph, "deep");
    x = linear(&r.graph, graph_input(&r.graph, "x", DT_F32, SHAPE(2, 3)), "fc", 4, 1);
    scope_end(&r.graph);
    backward(&r.graph, sum(&r.graph, x));
    for (int i = 0; i < r.graph.n_nodes; i++)
        if (r.graph.nodes[i]->backward && r.graph.nodes[i]->op == &op_matmul) {
            assert_string_equal(r.graph.nodes[i]->scope, "deep.fc");
            seen++;
        }
    assert_int_equal(seen, 1);
    assert_string_equal(r.graph.scope, "");
    rig_end(&r);
}

/* A carry that is assigned before backward() would give gradients of the new value. */
static void test_overwriting_before_backward_is_refused(void **state)
{
    struct rig r;

    (void)state;
    for (int late = 0; late < 2; late++) {
        struct tensor *h, *w, *y;
        rig_begin(&r, "ref", GRAPH_TRAIN);
        h = weight(&r.graph, "h", T_CARRY, SHAPE(3));
        w = weight(&r.graph, "w", T_PARAM, SHAPE(3));
        y = mul(&r.graph, h, w);
        if (!late)
            assign(&r.graph, h, y);
        backward(&r.graph, sum(&r.graph, y));
        if (late)
            assign(&r.graph, h, y);
        assert_int_equal(graph_status(&r.graph), late ? 0 : E_SHAPE);
        if (!late)
            assert_non_null(strstr(err_reason(), "h is overwritten before mul"));
        rig_end(&r);
    }
}

static void test_print_shows_every_node(void **state)
{
    struct str text = STR_INIT;
    struct rig r;
    int lines = 0;

    (void)state;
    rig_begin(&r, "ref", GRAPH_TRAIN);
    small_net(&r.graph);
    graph_print(&r.graph, &text);
    for (const char *s = text.s; *s; s++)
        lines += *s == '\n';
    assert_int_equal(lines, r.graph.n_nodes);
    assert_non_null(strstr(text.s, "conv2d"));
    assert_non_null(strstr(text.s, "[4,5,5,3]"));
    str_release(&text);
    rig_end(&r);
}

static void test_initial_values_follow_name_and_seed(void **state)
{
    const struct shape s = SHAPE(2000);
    const struct weight normal = {.name = "a", .shape = s, .init = {INIT_NORMAL, 0.5}};
    const struct weight cut = {.name = "a", .shape = s, .init = {INIT_TRUNCATED_NORMAL, 0.5}};
    const struct weight other = {.name = "b", .shape = s, .init = {INIT_NORMAL, 0.5}};
    float x[2000], y[2000];
    double squares = 0, top = 0;

    (void)state;
    weight_initial(&normal, 1, x);
    weight_initial(&normal, 1, y);
    assert_memory_equal(x, y, sizeof(x));
    weight_initial(&other, 1, y);
    assert_memory_not_equal(x, y, sizeof(x));
    weight_initial(&normal, 2, y);
    assert_memory_not_equal(x, y, sizeof(x));
    weight_initial(&cut, 1, x);
    for (size_t i = 0; i < COUNT_OF(x); i++) {
        squares += (double)x[i] * x[i];
        top = fabs(x[i]) > top ? fabs(x[i]) : top;
    }
    assert_true(fabs(sqrt(squares / 2000) - 0.5) < 0.03); /* four standard errors */
    assert_true(top <= 2 * 0.5 / 0.87962566103423978 + 1e-6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_first_error_sticks_with_its_scope),
        cmocka_unit_test(test_scopes_name_weights_and_nodes),
        cmocka_unit_test(test_evaluation_binds_to_what_training_made),
        cmocka_unit_test(test_evaluation_uses_running_statistics),
        cmocka_unit_test(test_a_name_has_one_shape_and_one_kind),
        cmocka_unit_test(test_tied_weight_adds_its_gradients),
        cmocka_unit_test(test_a_tensor_read_twice_by_one_node),
        cmocka_unit_test(test_frozen_weight_costs_no_gradient),
        cmocka_unit_test(test_dead_branch_gets_no_gradient),
        cmocka_unit_test(test_backward_nodes_carry_the_forward_scope),
        cmocka_unit_test(test_overwriting_before_backward_is_refused),
        cmocka_unit_test(test_print_shows_every_node),
        cmocka_unit_test(test_initial_values_follow_name_and_seed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
