/* Optimisers as the training loop uses them: a two-layer model trained on the ref backend against
 * the formulae written out here in double. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "graph_fixture.h"
#include "optim/optim.h"

enum { IN = 5, HIDDEN = 7, OUT = 3, BATCH = 8, STEPS = 4, N_PARAMS = 4, MAX_WEIGHT = IN * HIDDEN };

static const char *const names[N_PARAMS] = {"a.weight", "a.bias", "b.weight", "b.bias"};
static const int counts[N_PARAMS] = {HIDDEN * IN, HIDDEN, OUT *HIDDEN, OUT};

struct sample_set {
    float x[BATCH * IN], weights[BATCH];
    int32_t labels[BATCH];
};

static void make_samples(struct sample_set *s, const float *weights)
{
    fill_normal(s->x, BATCH * IN, 11);
    for (int i = 0; i < BATCH; i++) {
        s->labels[i] = (i * 2 + i / 3) % OUT;
        s->weights[i] = weights ? weights[i] : 1;
    }
}

/* ---- the model in double ---- */

struct model {
    double w[N_PARAMS][MAX_WEIGHT], grad[N_PARAMS][MAX_WEIGHT];
    double m[N_PARAMS][MAX_WEIGHT], v[N_PARAMS][MAX_WEIGHT];
};

static void model_sample(struct model *m, const float *x, int label, double weight)
{
    double h[HIDDEN], dh[HIDDEN] = {0}, z[OUT], total = 0;

    for (int j = 0; j < HIDDEN; j++) {
        h[j] = m->w[1][j];
        for (int i = 0; i < IN; i++)
            h[j] += m->w[0][j * IN + i] * (double)x[i];
        h[j] = h[j] > 0 ? h[j] : 0;
    }
    for (int k = 0; k < OUT; k++) {
        z[k] = m->w[3][k];
        for (int j = 0; j < HIDDEN; j++)
            z[k] += m->w[2][k * HIDDEN + j] * h[j];
        total += z[k] = exp(z[k]);
    }
    for (int k = 0; k < OUT; k++) {
        const double d = weight * (z[k] / total - (k == label));
        m->grad[3][k] += d;
        for (int j = 0; j < HIDDEN; j++) {
            m->grad[2][k * HIDDEN + j] += d * h[j];
            dh[j] += h[j] > 0 ? d * m->w[2][k * HIDDEN + j] : 0;
        }
    }
    for (int j = 0; j < HIDDEN; j++) {
        m->grad[1][j] += dh[j];
        for (int i = 0; i < IN; i++)
            m->grad[0][j * IN + i] += dh[j] * (double)x[i];
    }
}

static double norm_of(const double *x, int n)
{
    double sum = 0;

    for (int i = 0; i < n; i++)
        sum += x[i] * x[i];
    return sqrt(sum);
}

/* The mean gradient over the weight of the samples, clipped. */
static void model_gradient(struct model *m, const struct sample_set *s, double clip)
{
    double weight = 0, squares = 0, factor;

    memset(m->grad, 0, sizeof(m->grad));
    for (int i = 0; i < BATCH; i++) {
        model_sample(m, s->x + (ptrdiff_t)i * IN, s->labels[i], (double)s->weights[i]);
        weight += (double)s->weights[i];
    }
    for (int p = 0; p < N_PARAMS; p++)
        squares += pow(norm_of(m->grad[p], counts[p]) / weight, 2);
    factor = clip > 0 && sqrt(squares) > clip ? clip / sqrt(squares) : 1;
    for (int p = 0; p < N_PARAMS; p++)
        for (int i = 0; i < counts[p]; i++)
            m->grad[p][i] *= factor / weight;
}

static void model_update(struct model *m, const struct optim *o, double lr, int step)
{
    for (int p = 0; p < N_PARAMS; p++) {
        const int bias = p % 2, n = counts[p];
        const double decay = bias ? 0 : o->weight_decay;
        const double nw = norm_of(m->w[p], n), ng = norm_of(m->grad[p], n);
        const double trust =
            bias || nw <= 0 || ng <= 0 ? 1 : o->eta * nw / (ng + decay * nw + o->eps);
        for (int i = 0; i < n; i++) {
            double *const w = &m->w[p][i], *const mo = &m->m[p][i], *const v = &m->v[p][i];
            const double g = m->grad[p][i], d = g + decay * *w;
            switch (o->kind) {
            case OPTIMISER_sgd:
                *mo = o->momentum * *mo + d;
                *w -= lr * (o->nesterov ? d + o->momentum * *mo : *mo);
                break;
            case OPTIMISER_lars:
                *mo = o->momentum * *mo + (o->rate_outside ? 1 : lr) * trust * d;
                *w -= (o->rate_outside ? lr : 1) * *mo;
                break;
            default:
                *mo = o->beta1 * *mo + (1 - o->beta1) * g;
                *v = o->beta2 * *v + (1 - o->beta2) * g * g;
                *w -= lr * decay * *w + lr * (*mo / (1 - pow(o->beta1, step))) /
                                            (sqrt(*v / (1 - pow(o->beta2, step))) + o->eps);
            }
        }
    }
}

