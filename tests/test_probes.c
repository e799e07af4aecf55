/* Three graphs that stand for workloads to come: a sharded embedding trained by its sparse
 * gradient, a recurrent decoder that the host drives as a beam search, and a padded top-k under a
 * masked loss.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "graph_fixture.h"

/* A table of ROWS words, looked up twice for each sample, then a classifier. */
enum { ROWS = 11, WIDTH = 4, SAMPLES = 6, CLASSES = 3, STEPS = 5 };

static void update_dense(struct graph *g, struct tensor *lr, struct tensor *one)
{
    for (int i = g->n_tensors - 1; i >= 0; i--) {
        struct tensor *const t = g->tensors[i], *const grad = graph_grad(g, t);
        if (t->kind != T_PARAM || !grad)
            continue;
        scope_begin(g, "%s", t->name);
        sgd_update(g, t, grad,
                   graph_weight(g, "momentum", T_STATE, t->shape, (struct init){0},
                                (struct weight_attr){0}),
                   lr, one, (struct update){.lr_mult = 1});
        scope_end(g);
    }
}

static void build_embedding(struct graph *g, int dense)
{
    const struct embed table = {.rows = ROWS, .width = WIDTH, .dense = dense, .sharded = 1};
    struct tensor *const labels = graph_input(g, "labels", DT_I32, SHAPE(SAMPLES));
    struct tensor *const lr = graph_input(g, "lr", DT_F32, shape_scalar());
    struct tensor *both[2], *x;
    struct sum_weight loss;

    for (int i = 0; i < 2; i++) {
        x = graph_input(g, i ? "second" : "first", DT_I32, SHAPE(SAMPLES));
        x = embedding(g, all_to_all(g, x, (struct exchange){0}), "table", table);
        both[i] = all_to_all(g, x, (struct exchange){0});
    }
    x = linear(g, concat(g, both, 2), "classify", CLASSES, 0.5);
    loss = softmax_xent(g, x, labels, constant(g, SHAPE(SAMPLES), 1), (struct loss){0});
    graph_output(g, "loss", loss.sum);
    backward(g, loss.sum);
    x = constant(g, shape_scalar(), 1);
    for (int i = 0; i < g->n_sparse_grads; i++)
        sparse_sgd_update(g, g->sparse_grads[i], lr, x, (struct update){.lr_mult = 1});
    update_dense(g, lr, x);
}

/* Returns the table after STEPS steps; heap. losses[STEPS] receives the loss of each. */
static float *train_embedding(int dense, float *losses)
{
    static const int labels[SAMPLES] = {0, 1, 2, 0, 1, 2};
    int index[SAMPLES];
    float *table;
    struct rig r;

    rig_begin(&r, "ref", GRAPH_TRAIN);
    build_embedding(&r.graph, dense);
    assert_int_equal(r.graph.n_sparse_grads, dense ? 0 : 2);
    if (rig_ready(&r, (struct plan_options){0}) < 0)
        fail_msg("%s", err_reason());
    assert_int_equal(plan_write(&r.plan, "labels", labels, sizeof(labels)), 0);
    rig_write_scalar(&r, "lr", 0.3F);
    for (int step = 0; step < STEPS; step++) {
        for (int k = 0; k < 2; k++) {
            for (int i = 0; i < SAMPLES; i++)
                index[i] = (i * (k + 2) + step) % 7 - (i == k); /* rows 7 to 10 are never read */
            assert_int_equal(plan_write(&r.plan, k ? "second" : "first", index, sizeof(index)), 0);
        }
        rig_run(&r);
        losses[step] = rig_scalar(&r, "loss");
    }
    table = rig_get(&r, "table.weight");
    assert_true(rig_weight(&r, "table.weight")->attr.sharded);
    rig_end(&r);
    return table;
}

