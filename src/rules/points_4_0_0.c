/* Reference convergence of MLPerf Training round 4.0. */
#include "base/err.h"
#include "rules/ruleset_int.h"

#include <string.h>

/* Mean of the reference's runs without the best and the worst; floor by the one-sided t test of the
 * rules at 5 %. */
static const struct rule_point resnet_points[] = {
    {1632, 35.00, 33.80},  {3264, 35.15, 34.31},  {4096, 39.88, 38.63}, {8192, 41.88, 40.63},
    {13056, 45.50, 44.68}, {32768, 56.0, 55.45},  {49152, 68.0, 67.2},  {58880, 80.0, 79.0},
    {65536, 84.5, 83.36},  {67840, 85.85, 85.18},
};

void ruleset_add_points(struct ruleset *r)
{
    if (strcmp(r->version, "4.0.0") != 0)
        return;
    for (size_t i = 0; i < r->n_benchmarks; i++)
        if (strcmp(r->benchmarks[i].name, "resnet") == 0) {
            r->benchmarks[i].points = resnet_points;
            r->benchmarks[i].n_points = COUNT_OF(resnet_points);
        }
}
