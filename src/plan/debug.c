#include "plan/debug.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/debug.h"
#include "base/err.h"
#include "base/str.h"
#include "plan/op_use.h"

void debug_engine(const struct engine *e)
{
    struct str text = STR_INIT;

    e->backend->describe(e->device, &text);
    fprintf(stderr, "# device: %s\n", text.s);
    str_release(&text);
}

void debug_plan(const struct plan *p)
{
    const struct plan_totals t = plan_totals(p);

    fprintf(stderr,
            "# plan on %s: %d steps, %d forward, %d backward and update; %.3f GFLOP, %.3f GB moved "
            "at least; "
            "%.1f MiB activations, %.1f MiB scratch, %.1f MiB weights and state\n",
            p->engine->backend->name, p->n_steps, t.forward, t.backward, t.flops / 1e9,
            t.bytes / 1e9, (double)p->memory.arena_bytes / 0x1p20,
            (double)p->scratch_bytes / 0x1p20, (double)bank_bytes(p->bank) / 0x1p20);
}

/* Of the values of one tensor; those that are not finite are only counted. */
struct statistics {
    double min, max, sum;
    int64_t finite, bad;
};

static struct statistics statistics_of(const void *data, const struct tensor *t)
{
    const int64_t n = tensor_count(t);
    struct statistics s = {.min = INFINITY, .max = -INFINITY};

    for (int64_t i = 0; i < n; i++) {
        const double v = dtype_value(data, t->dtype, i);

        if (!isfinite(v)) {
            s.bad++;
            continue;
        }
        s.finite++;
        s.sum += v;
        s.min = v < s.min ? v : s.min;
        s.max = v > s.max ? v : s.max;
    }
    return s;
}

static int print_values(const struct plan *p, const char *which, int k, const struct tensor *t,
                        const void *at)
{
    const struct engine *const e = p->engine;
    void *const host = xmalloc(tensor_bytes(t));
    const int rc = e->backend->read(e->device, host, at, tensor_bytes(t));
    char shape[SHAPE_TEXT];

    if (rc == 0) {
        const struct statistics s = statistics_of(host, t);

        fprintf(stderr, "#   %s %d %s %s: ", which, k, dtype_name(t->dtype),
                shape_text(t->shape, shape));
        if (s.finite)
            fprintf(stderr, "min %g, max %g, mean %g, ", s.min, s.max, s.sum / (double)s.finite);
        fprintf(stderr, "%lld not finite\n", (long long)s.bad);
    }
    free(host);
    return rc;
}

/* Outputs, and inputs that were updated in place. */
static int print_results(const struct plan *p, const struct step *s)
{
    const struct node *const n = s->node;

    for (int k = 0; k < n->op->n_out; k++)
        TRY(print_values(p, "output", k, n->out[k], s->out[k]));
    for (int k = 0; k < n->n_in; k++)
        if (op_bit(n->op->writes, k))
            TRY(print_values(p, "updated input", k, n->in[k], s->in[k]));
    return 0;
}

static void add_choice(const struct step *s, struct str *line)
{
    char shape[SHAPE_TEXT];

    for (int k = 0; k < s->node->op->n_out; k++)
        str_printf(line, "%s%s", k ? " " : " -> ", shape_text(s->node->out[k]->shape, shape));
    str_printf(line, ", %s", s->impl);
    if (s->why)
        str_printf(line, " (%s)", s->why);
}

int debug_step(const struct plan *p, int i, int64_t ns)
{
    const struct step *const s = &p->steps[i];
    const double time = ns > 0 ? (double)ns : 1;
    struct str line = STR_INIT;
    struct cost c;

    node_cost(s->node, &c);
    op_use_add_text(s->node, &line);
    str_printf(&line, " --device %s # step %d, %s%s: %.3f ms, %.1f GFLOP/s, %.1f GB/s",
               p->engine->backend->name, i, *s->node->scope ? s->node->scope : "no scope",
               s->node->backward ? ", backward" : "", time / 1e6, c.flops / time, c.bytes / time);
    if (debug_level() >= DEBUG_CHOICES)
        add_choice(s, &line);
    fprintf(stderr, "%s\n", line.s);
    str_release(&line);
    return debug_level() >= DEBUG_VALUES ? print_results(p, s) : 0;
}
