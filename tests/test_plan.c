/* From graph to run: passes, planned memory, weight sets, the checked run, the printed plan, and
 * that a run allocates nothing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "alloc_count.h"
#include "base/file.h"
#include "base/str.h"
#include "graph_fixture.h"

enum { BATCH = 4, SIZE = 6, CLASSES = 3 };

static struct tensor *conv_bn(struct graph *g, struct tensor *x, const char *name, struct conv c)
{
    return batchnorm(g, conv2d(g, x, name, c), name, (struct norm){0});
}

/* One plain and one residual unit, whose skip is computed after the branch it is added to. */
static struct tensor *small_logits(struct graph *g)
{
    struct tensor *x = graph_input(g, "x", DT_F32, SHAPE(BATCH, SIZE, SIZE, 2));
    struct tensor *y, *skip;

    x = relu(g, conv_bn(g, x, "stem", (struct conv){.out = 4, .k = 3, .pad = 1}));
    y = conv_bn(g, x, "branch", (struct conv){.out = 5, .k = 3, .pad = 1, .stride = 2});
    skip = conv_bn(g, x, "skip", (struct conv){.out = 5, .k = 1, .stride = 2});
    x = relu(g, add(g, y, skip));
    return linear(g, avgpool_all(g, x), "fc", CLASSES, 0.5);
}

static void small_updates(struct graph *g)
{
    struct tensor *const lr = graph_input(g, "lr", DT_F32, shape_scalar());
    struct tensor *const one = constant(g, shape_scalar(), 1);
    const int n = g->n_tensors;

    for (int i = 0; i < n; i++) {
        struct tensor *const t = g->tensors[i], *m;
        if (t->kind != T_PARAM)
            continue;
        scope_begin(g, "%s", t->name);
        m = graph_weight(g, "momentum", T_STATE, t->shape, (struct init){0},
                         (struct weight_attr){0});
        sgd_update(g, t, graph_grad(g, t), m, lr, one,
                   (struct update){.momentum = 0.9, .lr_mult = 1});
        scope_end(g);
    }
}

static void small_build(struct graph *g)
{
    struct tensor *const logits = small_logits(g);
    struct tensor *const labels = graph_input(g, "labels", DT_I32, SHAPE(BATCH));
    const struct sum_weight loss =
        softmax_xent(g, logits, labels, constant(g, SHAPE(BATCH), 1), (struct loss){0});

    graph_output(g, "logits", logits);
    graph_output(g, "loss", loss.sum);
    if (g->mode == GRAPH_TRAIN) {
        backward(g, loss.sum);
        small_updates(g);
    }
}

static void small_inputs(struct rig *r)
{
    static const int labels[BATCH] = {0, 1, 2, 1};
    float x[BATCH * SIZE * SIZE * 2];

    fill_normal(x, COUNT_OF(x), 5);
    assert_int_equal(plan_write(&r->plan, "x", x, sizeof(x)), 0);
    assert_int_equal(plan_write(&r->plan, "labels", labels, sizeof(labels)), 0);
    if (r->graph.mode == GRAPH_TRAIN)
        rig_write_scalar(r, "lr", 0.1F);
}

static void small_begin(struct rig *r, enum graph_mode mode, unsigned without)
{
    rig_begin(r, "ref", mode);
    small_build(&r->graph);
    if (rig_ready(r, (struct plan_options){.without = without}) < 0)
        fail_msg("%s", err_reason());
    small_inputs(r);
}

