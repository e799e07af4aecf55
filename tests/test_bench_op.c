/* Ops as text, alone on a device, and beside ceilings: `bench-op`, DEBUG, profiles. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <math.h>

#include "base/str.h"
#include "graph_fixture.h"
#include "op_cases.h"
#include "ops/op_text.h"
#include "plan/op_use.h"
#include "plan/profile.h"
#include "run_fixture.h"
#include "scratch.h"

static int inputs_of(const struct op_case *c)
{
    int n = 0;

    while (n < 8 && c->in[n].fill != FILL_NONE)
        n++;
    return n;
}

static struct op_use use_of_case(const struct op_case *c)
{
    struct op_use u = {.op = c->op, .attr = c->attr, .n_in = inputs_of(c)};

    for (int i = 0; i < u.n_in; i++)
        u.in[i] = (struct op_input){.dtype = c->in[i].dtype, .shape = c->in[i].shape};
    return u;
}

/* An attribute that has no row in op_text.c would be lost. */
static void test_attributes_read_back(void **state)
{
    union attr back;

    (void)state;
    for (int i = 0; i < N_OP_CASES; i++) {
        const struct op_case *const c = &op_cases[i];
        struct str text = STR_INIT;

        attr_add_text(c->op, &c->attr, &text);
        if (attr_parse(c->op, text.s ? text.s : "", &back) < 0)
            fail_msg("%s, %s: %s", c->op->name, c->what, err_reason());
        if (memcmp(&back, &c->attr, sizeof(back)) != 0)
            fail_msg("%s, %s: \"%s\" reads back as something else", c->op->name, c->what,
                     text.s ? text.s : "");
        str_release(&text);
    }
}

static void test_types_read_back(void **state)
{
    static const char *const good[] = {"scalar", "7", "i32:3x2", "u8:1x2x3x4x5x6", "i32:scalar"};
    static const char *const bad[] = {"",
                                      "x",
                                      "3x",
                                      "x3",
                                      "0",
                                      "-1",
                                      "3x0",
                                      "q:3",
                                      "i32",
                                      "3 x 4",
                                      "1x2x3x4x5x6x7",
                                      "4294967296x4294967296",
                                      "99999999999999999999",
                                      "+3"};
    struct shape shape;
    enum dtype dtype;

    (void)state;
    for (size_t i = 0; i < COUNT_OF(good); i++) {
        struct str text = STR_INIT;

        assert_int_equal(type_parse(good[i], &dtype, &shape), 0);
        type_add_text(dtype, shape, &text);
        assert_string_equal(text.s, good[i]);
        str_release(&text);
    }
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        if (type_parse(bad[i], &dtype, &shape) != E_USAGE)
            fail_msg("\"%s\" is taken for a tensor", bad[i]);
}

static void test_every_op_has_a_sample_that_plans(void **state)
{
    struct engine e;
    struct op_time t;
    struct op_use u;

    (void)state;
    assert_int_equal(engine_open(&e, "null", (struct device_options){0}), 0);
    for (int i = 0; i < N_OPS; i++) {
        if (!op_samples[i].words.op)
            fail_msg("%s has no row in plan/op_samples.h", ops[i]->name);
        if (op_use_parse(&u, op_samples[i].words) < 0 || op_bench(&e, &u, 1, &t) < 0)
            fail_msg("%s: %s", ops[i]->name, err_reason());
    }
    engine_close(&e);
}

/* What a step prints is the step. */
static void test_a_use_reads_back(void **state)
{
    struct str text = STR_INIT;
    struct op_use u;
    struct rig r;

    (void)state;
    rig_begin(&r, "ref", GRAPH_TRAIN);
    conv2d(&r.graph, graph_input(&r.graph, "x", DT_F32, SHAPE(2, 5, 4, 3)), "c",
           (struct conv){.out = 6, .k = 3, .stride = 2, .pad = 1});
    op_use_add_text(r.graph.nodes[0], &text);
    assert_string_equal(text.s,
                        "--op conv2d --in 2x5x4x3 --in 6x3x3x3 --attr out=6,k=3,stride=2,pad=1");
    assert_int_equal(
        op_use_parse(&u, (struct op_words){"conv2d", "2x5x4x3 6x3x3x3", "stride=2,pad=1"}), 0);
    assert_memory_equal(&u.attr, &r.graph.nodes[0]->attr, sizeof(u.attr));
    assert_int_equal(u.n_in, 2);
    assert_true(shape_equal(u.in[1].shape, SHAPE(6, 3, 3, 3)));
    str_release(&text);
    store_seal(&r.store);
    rig_end(&r);
}

/* Inputs that decide shapes and not the other way round. */
static int is_free(const struct op_case *c, int i)
{
    return c->op == &op_gather || c->op == &op_global_norm || (c->op == &op_sum_grad && i == 1);
}

