#include "base/err.h"
#include "base/str.h"
#include "rules/rcp.h"
#include "rules/ruleset.h"

static enum rule_convergence describe(const struct rcp_points *points, long long batch,
                                      const char *benchmark, struct str *words)
{
    struct rcp_point p;

    switch (rcp_find(points, (double)batch, &p)) {
    case RCP_FOUND:
        str_printf(words, "batch %lld: the reference needs %.2f epochs, the floor is %.2f", batch,
                   p.mean, p.floor);
        return RULE_POINT_EXACT;
    case RCP_INTERPOLATED:
        str_printf(words,
                   "batch %lld lies between two reference convergence points: interpolated, the "
                   "reference needs %.2f epochs, the floor is %.2f",
                   batch, p.mean, p.floor);
        return RULE_POINT_INTERPOLATED;
    case RCP_BELOW:
        str_printf(words,
                   "batch %lld has no reference convergence point; the smallest is %.10g, and a "
                   "closed result below it may not need fewer epochs than its floor of %.2f",
                   batch, p.batch, p.floor);
        return RULE_POINT_BELOW;
    case RCP_ABOVE:
        str_printf(words,
                   "batch %lld has no reference convergence point; the largest is %.10g, and a "
                   "closed result above it needs new reference runs",
                   batch, points->points[points->n - 1].batch);
        return RULE_POINT_ABOVE;
    default:
        str_printf(words, "%s has no reference convergence points", benchmark);
        return RULE_POINT_NONE;
    }
}

enum rule_convergence rules_convergence(const struct rule_benchmark *b, long long batch,
                                        struct str *words)
{
    struct rcp_points points;
    enum rule_convergence kind;

    if (rcp_load(&points, b->ruleset->version, b->name) < 0)
        BUG("%s", err_reason());
    kind = describe(&points, batch, b->name, words);
    rcp_release(&points);
    return kind;
}
