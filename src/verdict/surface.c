#include "verdict/surface.h"

#include <math.h>
#include <string.h>

#include "base/err.h"

/* What the lengths and the height are chosen from. The shortest length is about a doubling of a
 * setting: with less, nothing that was measured would say anything about its neighbours. */
static const double lengths[] = {0.7, 1.3, 2.4};
static const double heights[] = {0.2, 0.4};
static const double rough = 0.02; /* standard deviation of each point from the surface */

void surface_init(struct surface *s, int n_dims)
{
    ASSERT(n_dims >= 1 && n_dims <= SURFACE_DIMS);
    s->n_dims = n_dims;
    s->n = 0;
}

void surface_add(struct surface *s, const double *at, double value, double variance)
{
    ASSERT(s->n < SURFACE_POINTS && isfinite(value) && isfinite(variance) && variance > 0);
    memcpy(s->at[s->n], at, (size_t)s->n_dims * sizeof(*at));
    s->value[s->n] = value;
    s->variance[s->n++] = variance;
}

static double covariance(const struct surface *s, const double *a, const double *b)
{
    double square = 0;

    for (int d = 0; d < s->n_dims; d++)
        square += (a[d] - b[d]) * (a[d] - b[d]) / (s->length[d] * s->length[d]);
    if (square == 0)
        return s->height * s->height + rough * rough;
    const double r = sqrt(5 * square);

    return s->height * s->height * (1 + r + r * r / 3) * exp(-r);
}

/* factor: lower triangle L with L L' = covariance + noise. */
static void factorise(struct surface *s)
{
    for (int i = 0; i < s->n; i++)
        for (int j = 0; j <= i; j++) {
            double sum = covariance(s, s->at[i], s->at[j]) + (i == j ? s->variance[i] : 0);

            for (int k = 0; k < j; k++)
                sum -= s->factor[i][k] * s->factor[j][k];
            s->factor[i][j] = i == j ? sqrt(sum > 1e-12 ? sum : 1e-12) : sum / s->factor[j][j];
        }
}

static void solve_lower(const struct surface *s, const double *b, double *x)
{
    for (int i = 0; i < s->n; i++) {
        double sum = b[i];

        for (int k = 0; k < i; k++)
            sum -= s->factor[i][k] * x[k];
        x[i] = sum / s->factor[i][i];
    }
}

static void solve_upper(const struct surface *s, const double *b, double *x)
{
    for (int i = s->n - 1; i >= 0; i--) {
        double sum = b[i];

        for (int k = i + 1; k < s->n; k++)
            sum -= s->factor[k][i] * x[k];
        x[i] = sum / s->factor[i][i];
    }
}

/* Fills factor, mean (the likeliest) and weight; returns the logarithm of the likelihood. */
static double condition(struct surface *s)
{
    double ones[SURFACE_POINTS] = {0}, white_ones[SURFACE_POINTS], white[SURFACE_POINTS];
    double dot = 0, square = 0, fit = 0, volume = 0;

    factorise(s);
    for (int i = 0; i < s->n; i++)
        ones[i] = 1;
    solve_lower(s, ones, white_ones);
    solve_lower(s, s->value, white);
    for (int i = 0; i < s->n; i++) {
        dot += white_ones[i] * white[i];
        square += white_ones[i] * white_ones[i];
    }
    s->mean = dot / square;
    for (int i = 0; i < s->n; i++) {
        white[i] -= s->mean * white_ones[i];
        fit += white[i] * white[i];
        volume += log(s->factor[i][i]);
    }
    solve_upper(s, white, s->weight);
    return -fit / 2 - volume;
}

static int next_choice(int *choice, int n_dims)
{
    for (int d = 0; d < n_dims; d++) {
        if (++choice[d] < (int)COUNT_OF(lengths))
            return 1;
        choice[d] = 0;
    }
    return ++choice[n_dims] < (int)COUNT_OF(heights);
}

static void choose(struct surface *s, const int *choice)
{
    for (int d = 0; d < s->n_dims; d++)
        s->length[d] = lengths[choice[d]];
    s->height = heights[choice[s->n_dims]];
}

void surface_fit(struct surface *s)
{
    ASSERT(s->n > 0 && s->height > 0);
    condition(s);
}

void surface_learn(struct surface *s)
{
    int choice[SURFACE_DIMS + 1] = {0}, best[SURFACE_DIMS + 1] = {0};
    double most = -INFINITY;

    ASSERT(s->n > 0);
    do {
        choose(s, choice);
        const double likely = condition(s);

        if (likely > most) {
            most = likely;
            memcpy(best, choice, sizeof(best));
        }
    } while (next_choice(choice, s->n_dims));
    choose(s, best);
    condition(s);
}

struct estimate surface_at(const struct surface *s, const double *at)
{
    double cross[SURFACE_POINTS] = {0}, white[SURFACE_POINTS];
    struct estimate e = {.mean = s->mean};
    double rest = covariance(s, at, at);

    for (int i = 0; i < s->n; i++) {
        cross[i] = covariance(s, at, s->at[i]);
        e.mean += cross[i] * s->weight[i];
    }
    solve_lower(s, cross, white);
    for (int i = 0; i < s->n; i++)
        rest -= white[i] * white[i];
    e.sd = sqrt(rest > 0 ? rest : 0);
    return e;
}
