/* A graph from store to plan, for tests: begin, build into rig->graph, ready, run, end. Failures
 * other than of rig_ready end the test. Include after cmocka.h. */
#ifndef STAVE_TESTS_GRAPH_FIXTURE_H
#define STAVE_TESTS_GRAPH_FIXTURE_H

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/random.h"
#include "ops/ops.h"
#include "plan/plan.h"

enum { RIG_SEED = 7 };

struct rig {
    struct store store;
    struct graph graph;
    struct engine engine;
    struct bank bank;
    struct workspace workspace;
    struct plan plan;
};

static inline void rig_begin(struct rig *r, const char *backend, enum graph_mode mode)
{
    memset(r, 0, sizeof(*r));
    store_init(&r->store);
    graph_init(&r->graph, &r->store, mode);
    assert_int_equal(engine_open(&r->engine, backend, (struct device_options){.threads = 1}), 0);
    workspace_init(&r->workspace, &r->engine);
}

/* Seals the store, fills the bank, makes the plan: 0 or the plan's error. */
static inline int rig_ready(struct rig *r, struct plan_options o)
{
    store_seal(&r->store);
    assert_int_equal(bank_init(&r->bank, &r->engine, &r->store), 0);
    assert_int_equal(bank_fill(&r->bank, 0, RIG_SEED), 0);
    return plan_init(&r->plan, &r->graph, &r->bank, &r->workspace, o);
}

static inline void rig_end(struct rig *r)
{
    if (r->plan.engine)
        plan_release(&r->plan);
    bank_release(&r->bank);
    workspace_release(&r->workspace);
    graph_release(&r->graph);
    store_release(&r->store);
    engine_close(&r->engine);
}

static inline void rig_run(struct rig *r)
{
    if (plan_run(&r->plan, 0) < 0)
        fail_msg("%s", err_reason());
}

static inline struct weight *rig_weight(const struct rig *r, const char *name)
{
    struct weight *const w = store_find(&r->store, name);

    if (!w)
        fail_msg("the store has no weight %s", name);
    return w;
}

static inline void rig_set(struct rig *r, const char *weight, const float *values)
{
    assert_int_equal(bank_write(&r->bank, 0, rig_weight(r, weight), values), 0);
}

/* A weight's values, or an output's; heap. */
static inline float *rig_get(struct rig *r, const char *weight)
{
    const struct weight *const w = rig_weight(r, weight);
    float *const v = xmalloc((size_t)shape_count(w->shape) * sizeof(float));

    assert_int_equal(bank_read(&r->bank, 0, w, v), 0);
    return v;
}

static inline float rig_scalar(struct rig *r, const char *output)
{
    float v;

    assert_int_equal(plan_read(&r->plan, output, &v, sizeof(v)), 0);
    return v;
}

static inline void rig_write_scalar(struct rig *r, const char *input, float v)
{
    assert_int_equal(plan_write(&r->plan, input, &v, sizeof(v)), 0);
}

/* Normal values that depend on stream and element alone. */
static inline void fill_normal(float *x, int64_t n, uint64_t stream)
{
    const struct random_key key = {1, RANDOM_TEST, stream};

    for (int64_t i = 0; i < n; i++)
        x[i] = (float)random_normal(key, (uint64_t)i);
}

#endif
