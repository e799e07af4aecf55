/* Whole graphs in bf16 on the cpu backend against ref in bf16: one of our own kernels alone, which
 * runs on any processor, and one with convolutions, which needs bf16 instructions and says so. And
 * what the backend declines. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "backend/cpu/cpu.h"
#include "graph_fixture.h"

enum { BATCH = 3, HEIGHT = 9, WIDTH = 7, CHANNELS = 4 };

typedef struct tensor *build_fn(struct graph *g, struct tensor *x);

/* Channels as classes. */
static struct tensor *own_features(struct graph *g, struct tensor *x)
{
    x = relu(g, batchnorm(g, x, "first", (struct norm){0}));
    x = relu(g, maxpool(g, x, (struct pool){.k = 3, .stride = 2, .pad = 1}));
    x = relu(g, add(g, batchnorm(g, x, "second", (struct norm){0}), x));
    return add(g, batchnorm(g, x, "third", (struct norm){0}), x);
}

static struct tensor *conv_features(struct graph *g, struct tensor *x)
{
    struct tensor *y;

    x = conv2d(g, x, "stem", (struct conv){.out = 16, .k = 3, .stride = 2, .pad = 1});
    x = relu(g, batchnorm(g, x, "stem", (struct norm){0}));
    y = conv2d(g, x, "branch", (struct conv){.out = 32, .k = 3, .pad = 1});
    x = conv2d(g, x, "skip", (struct conv){.out = 32, .k = 1});
    x = relu(g, add(g, batchnorm(g, y, "branch", (struct norm){0}),
                    batchnorm(g, x, "skip", (struct norm){0})));
    return conv2d(g, x, "last", (struct conv){.out = 16, .k = 1, .stride = 2});
}

static void build(struct graph *g, build_fn *features)
{
    struct tensor *const pixels =
        graph_input(g, "pixels", DT_U8, SHAPE(BATCH, HEIGHT, WIDTH, CHANNELS));
    struct tensor *const labels = graph_input(g, "labels", DT_I32, SHAPE(BATCH));
    struct tensor *x = image_norm(
        g, pixels, (struct image_norm){{128, 120, 110, 100}, {0.02F, 0.03F, 0.02F, 0.01F}});
    struct sum_weight loss;

    x = features(g, x);
    graph_output(g, "features", x);
    x = avgpool_all(g, x);
    if (features == conv_features)
        x = linear(g, x, "fc", CHANNELS, 0.5);
    loss = softmax_xent(g, x, labels, constant(g, SHAPE(BATCH), 1), (struct loss){0});
    graph_output(g, "loss", loss.sum);
    backward(g, loss.sum);
    for (int i = 0, n = g->n_tensors; i < n; i++)
        if (g->tensors[i]->kind == T_PARAM)
            graph_output(g, g->tensors[i]->name, graph_grad(g, g->tensors[i]));
}

static void begin(struct rig *r, const char *backend, build_fn *features)
{
    static const int labels[BATCH] = {0, 1, 3};
    unsigned char pixels[BATCH * HEIGHT * WIDTH * CHANNELS];

    rig_begin(r, backend, GRAPH_TRAIN);
    build(&r->graph, features);
    if (rig_ready(r, (struct plan_options){.precision = DT_BF16}) < 0)
        fail_msg("%s", err_reason());
    for (size_t i = 0; i < sizeof(pixels); i++)
        pixels[i] =
            (unsigned char)(random_uniform((struct random_key){1, RANDOM_TEST, 3}, i) * 256);
    assert_int_equal(plan_write(&r->plan, "pixels", pixels, sizeof(pixels)), 0);
    assert_int_equal(plan_write(&r->plan, "labels", labels, sizeof(labels)), 0);
    rig_run(r);
}

/* A few elements round to the neighbour, since ref sums in double: together they stay small. */
static void assert_close(struct rig *have, struct rig *want, int output)
{
    const struct tensor *const t = have->graph.outputs[output].tensor;
    const char *const name = have->graph.outputs[output].name;
    const size_t bytes = tensor_bytes(t);
    float *const a = xmalloc(bytes), *const b = xmalloc(bytes);
    double off = 0, size = 0;

    assert_int_equal(t->dtype, DT_F32);
    assert_int_equal(plan_read(&have->plan, name, a, bytes), 0);
    assert_int_equal(plan_read(&want->plan, name, b, bytes), 0);
    for (int64_t i = 0; i < tensor_count(t); i++) {
        off += pow((double)a[i] - (double)b[i], 2);
        size += pow((double)b[i], 2);
    }
    if (!(off <= 0.01 * 0.01 * size + 1e-12))
        fail_msg("%s: off by %g of %g", name, sqrt(off), sqrt(size));
    free(a);
    free(b);
}

