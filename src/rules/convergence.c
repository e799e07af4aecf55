#include "base/str.h"
#include "rules/ruleset.h"

static void add_points(const struct rule_benchmark *b, size_t low, struct str *words)
{
    const struct rule_point *p = &b->points[low];

    str_printf(words, "between %lld (mean %.2f epochs, floor %.2f) and %lld (%.2f, %.2f)",
               p[0].batch, p[0].mean_epochs, p[0].floor_epochs, p[1].batch, p[1].mean_epochs,
               p[1].floor_epochs);
}

enum rule_convergence rules_convergence(const struct rule_benchmark *b, long long batch,
                                        struct str *words)
{
    const struct rule_point *const first = b->points;
    const struct rule_point *p = first;

    if (b->n_points == 0) {
        str_printf(words, "%s has no reference convergence points", b->name);
        return RULE_POINT_NONE;
    }
    while (p < first + b->n_points && p->batch < batch)
        p++;
    if (p == first + b->n_points) {
        str_printf(words,
                   "batch %lld has no reference convergence point; the largest is %lld, and a "
                   "closed result above it needs new reference runs",
                   batch, p[-1].batch);
        return RULE_POINT_ABOVE;
    }
    if (p->batch == batch) {
        str_printf(words, "batch %lld: the reference needs %.2f epochs, the floor is %.2f", batch,
                   p->mean_epochs, p->floor_epochs);
        return RULE_POINT_EXACT;
    }
    str_printf(words, "batch %lld has no reference convergence point; ", batch);
    if (p == first) {
        str_printf(words,
                   "the smallest is %lld, and a closed result below it may not need fewer epochs "
                   "than its floor of %.2f",
                   p->batch, p->floor_epochs);
        return RULE_POINT_BELOW;
    }
    str_add(words, "it is interpolated ");
    add_points(b, (size_t)(p - first) - 1, words);
    return RULE_POINT_INTERPOLATED;
}