/* All outputs and all weights of two rigs of one net agree within tol. */
static void assert_same(struct rig *a, struct rig *b, float tol)
{
    float x[BATCH * CLASSES], y[BATCH * CLASSES];

    assert_int_equal(plan_read(&a->plan, "logits", x, sizeof(x)), 0);
    assert_int_equal(plan_read(&b->plan, "logits", y, sizeof(y)), 0);
    for (size_t i = 0; i < COUNT_OF(x); i++)
        assert_true(fabsf(x[i] - y[i]) <= tol);
    assert_true(fabsf(rig_scalar(a, "loss") - rig_scalar(b, "loss")) <= tol);
    for (int i = 0; i < a->store.n; i++) {
        const struct weight *const w = a->store.weights[i];
        float *const u = rig_get(a, w->name), *const v = rig_get(b, w->name);
        for (int64_t k = 0; k < shape_count(w->shape); k++)
            if (!(fabsf(u[k] - v[k]) <= tol))
                fail_msg("%s[%d]: %g and %g", w->name, (int)k, u[k], v[k]);
        free(u);
        free(v);
    }
}

static void test_without_lowering_the_op_is_named(void **state)
{
    struct rig r;

    (void)state;
    rig_begin(&r, "ref", GRAPH_TRAIN);
    small_build(&r.graph);
    assert_int_equal(rig_ready(&r, (struct plan_options){.without = 1u << PASS_lower}),
                     E_UNSUPPORTED);
    assert_string_equal(err_reason(), "stem.bn: backend ref has no kernel for op batchnorm");
    rig_end(&r);
}

static int count_op(const struct plan *p, const struct op *op)
{
    int n = 0;

    for (int i = 0; i < p->n_steps; i++)
        n += p->steps[i].node->op == op;
    return n;
}

static void test_fusion_changes_steps_and_no_number(void **state)
{
    struct rig fused, plain;

    (void)state;
    for (enum graph_mode mode = GRAPH_EVAL; mode <= GRAPH_TRAIN; mode++) {
        small_begin(&fused, mode, 0);
        small_begin(&plain, mode, 1u << PASS_fuse);
        assert_int_equal(count_op(&plain.plan, &op_relu), 2);
        assert_int_equal(count_op(&fused.plan, &op_relu), 0);
        assert_int_equal(count_op(&fused.plan, &op_add), mode == GRAPH_TRAIN ? 1 : 0);
        assert_int_equal(count_op(&plain.plan, &op_add) - count_op(&fused.plan, &op_add), 1);
        assert_int_equal(count_op(&plain.plan, &op_relu_grad), mode == GRAPH_TRAIN ? 2 : 0);
        assert_int_equal(count_op(&fused.plan, &op_relu_grad), mode == GRAPH_TRAIN ? 1 : 0);
        assert_int_equal(plain.plan.n_steps - fused.plan.n_steps, mode == GRAPH_TRAIN ? 4 : 3);
        for (int step = 0; step < 3; step++) {
            rig_run(&fused);
            rig_run(&plain);
            assert_same(&fused, &plain, 1e-6F);
        }
        rig_end(&fused);
        rig_end(&plain);
    }
}

/* A batch-norm result, or its sum with the skip, that something else reads can not be swallowed. */
static void test_fusion_keeps_what_others_read(void **state)
{
    struct tensor *x, *y;
    struct rig r;

    (void)state;
    for (int residual = 0; residual < 2; residual++) {
        rig_begin(&r, "ref", GRAPH_EVAL);
        x = graph_input(&r.graph, "x", DT_F32, SHAPE(2, 3, 3, 2));
        y = batchnorm(&r.graph, x, "bn", (struct norm){0});
        y = residual ? add(&r.graph, y, x) : y;
        graph_output(&r.graph, "before", y);
        graph_output(&r.graph, "after", relu(&r.graph, y));
        assert_int_equal(rig_ready(&r, (struct plan_options){0}), 0);
        assert_int_equal(count_op(&r.plan, &op_relu), 1);
        assert_int_equal(count_op(&r.plan, &op_add), residual);
        rig_end(&r);
    }
}