static void test_sharded_embedding_trains_by_its_rows(void **state)
{
    const struct weight w = {
        .name = "table.weight", .shape = SHAPE(ROWS, WIDTH), .init = {INIT_NORMAL, 1}};
    float start[ROWS * WIDTH], sparse_loss[STEPS], dense_loss[STEPS];
    float *const sparse = train_embedding(0, sparse_loss), *const dense =
                                                               train_embedding(1, dense_loss);
    int moved = 0;

    (void)state;
    weight_initial(&w, RIG_SEED, start);
    for (int i = 0; i < ROWS * WIDTH; i++) {
        if (i / WIDTH >= 7)
            assert_memory_equal(&sparse[i], &start[i], sizeof(float));
        assert_true(fabsf(sparse[i] - dense[i]) <= 1e-6F);
        moved += fabsf(sparse[i] - start[i]) > 1e-3F;
    }
    assert_true(moved > 7 * WIDTH / 2);
    for (int i = 0; i < STEPS; i++)
        assert_true(fabsf(sparse_loss[i] - dense_loss[i]) <= 1e-5F);
    free(sparse);
    free(dense);
}

/* The decoder: one step over a batch of hypotheses. */
enum { VOCABULARY = 3, HIDDEN = 4, WORD = 2, LENGTH = 3, ALL = 27, WIDEST = 9 };

static struct tensor *gate(struct graph *g, struct tensor *z, int i)
{
    return slice(g, z, (struct slice){.axis = 1, .begin = (int64_t)i * HIDDEN, .length = HIDDEN});
}

static void build_decoder(struct graph *g, int beam)
{
    const struct embed words = {.rows = VOCABULARY, .width = WORD};
    struct tensor *const token = graph_input(g, "token", DT_I32, SHAPE(beam));
    struct tensor *const parent = graph_input(g, "parent", DT_I32, SHAPE(beam));
    struct tensor *const h = graph_weight(g, "h", T_CARRY, SHAPE(beam, HIDDEN), (struct init){0},
                                          (struct weight_attr){0});
    struct tensor *const c = graph_weight(g, "c", T_CARRY, SHAPE(beam, HIDDEN), (struct init){0},
                                          (struct weight_attr){0});
    struct tensor *const xh[] = {embedding(g, token, "words", words), gather(g, h, parent)};
    struct tensor *const z = linear(g, concat(g, xh, 2), "cell", 4 * HIDDEN, 1.5);
    struct tensor *const keep = mul(g, sigmoid(g, gate(g, z, 1)), gather(g, c, parent));
    struct tensor *const fresh = mul(g, sigmoid(g, gate(g, z, 0)), tanh_of(g, gate(g, z, 2)));
    struct tensor *const c_new = add(g, keep, fresh);
    struct tensor *const h_new = mul(g, sigmoid(g, gate(g, z, 3)), tanh_of(g, c_new));

    graph_output(g, "log_p", log_softmax(g, linear(g, h_new, "vocabulary", VOCABULARY, 2)));
    assign(g, h, h_new);
    assign(g, c, c_new);
}

struct hypothesis {
    int token[LENGTH + 1]; /* token[0] starts, 0 */
    int n, parent;
    double score;
};

static int by_score(const void *a, const void *b)
{
    const struct hypothesis *const x = a, *const y = b;

    return x->score < y->score ? 1 : x->score > y->score ? -1 : 0;
}

/* One step of the search: all continuations of the n living hypotheses; the best `beam` live on. */
static int extend(struct rig *r, struct hypothesis *live, int n, int beam)
{
    struct hypothesis next[WIDEST * VOCABULARY];
    int token[WIDEST] = {0}, parent[WIDEST] = {0}, made = 0;
    float log_p[WIDEST * VOCABULARY];
    const size_t ints = (size_t)beam * sizeof(int);

    for (int i = 0; i < n; i++) {
        token[i] = live[i].token[live[i].n];
        parent[i] = live[i].parent;
    }
    assert_int_equal(plan_write(&r->plan, "token", token, ints), 0);
    assert_int_equal(plan_write(&r->plan, "parent", parent, ints), 0);
    rig_run(r);
    assert_int_equal(plan_read(&r->plan, "log_p", log_p, ints * VOCABULARY), 0);
    for (int i = 0; i < n; i++)
        for (int v = 0; v < VOCABULARY; v++, made++) {
            next[made] = live[i];
            next[made].token[++next[made].n] = v;
            next[made].score += log_p[i * VOCABULARY + v];
            next[made].parent = i;
        }
    qsort(next, (size_t)made, sizeof(*next), by_score);
    made = made < beam ? made : beam;
    memcpy(live, next, (size_t)made * sizeof(*next));
    return made;
}

