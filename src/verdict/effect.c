#include "verdict/effect.h"

#include <math.h>
#include <stdlib.h>

#include "base/err.h"
#include "base/student.h"

struct effect_spread effect_spread(const double *values, size_t n)
{
    struct effect_spread s = {.mean = NAN, .least = NAN, .most = NAN, .sd = NAN};
    double sum = 0, squares = 0;

    for (size_t i = 0; i < n; i++)
        if (!isnan(values[i])) {
            s.n++;
            sum += values[i];
            s.least = fmin(s.least, values[i]); /* of NAN and a number: the number */
            s.most = fmax(s.most, values[i]);
        }
    if (s.n)
        s.mean = sum / (double)s.n;
    for (size_t i = 0; i < n; i++)
        if (!isnan(values[i]))
            squares += (values[i] - s.mean) * (values[i] - s.mean);
    if (s.n > 1)
        s.sd = sqrt(squares / (double)(s.n - 1));
    return s;
}

struct effect_slowdown effect_slowdown(const double *baseline, const double *rates, size_t n)
{
    double *const slowdowns = xcalloc(n + 1, sizeof(*slowdowns));
    struct effect_slowdown out = {.low = NAN, .high = NAN};
    struct effect_spread s;

    for (size_t i = 0; i < n; i++)
        slowdowns[i] = baseline[i] > 0 && rates[i] > 0 ? 1 - rates[i] / baseline[i] : NAN;
    s = effect_spread(slowdowns, n);
    free(slowdowns);
    out.n = s.n;
    out.ratio = s.mean;
    out.sd = s.sd;
    if (s.n > 1) {
        const double half = student_quantile(0.975, (double)s.n - 1) * s.sd / sqrt((double)s.n);
        out.low = s.mean - half;
        out.high = s.mean + half;
        out.told_apart = out.low > 0 || out.high < 0;
    }
    return out;
}

double effect_smallest_difference(double sd, size_t n)
{
    const double df = (double)n - 1;

    if (n < 2)
        return NAN;
    return (student_quantile(0.975, df) + student_quantile(0.8, df)) * sd / sqrt((double)n);
}

struct effect_smallest effect_smallest_of_all(const struct effect_slowdown *all, size_t n)
{
    double squares = 0;
    size_t counted = 0, fewest = 0;

    for (size_t i = 0; i < n; i++)
        if (all[i].n > 1) {
            counted++;
            squares += all[i].sd * all[i].sd;
            fewest = fewest == 0 || all[i].n < fewest ? all[i].n : fewest;
        }
    return (struct effect_smallest){
        counted ? effect_smallest_difference(sqrt(squares / (double)counted), fewest) : NAN,
        fewest};
}

/* ---- rankings ---- */

static int is_whole(const double *values, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (isnan(values[i]))
            return 0;
    return 1;
}

/* Adds the ranks of one repeat, equal values sharing the mean of theirs; returns the sum of
 * t^3 - t over its groups of t equal values. */
static double add_ranks(const double *values, size_t n, double *sums)
{
    double ties = 0;

    for (size_t i = 0; i < n; i++) {
        double below = 0, same = 0;
        for (size_t k = 0; k < n; k++) {
            below += values[k] < values[i];
            same += values[k] == values[i];
        }
        sums[i] += below + (same + 1) / 2;
        ties += same * same - 1; /* each of the group adds its share of same^3 - same */
    }
    return ties;
}

/* W with the correction for ties, from the sums of ranks. */
static double kendall_w(const double *sums, const struct effect_ranking *r, double ties)
{
    const double m = (double)r->repeats, n = (double)r->conditions, mean = m * (n + 1) / 2;
    const double most = m * m * (n * n * n - n) - m * ties;
    double squares = 0;

    for (size_t i = 0; i < r->conditions; i++)
        squares += (sums[i] - mean) * (sums[i] - mean);
    return m > 1 && n > 1 && most > 0 ? 12 * squares / most : NAN;
}

/* Whether all whole repeats have a below b, or all above. */
static int agree(const double *values, const struct effect_ranking *r, size_t all, size_t a,
                 size_t b)
{
    size_t below = 0, above = 0;

    for (size_t i = 0; i < all; i++) {
        const double *const v = values + i * r->conditions;
        if (!is_whole(v, r->conditions))
            continue;
        below += v[a] < v[b];
        above += v[a] > v[b];
    }
    return below == r->repeats || above == r->repeats;
}

struct effect_ranking effect_ranking(const double *values, size_t repeats, size_t conditions)
{
    struct effect_ranking r = {.conditions = conditions, .kendall_w = NAN};
    double *const sums = xcalloc(conditions + 1, sizeof(*sums)), ties = 0;

    for (size_t i = 0; i < repeats; i++)
        if (is_whole(values + i * conditions, conditions)) {
            r.repeats++;
            ties += add_ranks(values + i * conditions, conditions, sums);
        }
    r.kendall_w = kendall_w(sums, &r, ties);
    for (size_t a = 0; r.repeats > 1 && a < conditions; a++)
        for (size_t b = a + 1; b < conditions; b++) {
            r.pairs++;
            r.agreed += (size_t)agree(values, &r, repeats, a, b);
        }
    free(sums);
    return r;
}

/* ---- a choice ---- */

static enum effect_certainty certainty_of(const struct effect_offer *o, double limit)
{
    if (!(o->gain > 0) || !(o->cost.ratio < limit))
        return EFFECT_NONE;
    return o->cost.high < limit ? EFFECT_SURE : EFFECT_LIKELY;
}

struct effect_choice effect_choose(const struct effect_offer *offers, size_t n, double limit)
{
    struct effect_choice c = {.certainty = EFFECT_NONE};

    for (size_t i = 0; i < n; i++) {
        const enum effect_certainty sure = certainty_of(&offers[i], limit);
        if (sure > c.certainty ||
            (sure != EFFECT_NONE && sure == c.certainty && offers[i].gain > offers[c.at].gain))
            c = (struct effect_choice){.at = i, .certainty = sure};
    }
    return c;
}