/* The gradient of a ReLU that something else reads, too, stays a step of its own. */
static void test_a_relu_gradient_that_others_read_stays(void **state)
{
    struct tensor *x, *y;
    struct rig r;

    (void)state;
    rig_begin(&r, "ref", GRAPH_TRAIN);
    x = graph_input(&r.graph, "x", DT_F32, SHAPE(2, 3, 3, 2));
    x = conv2d(&r.graph, x, "conv", (struct conv){.out = 2});
    y = batchnorm(&r.graph, x, "bn", (struct norm){0});
    backward(&r.graph, sum(&r.graph, relu(&r.graph, y)));
    graph_output(&r.graph, "dy", graph_grad(&r.graph, y));
    graph_output(&r.graph, "dx", graph_grad(&r.graph, x));
    assert_int_equal(rig_ready(&r, (struct plan_options){0}), 0);
    assert_int_equal(count_op(&r.plan, &op_relu_grad), 1);
    rig_end(&r);
}

/* relu(conv x) goes two ways; its gradient is that of their sum. With `seen` something else reads
 * the sum, too. */
static void two_ways(struct rig *r, unsigned without, int seen)
{
    struct graph *const g = &r->graph;
    struct tensor *x, *z, *h, *y;

    rig_begin(r, "ref", GRAPH_TRAIN);
    x = graph_input(g, "x", DT_F32, SHAPE(2, 3, 3, 2));
    z = conv2d(g, x, "first", (struct conv){.out = 4, .k = 3, .pad = 1});
    h = relu(g, z);
    y = add(g, conv2d(g, h, "second", (struct conv){.out = 4}), h);
    backward(g, sum(g, y));
    if (seen)
        graph_output(g, "dh", graph_grad(g, h));
    graph_output(g, "dz", graph_grad(g, z));
    assert_int_equal(rig_ready(r, (struct plan_options){.without = without}), 0);
}

enum { TWO_WAYS_DZ = 2 * 3 * 3 * 4 };

static void run_two_ways(struct rig *r, float dz[TWO_WAYS_DZ])
{
    float x[2 * 3 * 3 * 2];
    int positive = 0;

    for (size_t i = 0; i < COUNT_OF(x); i++)
        x[i] = (float)((int)(i * 7 % 11) - 5);
    assert_int_equal(plan_write(&r->plan, "x", x, sizeof(x)), 0);
    assert_int_equal(plan_run(&r->plan, 0), 0);
    assert_int_equal(plan_read(&r->plan, "dz", dz, TWO_WAYS_DZ * sizeof(*dz)), 0);
    for (size_t i = 0; i < TWO_WAYS_DZ; i++)
        positive += dz[i] != 0;
    assert_in_range(positive, TWO_WAYS_DZ / 4, TWO_WAYS_DZ - 1);
}

static void test_a_sum_joins_the_gradient_of_relu(void **state)
{
    float one[TWO_WAYS_DZ], other[TWO_WAYS_DZ];
    struct rig fused, plain, seen;

    (void)state;
    two_ways(&fused, 0, 0);
    two_ways(&plain, 1u << PASS_fuse, 0);
    two_ways(&seen, 0, 1);
    assert_int_equal(count_op(&plain.plan, &op_add), 2);
    assert_int_equal(count_op(&fused.plan, &op_add), 1);
    assert_int_equal(count_op(&seen.plan, &op_add), 2);
    run_two_ways(&fused, one);
    run_two_ways(&plain, other);
    assert_memory_equal(one, other, sizeof(one));
    rig_end(&fused);
    rig_end(&plain);
    rig_end(&seen);
}

static void test_prune_drops_what_nobody_reads(void **state)
{
    struct rig r;

    (void)state;
    for (unsigned without = 0; without <= 1u << PASS_prune; without += 1u << PASS_prune) {
        struct tensor *x;
        rig_begin(&r, "ref", GRAPH_EVAL);
        x = graph_input(&r.graph, "x", DT_F32, SHAPE(2, 3));
        sigmoid(&r.graph, scale(&r.graph, x, 2)); /* a chain to nowhere */
        graph_output(&r.graph, "y", relu(&r.graph, x));
        clear(&r.graph, graph_weight(&r.graph, "sum", T_CARRY, SHAPE(3), (struct init){0},
                                     (struct weight_attr){0})); /* writes: must stay */
        assert_int_equal(rig_ready(&r, (struct plan_options){.without = without}), 0);
        assert_int_equal(r.plan.n_steps, without ? 4 : 2);
        assert_int_equal(count_op(&r.plan, &op_clear), 1);
        rig_end(&r);
    }
}

