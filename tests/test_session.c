/* A model on a device: that accumulation reaches the weights through the session as one batch
 * would. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "train/session.h"
#include "workloads/workload.h"

struct opened {
    struct workload_settings s;
    struct engine engine;
    struct task task;
    struct session session;
};

static const struct opt_table *table(int i)
{
    return (const struct opt_table *[]){&train_options, &data_options,
                                        workload_find("resnet50")->options}[i];
}

static void *part_of(struct opened *o, int i)
{
    return (void *[]){&o->s.train, &o->s.data, o->s.own}[i];
}

static void set(struct opened *o, const char *name, const char *value)
{
    for (int i = 0; i < 3; i++)
        if (opt_find(table(i), name))
            assert_int_equal(opt_set(opt_find(table(i), name), part_of(o, i), value, "test"), 0);
}

/* Takes about two seconds: the sample preset on synthetic data. */
static void begin(struct opened *o, const char *batch, const char *accumulate)
{
    const struct workload *const w = workload_find("resnet50");

    memset(o, 0, sizeof(*o));
    o->s.own = xcalloc(1, w->settings_bytes);
    for (int i = 0; i < 3; i++)
        opt_defaults(table(i), part_of(o, i));
    for (const char *const(*p)[2] = preset_find(w, "sample")->settings; (*p)[0]; p++)
        set(o, (*p)[0], (*p)[1]);
    set(o, "synthetic", "yes");
    set(o, "batch-size", batch);
    set(o, "accumulate", accumulate);
    assert_int_equal(engine_open(&o->engine, "cpu", (struct device_options){.threads = 1}), 0);
    assert_int_equal(w->open(&o->s, 1, &o->task), 0);
    if (session_open(&o->session, &o->task, &o->s.train, &o->engine) < 0)
        fail_msg("%s", err_reason());
    assert_int_equal(session_initialise(&o->session, 1), 0);
}

static void end(struct opened *o)
{
    session_close(&o->session);
    workload_find("resnet50")->close(&o->task);
    engine_close(&o->engine);
    for (int i = 0; i < 3; i++)
        opt_release(table(i), part_of(o, i));
    free(o->s.own);
}

enum { HALF = 4 };

/* One step on the first batch of HALF samples, `times` times in a row. */
static void step(struct opened *o, int times, double lr)
{
    struct pipeline *p;
    const struct batch *b;
    struct batch repeated;
    struct step_result loss;

    assert_int_equal(o->task.open(o->task.context, PIPELINE_TRAIN, HALF, 0, 0, &p), 0);
    assert_int_equal(pipeline_next(p, &b), 0);
    repeated = *b;
    for (int i = 0; i < N_BATCH_TENSORS; i++) {
        static const size_t bytes[] = {
            [TENSOR_U8] = 1, [TENSOR_I32] = 4, [TENSOR_F32] = 4, [TENSOR_I64] = 8};
        size_t n = bytes[b->tensor[i].type];
        for (int k = 0; k < b->tensor[i].n_dims; k++)
            n *= b->tensor[i].dims[k];
        repeated.tensor[i].data = xmalloc(n * (size_t)times);
        for (int k = 0; k < times; k++)
            memcpy((char *)repeated.tensor[i].data + (size_t)k * n, b->tensor[i].data, n);
        repeated.tensor[i].dims[0] *= (size_t)times;
    }
    assert_int_equal(session_step(&o->session, &repeated, lr, 0, &loss), 0);
    assert_true(loss.weight == HALF * times);
    for (int i = 0; i < N_BATCH_TENSORS; i++)
        free(repeated.tensor[i].data);
    pipeline_close(p);
}

static float *values(struct opened *o, const struct weight *w)
{
    float *const x = xmalloc((size_t)shape_count(w->shape) * sizeof(float));

    assert_int_equal(bank_read(&o->session.bank, 0, w, x), 0);
    return x;
}

/* Two equal halves have the mean gradient of one, so the step is the same but for rounding; with
 * another rate, or half the gradient, it is not. */
static void two_equal_parts_step_like_one(void **state)
{
    struct opened one, two;
    double moved = 0, apart = 0;

    (void)state;
    begin(&one, "4", "1");
    begin(&two, "8", "2");
    step(&one, 1, 0.5);
    step(&two, 2, 0.5);
    for (int i = 0; i < one.session.store.n; i++) {
        const struct weight *const w = one.session.store.weights[i];
        float *a, *b, *start;
        if (w->kind != T_PARAM)
            continue;
        a = values(&one, w);
        b = values(&two, store_find(&two.session.store, w->name));
        start = xmalloc((size_t)shape_count(w->shape) * sizeof(float));
        weight_initial(w, 1, start);
        for (int64_t k = 0; k < shape_count(w->shape); k++) {
            moved += pow((double)a[k] - (double)start[k], 2);
            apart += pow((double)a[k] - (double)b[k], 2);
        }
        free(a);
        free(b);
        free(start);
    }
    assert_true(moved > 0);
    if (!(sqrt(apart) < 1e-4 * sqrt(moved)))
        fail_msg("the steps are %g long and %g apart", sqrt(moved), sqrt(apart));
    end(&one);
    end(&two);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_equal_parts_step_like_one),
    };

    return cmocka_run_group_tests_name("session", tests, NULL, NULL);
}
