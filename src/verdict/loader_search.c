#include "verdict/loader_search_int.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"

static int default_probes(const struct search_space *s)
{
    double all = 1;

    for (int d = 0; d < s->n_dims; d++)
        all *= s->dim[d].max - s->dim[d].min + 1;
    return all < 160 ? 16 : all > 640 ? 64 : (int)(all / 10);
}

static int check_settings(const struct search_space *space, const struct loader_settings *s)
{
    if (!(s->noise >= 0 && s->noise < 1 && s->gain >= 0 && s->gain < 1 && s->equal >= 0 &&
          s->equal < 1 && s->ceiling >= 0 && isfinite(s->ceiling)))
        return err(E_USAGE,
                   "noise %g, gain %g and equal %g must lie in 0 to 1, and the ceiling %g "
                   "must not be negative",
                   s->noise, s->gain, s->equal, s->ceiling);
    if (s->max_probes < 0 || s->max_probes > LOADER_PROBES)
        return err(E_USAGE, "%d probes: a search makes 1 to %d", s->max_probes, LOADER_PROBES);
    if (!search_point_inside(space, s->start))
        return err(E_USAGE, "the search starts outside of its space");
    return 0;
}

int loader_search_new(const struct search_space *space, const struct loader_settings *settings,
                      struct loader_search **out)
{
    struct loader_search *s;

    *out = NULL;
    TRY(search_space_check(space));
    TRY(check_settings(space, settings));
    s = xcalloc(1, sizeof(*s));
    s->space = *space;
    s->set = *settings;
    if (s->set.noise == 0)
        s->set.noise = 0.02;
    if (s->set.gain == 0)
        s->set.gain = 0.0002;
    if (s->set.equal == 0)
        s->set.equal = 0.01;
    if (!s->set.max_probes)
        s->set.max_probes = default_probes(space);
    s->noise = s->set.noise;
    s->climbing = -1;
    s->end = "";
    *out = s;
    return 0;
}

void loader_search_free(struct loader_search *s)
{
    free(s);
}

static int chosen_site(const struct loader_search *s)
{
    return loader_cheap(s, s->set.equal);
}

/* Probes that are kept for looking for cheaper settings. */
static int economy(const struct loader_search *s)
{
    return s->set.max_probes / 8 < LOADER_ECONOMY ? s->set.max_probes / 8 : LOADER_ECONOMY;
}

/* Asking. */

__attribute__((format(printf, 3, 4))) static int ask(struct loader_search *s, struct search_point p,
                                                     const char *why, ...)
{
    struct loader_step *const step = &s->step[s->n_steps];
    va_list args;

    *step = (struct loader_step){.point = p};
    va_start(args, why);
    vsnprintf(step->why, sizeof(step->why), why, args);
    va_end(args);
    return 1;
}

static const struct loader_reading *last_reading(const struct loader_search *s,
                                                 struct search_point p)
{
    for (int i = s->n_steps - 1; i >= 0; i--)
        if (search_point_same(&s->space, s->step[i].point, p))
            return &s->step[i].reading;
    BUG("a point without a step");
}

static int is_new(const struct loader_search *s, struct search_point p)
{
    return loader_site(s, p) < 0 && !loader_excluded(s, p);
}

/* Doubling. When the consumer waited for data, more of the first setting is wanted (threads make
 * data); when it did not, the last first: depth evens out what comes in bursts. */
static int climb_dim(struct loader_search *s, int d, const struct loader_reading *here)
{
    const struct search_point from = s->site[s->climbing].point;
    const struct search_point to = search_point_step(&s->space, from, d, 1);
    const char *const name = s->space.dim[d].name;

    s->tried[d] = 1;
    if (!is_new(s, to))
        return 0;
    if (!here->has_waits)
        return ask(s, to, "%s %d -> %d: does more of it pay", name, from.v[d], to.v[d]);
    if (here->consumer_waited >= 0.02)
        return ask(s, to, "%s %d -> %d: data was the limit (the model waited %.0f %% of the time)",
                   name, from.v[d], to.v[d], 100 * here->consumer_waited);
    return ask(s, to, "%s %d -> %d: the model hardly waited; does more of it pay all the same",
               name, from.v[d], to.v[d]);
}

static void move_on(struct loader_search *s)
{
    const int last = loader_site(s, s->step[s->n_steps - 1].point);

    if (last < 0 || last == s->climbing)
        return;
    if (s->climbing >= 0 && s->site[last].mean <= s->site[s->climbing].mean * (1 + s->noise))
        return;
    s->climbing = last;
    memset(s->tried, 0, sizeof(s->tried));
}