/* Lifetimes, again, from the definition: from the step that makes a tensor (0 for inputs) to the
 * last that reads it (past the end for inputs and outputs). */
static void lifetime(const struct graph *g, const struct tensor *t, int *first, int *last)
{
    *first = t->kind == T_INPUT ? 0 : -1;
    *last = t->kind == T_INPUT ? g->n_nodes : -1;
    for (int i = 0; i < g->n_nodes; i++) {
        int touches = 0;
        for (int k = 0; k < g->nodes[i]->n_in; k++)
            touches |= g->nodes[i]->in[k] == t;
        for (int k = 0; k < g->nodes[i]->op->n_out; k++)
            touches |= g->nodes[i]->out[k] == t;
        if (touches && *first < 0)
            *first = i;
        if (touches && *last < i)
            *last = i;
    }
    for (int i = 0; i < g->n_outputs; i++)
        if (g->outputs[i].tensor == t)
            *last = g->n_nodes;
}

/* b is made from a, in a's place, by an op that says that it can. */
static int takes_over(const struct tensor *a, const struct tensor *b)
{
    const struct node *const n = b->maker;
    int allowed = 0;

    for (int k = 0; n && k < n->n_in; k++)
        allowed |= n->in[k] == a && n->op->in_place >> k & 1;
    return allowed && n->out[0] == b && a->kind == T_VALUE;
}

static int share_bytes(const struct memory *m, const struct tensor *a, const struct tensor *b)
{
    return m->offset[a->id] < m->offset[b->id] + tensor_bytes(b) &&
           m->offset[b->id] < m->offset[a->id] + tensor_bytes(a);
}

static void check_pair(const struct plan *p, const struct tensor *a, const struct tensor *b)
{
    int a_first, a_last, b_first, b_last;

    lifetime(p->graph, a, &a_first, &a_last);
    lifetime(p->graph, b, &b_first, &b_last);
    if (a_first < 0 || b_first < 0 || a_last < b_first || b_last < a_first)
        return;
    if ((a_last == b_first && takes_over(a, b)) || (b_last == a_first && takes_over(b, a)))
        return;
    if (share_bytes(&p->memory, a, b))
        fail_msg("tensors %d (steps %d to %d) and %d (steps %d to %d) share bytes", a->id, a_first,
                 a_last, b->id, b_first, b_last);
}

static int in_arena(const struct tensor *t)
{
    return t->kind == T_VALUE || t->kind == T_INPUT;
}

static void test_no_two_live_tensors_share_bytes(void **state)
{
    struct rig r;

    (void)state;
    small_begin(&r, GRAPH_TRAIN, 0);
    for (int i = 0; i < r.graph.n_tensors; i++) {
        const struct tensor *const a = r.graph.tensors[i];
        if (!in_arena(a))
            continue;
        assert_true(r.plan.memory.offset[i] % MEMORY_ALIGN == 0);
        assert_true(r.plan.memory.first[i] < 0 ||
                    r.plan.memory.offset[i] + tensor_bytes(a) <= r.plan.memory.arena_bytes);
        for (int k = 0; k < i; k++)
            if (in_arena(r.graph.tensors[k]))
                check_pair(&r.plan, r.graph.tensors[k], a);
    }
    assert_true(r.plan.memory.shared > 0);
    assert_true(r.plan.memory.arena_bytes * 3 < r.plan.memory.sum_bytes * 2);
    rig_end(&r);
}

