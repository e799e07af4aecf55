/* What repeats can tell: how far measurements spread, by how much a condition slows a workload down
 * and whether that is more than noise, whether repeats agree on a ranking, and which setting to
 * choose. Pure functions, any thread.
 *
 * Conditions are compared repeat by repeat: in every repeat each condition ran once, one after the
 * other, so that what drifts (temperature, neighbours) is in both numbers of a pair. With x_i a
 * rate under the condition and b_i the baseline's rate of the same repeat, the slowdown of the
 * repeat is s_i = 1 - x_i / b_i; it is estimated by the mean of the n pairs, with Student's
 * interval of a mean,
 *
 *     mean(s) -+ t(0.975, n-1) sd(s) / sqrt(n),
 *
 * and is told apart from noise when 0 lies outside. Each comparison for itself: where nothing is
 * slower at all, one in twenty is told apart all the same.
 *
 * The smallest difference that the repeats can tell is the one that such a test finds four times
 * out of five (Bloom 1995, "Minimum detectable effects", Evaluation Review 19(5); Duflo,
 * Glennerster and Kremer 2007, "Using randomization in development economics research",
 * section 4.1):
 *
 *     (t(0.975, n-1) + t(0.8, n-1)) sd(s) / sqrt(n).
 */
#ifndef STAVE_VERDICT_EFFECT_H
#define STAVE_VERDICT_EFFECT_H

#include <stddef.h>

/* Numbers that are not known (NAN) are left out everywhere. */

struct effect_spread {
    size_t n;
    double mean, least, most; /* NAN without any */
    double sd;                /* of the sample, n-1; NAN below two */
};
struct effect_spread effect_spread(const double *values, size_t n);

struct effect_slowdown {
    size_t n;         /* pairs; both rates known and positive */
    double ratio;     /* 0.12: 12 % slower; negative: faster; NAN without a pair */
    double low, high; /* 95 % interval; NAN below two pairs */
    double sd;        /* of the pairs' slowdowns */
    int told_apart;
};
/* rates[i] and baseline[i] are of repeat i. */
struct effect_slowdown effect_slowdown(const double *baseline, const double *rates, size_t n);

/* The smallest difference n pairs of this deviation can tell; NAN below two. */
double effect_smallest_difference(double sd, size_t n);
/* That of a whole study: its deviation is the root of the mean of the comparisons' squares, its
 * pairs are those of the comparison that has fewest (of those with two and more). */
struct effect_smallest {
    double ratio; /* NAN without a comparison of two pairs */
    size_t n;     /* the pairs that it is computed with; 0 */
};
struct effect_smallest effect_smallest_of_all(const struct effect_slowdown *all, size_t n);

/* How well repeats agree on the order of conditions: Kendall's coefficient of concordance W
 * (Kendall and Babington Smith 1939), 1 when all orders are the same and about 1 / repeats when
 * they have nothing to do with each other; and in how many of the pairs of conditions all repeats
 * agree which is larger. Two equal conditions are agreed on by chance once in 2^(repeats - 1)
 * times. */
struct effect_ranking {
    size_t repeats, conditions; /* that count: repeats with all conditions */
    double kendall_w;           /* NAN below two repeats or conditions, or when all is tied */
    size_t pairs, agreed;
};
/* values[r * conditions + c]; a repeat in which one is not known does not count. */
struct effect_ranking effect_ranking(const double *values, size_t repeats, size_t conditions);

/* A setting to choose: what it brings, and what it costs. */
struct effect_offer {
    double gain;
    struct effect_slowdown cost;
};
enum effect_certainty {
    EFFECT_NONE,   /* none costs less than the limit as measured, or nothing is known */
    EFFECT_LIKELY, /* it costs less as measured, but the interval reaches beyond the limit */
    EFFECT_SURE    /* the interval's upper end is below the limit */
};
struct effect_choice {
    size_t at;
    enum effect_certainty certainty;
};
/* The one that brings most of those whose cost is surely below limit; when there is none, of those
 * whose cost is below it as measured. */
struct effect_choice effect_choose(const struct effect_offer *offers, size_t n, double limit);

#endif
