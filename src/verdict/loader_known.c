/* What a search of the input pipeline knows: its sites, and the surface through them. */
#include <math.h>

#include "verdict/loader_search_int.h"

int loader_site(const struct loader_search *s, struct search_point p)
{
    for (int i = 0; i < s->n_sites; i++)
        if (search_point_same(&s->space, s->site[i].point, p))
            return i;
    return -1;
}

int loader_excluded(const struct loader_search *s, struct search_point p)
{
    for (int i = 0; i < s->n_failed; i++)
        if (search_point_above(&s->space, p, s->failed[i]))
            return 1;
    return 0;
}

struct estimate loader_look(const struct loader_search *s, struct search_point p)
{
    double at[SEARCH_DIMS];

    search_point_place(&s->space, p, at);
    return surface_at(&s->surface, at);
}

int loader_best(const struct loader_search *s, int but)
{
    double most = -INFINITY;
    int best = -1;

    for (int i = 0; i < s->n_sites; i++) {
        const double mean = i == but ? -INFINITY : loader_look(s, s->site[i].point).mean;

        if (mean > most)
            most = mean, best = i;
    }
    return best;
}

int loader_cheap(const struct loader_search *s, double loss)
{
    int chosen = loader_best(s, -1);
    const double enough = loader_look(s, s->site[chosen].point).mean * (1 - loss);

    for (int i = 0; i < s->n_sites; i++)
        if (search_point_cost(&s->space, s->site[i].point) <
                search_point_cost(&s->space, s->site[chosen].point) &&
            loader_look(s, s->site[i].point).mean >= enough)
            chosen = i;
    return chosen;
}

/* The noise that was set counts as much as four repeats; the scatter of real repeats, which also
 * holds what drifts between probes, does the rest. */
static double pooled_noise(const struct loader_search *s)
{
    double square = 0, freedom = 0;

    for (int i = 0; i < s->n_sites; i++)
        if (s->site[i].n > 1 && s->site[i].mean > 0) {
            square += s->site[i].square / (s->site[i].mean * s->site[i].mean);
            freedom += s->site[i].n - 1;
        }
    return sqrt((4 * s->set.noise * s->set.noise + square) / (4 + freedom));
}

void loader_fit(struct loader_search *s)
{
    double at[SEARCH_DIMS];

    s->noise = pooled_noise(s);
    s->scale = 0;
    for (int i = 0; i < s->n_sites; i++)
        s->scale = fmax(s->scale, s->site[i].mean);
    surface_init(&s->surface, s->space.n_dims);
    for (int i = 0; i < s->n_sites; i++) {
        const struct site *const x = &s->site[i];
        const double value = s->scale > 0 ? x->mean / s->scale : 0, sd = s->noise * value;

        search_point_place(&s->space, x->point, at);
        surface_add(&s->surface, at, value, sd * sd / x->n + 1e-6);
    }
    if (s->n_sites >= s->n_learned + 1 + s->n_learned / 4) {
        surface_learn(&s->surface);
        s->n_learned = s->n_sites;
    } else if (s->n_sites) {
        surface_fit(&s->surface);
    }
}

int loader_at_ceiling(const struct loader_search *s)
{
    const double ceiling = s->scale > 0 ? s->set.ceiling / s->scale : 0;
    struct estimate e;

    if (ceiling <= 0 || s->n_sites == 0)
        return 0;
    e = loader_look(s, s->site[loader_best(s, -1)].point);
    return e.mean >= (1 - s->set.equal) * ceiling && e.mean - 1.64 * e.sd >= 0.97 * ceiling;
}
