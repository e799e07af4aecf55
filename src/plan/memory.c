#include "plan/memory.h"

#include <stdlib.h>

#include "base/err.h"

/* A stretch of memory with a lifetime: one tensor, or several that take it over from each other. */
struct buffer {
    int root; /* tensor id */
    int first, last;
    size_t bytes, offset;
};

static int in_arena(const struct tensor *t)
{
    return t->kind == T_VALUE || t->kind == T_INPUT;
}

static void touch(struct memory *m, const struct tensor *t, int step)
{
    if (m->first[t->id] < 0)
        m->first[t->id] = step;
    m->last[t->id] = step;
}

static void lifetimes(struct memory *m, const struct graph *g)
{
    for (int i = 0; i < g->n_tensors; i++)
        m->first[i] = m->last[i] = -1;
    for (int i = 0; i < g->n_nodes; i++) {
        for (int k = 0; k < g->nodes[i]->n_in; k++)
            touch(m, g->nodes[i]->in[k], i);
        for (int k = 0; k < g->nodes[i]->op->n_out; k++)
            touch(m, g->nodes[i]->out[k], i);
    }
    for (int i = 0; i < g->n_outputs; i++)
        touch(m, g->outputs[i].tensor, g->n_nodes);
    for (int i = 0; i < g->n_tensors; i++)
        if (g->tensors[i]->kind == T_INPUT) {
            m->first[i] = 0;
            m->last[i] = g->n_nodes;
        }
}

/* The input whose memory output 0 of n may take over: it dies here, fits, and is read through no
 * other input. */
static const struct tensor *dying_input(const struct memory *m, const struct node *n)
{
    for (int k = 0; k < n->n_in; k++) {
        const struct tensor *const t = n->in[k];
        int reads = 0;

        if (!op_bit(n->op->in_place, k) || t->kind != T_VALUE || m->last[t->id] != n->id)
            continue;
        for (int j = 0; j < n->n_in; j++)
            reads += n->in[j] == t;
        if (reads == 1 && tensor_bytes(t) == tensor_bytes(n->out[0]))
            return t;
    }
    return NULL;
}

static int by_size(const void *a, const void *b)
{
    const struct buffer *const x = a, *const y = b;

    if (x->bytes != y->bytes)
        return x->bytes < y->bytes ? 1 : -1;
    return x->root - y->root;
}

/* Lowest offset at which b overlaps no placed buffer that lives at the same time. placed is sorted
 * by offset. */
static void place(struct buffer *b, struct buffer **placed, int n)
{
    size_t at = 0;
    int slot = n;

    for (int i = 0; i < n; i++) {
        const struct buffer *const p = placed[i];
        if (p->last < b->first || b->last < p->first)
            continue;
        if (p->offset >= at + b->bytes)
            break;
        if (p->offset + p->bytes > at)
            at = p->offset + p->bytes;
    }
    b->offset = at;
    while (slot > 0 && placed[slot - 1]->offset > at) {
        placed[slot] = placed[slot - 1];
        slot--;
    }
    placed[slot] = b;
}

static int collect(struct memory *m, const struct graph *g, int *root, struct buffer *buffers)
{
    int n = 0;

    for (int i = 0; i < g->n_nodes; i++) {
        const struct node *const nd = g->nodes[i];
        const struct tensor *const t = nd->op->n_out ? dying_input(m, nd) : NULL;
        if (t) {
            root[nd->out[0]->id] = root[t->id];
            m->shared++;
        }
    }
    for (int i = 0; i < g->n_tensors; i++) {
        const struct tensor *const t = g->tensors[i];
        if (!in_arena(t) || m->first[i] < 0)
            continue;
        m->sum_bytes += tensor_bytes(t);
        if (root[i] != i)
            continue;
        buffers[n] = (struct buffer){.root = i, .first = m->first[i], .last = m->last[i]};
        buffers[n++].bytes = (tensor_bytes(t) + MEMORY_ALIGN - 1) / MEMORY_ALIGN * MEMORY_ALIGN;
    }
    return n;
}

/* A buffer lives until the last of those who took it over. */
static void extend(const struct memory *m, const struct graph *g, const int *root,
                   struct buffer *buffers, int n)
{
    int *const at = xcalloc((size_t)g->n_tensors, sizeof(int));

    for (int i = 0; i < n; i++)
        at[buffers[i].root] = i;
    for (int i = 0; i < g->n_tensors; i++)
        if (in_arena(g->tensors[i]) && m->first[i] >= 0) {
            struct buffer *const b = &buffers[at[root[i]]];
            if (m->last[i] > b->last)
                b->last = m->last[i];
        }
    free(at);
}

void memory_init(struct memory *m, const struct graph *g)
{
    const size_t n = (size_t)g->n_tensors;
    int *const root = xcalloc(n, sizeof(int));
    struct buffer *const buffers = xcalloc(n, sizeof(*buffers));
    struct buffer **const placed = xcalloc(n, sizeof(struct buffer *));
    int n_buffers;

    *m = (struct memory){0};
    m->offset = xcalloc(n, sizeof(size_t));
    m->first = xcalloc(n, sizeof(int));
    m->last = xcalloc(n, sizeof(int));
    for (int i = 0; i < g->n_tensors; i++)
        root[i] = i;
    lifetimes(m, g);
    n_buffers = collect(m, g, root, buffers);
    extend(m, g, root, buffers, n_buffers);
    qsort(buffers, (size_t)n_buffers, sizeof(*buffers), by_size);
    for (int i = 0; i < n_buffers; i++) {
        place(&buffers[i], placed, i);
        m->offset[buffers[i].root] = buffers[i].offset;
        if (buffers[i].offset + buffers[i].bytes > m->arena_bytes)
            m->arena_bytes = buffers[i].offset + buffers[i].bytes;
    }
    for (int i = 0; i < g->n_tensors; i++)
        m->offset[i] = m->offset[root[i]];
    free(root);
    free(buffers);
    free(placed);
}

void memory_release(struct memory *m)
{
    free(m->offset);
    free(m->first);
    free(m->last);
    *m = (struct memory){0};
}