static int climb(struct loader_search *s)
{
    if (s->n_steps == 0)
        return ask(s, s->set.start, "the start");
    move_on(s);
    if (s->climbing < 0)
        return 0;
    const struct loader_reading *const here = last_reading(s, s->site[s->climbing].point);
    const int n = s->space.n_dims;
    const int backwards = here->has_waits && here->workers_waited > here->consumer_waited;

    for (int i = 0; i < n; i++) {
        const int d = backwards ? n - 1 - i : i;

        if (!s->tried[d] && climb_dim(s, d, here))
            return 1;
    }
    return 0;
}

/* When the start can not be run: half of everything, until something can. */
static int shrink(struct loader_search *s)
{
    struct search_point p = s->step[s->n_steps - 1].point;

    for (int d = 0; d < s->space.n_dims; d++)
        if (s->space.dim[d].memory)
            p = search_point_step(&s->space, p, d, -1);
    if (!is_new(s, p))
        return 0;
    return ask(s, p, "the settings before can not be run; half of them");
}

/* Looking around: the next doubling or halving that is not known yet, from the best and from the
 * cheapest that is about as fast: more of another setting may fit beside less of one. */
static int look_along(struct loader_search *s, struct search_point from, int d, int sign)
{
    struct search_point p = from, next;

    for (int i = sign; i; i += sign, p = next) {
        next = search_point_step(&s->space, from, d, i);
        if (next.v[d] == p.v[d] || loader_excluded(s, next))
            return 0;
        if (loader_site(s, next) < 0)
            return ask(s, next, "%s %d -> %d: is it better further %s", s->space.dim[d].name,
                       from.v[d], next.v[d], sign > 0 ? "up" : "down");
    }
    return 0;
}

static int look_around(struct loader_search *s)
{
    const int from[2] = {loader_best(s, -1), loader_cheap(s, fmax(2 * s->noise, 0.03))};

    for (int i = 0; i < 2; i++)
        for (int sign = 1; sign >= -1; sign -= 2)
            for (int d = 0; d < s->space.n_dims; d++)
                if (look_along(s, s->site[from[i]].point, d, sign))
                    return 1;
    return 0;
}

/* Calls for each setting worth asking about, in one fixed order. */
struct visit {
    void (*each)(struct loader_search *s, struct search_point p, struct visit *v);
    double most; /* the best so far */
    struct search_point point;
    /* for `each`: */
    int best;
    double best_mean, second_mean, cost;
};

static void visit_all(struct loader_search *s, struct search_point near, struct visit *v)
{
    int level[SEARCH_DIMS][SEARCH_LEVELS], n[SEARCH_DIMS] = {0}, i[SEARCH_DIMS] = {0}, d;
    const int n_dims = s->space.n_dims;
    struct search_point p = near;

    for (d = 0; d < n_dims; d++)
        n[d] = search_levels(&s->space.dim[d], near.v[d], level[d]);
    do {
        for (d = 0; d < n_dims; d++)
            p.v[d] = level[d][i[d]];
        if (!loader_excluded(s, p))
            v->each(s, p, v);
        for (d = 0; d < n_dims && ++i[d] == n[d]; d++)
            i[d] = 0;
    } while (d < n_dims);
}

/* Exploring: the doublings that are farthest from all that is known. */
static double distance(const struct loader_search *s, struct search_point a, struct search_point b)
{
    double x[SEARCH_DIMS], y[SEARCH_DIMS], sum = 0;

    search_point_place(&s->space, a, x);
    search_point_place(&s->space, b, y);
    for (int d = 0; d < s->space.n_dims; d++)
        sum += (x[d] - y[d]) * (x[d] - y[d]);
    return sqrt(sum);
}

static void weigh_distance(struct loader_search *s, struct search_point p, struct visit *v)
{
    double least = INFINITY;

    for (int i = 0; i < s->n_sites; i++)
        least = fmin(least, distance(s, p, s->site[i].point));
    if (least > v->most) {
        v->most = least;
        v->point = p;
    }
}

static int explore(struct loader_search *s)
{
    struct visit v = {.each = weigh_distance, .most = 1.3};

    if (s->n_explored >= s->set.max_probes / 5)
        return 0;
    visit_all(s, s->set.start, &v);
    if (v.most <= 1.3)
        return 0;
    s->n_explored++;
    return ask(s, v.point, "nothing is known around here (a peak might hide)");
}