/* Whether a step of this op reads or makes bf16. */
static int is_narrow(const struct plan *p, const struct op *op)
{
    for (int i = 0; i < p->n_steps; i++) {
        const struct node *const n = p->steps[i].node;

        for (int k = 0; n->op == op && k < n->n_in; k++)
            if (n->in[k]->dtype == DT_BF16)
                return 1;
        for (int k = 0; n->op == op && k < op->n_out; k++)
            if (n->out[k]->dtype == DT_BF16)
                return 1;
    }
    return 0;
}

static void check_graph(build_fn *features, const struct op *const *wanted)
{
    struct rig have, want;

    begin(&have, "cpu", features);
    begin(&want, "ref", features);
    for (; *wanted; wanted++)
        if (!is_narrow(&have.plan, *wanted))
            fail_msg("%s was to be in bf16", (*wanted)->name);
    for (int i = 0; i < have.graph.n_outputs; i++)
        assert_close(&have, &want, i);
    rig_end(&have);
    rig_end(&want);
}

static void test_own_kernels(void **state)
{
    static const struct op *const wanted[] = {
        &op_image_norm,     &op_bn_stats,      &op_bn_finalise,  &op_bn_apply,     &op_maxpool,
        &op_relu,           &op_add,           &op_avgpool,      &op_cast,         &op_relu_grad,
        &op_bn_grad_reduce, &op_bn_grad_apply, &op_maxpool_grad, &op_avgpool_grad, NULL};

    (void)state;
    check_graph(own_features, wanted);
}

static void test_convolutions(void **state)
{
    static const struct op *const wanted[] = {&op_conv2d, &op_conv2d_grad_x, &op_conv2d_grad_w,
                                              &op_matmul, &op_cast,          NULL};

    (void)state;
    if (cpu_has_bf16() < 0) {
        print_message("skipped: %s\n", err_reason());
        skip();
    }
    check_graph(conv_features, wanted);
}

/* The library's word against the compiler's. */
static void test_bf16_is_offered_where_the_processor_has_it(void **state)
{
    const struct backend *const cpu = backend_find("cpu");

    (void)state;
    assert_int_equal(cpu->supports(NULL, DT_F32), 0);
    assert_int_equal(cpu->supports(NULL, DT_I32), E_UNSUPPORTED);
    if (!__builtin_cpu_supports("avx512bf16"))
        assert_int_equal(cpu->supports(NULL, DT_BF16), E_UNSUPPORTED);
    else if (!getenv("DNNL_MAX_CPU_ISA") && !getenv("ONEDNN_MAX_CPU_ISA"))
        assert_int_equal(cpu->supports(NULL, DT_BF16), 0);
}

/* A processor without bf16 must be told by the plan, too, not find out in a run. */
static void test_convolution_declined_without_bf16(void **state)
{
    struct rig r;

    (void)state;
    if (cpu_has_bf16() == 0)
        skip();
    rig_begin(&r, "cpu", GRAPH_TRAIN);
    build(&r.graph, conv_features);
    assert_int_equal(rig_ready(&r, (struct plan_options){.precision = DT_BF16}), E_UNSUPPORTED);
    assert_non_null(strstr(err_reason(), "backend cpu declines op conv2d"));
    rig_end(&r);
}

/* x in bf16 and the rest in float32, which is what no pass makes but for two ops and the cast. */
static void test_mixtures_are_declined(void **state)
{
    (void)state;
    for (int op = 0; op < N_OPS; op++) {
        const struct kernel *const kernel = backend_find("cpu")->kernels[op];
        struct tensor narrow = {.dtype = DT_BF16, .shape = SHAPE(2, 4, 4, 4)};
        struct tensor wide = {.dtype = DT_F32, .shape = SHAPE(2, 4, 4, 4)};
        struct tensor *in[] = {&narrow, &wide, &wide, &wide, &wide, &wide, &wide};
        const struct node n = {
            .op = ops[op], .in = in, .n_in = COUNT_OF(in), .out = {&wide, &wide, &wide}};
        struct step s = {.node = &n};

        if (!kernel || op == OP_cast || op == OP_avgpool || op == OP_bn_stats)
            continue;
        if (!kernel->prepare || kernel->prepare(NULL, &s) != E_UNSUPPORTED)
            fail_msg("%s takes bf16 beside f32", ops[op]->name);
        assert_non_null(strstr(err_reason(), "it has no kernel from bf16, f32, f32"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_own_kernels),
        cmocka_unit_test(test_convolutions),
        cmocka_unit_test(test_bf16_is_offered_where_the_processor_has_it),
        cmocka_unit_test(test_convolution_declined_without_bf16),
        cmocka_unit_test(test_mixtures_are_declined),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