/* The best `beam` sequences, from the graph. A negative parent starts from a state of zeros. */
static void search(struct rig *r, struct hypothesis *live, int beam)
{
    int n = 1;

    live[0] = (struct hypothesis){.parent = -1};
    for (int step = 0; step < LENGTH; step++)
        n = extend(r, live, n, beam);
}

struct decoder_weights {
    float *words, *cell_w, *cell_b, *out_w, *out_b;
};

static double affine(const float *w, const float *b, int row, const double *x, int n)
{
    double v = b[row];

    for (int i = 0; i < n; i++)
        v += w[row * n + i] * x[i];
    return v;
}

static double logistic(double x)
{
    return 1 / (1 + exp(-x));
}

/* The same step in plain C, for one hypothesis; returns log p of the next token. */
static double plain_step(const struct decoder_weights *w, int token, int next, double *h, double *c)
{
    double x[WORD + HIDDEN], z[4 * HIDDEN], logit[VOCABULARY], total = 0;

    for (int i = 0; i < WORD + HIDDEN; i++)
        x[i] = i < WORD ? w->words[token * WORD + i] : h[i - WORD];
    for (int i = 0; i < 4 * HIDDEN; i++)
        z[i] = affine(w->cell_w, w->cell_b, i, x, WORD + HIDDEN);
    for (int i = 0; i < HIDDEN; i++) {
        c[i] = logistic(z[HIDDEN + i]) * c[i] + logistic(z[i]) * tanh(z[2 * HIDDEN + i]);
        h[i] = logistic(z[3 * HIDDEN + i]) * tanh(c[i]);
    }
    for (int v = 0; v < VOCABULARY; v++) {
        logit[v] = affine(w->out_w, w->out_b, v, h, HIDDEN);
        total += exp(logit[v]);
    }
    return logit[next] - log(total);
}

static double plain_score(const struct decoder_weights *w, const int *token)
{
    double h[HIDDEN] = {0}, c[HIDDEN] = {0}, score = 0;

    for (int t = 0; t < LENGTH; t++)
        score += plain_step(w, token[t], token[t + 1], h, c);
    return score;
}

static struct decoder_weights decoder_read(struct rig *r)
{
    return (struct decoder_weights){rig_get(r, "words.weight"), rig_get(r, "cell.weight"),
                                    rig_get(r, "cell.bias"), rig_get(r, "vocabulary.weight"),
                                    rig_get(r, "vocabulary.bias")};
}

static void decoder_free(struct decoder_weights *w)
{
    free(w->words);
    free(w->cell_w);
    free(w->cell_b);
    free(w->out_w);
    free(w->out_b);
}

static void exhaustive(const struct decoder_weights *w, struct hypothesis *all)
{
    for (int i = 0; i < ALL; i++) {
        all[i] = (struct hypothesis){.token = {0, i / 9, i / 3 % 3, i % 3}, .n = LENGTH};
        all[i].score = plain_score(w, all[i].token);
    }
    qsort(all, ALL, sizeof(*all), by_score);
}

/* A beam that holds every prefix finds what exhaustive search finds, in its order. */
static void test_wide_beam_is_exhaustive(void **state)
{
    struct hypothesis live[WIDEST], all[ALL];
    struct decoder_weights w;
    struct rig r;

    (void)state;
    rig_begin(&r, "ref", GRAPH_EVAL);
    build_decoder(&r.graph, WIDEST);
    assert_int_equal(rig_ready(&r, (struct plan_options){0}), 0);
    w = decoder_read(&r);
    exhaustive(&w, all);
    for (int again = 0; again < 2; again++) { /* the second search starts from a used carry */
        search(&r, live, WIDEST);
        for (int i = 0; i < WIDEST; i++) {
            assert_memory_equal(live[i].token, all[i].token, sizeof(all[i].token));
            assert_true(fabs(live[i].score - all[i].score) <= 1e-5);
        }
    }
    assert_true(all[0].score - all[WIDEST - 1].score > 0.1); /* they do differ */
    decoder_free(&w);
    rig_end(&r);
}