/* Refining: halfway from the best to its next doubling and halving, in each setting. */
static int refine_dim(struct loader_search *s, struct search_point from, int d, double factor)
{
    const struct search_dim *const x = &s->space.dim[d];
    struct search_point to = from;

    if (x->scale == SEARCH_LOG)
        to.v[d] = (int)lround(from.v[d] * factor);
    else
        to.v[d] = from.v[d] + (int)lround((factor - 1) / 3 * (x->max - x->min));
    if (!search_point_inside(&s->space, to) || !is_new(s, to))
        return 0;
    return ask(s, to, "%s %d -> %d: between the best and its neighbour", x->name, from.v[d],
               to.v[d]);
}

static int refine(struct loader_search *s)
{
    const struct search_point best = s->site[loader_best(s, -1)].point;

    for (int d = 0; d < s->space.n_dims; d++)
        if (refine_dim(s, best, d, M_SQRT2) || refine_dim(s, best, d, M_SQRT1_2))
            return 1;
    return 0;
}

static double normal_density(double z)
{
    return exp(-z * z / 2) / sqrt(2 * M_PI);
}

static double normal_below(double z)
{
    return erfc(-z / M_SQRT2) / 2;
}

/* How much one probe of p is expected to raise the best known estimate: the probe moves p's
 * estimate by a normal amount of deviation `move`, and gains where that changes which is best. */
static void weigh_gain(struct loader_search *s, struct search_point p, struct visit *v)
{
    const struct estimate e = loader_look(s, p);
    const double noise = s->noise * e.mean, sum = sqrt(e.sd * e.sd + noise * noise + 1e-12);
    const double move = e.sd * e.sd / sum;
    const int is_best = search_point_same(&s->space, p, s->site[v->best].point);
    const double rival = is_best ? v->second_mean : v->best_mean;
    const double z = -fabs(e.mean - rival) / (move + 1e-12);
    const double gain = move * (z * normal_below(z) + normal_density(z));

    if (gain > v->most) {
        v->most = gain;
        v->point = p;
    }
}

static int ask_fill(struct loader_search *s, const struct visit *v)
{
    const struct search_point best = s->site[v->best].point;
    const struct estimate e = loader_look(s, v->point);
    struct str at = STR_INIT;
    int rc;

    search_point_add_text(&s->space, best, &at);
    if (loader_site(s, v->point) >= 0)
        rc = ask(s, v->point, "again: the best are too close to tell apart (uncertainty %.1f %%)",
                 100 * e.sd);
    else
        rc = ask(s, v->point, "may beat %s: %+.1f %%, uncertainty %.1f %%, expected gain %.2f %%",
                 at.s, 100 * (e.mean / v->best_mean - 1), 100 * e.sd, 100 * v->most / v->best_mean);
    str_release(&at);
    return rc;
}

static int fill(struct loader_search *s)
{
    struct visit v = {.each = weigh_gain, .best = loader_best(s, -1)};
    const int second = loader_best(s, v.best);

    v.best_mean = loader_look(s, s->site[v.best].point).mean;
    v.second_mean = second < 0 ? -INFINITY : loader_look(s, s->site[second].point).mean;
    visit_all(s, s->site[v.best].point, &v);
    if (v.most < s->set.gain * v.best_mean || v.best_mean <= 0)
        return 0;
    return ask_fill(s, &v);
}

/* Saving times the chance that nothing is lost. */
static void weigh_saving(struct loader_search *s, struct search_point p, struct visit *v)
{
    const double saved = 1 - search_point_cost(&s->space, p) / v->cost;

    if (saved < 0.1 || loader_site(s, p) >= 0)
        return;
    const struct estimate e = loader_look(s, p);
    const double chance =
        normal_below((e.mean - v->best_mean * (1 - s->set.equal)) / (e.sd + 1e-9));

    if (chance >= 0.25 && chance * saved > v->most) {
        v->most = chance * saved;
        v->point = p;
    }
}

static int economise(struct loader_search *s)
{
    const struct search_point chosen = s->site[chosen_site(s)].point;
    struct visit v = {.each = weigh_saving, .cost = search_point_cost(&s->space, chosen)};
    struct str at = STR_INIT;

    if (v.cost <= 0 || s->n_economy >= economy(s))
        return 0;
    v.best_mean = loader_look(s, s->site[loader_best(s, -1)].point).mean;
    visit_all(s, chosen, &v);
    if (v.most <= 0)
        return 0;
    s->n_economy++;
    search_point_add_text(&s->space, chosen, &at);
    ask(s, v.point, "cheaper than %s, and perhaps as fast", at.s);
    str_release(&at);
    return 1;
}

