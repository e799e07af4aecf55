#include "optim/optim.h"

#include <stdlib.h>

#include "base/err.h"

/* clang-format off */
const struct optimiser optimisers[N_OPTIMISERS] = {
#define OPTIMISER(name, help) [OPTIMISER_##name] = {#name, help, optimiser_##name##_update},
#include "optim/list.h"
#undef OPTIMISER
};

const char *const optimiser_names[] = {
#define OPTIMISER(name, help) #name,
#include "optim/list.h"
#undef OPTIMISER
    NULL,
};
/* clang-format on */

struct tensor *optim_moment(struct graph *g, const struct tensor *w, const char *suffix)
{
    if (!w)
        return NULL;
    return graph_weight(g, suffix, T_STATE, w->shape, (struct init){INIT_ZERO, 0},
                        (struct weight_attr){0});
}

static struct tensor *scalar_input(struct graph *g, const char *name)
{
    return graph_input(g, name, DT_F32, shape_scalar());
}

/* One input, whoever asks first. */
static struct tensor *loss_scale_input(struct graph *g)
{
    static const char name[] = "loss_scale";
    struct tensor *const there = graph_input_find(g, name);

    return there ? there : scalar_input(g, name);
}

/* The gradients of the loss, or of the scaled loss. */
static void differentiate(struct graph *g, const struct optim *o, struct tensor *loss)
{
    backward(g, o->scaled ? mul(g, loss, loss_scale_input(g)) : loss);
}

/* A parameter and its gradient, or its carried sum. */
struct pair {
    struct tensor *w, *grad;
};

/* The settings of an update for one weight. */
static struct update update_of(const struct optim *o, const struct weight_attr *a)
{
    return (struct update){.momentum = o->momentum,
                           .weight_decay = o->weight_decay,
                           .eta = o->eta,
                           .eps = o->eps,
                           .beta1 = o->beta1,
                           .beta2 = o->beta2,
                           .nesterov = o->nesterov,
                           .rate_outside = o->rate_outside,
                           .plain = a->no_decay,
                           .lr_mult = a->lr_mult > 0 ? a->lr_mult : 1};
}

static void update_dense(struct graph *g, const struct optim *o, const struct pair *pairs, int n,
                         struct optim_param p)
{
    for (int i = 0; i < n; i++) {
        p.w = pairs[i].w;
        p.grad = pairs[i].grad;
        p.update = update_of(o, &p.w->weight->attr);
        scope_begin(g, "%s", p.w->name);
        optimisers[o->kind].update(g, &p);
        scope_end(g);
    }
}

/* Embedding tables, one entry per lookup. Only plain SGD has a sparse form: momentum or decay would
 * touch every row, and clipping would need the norm of all of them. */
static void update_sparse(struct graph *g, const struct optim *o, struct optim_param p)
{
    for (int i = 0; i < g->n_sparse_grads; i++) {
        const struct sparse_grad *const s = &g->sparse_grads[i];

        if (o->kind != OPTIMISER_sgd || o->momentum > 0 || o->clip_norm > 0)
            graph_fail(
                g, E_UNSUPPORTED,
                "%s has a sparse gradient; only sgd without momentum and clipping applies one",
                s->table->name);
        sparse_sgd_update(g, *s, p.lr, p.scale, update_of(o, &s->table->weight->attr));
    }
}

static struct tensor *norm_of(struct graph *g, const struct pair *pairs, int n)
{
    struct tensor **const grads = graph_alloc(g, (size_t)n * sizeof(struct tensor *));

    for (int i = 0; i < n; i++)
        grads[i] = pairs[i].grad;
    return global_norm(g, grads, n);
}

/* What gradients are multiplied by: one over the weight of the loss and its scale, clipped. NaN, so
 * that nothing is updated, when the loss or, with a scaled loss, any gradient is not finite. */