/* One dimension more or less, or of another size: a reason or a run, never a read past an end. */
static void try_shapes(const struct engine *e, const struct op_case *c, int i)
{
    const struct op_use right = use_of_case(c);
    struct op_use u;
    struct op_time t;
    int refused = 0;

    for (int change = -1; change <= 1; change += 2) {
        u = right;
        u.in[i].shape.rank += change;
        if (u.in[i].shape.rank < 0 || u.in[i].shape.rank > MAX_RANK)
            continue;
        if (change > 0)
            u.in[i].shape.dim[u.in[i].shape.rank - 1] = 2;
        refused += op_bench(e, &u, 1, &t) < 0;
    }
    for (int k = 0; k < right.in[i].shape.rank; k++)
        for (int change = -1; change <= 2; change += 3) {
            u = right;
            u.in[i].shape.dim[k] += change;
            if (u.in[i].shape.dim[k] > 0)
                refused += op_bench(e, &u, 1, &t) < 0;
        }
    if (right.n_in > 1 && !is_free(c, i) && !refused)
        fail_msg("%s, %s: input %d may have any shape", c->op->name, c->what, i);
}

static void test_shapes_that_do_not_fit(void **state)
{
    struct engine e;

    (void)state;
    assert_int_equal(engine_open(&e, "ref", (struct device_options){0}), 0);
    for (int i = 0; i < N_OP_CASES; i++)
        for (int k = 0; k < inputs_of(&op_cases[i]); k++)
            try_shapes(&e, &op_cases[i], k);
    engine_close(&e);
}

/* Two products and an addition, run once with times that are set afterwards. */
static void profiled(struct rig *r)
{
    struct tensor *x, *y;

    rig_begin(r, "ref", GRAPH_EVAL);
    x = graph_input(&r->graph, "x", DT_F32, SHAPE(10, 10));
    y = matmul(&r->graph, x, matmul(&r->graph, x, x, (struct matmul){0}), (struct matmul){0});
    graph_output(&r->graph, "y", add(&r->graph, y, x));
    assert_int_equal(rig_ready(r, (struct plan_options){0}), 0);
    plan_profile(&r->plan);
    rig_run(r);
    r->plan.step_ns[0] = 3000;
    r->plan.step_ns[1] = 5000;
    r->plan.step_ns[2] = 2000;
}

/* 2000 operations and 1200 bytes a product, 100 and 1200 an addition, on a device of 1 GFLOP/s and
 * 1.2 GB/s: 2000 ns by arithmetic, 1000 ns by memory. */
static void test_profile_adds_up(void **state)
{
    const struct ceilings c = {
        .f32_flops_per_s = 1e9, .copy_bytes_per_s = 1.2e9, .triad_bytes_per_s = 1e9};
    struct profile f;
    struct rig r;

    (void)state;
    profiled(&r);
    profile_init(&f, &r.plan, &c);
    assert_int_equal(f.n_rows, 2);
    assert_string_equal(f.rows[0].label, "matmul");
    assert_int_equal(f.rows[0].steps, 2);
    assert_true(f.rows[0].ns == 8000 && f.rows[0].flops == 4000 && f.rows[0].bytes == 2400);
    assert_true(fabs(f.rows[0].bound_ns - 4000) < 1e-6);
    assert_true(fabs(f.rows[1].bound_ns - 1000) < 1e-6);
    assert_true(f.total.ns == 10000 && f.total.steps == 3);
    assert_true(fabs(f.total.bound_ns - 5000) < 1e-6);
    profile_release(&f);
    rig_end(&r);
}

static void test_profile_as_text_and_json(void **state)
{
    const struct ceilings c = {
        .f32_flops_per_s = 1e9, .copy_bytes_per_s = 1.2e9, .triad_bytes_per_s = 1e9};
    struct str text = STR_INIT, json = STR_INIT;
    struct profile f;
    const cJSON *op;
    cJSON *read;
    struct rig r;

    (void)state;
    profiled(&r);
    profile_init(&f, &r.plan, &c);
    profile_text(&f, &text);
    assert_says(text.s, "1.0 GFLOP/s float32; 1.2 GB/s copy, 1.0 triad");
    assert_says(text.s, "50.0 % of the time taken");
    assert_says(text.s, "the rest of the time is in matmul 80 %, add 20 %");
    str_add(&json, "{");
    profile_json(&f, &json);
    str_add(&json, "}");
    read = cJSON_Parse(json.s);
    assert_non_null(read);
    op = cJSON_GetArrayItem(cJSON_GetObjectItem(read, "ops"), 1);
    assert_string_equal(string_of(op, "op"), "add");
    assert_true(number_of(op, "bound_ns") == 1000);
    assert_null(cJSON_GetObjectItem(cJSON_GetObjectItem(read, "ceilings"), "bf16_flops_per_s"));
    cJSON_Delete(read);
    str_release(&text);
    str_release(&json);
    profile_release(&f);
    rig_end(&r);
}

