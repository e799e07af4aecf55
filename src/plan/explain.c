#include <stdio.h>

#include "base/err.h"
#include "base/str.h"
#include "plan/plan.h"

enum { TYPED_TEXT = SHAPE_TEXT + 8 };

/* f forward, b backward, u update: a step that only writes in place. */
static char phase(const struct node *n)
{
    return n->backward ? 'b' : n->op->n_out == 0 ? 'u' : 'f';
}

struct plan_totals plan_totals(const struct plan *p)
{
    struct plan_totals t = {0};
    struct cost c;

    for (int i = 0; i < p->n_steps; i++) {
        node_cost(p->steps[i].node, &c);
        t.flops += c.flops;
        t.bytes += c.bytes;
        if (phase(p->steps[i].node) == 'f')
            t.forward++;
        else
            t.backward++;
    }
    return t;
}

/* 12.3M, 4.56G: three digits and a letter of powers of 1000. */
static const char *short_number(double v, char out[16])
{
    static const char unit[] = {' ', 'k', 'M', 'G', 'T', 'P'};
    size_t u = 0;

    while (v >= 999.5 && u + 1 < sizeof(unit)) {
        v /= 1000;
        u++;
    }
    snprintf(out, 16, v < 9.995 ? "%.2f%c" : v < 99.95 ? "%.1f%c" : "%.0f%c", v, unit[u]);
    return out;
}

/* "[8,56,56,64]", with the type behind it where that is not float32. */
static const char *typed_shape(const struct tensor *t, char out[TYPED_TEXT])
{
    char text[SHAPE_TEXT];

    snprintf(out, TYPED_TEXT, "%s%s", shape_text(t->shape, text),
             t->dtype == DT_F32 ? "" : dtype_name(t->dtype));
    return out;
}

static void add_shapes(const struct node *n, struct str *line)
{
    char text[TYPED_TEXT];
    const int shown =
        n->n_in < 2 ? n->n_in : 2; /* the rest are statistics, scalars, or the same again */

    for (int k = 0; k < shown; k++)
        str_printf(line, "%s%s", k ? " " : "", typed_shape(n->in[k], text));
    if (n->n_in > shown)
        str_printf(line, " +%d", n->n_in - shown);
    if (n->op->n_out)
        str_printf(line, " -> %s", typed_shape(n->out[0], text));
}

const char *node_label(const struct node *n)
{
    const struct bn_apply *const a = &n->attr.bn_apply;

    if (n->op == &op_bn_apply && a->relu)
        return a->residual ? "bn_apply+add+relu" : "bn_apply+relu";
    if (n->op == &op_bn_grad_reduce && n->attr.norm.relu)
        return "bn_grad_reduce+relu";
    if (n->op == &op_bn_grad_apply && n->attr.norm.relu)
        return "bn_grad_apply+relu";
    if (n->op == &op_relu_grad && n->n_in > 2)
        return "add+relu_grad";
    return n->op->name;
}

static void explain_step(const struct plan *p, int i, struct str *out)
{
    const struct step *const s = &p->steps[i];
    const struct node *const n = s->node;
    struct str shapes = STR_INIT;
    char flops[16], bytes[16];
    struct cost c;

    node_cost(n, &c);
    add_shapes(n, &shapes);
    str_printf(out, "%4d %c %-19s %-26s %-58s %-22s %8s %8s", i, phase(n), node_label(n), n->scope,
               shapes.s, s->impl, short_number(c.flops, flops), short_number(c.bytes, bytes));
    if (p->step_ns && p->runs) {
        const double ns = (double)p->step_ns[i] / (double)p->runs;
        str_printf(out, " %9.3f ms %8.1f GFLOP/s %7.1f GB/s", ns / 1e6, c.flops / ns, c.bytes / ns);
    }
    if (s->why)
        str_printf(out, "  (%s)", s->why);
    if (n->declined)
        str_printf(out, "  (not fused: %s)", n->declined);
    str_add(out, "\n");
    str_release(&shapes);
}

void plan_explain(const struct plan *p, struct str *out)
{
    const struct plan_totals t = plan_totals(p);
    char flops[16], bytes[16];

    str_printf(out, "%4s %c %-19s %-26s %-58s %-22s %8s %8s\n", "step", ' ', "op", "scope",
               "shapes", "kernel", "FLOPs", "bytes");
    for (int i = 0; i < p->n_steps; i++)
        explain_step(p, i, out);
    str_printf(out,
               "%d steps: %d forward, %d backward and update; %s FLOPs, %s bytes moved at least\n",
               p->n_steps, t.forward, t.backward, short_number(t.flops, flops),
               short_number(t.bytes, bytes));
    str_printf(out,
               "activation memory: %.1f MiB planned, %.1f MiB as the sum of all tensors; %d "
               "results take over memory of "
               "an input; scratch %.1f MiB\n",
               (double)p->memory.arena_bytes / 0x1p20, (double)p->memory.sum_bytes / 0x1p20,
               p->memory.shared, (double)p->scratch_bytes / 0x1p20);
    str_printf(out,
               "weights: %lld parameters; %.1f MiB parameters, %.1f MiB state, %.1f MiB carry\n",
               (long long)store_param_count(p->bank->store),
               (double)p->bank->store->block_bytes[0] / 0x1p20,
               (double)p->bank->store->block_bytes[1] / 0x1p20,
               (double)p->bank->store->block_bytes[2] / 0x1p20);
}

static void json_shapes(struct tensor *const *t, int n, struct str *out)
{
    char text[SHAPE_TEXT];

    str_add(out, "[");
    for (int i = 0; i < n; i++)
        str_printf(out, "%s{\"type\": \"%s\", \"shape\": %s}", i ? ", " : "",
                   dtype_name(t[i]->dtype), shape_text(t[i]->shape, text));
    str_add(out, "]");
}

static void json_step(const struct plan *p, int i, struct str *out)
{
    const struct step *const s = &p->steps[i];
    struct cost c;

    node_cost(s->node, &c);
    str_printf(out, "{\"step\": %d, \"phase\": \"%c\", \"op\": \"%s\", \"scope\": ", i,
               phase(s->node), node_label(s->node));
    str_add_json(out, s->node->scope);
    str_add(out, ", \"inputs\": ");
    json_shapes(s->node->in, s->node->n_in, out);
    str_add(out, ", \"outputs\": ");
    json_shapes(s->node->out, s->node->op->n_out, out);
    str_add(out, ", \"kernel\": ");
    str_add_json(out, s->impl);
    if (s->why) {
        str_add(out, ", \"why\": ");
        str_add_json(out, s->why);
    }
    str_printf(out, ", \"flops\": %.0f, \"bytes\": %.0f", c.flops, c.bytes);
    if (p->step_ns && p->runs)
        str_printf(out, ", \"time_ns\": %.0f", (double)p->step_ns[i] / (double)p->runs);
    str_add(out, "}");
}

void plan_json(const struct plan *p, struct str *out)
{
    str_add(out, "[");
    for (int i = 0; i < p->n_steps; i++) {
        str_add(out, i ? ",\n  " : "\n  ");
        json_step(p, i, out);
    }
    str_add(out, "]");
}
