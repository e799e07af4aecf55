#include "graph/graph.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"

void graph_init(struct graph *g, struct store *store, enum graph_mode mode)
{
    *g = (struct graph){.store = store, .mode = mode, .scope = ""};
    arena_init(&g->arena);
}

void graph_release(struct graph *g)
{
    free(g->nodes);
    free(g->tensors);
    free(g->outputs);
    free(g->grads);
    free(g->sparse_grads);
    arena_release(&g->arena);
    *g = (struct graph){0};
}

int graph_status(const struct graph *g)
{
    return g->code ? err(g->code, "%s", g->reason) : 0;
}

int graph_fail(struct graph *g, int code, const char *fmt, ...)
{
    va_list ap;
    int n;

    if (g->code)
        return g->code;
    n = snprintf(g->reason, sizeof(g->reason), "%s%s", g->scope, *g->scope ? ": " : "");
    va_start(ap, fmt);
    vsnprintf(g->reason + n, sizeof(g->reason) - (size_t)n, fmt, ap);
    va_end(ap);
    g->code = code;
    return code;
}

void scope_begin(struct graph *g, const char *fmt, ...)
{
    struct scope *const inner = arena_alloc(&g->arena, sizeof(*inner));
    char part[256];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(part, sizeof(part), fmt, ap);
    va_end(ap);
    inner->outer = g->scopes;
    inner->name = *g->scope ? arena_printf(&g->arena, "%s.%s", g->scope, part)
                            : arena_strdup(&g->arena, part);
    g->scopes = inner;
    g->scope = inner->name;
}

void scope_end(struct graph *g)
{
    ASSERT(g->scopes);
    g->scopes = g->scopes->outer;
    g->scope = g->scopes ? g->scopes->name : "";
}

static struct tensor *tensor_new(struct graph *g, enum tensor_kind kind, enum dtype dtype,
                                 struct shape shape)
{
    struct tensor *const t = arena_alloc(&g->arena, sizeof(*t));

    if (g->n_tensors == g->cap_tensors) {
        g->cap_tensors = g->cap_tensors ? 2 * g->cap_tensors : 256;
        g->tensors = xrealloc(g->tensors, (size_t)g->cap_tensors * sizeof(struct tensor *));
    }
    *t = (struct tensor){.id = g->n_tensors, .kind = kind, .dtype = dtype, .shape = shape};
    g->tensors[g->n_tensors++] = t;
    return t;
}

struct tensor *graph_input(struct graph *g, const char *name, enum dtype dtype, struct shape shape)
{
    struct tensor *t;

    if (g->code)
        return NULL;
    t = tensor_new(g, T_INPUT, dtype, shape);
    t->name = arena_strdup(&g->arena, name);
    return t;
}

struct tensor *graph_input_find(const struct graph *g, const char *name)
{
    for (int i = 0; i < g->n_tensors; i++)
        if (g->tensors[i]->kind == T_INPUT && strcmp(g->tensors[i]->name, name) == 0)
            return g->tensors[i];
    return NULL;
}

void graph_output(struct graph *g, const char *name, struct tensor *t)
{
    if (!t)
        return;
    g->outputs = xrealloc(g->outputs, (size_t)(g->n_outputs + 1) * sizeof(*g->outputs));
    g->outputs[g->n_outputs++] = (struct output){arena_strdup(&g->arena, name), t};
}

struct tensor *graph_output_find(const struct graph *g, const char *name)
{
    for (int i = 0; i < g->n_outputs; i++)
        if (strcmp(g->outputs[i].name, name) == 0)
            return g->outputs[i].tensor;
    return NULL;
}

struct tensor *graph_bound(const struct graph *g, const struct weight *w)
{
    for (int i = 0; i < g->n_tensors; i++)
        if (g->tensors[i]->weight == w)
            return g->tensors[i];
    return NULL;
}

struct tensor *graph_bind(struct graph *g, struct weight *w)
{
    struct tensor *t;

    if (g->code)
        return NULL;
    t = graph_bound(g, w);
    if (t)
        return t;
    t = tensor_new(g, w->kind, w->dtype, w->shape);
    t->weight = w;
    t->name = w->name;
    return t;
}

struct tensor *graph_weight(struct graph *g, const char *name, enum tensor_kind kind,
                            struct shape shape, struct init init, struct weight_attr attr)
{
    struct weight *w = NULL;
    const struct weight want = {
        .name = *g->scope ? arena_printf(&g->arena, "%s.%s", g->scope, name) : name,
        .kind = kind,
        .shape = shape,
        .init = init,
        .attr = attr,
    };