/* Every backend that computes on its own ground says what it could. */
static void test_ceilings_are_measured(void **state)
{
    struct ceilings c;
    struct engine e;

    (void)state;
    assert_int_equal(engine_open(&e, backends[0]->name, (struct device_options){.threads = 1}), 0);
    if (e.backend->measure) {
        assert_int_equal(e.backend->measure(e.device, &c), 0);
        assert_true(c.f32_flops_per_s > 1e7 && c.f32_flops_per_s < 1e14);
        assert_true(c.copy_bytes_per_s > 1e6 && c.triad_bytes_per_s > 1e6);
    }
    engine_close(&e);
}

/* The line of one step among what DEBUG says, up to the comment. Heap. */
static char *words_of_step(const char *said, const char *op)
{
    const char *const at = strstr(said, op);
    const char *const end = at ? strstr(at, " # step") : NULL;

    if (!end)
        fail_msg("no step %s in: %.300s", op, said);
    return strndup(at, (size_t)(end - at));
}

static void test_a_debug_line_is_a_command(void **state)
{
    const char *const dir = *state;
    char *said, *words;

    setenv("DEBUG", "2", 1);
    said = program_run(dir, 0, "explain resnet50 -p sample -b 2 --profile 1 --device null");
    unsetenv("DEBUG");
    assert_says(said, "# device: null");
    assert_says(said, "# plan on null: ");
    words = words_of_step(said, "--op conv2d_grad_w ");
    free(said);
    said = program_run(dir, 0, "bench-op %s --runs 1 # step 1, ignored: 1 ms", words);
    assert_says(said, "conv2d_grad_w");
    free(said);
    free(words);
}

static void test_debug_shows_values(void **state)
{
    char *said;

    setenv("DEBUG", "4", 1);
    said = program_run(*state, 0, "bench-op --op add --in 2x3 --in 2x3 --device ref --runs 1");
    unsetenv("DEBUG");
    assert_says(said, "--op add --in 2x3 --in 2x3 --device ref # step 0");
    assert_says(said, "-> [2,3], ref");
    assert_says(said, "#   output 0 f32 [2,3]: min 1.");
    assert_says(said, "0 not finite");
    free(said);
}

static void test_refused(void **state)
{
    static const char *const cases[][2] = {
        {"bench-op", "needs WORKLOAD, --op NAME or --all"},
        {"bench-op --op conv", "did you mean conv2d?"},
        {"bench-op --op conv2d --in 2x8x8x4", "conv2d takes 2 inputs and has 1"},
        {"bench-op --op add --in 3 --in i32:3", "input 1 is i32, it takes f32"},
        {"bench-op --op relu --in 3y", "\"3y\" is no tensor"},
        {"bench-op --op relu --in 3 --attr k=1", "relu has no attributes"},
        {"bench-op --op scale --in 3 --attr c=1", "no attribute \"c\"; it has a, b"},
        {"bench-op --op scale --in 3 --attr a=x", "\"x\" does not fit attribute a"},
        {"bench-op --op matmul --in 2x3 --in 4x5", "inner sizes differ"},
        {"bench-op --in 3", "--in and --attr belong to --op"},
        {"bench-op resnet50 --all", "exclude each other"},
    };
    char *said;

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        said = program_run(*state, 2, "%s", cases[i][0]);
        assert_says(said, cases[i][1]);
        assert_null(strstr(said, "ceilings")); /* before a second is spent on measuring them */
        free(said);
    }
    setenv("DEBUG", "5", 1);
    said = program_run(*state, 2, "list");
    unsetenv("DEBUG");
    assert_says(said, "DEBUG is \"5\"; expected 0 to 4");
    free(said);
}

/* An op alone stands in no scope; a processor without bf16 says so itself. */
static void test_a_device_that_can_not(void **state)
{
    char *said;

    if (!backend_find("cpu"))
        skip();
    said = program_run(*state, 3, "bench-op --op sum --in 3 --device cpu");
    assert_says(said, "stave: backend cpu has no kernel for op sum");
    free(said);
    setenv("ONEDNN_MAX_CPU_ISA", "AVX2", 1);
    said = program_run(*state, 3, "bench-op --op matmul --in bf16:2x8 --in bf16:8x3 --device cpu");
    unsetenv("ONEDNN_MAX_CPU_ISA");
    assert_says(said, "stave: backend cpu declines op matmul: this processor has no bfloat16");
    assert_null(strstr(said, "ceilings"));
    free(said);
}

#define S(f) cmocka_unit_test_setup_teardown(f, scratch_open, scratch_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_attributes_read_back),
        cmocka_unit_test(test_types_read_back),
        cmocka_unit_test(test_every_op_has_a_sample_that_plans),
        cmocka_unit_test(test_a_use_reads_back),
        cmocka_unit_test(test_shapes_that_do_not_fit),
        cmocka_unit_test(test_profile_adds_up),
        cmocka_unit_test(test_profile_as_text_and_json),
        cmocka_unit_test(test_ceilings_are_measured),
        S(test_a_debug_line_is_a_command),
        S(test_debug_shows_values),
        S(test_refused),
        S(test_a_device_that_can_not),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
