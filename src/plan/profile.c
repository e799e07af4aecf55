#include "plan/profile.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"

static struct profile_row *row_of(struct profile *f, const char *label)
{
    for (int i = 0; i < f->n_rows; i++)
        if (strcmp(f->rows[i].label, label) == 0)
            return &f->rows[i];
    f->rows = xrealloc(f->rows, (size_t)(f->n_rows + 1) * sizeof(*f->rows));
    f->rows[f->n_rows] = (struct profile_row){.label = label};
    return &f->rows[f->n_rows++];
}

static void add_step(struct profile_row *r, const struct plan *p, int i, const struct ceilings *c)
{
    struct cost cost;
    struct bound b;

    node_cost(p->steps[i].node, &cost);
    b = cost_bound(cost, node_is_narrow(p->steps[i].node), c);
    r->steps++;
    r->ns += (double)p->step_ns[i] / (double)p->runs;
    r->flops += cost.flops;
    r->bytes += cost.bytes;
    r->bound_ns += bound_ns(b);
    r->flops_ns += b.flops_ns;
    r->bytes_ns += b.bytes_ns;
}

static int by_time(const void *a, const void *b)
{
    const struct profile_row *const x = a, *const y = b;

    return x->ns < y->ns ? 1 : x->ns > y->ns ? -1 : strcmp(x->label, y->label);
}

void profile_init(struct profile *f, const struct plan *p, const struct ceilings *c)
{
    ASSERT(p->step_ns && p->runs > 0);
    *f = (struct profile){.ceilings = *c, .total.label = "all"};
    for (int i = 0; i < p->n_steps; i++) {
        add_step(row_of(f, node_label(p->steps[i].node)), p, i, c);
        add_step(&f->total, p, i, c);
    }
    if (f->n_rows)
        qsort(f->rows, (size_t)f->n_rows, sizeof(*f->rows), by_time);
}

void profile_release(struct profile *f)
{
    free(f->rows);
    *f = (struct profile){0};
}

static double share(double part, double whole)
{
    return whole > 0 ? 100 * part / whole : 0;
}

static struct bound row_bound(const struct profile_row *r)
{
    return (struct bound){r->flops_ns, r->bytes_ns};
}

static void add_row(const struct profile *f, const struct profile_row *r, struct str *out)
{
    const double over = r->ns > r->bound_ns ? r->ns - r->bound_ns : 0;

    str_printf(out, "%-18s %5d %9.2f %6.1f %%", r->label, r->steps, r->ns / 1e6,
               share(r->ns, f->total.ns));
    if (r->ns > 0)
        str_printf(out, " %9.1f %7.1f", r->flops / r->ns, r->bytes / r->ns);
    else
        str_printf(out, " %9s %7s", "-", "-");
    if (r->bound_ns > 0 && r->ns > 0)
        str_printf(out, " %-6s %9.2f %6.1f %% %9.2f", bound_limit(row_bound(r)), r->bound_ns / 1e6,
                   share(r->bound_ns, r->ns), over / 1e6);
    str_add(out, "\n");
}

/* The ops that are furthest, in time, from their bound, until nine tenths are named. */
static void add_rest(const struct profile *f, struct str *out)
{
    const double rest = f->total.ns - f->total.bound_ns;
    double named = 0;
    char *const done = xcalloc((size_t)f->n_rows + 1, 1);
    const char *between = "the rest of the time is in ";

    while (named < 0.9 * rest) {
        int most = -1;
        for (int i = 0; i < f->n_rows; i++)
            if (!done[i] && (most < 0 || f->rows[i].ns - f->rows[i].bound_ns >
                                             f->rows[most].ns - f->rows[most].bound_ns))
                most = i;
        if (most < 0 || f->rows[most].ns <= f->rows[most].bound_ns)
            break;
        done[most] = 1;
        named += f->rows[most].ns - f->rows[most].bound_ns;
        str_printf(out, "%s%s %.0f %%", between, f->rows[most].label,
                   share(f->rows[most].ns - f->rows[most].bound_ns, rest));
        between = ", ";
    }
    if (named > 0)
        str_add(out, "\n");
    free(done);
}

void profile_text(const struct profile *f, struct str *out)
{
    const struct profile_row *const t = &f->total;
    const int bounded = t->bound_ns > 0;

    if (bounded) {
        str_add(out, "ceilings, measured just before: ");
        ceilings_text(&f->ceilings, out);
        str_add(out, "\n");
    }
    str_printf(out, "%-18s %5s %9s %8s %9s %7s%s\n", "op", "steps", "ms", "share", "GFLOP/s",
               "GB/s", bounded ? " limit   bound ms of bound   over ms" : "");
    for (int i = 0; i < f->n_rows; i++)
        add_row(f, &f->rows[i], out);
    add_row(f, t, out);
    if (!bounded)
        return;
    str_printf(out,
               "bound of the whole, step by step: %.2f ms, %.1f %% of the time taken; all "
               "arithmetic %.2f ms, all bytes %.2f ms\n",
               t->bound_ns / 1e6, share(t->bound_ns, t->ns), t->flops_ns / 1e6, t->bytes_ns / 1e6);
    add_rest(f, out);
}

static void json_row(const struct profile_row *r, struct str *out)
{
    str_add(out, "{\"op\": ");
    str_add_json(out, r->label);
    str_printf(out, ", \"steps\": %d, \"time_ns\": %.0f, \"flops\": %.0f, \"bytes\": %.0f",
               r->steps, r->ns, r->flops, r->bytes);
    if (r->bound_ns > 0)
        str_printf(out, ", \"bound_ns\": %.0f, \"flops_bound_ns\": %.0f, \"bytes_bound_ns\": %.0f",
                   r->bound_ns, r->flops_ns, r->bytes_ns);
    str_add(out, "}");
}

void profile_json(const struct profile *f, struct str *out)
{
    str_add(out, "\"ceilings\": ");
    ceilings_json(&f->ceilings, out);
    str_add(out, ", \"ops\": [");
    for (int i = 0; i < f->n_rows; i++) {
        str_add(out, i ? ",\n  " : "\n  ");
        json_row(&f->rows[i], out);
    }
    str_add(out, "],\n\"total\": ");
    json_row(&f->total, out);
}