/* No step reads what this run has not written, scratch included. */
static void test_run_from_poisoned_memory(void **state)
{
    struct rig clean, poisoned;

    (void)state;
    small_begin(&clean, GRAPH_TRAIN, 0);
    small_begin(&poisoned, GRAPH_TRAIN, 0);
    for (int step = 0; step < 3; step++) {
        memset(poisoned.workspace.base, 0xff, poisoned.workspace.bytes); /* NaN as float32 */
        small_inputs(&poisoned);
        rig_run(&poisoned);
        rig_run(&clean);
        assert_same(&clean, &poisoned, 0);
    }
    rig_end(&clean);
    rig_end(&poisoned);
}

static void test_a_second_weight_set(void **state)
{
    struct rig one, two, fresh;
    float *before, *after;
    float loss;
    int set;

    (void)state;
    small_begin(&one, GRAPH_TRAIN, 0);
    small_begin(&two, GRAPH_TRAIN, 0);
    set = bank_add_set(&one.bank, "snapshot", 0);
    assert_int_equal(set, 1);
    assert_int_equal(bank_fill(&one.bank, set, RIG_SEED + 1), 0);
    assert_int_equal(bank_fill(&two.bank, 0, RIG_SEED + 1), 0);
    before = rig_get(&one, "fc.weight");
    assert_int_equal(plan_run(&one.plan, set), 0);
    rig_run(&two);
    loss = rig_scalar(&one, "loss");
    assert_true(loss == rig_scalar(&two, "loss"));
    after = rig_get(&one, "fc.weight"); /* of set 0 */
    assert_memory_equal(before, after, 3 * 5 * sizeof(float));
    free(after);
    after = xmalloc(3 * 5 * sizeof(float));
    assert_int_equal(bank_read(&one.bank, set, rig_weight(&one, "fc.weight"), after), 0);
    free(before);
    before = rig_get(&two, "fc.weight");
    assert_memory_equal(before, after, 3 * 5 * sizeof(float)); /* and set 1 was trained */
    rig_run(&one); /* set 0 again: what a plan that never saw another set gives */
    small_begin(&fresh, GRAPH_TRAIN, 0);
    rig_run(&fresh);
    assert_same(&one, &fresh, 0);
    assert_true(rig_scalar(&fresh, "loss") != loss);
    rig_end(&fresh);
    free(before);
    free(after);
    rig_end(&one);
    rig_end(&two);
}

static void test_checked_run_names_the_first_bad_step(void **state)
{
    struct rig r;
    float *w;

    (void)state;
    small_begin(&r, GRAPH_TRAIN, 0);
    assert_int_equal(plan_run_checked(&r.plan, 0), 0);
    w = rig_get(&r, "branch.weight");
    w[7] = NAN;
    rig_set(&r, "branch.weight", w);
    assert_int_equal(plan_run_checked(&r.plan, 0), E_NUMERIC);
    assert_non_null(strstr(err_reason(), "conv2d in branch: input 1 branch.weight "
                                         "[5,3,3,4] is not finite at element 7"));
    free(w);
    rig_end(&r);
}

static void test_overflow_is_found_where_it_arises(void **state)
{
    struct tensor *x;
    struct rig r;

    (void)state;
    rig_begin(&r, "ref", GRAPH_EVAL);
    x = graph_input(&r.graph, "x", DT_F32, SHAPE(2));
    scope_begin(&r.graph, "square");
    graph_output(&r.graph, "y", mul(&r.graph, x, x));
    scope_end(&r.graph);
    assert_int_equal(rig_ready(&r, (struct plan_options){0}), 0);
    assert_int_equal(plan_write(&r.plan, "x", (const float[]){1, 1e30F}, 2 * sizeof(float)), 0);
    assert_int_equal(plan_run_checked(&r.plan, 0), E_NUMERIC);
    assert_non_null(strstr(err_reason(), "mul in square: output 0 [2] is not finite at element 1"));
    rig_end(&r);
}

