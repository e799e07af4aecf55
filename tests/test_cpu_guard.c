/* Every row of op_cases.h that the cpu backend can run, convolutions, matrix products and reorders
 * above all, with inputs, outputs and scratch between pages that nobody may touch: what generated
 * code reads or writes beside a buffer ends the program, and the results are those of the plan's
 * own memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "graph_fixture.h"
#include "guarded.h"
#include "op_cases.h"

enum { MAX_IN = 8 };

/* One case as a plan on the cpu backend. */
struct guard_case {
    const struct op_case *c;
    struct rig r;
    int n_in;
};

static size_t bytes_of(const struct case_input *x)
{
    return (size_t)shape_count(x->shape) * dtype_size(x->dtype);
}

static void fill(const struct case_input *x, int stream, void *out)
{
    const struct random_key key = {1, RANDOM_TEST, (uint64_t)stream};
    const int64_t n = shape_count(x->shape);

    for (int64_t i = 0; i < n; i++) {
        const double u = random_uniform(key, (uint64_t)i);

        if (x->dtype == DT_F32)
            ((float *)out)[i] = (float)(x->fill == FILL_VALUE ? x->arg : 0.5 + u);
        else if (x->dtype == DT_I32)
            ((int32_t *)out)[i] = (int32_t)(x->fill == FILL_INDEX    ? u * x->arg
                                            : x->fill == FILL_RISING ? (double)i
                                                                     : x->arg);
        else
            ((uint8_t *)out)[i] = (uint8_t)(x->fill == FILL_VALUE ? x->arg : 255 * u);
    }
}

/* 0, or E_UNSUPPORTED when the backend does not run this op. */
static int begin(struct guard_case *k, const struct op_case *c)
{
    struct tensor *in[MAX_IN];
    const struct node *n;
    char name[16];

    *k = (struct guard_case){.c = c};
    rig_begin(&k->r, "cpu", GRAPH_TRAIN);
    for (; k->n_in < MAX_IN && c->in[k->n_in].fill != FILL_NONE; k->n_in++) {
        const struct case_input *const x = &c->in[k->n_in];

        snprintf(name, sizeof(name), "in%d", k->n_in);
        in[k->n_in] = (c->diff | c->op->writes) >> k->n_in & 1
                          ? graph_weight(&k->r.graph, name, T_STATE, x->shape, (struct init){0},
                                         (struct weight_attr){0})
                          : graph_input(&k->r.graph, name, x->dtype, x->shape);
    }
    n = graph_node(&k->r.graph, c->op, c->attr, in, k->n_in);
    assert_non_null(n);
    for (int i = 0; i < c->op->n_out; i++) {
        snprintf(name, sizeof(name), "out%d", i);
        graph_output(&k->r.graph, name, n->out[i]);
    }
    return rig_ready(&k->r, (struct plan_options){0});
}

static void write_inputs(struct guard_case *k)
{
    char name[16];

    for (int i = 0; i < k->n_in; i++) {
        const struct case_input *const x = &k->c->in[i];
        void *const data = xcalloc(bytes_of(x) + 1, 1);

        fill(x, i, data);
        snprintf(name, sizeof(name), "in%d", i);
        if ((k->c->diff | k->c->op->writes) >> i & 1)
            rig_set(&k->r, name, data);
        else
            assert_int_equal(plan_write(&k->r.plan, name, data, bytes_of(x)), 0);
        free(data);
    }
}

/* The same step on guarded buffers, where outputs that share an input's memory go on sharing it. */
static void run_guarded(struct plan *p, const struct step *s)
{
    struct step g = *s;
    const struct node *const n = s->node;

    g.in = xcalloc((size_t)n->n_in + 1, sizeof(void *));
    for (int i = 0; i < n->n_in; i++)
        g.in[i] = memcpy(guarded(tensor_bytes(n->in[i])), s->in[i], tensor_bytes(n->in[i]));
    for (int i = 0; i < n->op->n_out; i++) {
        g.out[i] = NULL;
        for (int k = 0; k < n->n_in; k++)
            if (s->out[i] == s->in[k])
                g.out[i] = g.in[k];
        if (!g.out[i])
            g.out[i] = guarded(tensor_bytes(n->out[i]));
    }
    g.scratch = guarded((s->scratch_bytes + 63) / 64 * 64); /* kernels may count on its alignment */
    if (s->kernel->run(p->engine->device, &g) < 0 || p->engine->backend->sync(p->engine->device))
        fail_msg("%s: %s", n->op->name, err_reason());
    assert_int_equal(s->kernel->run(p->engine->device, s), 0);
    for (int i = 0; i < n->op->n_out; i++)
        if (memcmp(g.out[i], s->out[i], tensor_bytes(n->out[i])) != 0)
            fail_msg("%s (%s): output %d differs between guarded pages", n->op->name, s->impl, i);
    free(g.in);
}

/* Returns how many steps ran. */
static int run_case(const struct op_case *c)
{
    struct guard_case k;
    int ran = 0;

    if (begin(&k, c) == 0) {
        write_inputs(&k);
        rig_run(&k.r); /* gives the steps their addresses */
        write_inputs(&k);
        for (int i = 0; i < k.r.plan.n_steps; i++, ran++)
            run_guarded(&k.r.plan, &k.r.plan.steps[i]);
    }
    rig_end(&k.r);
    return ran;
}

static void run_all(enum guard_place where)
{
    int ran = 0, of_dnnl = 0;

    guard_place(where);
    for (int i = 0; i < N_OP_CASES; i++) {
        const int steps = run_case(&op_cases[i]);

        ran += steps;
        of_dnnl += steps * (strncmp(op_cases[i].op->name, "conv2d", 6) == 0 ||
                            strcmp(op_cases[i].op->name, "matmul") == 0);
        release_buffers(NULL);
    }
    print_message("%d steps between guard pages, %d of them convolutions and products\n", ran,
                  of_dnnl);
    assert_true(of_dnnl >= 12);
}

static void test_end(void **state)
{
    (void)state;
    run_all(GUARD_END);
}

static void test_start(void **state)
{
    (void)state;
    run_all(GUARD_START);
}

/* Beyond the contract, which promises aligned buffers, but nothing may need the bytes behind. */
static void test_exact(void **state)
{
    (void)state;
    run_all(GUARD_EXACT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(test_end), TEST(test_start), TEST(test_exact)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