/* ---- the model as graphs ---- */

/* One plan that trains, or, with `parts` above 1, one that accumulates and one that applies. */
struct trainer {
    struct rig rig;
    struct graph apply_graph;
    struct plan apply;
    int parts;
};

static struct sum_weight build(struct graph *g, int batch)
{
    struct tensor *const x = graph_input(g, "x", DT_F32, SHAPE(batch, IN));

    return softmax_xent(g, linear(g, relu(g, linear(g, x, "a", HIDDEN, 0.5)), "b", OUT, 0.5),
                        graph_input(g, "labels", DT_I32, SHAPE(batch)),
                        graph_input(g, "weights", DT_F32, SHAPE(batch)), (struct loss){0});
}

static void trainer_begin(struct trainer *t, const struct optim *o, int parts,
                          const struct weight_attr *attr_of_b)
{
    struct rig *const r = &t->rig;
    struct sum_weight loss;

    t->parts = parts;
    rig_begin(r, "ref", GRAPH_TRAIN);
    graph_init(&t->apply_graph, &r->store, GRAPH_TRAIN);
    loss = build(&r->graph, BATCH / parts);
    if (attr_of_b)
        store_find(&r->store, "b.weight")->attr = *attr_of_b;
    if (parts > 1) {
        optim_accumulate(&r->graph, o, loss);
        optim_apply(&t->apply_graph, o);
    } else {
        optim_step(&r->graph, o, loss);
    }
    graph_output(&r->graph, "loss", loss.sum);
    if (rig_ready(r, (struct plan_options){0}) < 0 ||
        (parts > 1 && plan_init(&t->apply, &t->apply_graph, &r->bank, &r->workspace,
                                (struct plan_options){0}) < 0))
        fail_msg("%s", err_reason());
}

static void trainer_end(struct trainer *t)
{
    if (t->parts > 1)
        plan_release(&t->apply);
    graph_release(&t->apply_graph);
    rig_end(&t->rig);
}

static void write_rates(struct plan *p, double lr, int number)
{
    const float rate = (float)lr, count = (float)number;

    assert_int_equal(plan_write(p, "lr", &rate, sizeof(rate)), 0);
    if (plan_has_input(p, "step"))
        assert_int_equal(plan_write(p, "step", &count, sizeof(count)), 0);
}

static void trainer_step(struct trainer *t, const struct sample_set *s, double lr, int number)
{
    struct plan *const p = &t->rig.plan;
    const size_t n = (size_t)(BATCH / t->parts);

    if (t->parts == 1)
        write_rates(p, lr, number);
    for (size_t part = 0; part < (size_t)t->parts; part++) {
        assert_int_equal(plan_write(p, "x", s->x + part * n * IN, n * IN * sizeof(float)), 0);
        assert_int_equal(plan_write(p, "labels", s->labels + part * n, n * 4), 0);
        assert_int_equal(plan_write(p, "weights", s->weights + part * n, n * 4), 0);
        assert_int_equal(plan_run(p, 0), 0);
    }
    if (t->parts == 1)
        return;
    write_rates(&t->apply, lr, number); /* the plans share a workspace */
    assert_int_equal(plan_run(&t->apply, 0), 0);
}

static void model_begin(struct model *m, struct trainer *t)
{
    memset(m, 0, sizeof(*m));
    for (int p = 0; p < N_PARAMS; p++) {
        float *const w = rig_get(&t->rig, names[p]);
        for (int i = 0; i < counts[p]; i++)
            m->w[p][i] = (double)w[i];
        free(w);
    }
}

static void assert_weights(struct trainer *t, const struct model *m, double tolerance)
{
    for (int p = 0; p < N_PARAMS; p++) {
        float *const w = rig_get(&t->rig, names[p]);
        for (int i = 0; i < counts[p]; i++)
            if (!(fabs((double)w[i] - m->w[p][i]) < tolerance))
                fail_msg("%s[%d] is %.9g, expected %.9g", names[p], i, (double)w[i], m->w[p][i]);
        free(w);
    }
}

