#include "verdict/search_space.h"

#include <limits.h>
#include <math.h>

#include "base/err.h"

enum { MOST = 1 << 12 }; /* four levels to each of its doublings, and neighbours, are 51 */

int search_space_check(const struct search_space *s)
{
    if (s->n_dims < 1 || s->n_dims > SEARCH_DIMS)
        return err(E_USAGE, "a search has 1 to %d settings, not %d", SEARCH_DIMS, s->n_dims);
    for (int d = 0; d < s->n_dims; d++) {
        const struct search_dim *const x = &s->dim[d];

        if (x->min > x->max || x->min < (x->scale == SEARCH_LOG) || x->max > MOST)
            return err(E_USAGE, "%s: a search from %d to %d is not within %d to %d", x->name,
                       x->min, x->max, x->scale == SEARCH_LOG, MOST);
        if (!(x->cost >= 0) || !isfinite(x->cost))
            return err(E_USAGE, "%s: the cost of a unit is %g, and must be 0 or more", x->name,
                       x->cost);
    }
    return 0;
}

int search_point_inside(const struct search_space *s, struct search_point p)
{
    for (int d = 0; d < s->n_dims; d++)
        if (p.v[d] < s->dim[d].min || p.v[d] > s->dim[d].max)
            return 0;
    return 1;
}

int search_point_same(const struct search_space *s, struct search_point a, struct search_point b)
{
    for (int d = 0; d < s->n_dims; d++)
        if (a.v[d] != b.v[d])
            return 0;
    return 1;
}

double search_point_cost(const struct search_space *s, struct search_point p)
{
    double sum = 0;

    for (int d = 0; d < s->n_dims; d++)
        sum += s->dim[d].cost * (p.v[d] - s->dim[d].min);
    return sum;
}

int search_point_above(const struct search_space *s, struct search_point p, struct search_point q)
{
    for (int d = 0; d < s->n_dims; d++)
        if (s->dim[d].memory ? p.v[d] < q.v[d] : p.v[d] != q.v[d])
            return 0;
    return 1;
}

static int clamp(const struct search_dim *d, double v)
{
    return v < d->min ? d->min : v > d->max ? d->max : (int)lround(v);
}

struct search_point search_point_step(const struct search_space *s, struct search_point p, int d,
                                      int n)
{
    const struct search_dim *const x = &s->dim[d];

    if (x->scale == SEARCH_LOG)
        p.v[d] = clamp(x, floor(ldexp(p.v[d], n)));
    else
        p.v[d] = clamp(x, p.v[d] + n * ceil((x->max - x->min) / 4.0));
    return p;
}

void search_point_place(const struct search_space *s, struct search_point p, double *at)
{
    for (int d = 0; d < s->n_dims; d++) {
        const struct search_dim *const x = &s->dim[d];
        const int range = x->max > x->min ? x->max - x->min : 1;

        at[d] = x->scale == SEARCH_LOG ? log2(p.v[d]) : 4.0 * (p.v[d] - x->min) / range;
    }
}

/* Sorted, each once. */
static int insert(int *level, int n, int v)
{
    int i = n;

    while (i > 0 && level[i - 1] > v)
        i--;
    if (i > 0 && level[i - 1] == v)
        return n;
    ASSERT(n < SEARCH_LEVELS);
    for (int k = n; k > i; k--)
        level[k] = level[k - 1];
    level[i] = v;
    return n + 1;
}

int search_levels(const struct search_dim *d, int near, int *level)
{
    const int fine = d->scale == SEARCH_LOG ? 1 : (d->max - d->min + 19) / 20;
    int n = insert(level, insert(level, 0, d->min), d->max);

    if (d->scale == SEARCH_LOG)
        for (int i = 0; exp2(i / 4.0) < d->max; i++)
            n = insert(level, n, clamp(d, exp2(i / 4.0)));
    else
        for (int i = 1; i < 10; i++)
            n = insert(level, n, clamp(d, d->min + (d->max - d->min) * i / 10.0));
    for (int i = -1; i <= 1; i++)
        n = insert(level, n, clamp(d, near + i * fine));
    return n;
}

void search_point_add_text(const struct search_space *s, struct search_point p, struct str *out)
{
    for (int d = 0; d < s->n_dims; d++)
        str_printf(out, "%s%s %d", d ? ", " : "", s->dim[d].name, p.v[d]);
}
