#include "plan/plan.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/debug.h"
#include "base/err.h"
#include "base/hostile.h"
#include "plan/debug.h"
#include "plan/poison.h"

void workspace_init(struct workspace *w, const struct engine *e)
{
    *w = (struct workspace){.engine = e};
}

void workspace_release(struct workspace *w)
{
    if (w->base)
        w->engine->backend->free(w->engine->device, w->base, w->bytes);
    *w = (struct workspace){0};
}

static void workspace_reserve(struct workspace *w, size_t bytes)
{
    if (bytes <= w->bytes)
        return;
    if (w->base)
        BUG("a plan of %zu bytes was made after its workspace of %zu was in use", bytes, w->bytes);
    w->bytes = bytes;
}

/* The kernel gave a reason; that the machine has no bf16 at all is a better one. */
static int declined(const struct plan *p, const struct node *n, const char *in)
{
    const struct engine *const e = p->engine;

    if (node_is_narrow(n))
        e->backend->supports(e->device, DT_BF16);
    return err_prefix(E_UNSUPPORTED, "%s%sbackend %s declines op %s: ", n->scope, in,
                      e->backend->name, n->op->name);
}

static int step_init(struct plan *p, struct step *s, const struct node *n)
{
    const struct kernel *const kernel = p->engine->backend->kernels[n->op->id];
    const char *const in = *n->scope ? ": " : ""; /* an op alone has no scope */

    *s = (struct step){.node = n, .kernel = kernel};
    if (!kernel)
        return err(E_UNSUPPORTED, "%s%sbackend %s has no kernel for op %s", n->scope, in,
                   p->engine->backend->name, n->op->name);
    s->in = xcalloc((size_t)n->n_in, sizeof(void *));
    snprintf(s->impl, sizeof(s->impl), "%s", kernel->name);
    if (kernel->prepare && kernel->prepare(p->engine->device, s) < 0)
        return declined(p, n, in);
    return 0;
}

static int make_steps(struct plan *p)
{
    p->steps = xcalloc((size_t)p->graph->n_nodes, sizeof(*p->steps));
    for (int i = 0; i < p->graph->n_nodes; i++) {
        const int rc = step_init(p, &p->steps[i], p->graph->nodes[i]);

        p->n_steps = i + 1; /* release what this one made, too */
        TRY(rc);
        if (p->steps[i].scratch_bytes > p->scratch_bytes)
            p->scratch_bytes = p->steps[i].scratch_bytes;
    }
    return 0;
}

int plan_init(struct plan *p, struct graph *g, struct bank *b, struct workspace *w,
              struct plan_options o)
{
    const struct target target = {b->engine->backend, o.precision};
    int rc = graph_status(g);

    *p = (struct plan){.engine = b->engine, .graph = g, .bank = b, .workspace = w, .bound_set = -1};
    for (int i = 0; i < N_PASSES && rc == 0; i++) {
        if (!(o.without >> i & 1))
            passes[i].run(g, &target);
        rc = graph_status(g);
    }
    if (rc == 0)
        rc = make_steps(p);
    if (rc < 0) {
        plan_release(p);
        return rc;
    }
    memory_init(&p->memory, g);
    workspace_reserve(w, p->memory.arena_bytes + p->scratch_bytes + MEMORY_ALIGN);
    p->tells = debug_level() >= DEBUG_TIMES;
    if (debug_level() >= DEBUG_PLANS)
        debug_plan(p);
    return 0;
}

void plan_release(struct plan *p)
{
    for (int i = 0; i < p->n_steps; i++) {
        struct step *const s = &p->steps[i];
        if (s->kernel && s->kernel->release)
            s->kernel->release(p->engine->device, s);
        free(s->in);
    }
    free(p->steps);
    free(p->step_ns);
    memory_release(&p->memory);
    *p = (struct plan){0};
}

static void *address(const struct plan *p, int set, const struct tensor *t)
{
    return t->weight ? bank_address(p->bank, set, t->weight)
                     : (char *)p->workspace->base + p->memory.offset[t->id];
}

int workspace_ready(struct workspace *w)
{
    const size_t bytes = w->bytes ? w->bytes : MEMORY_ALIGN;

    if (w->base)
        return 0;
    TRY(w->engine->backend->alloc(w->engine->device, bytes, &w->base));
    return HOSTILE ? poison_block(w->engine, w->base, bytes) : 0;
}