    if (g->code)
        return NULL;
    if (store_get(g->store, &want, &w) < 0) {
        graph_fail(g, E_SHAPE, "%s", err_reason());
        return NULL;
    }
    return graph_bind(g, w);
}

void graph_append(struct graph *g, struct node *n)
{
    if (g->n_nodes == g->cap_nodes) {
        g->cap_nodes = g->cap_nodes ? 2 * g->cap_nodes : 256;
        g->nodes = xrealloc(g->nodes, (size_t)g->cap_nodes * sizeof(struct node *));
    }
    n->id = g->n_nodes;
    g->nodes[g->n_nodes++] = n;
}

static struct node *node_new(struct graph *g, const struct op *op, struct tensor *const *in,
                             int n_in)
{
    struct node *const n = arena_alloc(&g->arena, sizeof(*n));

    n->op = op;
    n->scope = g->scope;
    n->backward = g->building_backward;
    n->n_in = n_in;
    n->in = arena_alloc(&g->arena, (size_t)n_in * sizeof(struct tensor *));
    for (int i = 0; i < n_in; i++)
        n->in[i] = in[i];
    return n;
}

struct node *graph_node(struct graph *g, const struct op *op, union attr attr,
                        struct tensor *const *in, int n_in)
{
    struct node *n;

    for (int i = 0; i < n_in && !g->code; i++)
        if (!in[i])
            graph_fail(g, E_SHAPE, "%s: input %d is missing", op->name, i);
    if (g->code)
        return NULL;
    n = node_new(g, op, in, n_in);
    n->attr = attr;
    for (int i = 0; i < op->n_out; i++) {
        n->out[i] = tensor_new(g, T_VALUE, DT_F32, shape_scalar());
        n->out[i]->maker = n;
        n->out[i]->maker_out = i;
    }
    if (op->shape(n) < 0) {
        graph_fail(g, E_SHAPE, "%s: %s", op->name, err_reason());
        return NULL;
    }
    graph_append(g, n);
    return n;
}

void *graph_alloc(struct graph *g, size_t bytes)
{
    return arena_alloc(&g->arena, bytes);
}

const char *graph_text(struct graph *g, const char *s)
{
    return arena_strdup(&g->arena, s);
}

const char *graph_format(struct graph *g, const char *fmt, ...)
{
    char text[512];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    return graph_text(g, text);
}

struct tensor *node_out(const struct node *n, int i)
{
    return n ? n->out[i] : NULL;
}

void node_take(struct node *n, int i, struct tensor *t)
{
    ASSERT(shape_equal(n->out[i]->shape, t->shape) && n->out[i]->dtype == t->dtype);
    n->out[i] = t;
    t->maker = n;
    t->maker_out = i;
}

int node_is_narrow(const struct node *n)
{
    int narrow = 0;

    for (int i = 0; i < n->n_in; i++)
        narrow |= n->in[i]->dtype == DT_BF16;
    for (int i = 0; i < n->op->n_out; i++)
        narrow |= n->out[i]->dtype == DT_BF16;
    return narrow;
}

void node_cost(const struct node *n, struct cost *c)
{
    *c = (struct cost){0};
    for (int i = 0; i < n->n_in; i++)
        c->bytes += (double)tensor_bytes(n->in[i]) * (op_bit(n->op->writes, i) ? 2 : 1);
    for (int i = 0; i < n->op->n_out; i++) {
        c->bytes += (double)tensor_bytes(n->out[i]);
        c->flops += (double)tensor_count(n->out[i]);
    }
    if (n->op->cost)
        n->op->cost(n, c);
}

struct tensor *graph_grad(const struct graph *g, const struct tensor *t)
{
    return t && t->id < g->n_grads ? g->grads[t->id] : NULL;
}

void graph_add_sparse_grad(struct graph *g, struct sparse_grad s)
{
    g->sparse_grads =
        xrealloc(g->sparse_grads, (size_t)(g->n_sparse_grads + 1) * sizeof(*g->sparse_grads));
    g->sparse_grads[g->n_sparse_grads++] = s;
}

void graph_print(const struct graph *g, struct str *out)
{
    char text[SHAPE_TEXT];

    for (int i = 0; i < g->n_nodes; i++) {
        const struct node *const n = g->nodes[i];

        str_printf(out, "%4d %-18s %-28s", n->id, n->op->name, n->scope);
        for (int k = 0; k < n->n_in; k++)
            str_printf(out, " %%%d%s", n->in[k]->id, shape_text(n->in[k]->shape, text));
        str_add(out, " ->");
        for (int k = 0; k < n->op->n_out; k++)
            str_printf(out, " %%%d%s", n->out[k]->id, shape_text(n->out[k]->shape, text));
        str_add(out, "\n");
    }
}