static struct tensor *update_scale(struct graph *g, const struct optim *o, const struct pair *pairs,
                                   int n, struct sum_weight loss)
{
    struct tensor *const norm = o->clip_norm > 0 || o->scaled ? norm_of(g, pairs, n) : NULL;
    struct tensor *scale;

    if (o->scaled) {
        scale = reciprocal(g, mul(g, loss.weight, loss_scale_input(g)), norm);
        graph_output(g, "update_scale", scale);
    } else {
        scale = reciprocal(g, loss.weight, loss.sum);
    }
    return o->clip_norm > 0 ? clip_scale(g, scale, norm, o->clip_norm) : scale;
}

static void apply(struct graph *g, const struct optim *o, const struct pair *pairs, int n,
                  struct sum_weight loss)
{
    struct optim_param p = {.lr = scalar_input(g, "lr"),
                            .scale = update_scale(g, o, pairs, n, loss)};

    p.step = scalar_input(g, "step"); /* an optimiser that does not count leaves it unread */
    update_dense(g, o, pairs, n, p);
    update_sparse(g, o, p);
}

/* The parameters that have a gradient in this graph, in the store's order. */
static int collect(struct graph *g, struct pair *pairs)
{
    int n = 0;

    for (int i = 0; i < g->store->n; i++) {
        struct tensor *const w =
            g->store->weights[i]->kind == T_PARAM ? graph_bound(g, g->store->weights[i]) : NULL;
        if (w && graph_grad(g, w))
            pairs[n++] = (struct pair){w, graph_grad(g, w)};
    }
    return n;
}

void optim_step(struct graph *g, const struct optim *o, struct sum_weight loss)
{
    struct pair *pairs;

    differentiate(g, o, loss.sum);
    if (g->code)
        return;
    pairs = graph_alloc(g, (size_t)g->store->n * sizeof(*pairs));
    apply(g, o, pairs, collect(g, pairs), loss);
}

static struct tensor *carried(struct graph *g, const char *name, struct shape shape)
{
    return graph_weight(g, name, T_CARRY, shape, (struct init){INIT_ZERO, 0},
                        (struct weight_attr){0});
}

static const char loss_sum_name[] = "accumulated.loss", loss_weight_name[] = "accumulated.weight";

void optim_accumulate(struct graph *g, const struct optim *o, struct sum_weight loss)
{
    struct pair *pairs;
    int n;

    differentiate(g, o, loss.sum);
    if (g->code)
        return;
    pairs = graph_alloc(g, (size_t)g->store->n * sizeof(*pairs));
    n = collect(g, pairs);
    if (g->n_sparse_grads)
        graph_fail(g, E_UNSUPPORTED, "%s has a sparse gradient, which can not be accumulated",
                   g->sparse_grads[0].table->name);
    for (int i = 0; i < n; i++)
        accumulate(g, carried(g, graph_format(g, "%s.grad", pairs[i].w->name), pairs[i].w->shape),
                   pairs[i].grad);
    accumulate(g, carried(g, loss_sum_name, shape_scalar()), loss.sum);
    accumulate(g, carried(g, loss_weight_name, shape_scalar()), loss.weight);
}

void optim_apply(struct graph *g, const struct optim *o)
{
    const int n_weights = g->store->n;
    struct pair *const pairs = graph_alloc(g, (size_t)n_weights * sizeof(*pairs));
    struct sum_weight loss = {carried(g, loss_sum_name, shape_scalar()),
                              carried(g, loss_weight_name, shape_scalar())};
    int n = 0;

    for (int i = 0; i < n_weights && !g->code; i++) {
        struct weight *const w = g->store->weights[i];
        struct weight *const sum =
            w->kind == T_PARAM ? store_find(g->store, graph_format(g, "%s.grad", w->name)) : NULL;
        if (sum)
            pairs[n++] = (struct pair){graph_bind(g, w), graph_bind(g, sum)};
    }
    apply(g, o, pairs, n, loss);
    for (int i = 0; i < n; i++)
        clear(g, pairs[i].grad);
    clear(g, loss.sum);
    clear(g, loss.weight);
}