static const char *const golden = "tests/golden/plan_small.txt";

/* STAVE_REGENERATE=1 writes the file anew; look at the difference before it is committed. */
static void test_explain_is_as_before(void **state)
{
    struct str text = STR_INIT;
    struct rig r;
    char *want;
    size_t n;

    (void)state;
    rig_begin(&r, "null", GRAPH_TRAIN);
    small_build(&r.graph);
    assert_int_equal(rig_ready(&r, (struct plan_options){0}), 0);
    plan_explain(&r.plan, &text);
    if (getenv("STAVE_REGENERATE"))
        assert_int_equal(file_replace(golden, text.s, text.len), 0);
    if (file_read(golden, 1 << 20, &want, &n) < 0)
        fail_msg("%s", err_reason());
    assert_string_equal(text.s, want);
    free(want);
    str_release(&text);
    rig_end(&r);
}

static void test_a_run_allocates_nothing(void **state)
{
    struct rig r;
    long before;

    (void)state;
    small_begin(&r, GRAPH_TRAIN, 0);
    rig_run(&r);
    alloc_count_begin();
    before = alloc_count;
    free(xmalloc(1));
    assert_int_equal(alloc_count, before + 1); /* the counter works */
    for (int i = 0; i < 3; i++) {
        small_inputs(&r);
        rig_run(&r);
    }
    assert_int_equal(alloc_count, before + 1);
    rig_end(&r);
}

/* Two plans over one workspace: the arena is that of the larger, and neither disturbs the other. */
static void test_two_plans_share_one_workspace(void **state)
{
    static const int labels[BATCH] = {0};
    struct graph eval;
    struct plan p;
    struct rig r;
    float loss;

    (void)state;
    rig_begin(&r, "ref", GRAPH_TRAIN);
    small_build(&r.graph);
    assert_int_equal(rig_ready(&r, (struct plan_options){0}), 0);
    graph_init(&eval, &r.store, GRAPH_EVAL);
    small_build(&eval);
    assert_int_equal(plan_init(&p, &eval, &r.bank, &r.workspace, (struct plan_options){0}), 0);
    assert_true(p.memory.arena_bytes < r.plan.memory.arena_bytes);
    assert_true(r.workspace.bytes >= r.plan.memory.arena_bytes + r.plan.scratch_bytes);
    small_inputs(&r);
    rig_run(&r);
    loss = rig_scalar(&r, "loss");
    assert_int_equal(plan_write(&p, "labels", labels, sizeof(labels)), 0);
    assert_int_equal(plan_run(&p, 0), 0);
    assert_int_equal(bank_fill(&r.bank, 0, RIG_SEED), 0);
    small_inputs(&r);
    rig_run(&r);
    assert_true(rig_scalar(&r, "loss") == loss);
    plan_release(&p);
    graph_release(&eval);
    rig_end(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_without_lowering_the_op_is_named),
        cmocka_unit_test(test_fusion_changes_steps_and_no_number),
        cmocka_unit_test(test_fusion_keeps_what_others_read),
        cmocka_unit_test(test_a_relu_gradient_that_others_read_stays),
        cmocka_unit_test(test_a_sum_joins_the_gradient_of_relu),
        cmocka_unit_test(test_prune_drops_what_nobody_reads),
        cmocka_unit_test(test_no_two_live_tensors_share_bytes),
        cmocka_unit_test(test_run_from_poisoned_memory),
        cmocka_unit_test(test_a_second_weight_set),
        cmocka_unit_test(test_checked_run_names_the_first_bad_step),
        cmocka_unit_test(test_overflow_is_found_where_it_arises),
        cmocka_unit_test(test_explain_is_as_before),
        cmocka_unit_test(test_a_run_allocates_nothing),
        cmocka_unit_test(test_two_plans_share_one_workspace),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