/* In a narrow beam parents change places; each score is still that of its own sequence. */
static void test_narrow_beam_reorders_the_carry(void **state)
{
    struct hypothesis live[WIDEST];
    struct decoder_weights w;
    struct rig r;

    (void)state;
    rig_begin(&r, "ref", GRAPH_EVAL);
    build_decoder(&r.graph, 2);
    assert_int_equal(rig_ready(&r, (struct plan_options){0}), 0);
    w = decoder_read(&r);
    search(&r, live, 2);
    for (int i = 0; i < 2; i++)
        assert_true(fabs(live[i].score - plain_score(&w, live[i].token)) <= 1e-5);
    assert_true(live[0].score > live[1].score);
    decoder_free(&w);
    rig_end(&r);
}

/* Padded top-k: the squares of the three best of up to six, summed. */
enum { PEOPLE = 4, SCORES = 6, BEST = 3 };
static const int valid[PEOPLE] = {6, 2, 0, 1};

static void build_masked_topk(struct graph *g)
{
    struct tensor *const x = graph_weight(g, "x", T_PARAM, SHAPE(PEOPLE, SCORES), (struct init){0},
                                          (struct weight_attr){0});
    const struct topk_out best = topk(g, x, graph_input(g, "valid", DT_I32, SHAPE(PEOPLE)), BEST);
    const struct sum_weight loss = masked_sum(g, mul(g, best.values, best.values), best.mask);

    graph_output(g, "loss", loss.sum);
    graph_output(g, "weight", loss.weight);
    backward(g, loss.sum);
    graph_output(g, "grad", graph_grad(g, x));
}

static void masked_topk_run(struct rig *r, const float *x, float *grad)
{
    rig_set(r, "x", x);
    rig_run(r);
    assert_int_equal(plan_read(&r->plan, "grad", grad, PEOPLE * SCORES * sizeof(float)), 0);
}

static void test_masked_topk(void **state)
{
    const struct random_key key = {3, RANDOM_TEST, 0};
    float x[PEOPLE * SCORES], moved[PEOPLE * SCORES], grad[PEOPLE * SCORES], other[PEOPLE * SCORES];
    const float h = 1e-2F;
    struct rig r;
    float loss;

    (void)state;
    rig_begin(&r, "ref", GRAPH_TRAIN);
    build_masked_topk(&r.graph);
    assert_int_equal(rig_ready(&r, (struct plan_options){0}), 0);
    assert_int_equal(plan_write(&r.plan, "valid", valid, sizeof(valid)), 0);
    for (uint64_t i = 0; i < COUNT_OF(x); i++)
        x[i] = 0.1F * (float)((int64_t)random_permute(key, COUNT_OF(x), i) - 8);
    masked_topk_run(&r, x, grad);
    loss = rig_scalar(&r, "loss");
    assert_true(rig_scalar(&r, "weight") == 3 + 2 + 0 + 1);
    for (size_t i = 0; i < COUNT_OF(x); i++) {
        float up;
        memcpy(moved, x, sizeof(x));
        moved[i] = x[i] + h;
        masked_topk_run(&r, moved, other);
        up = rig_scalar(&r, "loss");
        moved[i] = x[i] - h;
        masked_topk_run(&r, moved, other);
        assert_true(fabsf((up - rig_scalar(&r, "loss")) / (2 * h) - grad[i]) <= 1e-3F);
    }
    for (int i = 0; i < PEOPLE * SCORES; i++) {
        moved[i] = i % SCORES < valid[i / SCORES] ? x[i] : NAN; /* what nobody may look at */
        if (isnan(moved[i]))
            assert_true(grad[i] == 0);
    }
    masked_topk_run(&r, moved, other);
    assert_true(rig_scalar(&r, "loss") == loss);
    assert_memory_equal(other, grad, sizeof(grad));
    rig_end(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sharded_embedding_trains_by_its_rows),
        cmocka_unit_test(test_wide_beam_is_exhaustive),
        cmocka_unit_test(test_narrow_beam_reorders_the_carry),
        cmocka_unit_test(test_masked_topk),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