/* Gives every step the addresses of a weight set. */
static int bind(struct plan *p, int set)
{
    if (p->bound_set == set)
        return 0;
    ASSERT(set >= 0 && set < p->bank->n_sets);
    TRY(workspace_ready(p->workspace));
    for (int i = 0; i < p->n_steps; i++) {
        struct step *const s = &p->steps[i];
        for (int k = 0; k < s->node->n_in; k++)
            s->in[k] = address(p, set, s->node->in[k]);
        for (int k = 0; k < s->node->op->n_out; k++)
            s->out[k] = address(p, set, s->node->out[k]);
        s->scratch = (char *)p->workspace->base + p->memory.arena_bytes;
    }
    p->bound_set = set;
    return 0;
}

int plan_has_input(const struct plan *p, const char *input)
{
    return graph_input_find(p->graph, input) != NULL;
}

int plan_write(struct plan *p, const char *input, const void *src, size_t bytes)
{
    const struct tensor *const t = graph_input_find(p->graph, input);

    if (!t || tensor_bytes(t) != bytes)
        BUG("input %s: %zu bytes written, the graph has %zu", input, bytes,
            t ? tensor_bytes(t) : 0);
    TRY(workspace_ready(p->workspace));
    return p->engine->backend->write(p->engine->device, address(p, 0, t), src, bytes);
}

int plan_read(struct plan *p, const char *output, void *dst, size_t bytes)
{
    const struct tensor *const t = graph_output_find(p->graph, output);

    if (!t || tensor_bytes(t) != bytes)
        BUG("output %s: %zu bytes read, the graph has %zu", output, bytes, t ? tensor_bytes(t) : 0);
    return p->engine->backend->read(p->engine->device, dst,
                                    address(p, p->bound_set < 0 ? 0 : p->bound_set, t), bytes);
}

static int run_step(struct plan *p, int i)
{
    const struct step *const s = &p->steps[i];
    int64_t ns;

    if (!p->step_ns && !p->tells)
        return s->kernel->run(p->engine->device, s);
    ns = clock_ns();
    TRY(s->kernel->run(p->engine->device, s));
    TRY(p->engine->backend->sync(p->engine->device));
    ns = clock_ns() - ns;
    if (p->step_ns)
        p->step_ns[i] += ns;
    return p->tells ? debug_step(p, i, ns) : 0;
}

int plan_run(struct plan *p, int set)
{
    TRY(bind(p, set));
    for (int i = 0; i < p->n_steps; i++) {
        TRY(run_step(p, i));
        if (HOSTILE)
            TRY(poison_dead(p, i));
    }
    p->runs++;
    return p->engine->backend->sync(p->engine->device);
}

void plan_profile(struct plan *p)
{
    if (!p->step_ns)
        p->step_ns = xcalloc((size_t)p->n_steps, sizeof(*p->step_ns));
    memset(p->step_ns, 0, (size_t)p->n_steps * sizeof(*p->step_ns));
    p->runs = 0;
}

/* Index of the first element that is not finite, or -1. */
static int64_t first_bad(struct plan *p, const struct tensor *t, const void *at)
{
    const int64_t n = tensor_count(t);
    void *const host = xmalloc(tensor_bytes(t));
    int64_t bad = -1;

    if (p->engine->backend->read(p->engine->device, host, at, tensor_bytes(t)) == 0)
        for (int64_t i = 0; i < n && bad < 0; i++)
            if (!isfinite(dtype_value(host, t->dtype, i)))
                bad = i;
    free(host);
    return bad;
}

static int check_step(struct plan *p, const struct step *s)
{
    const struct node *const n = s->node;
    char text[SHAPE_TEXT];

    for (int k = 0; k < n->n_in + n->op->n_out; k++) {
        const int is_in = k < n->n_in;
        const struct tensor *const t = is_in ? n->in[k] : n->out[k - n->n_in];
        const int64_t bad = first_bad(p, t, is_in ? s->in[k] : s->out[k - n->n_in]);

        if (bad >= 0)
            return err(E_NUMERIC,
                       "plan step %d, %s%s in %s: %s %d%s%s %s is not finite at element %lld",
                       n->id, n->op->name, n->backward ? " (backward)" : "",
                       *n->scope ? n->scope : "the graph", is_in ? "input" : "output",
                       is_in ? k : k - n->n_in, t->name ? " " : "", t->name ? t->name : "",
                       shape_text(t->shape, text), (long long)bad);
    }
    return 0;
}

int plan_run_checked(struct plan *p, int set)
{
    TRY(bind(p, set));
    for (int i = 0; i < p->n_steps; i++) {
        TRY(run_step(p, i));
        TRY(check_step(p, &p->steps[i]));
    }
    return 0;
}