/* ---- tests ---- */

static const struct optim recipes[] = {
    {.kind = OPTIMISER_sgd},
    {.kind = OPTIMISER_sgd, .momentum = 0.9, .weight_decay = 0.05},
    {.kind = OPTIMISER_sgd, .momentum = 0.9, .weight_decay = 0.05, .nesterov = 1},
    {.kind = OPTIMISER_sgd, .momentum = 0.9, .clip_norm = 0.1},
    {.kind = OPTIMISER_sgd, .momentum = 0.9, .clip_norm = 1e6},
    {.kind = OPTIMISER_lars, .momentum = 0.9, .weight_decay = 0.05, .eta = 0.3},
    {.kind = OPTIMISER_lars, .momentum = 0.9, .weight_decay = 0.05, .eta = 0.3, .eps = 0.1},
    {.kind = OPTIMISER_lars, .momentum = 0.9, .weight_decay = 0.05, .eta = 0.3, .rate_outside = 1},
    {.kind = OPTIMISER_adamw, .beta1 = 0.9, .beta2 = 0.99, .eps = 1e-8, .weight_decay = 0.05},
    {.kind = OPTIMISER_adamw, .beta1 = 0.8, .beta2 = 0.9, .eps = 1e-2},
};

/* The rate changes from step to step, so that where it goes matters. Samples of weight 0 and of
 * half weight, unequal among the micro-batches. */
static void follows_the_formula(const struct optim *o, int parts)
{
    static const float weights[BATCH] = {1, 0, 0, 0.5F, 1, 1, 1, 1};
    struct sample_set samples;
    struct trainer t = {0};
    struct model m;

    make_samples(&samples, weights);
    trainer_begin(&t, o, parts, NULL);
    model_begin(&m, &t);
    for (int step = 1; step <= STEPS; step++) {
        const double lr = 0.1 * step;
        trainer_step(&t, &samples, lr, step);
        model_gradient(&m, &samples, o->clip_norm);
        model_update(&m, o, lr, step);
        assert_weights(&t, &m, 1e-5);
    }
    trainer_end(&t);
}

static void every_recipe_follows_its_formula(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(recipes); i++)
        follows_the_formula(&recipes[i], 1);
}

static void accumulation_changes_nothing(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(recipes); i++)
        follows_the_formula(&recipes[i], 4);
}

static void one_batch_or_four_parts(void **state)
{
    struct trainer whole = {0}, parts = {0};
    struct sample_set samples;

    (void)state;
    make_samples(&samples, NULL);
    trainer_begin(&whole, &recipes[1], 1, NULL);
    trainer_begin(&parts, &recipes[1], 4, NULL);
    for (int step = 1; step <= STEPS; step++) {
        trainer_step(&whole, &samples, 0.1, step);
        trainer_step(&parts, &samples, 0.1, step);
    }
    for (int p = 0; p < N_PARAMS; p++) {
        float *const a = rig_get(&whole.rig, names[p]), *const b = rig_get(&parts.rig, names[p]);
        for (int i = 0; i < counts[p]; i++)
            assert_true(fabs((double)a[i] - (double)b[i]) < 1e-6);
        free(a);
        free(b);
    }
    trainer_end(&whole);
    trainer_end(&parts);
}

/* Every weight and moment as one row of bytes, to see whether anything changed. */
static float *snapshot(struct trainer *t, size_t *n)
{
    const struct store *const s = &t->rig.store;
    float *all = NULL;

    *n = 0;
    for (int i = 0; i < s->n; i++) {
        const size_t count = (size_t)shape_count(s->weights[i]->shape);
        if (s->weights[i]->kind == T_CARRY)
            continue;
        all = xrealloc(all, (*n + count) * sizeof(float));
        assert_int_equal(bank_read(&t->rig.bank, 0, s->weights[i], all + *n), 0);
        *n += count;
    }
    return all;
}