static int finish(struct loader_search *s, const char *end)
{
    s->stage = DONE;
    s->end = end;
    return 0;
}

static const char *usual_end(const struct loader_search *s)
{
    return s->at_ceiling ? "data is as fast as the ceiling, and no cheaper setting is likely to be"
                         : "no further probe is expected to gain more than the noise hides";
}

static int next_probe(struct loader_search *s)
{
    if (s->n_steps == s->set.max_probes)
        return finish(s, "the number of probes is used up");
    if (s->n_sites == 0 && s->n_steps > 0)
        return shrink(s) || finish(s, "no setting could be run");
    if (s->stage < ECONOMY && loader_at_ceiling(s)) {
        s->at_ceiling = 1;
        s->stage = ECONOMY;
    }
    if (s->stage == CLIMB) {
        if (climb(s))
            return 1;
        s->stage = AROUND;
    }
    if (s->stage == AROUND) {
        if (look_around(s))
            return 1;
        s->stage = EXPLORE;
    }
    if (s->stage == EXPLORE) {
        if (explore(s))
            return 1;
        s->stage = REFINE;
    }
    if (s->stage == REFINE) {
        if (s->n_steps < s->set.max_probes - economy(s) && refine(s))
            return 1;
        s->stage = FILL;
    }
    if (s->stage == FILL) {
        if (s->n_steps < s->set.max_probes - economy(s) && fill(s))
            return 1;
        s->stage = ECONOMY;
    }
    return economise(s) || finish(s, usual_end(s));
}

int loader_search_ask(struct loader_search *s, struct search_point *point, const char **why)
{
    if (!s->asked && (s->stage == DONE || !next_probe(s)))
        return 0;
    s->asked = 1;
    *point = s->step[s->n_steps].point;
    *why = s->step[s->n_steps].why;
    return 1;
}

static void add_rate(struct loader_search *s, struct search_point p, double rate)
{
    const int known = loader_site(s, p);
    struct site *const x = &s->site[known < 0 ? s->n_sites++ : known];

    x->point = p;
    const double off = rate - x->mean;

    x->n++;
    x->mean += off / x->n;
    x->square += off * (rate - x->mean);
}

void loader_search_tell(struct loader_search *s, const struct loader_reading *reading)
{
    struct loader_step *const step = &s->step[s->n_steps];
    struct loader_reading *const r = &step->reading;

    ASSERT(s->asked);
    s->asked = 0;
    s->n_steps++;
    *r = *reading;
    if (!isfinite(r->rate) || r->rate < 0)
        r->failed = 1;
    if (r->failed)
        s->failed[s->n_failed++] = step->point;
    else
        add_rate(s, step->point, r->rate);
    loader_fit(s);
}

/* Results. */

int loader_search_result(const struct loader_search *s, struct loader_result *out)
{
    *out =
        (struct loader_result){.n_probes = s->n_steps, .at_ceiling = s->at_ceiling, .end = s->end};
    if (s->n_sites == 0)
        return err(E_UNSUPPORTED, "none of %d settings of the input pipeline could be run",
                   s->n_steps);
    out->point = s->site[chosen_site(s)].point;
    const struct estimate e = loader_look(s, out->point);

    out->rate = e.mean * s->scale;
    out->sd = e.sd * s->scale;
    return 0;
}

int loader_search_steps(const struct loader_search *s, const struct loader_step **steps)
{
    *steps = s->step;
    return s->n_steps;
}

void loader_search_add_table(const struct loader_search *s, struct str *out)
{
    for (int d = 0; d < s->space.n_dims; d++)
        str_printf(out, "%10s", s->space.dim[d].name);
    str_printf(out, "%12s  why\n", "rate");
    for (int i = 0; i < s->n_steps; i++) {
        const struct loader_step *const step = &s->step[i];

        for (int d = 0; d < s->space.n_dims; d++)
            str_printf(out, "%10d", step->point.v[d]);
        if (step->reading.failed)
            str_printf(out, "%12s  %s\n", "failed", step->why);
        else
            str_printf(out, "%12.1f  %s\n", step->reading.rate, step->why);
    }
}
