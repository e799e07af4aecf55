#include "plan/bound.h"

#include "base/str.h"

double ceilings_bytes_per_s(const struct ceilings *c)
{
    return c->copy_bytes_per_s > c->triad_bytes_per_s ? c->copy_bytes_per_s : c->triad_bytes_per_s;
}

static double ns_of(double amount, double per_s)
{
    return per_s > 0 ? amount / per_s * 1e9 : 0;
}

struct bound cost_bound(struct cost cost, int narrow, const struct ceilings *c)
{
    const double peak =
        narrow && c->bf16_flops_per_s > 0 ? c->bf16_flops_per_s : c->f32_flops_per_s;

    return (struct bound){ns_of(cost.flops, peak), ns_of(cost.bytes, ceilings_bytes_per_s(c))};
}

double bound_ns(struct bound b)
{
    return b.flops_ns > b.bytes_ns ? b.flops_ns : b.bytes_ns;
}

const char *bound_limit(struct bound b)
{
    return bound_ns(b) <= 0 ? "-" : b.flops_ns > b.bytes_ns ? "FLOPs" : "bytes";
}

void ceilings_text(const struct ceilings *c, struct str *out)
{
    str_printf(out, "%.1f GFLOP/s float32", c->f32_flops_per_s / 1e9);
    if (c->bf16_flops_per_s > 0)
        str_printf(out, ", %.1f bfloat16", c->bf16_flops_per_s / 1e9);
    str_printf(out, "; %.1f GB/s copy, %.1f triad", c->copy_bytes_per_s / 1e9,
               c->triad_bytes_per_s / 1e9);
}

void ceilings_json(const struct ceilings *c, struct str *out)
{
    const struct {
        const char *name;
        double value;
    } all[] = {{"f32_flops_per_s", c->f32_flops_per_s},
               {"bf16_flops_per_s", c->bf16_flops_per_s},
               {"copy_bytes_per_s", c->copy_bytes_per_s},
               {"triad_bytes_per_s", c->triad_bytes_per_s}};
    const char *between = "";

    str_add(out, "{");
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        if (all[i].value > 0) {
            str_printf(out, "%s\"%s\": %.6g", between, all[i].name, all[i].value);
            between = ", ";
        }
    str_add(out, "}");
}