static void broken_step_changes_nothing(void **state)
{
    static const float bad_values[] = {NAN, INFINITY};

    (void)state;
    for (size_t i = 0; i < COUNT_OF(recipes) * 2; i++) {
        struct trainer t = {0};
        struct sample_set good, bad;
        float *before, *after;
        size_t n;
        make_samples(&good, NULL);
        bad = good;
        bad.x[3] = bad_values[i % 2];
        trainer_begin(&t, &recipes[i / 2], i % 3 ? 1 : 2, NULL);
        trainer_step(&t, &good, 0.1, 1);
        before = snapshot(&t, &n);
        trainer_step(&t, &bad, 0.1, 2);
        after = snapshot(&t, &n);
        assert_memory_equal(before, after, n * sizeof(float));
        free(after);
        trainer_end(&t);
        free(before);
    }
}

static void rate_zero_leaves_the_weights(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(recipes); i++) {
        struct trainer t = {0};
        struct sample_set samples;
        struct model m;
        make_samples(&samples, NULL);
        trainer_begin(&t, &recipes[i], 1, NULL);
        model_begin(&m, &t);
        trainer_step(&t, &samples, 0, 1);
        assert_weights(&t, &m, 1e-30);
        trainer_end(&t);
    }
}

/* |w| = 0 gives trust 1, and so does |g| = 0, which leaves plain decay. */
static void lars_trusts_zeros(void **state)
{
    static const struct optim o = {.kind = OPTIMISER_lars, .weight_decay = 0.05, .eta = 0.001};
    struct sample_set samples;
    struct trainer t = {0};
    struct model m;
    float zeros[MAX_WEIGHT] = {0};

    (void)state;
    make_samples(&samples, NULL);
    trainer_begin(&t, &o, 1, NULL);
    rig_set(&t.rig, "b.weight", zeros); /* hence the gradient of a.weight is zero, too */
    model_begin(&m, &t);
    model_gradient(&m, &samples, 0);
    assert_true(norm_of(m.grad[0], counts[0]) <= 0 && norm_of(m.grad[2], counts[2]) > 0.01);
    for (int i = 0; i < counts[0]; i++)
        m.w[0][i] *= 1 - 0.1 * 0.05;
    for (int i = 0; i < counts[2]; i++)
        m.w[2][i] -= 0.1 * m.grad[2][i];
    for (int i = 0; i < counts[3]; i++)
        m.w[3][i] -= 0.1 * m.grad[3][i];
    trainer_step(&t, &samples, 0.1, 1);
    assert_weights(&t, &m, 1e-6);
    trainer_end(&t);
}

/* A frozen weight stays to the bit and has no moment; one with a multiplier gets its own rate. */
static void attributes_are_heeded(void **state)
{
    static const struct weight_attr frozen = {.frozen = 1}, slow = {.lr_mult = 0.25};
    struct sample_set samples;
    struct model m;

    (void)state;
    make_samples(&samples, NULL);
    for (size_t i = 0; i < COUNT_OF(recipes); i++) {
        struct trainer t = {0};
        double start[MAX_WEIGHT], full[MAX_WEIGHT];
        trainer_begin(&t, &recipes[i], 1, &slow);
        model_begin(&m, &t);
        memcpy(start, m.w[2], sizeof(start));
        trainer_step(&t, &samples, 0.1, 1);
        model_gradient(&m, &samples, recipes[i].clip_norm);
        model_update(&m, &recipes[i], 0.1, 1);
        memcpy(full, m.w[2], sizeof(full));
        for (int k = 0; k < counts[2]; k++)
            m.w[2][k] = start[k] + 0.25 * (full[k] - start[k]);
        assert_weights(&t, &m, 1e-6);
        trainer_end(&t);

        t = (struct trainer){0};
        trainer_begin(&t, &recipes[0], 1, &frozen);
        model_begin(&m, &t);
        memcpy(start, m.w[2], sizeof(start));
        trainer_step(&t, &samples, 0.1, 1);
        model_gradient(&m, &samples, 0);
        model_update(&m, &recipes[0], 0.1, 1);
        memcpy(m.w[2], start, sizeof(start));
        assert_weights(&t, &m, 1e-6);
        assert_null(store_find(&t.rig.store, "b.weight.momentum"));
        assert_non_null(store_find(&t.rig.store, "a.weight.momentum"));
        trainer_end(&t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_recipe_follows_its_formula),
        cmocka_unit_test(accumulation_changes_nothing),
        cmocka_unit_test(one_batch_or_four_parts),
        cmocka_unit_test(broken_step_changes_nothing),
        cmocka_unit_test(rate_zero_leaves_the_weights),
        cmocka_unit_test(lars_trusts_zeros),
        cmocka_unit_test(attributes_are_heeded),
    };

    return cmocka_run_group_tests_name("optim", tests, NULL, NULL);
}
