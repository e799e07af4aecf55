#include "verdict/rate_search.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"

enum stage { DECADES, STEPS, WALK, VERTEX, BATCH, DONE };
enum { WALKS = 6 };
/* Steps 10^(1/2), 10^(1/4), 10^(1/8), then 10 %. After a change of batch only the last two. */
static const double factors[] = {3.1622776601683795, 1.7782794100389228, 1.333521432163324, 1.1};
enum { N_FACTORS = 4, FINE = 2 };

struct rate_search {
    struct rate_settings set;
    struct rate_trial trial[RATE_TRIALS];
    int n_trials, best; /* best: -1 for none */
    int group[RATE_TRIALS], n_group, rung;
    int asked; /* the trial that waits to be told; -1 for none */
    enum stage stage;
    int factor, extra, walks, batch, no_memory; /* no_memory: the smallest batch known; 0: none */
    int after_batch;
    const char *end;
};

static int check(const struct rate_settings *s)
{
    if (!(s->rate > 0 && isfinite(s->rate)) || s->batch < 1)
        return err(E_USAGE, "the search starts at the rate %g and the batch %d; both must be > 0",
                   s->rate, s->batch);
    if (s->max_batch < s->batch || s->decades_down < 0 || s->decades_down > 9 ||
        s->decades_up < 0 || s->decades_up > 9)
        return err(E_USAGE, "the largest batch %d must be %d or more, and powers of ten 0 to 9",
                   s->max_batch, s->batch);
    if (!(s->budget > 0 && s->growth >= 1.5 && isfinite(s->budget) && isfinite(s->growth)) ||
        s->n_rungs < 1 || s->n_rungs > RATE_RUNGS || !(s->noise >= 0 && isfinite(s->noise)))
        return err(E_USAGE,
                   "a search needs a budget > 0, a growth of 1.5 or more, 1 to %d rungs "
                   "and no negative noise",
                   RATE_RUNGS);
    return 0;
}

__attribute__((format(printf, 3, 4))) static void propose(struct rate_search *s, double rate,
                                                          const char *why, ...);

static void propose_decades(struct rate_search *s, double centre)
{
    s->stage = DECADES;
    for (int i = -s->set.decades_down; i <= s->set.decades_up; i++)
        propose(s, centre * pow(10, i), "powers of ten around %.4g", centre);
}

int rate_search_new(const struct rate_settings *settings, struct rate_search **out)
{
    struct rate_settings set = *settings;
    struct rate_search *s;

    *out = NULL;
    if (!set.decades_down && !set.decades_up)
        set.decades_down = 3, set.decades_up = 2;
    if (!set.max_batch)
        set.max_batch = set.batch;
    if (set.budget == 0)
        set.budget = 1;
    if (set.growth == 0)
        set.growth = 3;
    if (!set.n_rungs)
        set.n_rungs = 3;
    TRY(check(&set));
    s = xcalloc(1, sizeof(*s));
    s->set = set;
    s->best = s->asked = -1;
    s->batch = set.batch;
    s->end = "";
    propose_decades(s, set.rate);
    *out = s;
    return 0;
}

void rate_search_free(struct rate_search *s)
{
    free(s);
}

static double budget_of(const struct rate_search *s, int rung)
{
    return s->set.budget * pow(s->set.growth, rung);
}

/* Lower is better. */
static double cost(const struct rate_search *s, int trial, int rung)
{
    const double q = s->trial[trial].quality[rung];

    return s->set.goal == RATE_LOSS ? q : -q;
}

static int complete(const struct rate_search *s, int trial)
{
    return s->trial[trial].end == TRIAL_RAN && s->trial[trial].rungs == s->set.n_rungs;
}

/* A rate as large has diverged with this batch. */
static int diverges(const struct rate_search *s, double rate)
{
    for (int i = 0; i < s->n_trials; i++)
        if (s->trial[i].end == TRIAL_DIVERGED && s->trial[i].batch == s->batch &&
            rate >= s->trial[i].rate)
            return 1;
    return 0;
}

/* The trial of this rate with this batch; -1: none. */
static int find_trial(const struct rate_search *s, double rate)
{
    for (int i = 0; i < s->n_trials; i++)
        if (s->trial[i].batch == s->batch && fabs(log(rate / s->trial[i].rate)) < 0.03)
            return i;
    return -1;
}

static void propose(struct rate_search *s, double rate, const char *why, ...)
{
    va_list args;

    if (s->n_trials == RATE_TRIALS || find_trial(s, rate) >= 0 || diverges(s, rate) ||
        !isnormal(rate))
        return;
    struct rate_trial *const t = &s->trial[s->n_trials];

    *t = (struct rate_trial){.batch = s->batch, .rate = rate};
    va_start(args, why);
    vsnprintf(t->why, sizeof(t->why), why, args);
    va_end(args);
    s->group[s->n_group++] = s->n_trials++;
}

/* Successive halving. */

static int is_alive(const struct rate_search *s, int trial)
{
    const struct rate_trial *const t = &s->trial[trial];

    return t->end == TRIAL_RAN && !(t->rungs == 0 && diverges(s, t->rate)) &&
           !(s->no_memory && t->batch >= s->no_memory);
}

/* How many of the group, and the best so far, do better than this trial at this rung. */
static int rank(const struct rate_search *s, int trial)
{
    const double mine = cost(s, trial, s->rung);
    int better = s->best >= 0 && cost(s, s->best, s->rung) < mine;

    for (int i = 0; i < s->n_group; i++)
        better += cost(s, s->group[i], s->rung) < mine;
    return better;
}

/* Those that go on to the next rung; all of the group have been told. */
static void cut(struct rate_search *s)
{
    const int n = s->n_group + (s->best >= 0), keep = (int)ceil(n / s->set.growth);
    double least = s->best >= 0 ? cost(s, s->best, s->rung) : INFINITY;
    int kept[RATE_TRIALS], n_kept = 0;

    for (int i = 0; i < s->n_group; i++)
        least = fmin(least, cost(s, s->group[i], s->rung));
    for (int i = 0; i < s->n_group; i++)
        if (rank(s, s->group[i]) < (keep > 1 ? keep : 2) ||
            cost(s, s->group[i], s->rung) <= least + 2 * M_SQRT2 * s->set.noise)
            kept[n_kept++] = s->group[i];
    memcpy(s->group, kept, (size_t)n_kept * sizeof(*kept));
    s->n_group = n_kept;
}

static void drop_dead(struct rate_search *s)
{
    int n = 0;

    for (int i = 0; i < s->n_group; i++)
        if (is_alive(s, s->group[i]))
            s->group[n++] = s->group[i];
    s->n_group = n;
}

/* Rates that are near to each other are not cut at the first rung, where short trials favour the
 * smaller one; there it only shows what diverges. Returns the next of the group that lacks the
 * budget of this rung; -1: the group is evaluated. */
static int next_in_group(struct rate_search *s)
{
    for (;;) {
        drop_dead(s);
        for (int i = 0; i < s->n_group; i++)
            if (s->trial[s->group[i]].rungs <= s->rung)
                return s->group[i];
        if (s->n_group == 0 || s->rung + 1 >= s->set.n_rungs)
            return -1;
        if (s->stage == DECADES || s->rung > 0)
            cut(s);
        s->rung++;
    }
}

/* What comes next. */

/* Parabola through (logarithm of rate, cost) of the complete trials of this batch within a factor
 * of four of the best, by least squares around the best. Returns 0 when there are fewer than four
 * or it has no minimum among them; else c holds its coefficients. */
static int parabola(const struct rate_search *s, double c[3])
{
    double m[3][4] = {{0}};
    int n = 0;

    for (int i = 0; i < s->n_trials; i++) {
        const double x = log(s->trial[i].rate / s->trial[s->best].rate);
        const double row[4] = {1, x, x * x, complete(s, i) ? cost(s, i, s->set.n_rungs - 1) : 0};

        if (!complete(s, i) || s->trial[i].batch != s->trial[s->best].batch || fabs(x) > log(4))
            continue;
        n++;
        for (int a = 0; a < 3; a++)
            for (int b = 0; b < 4; b++)
                m[a][b] += row[a] * row[b];
    }
    for (int a = 0; a < 3 && n >= 4; a++)
        for (int r = 0; r < 3; r++) {
            const double f = r == a ? 0 : m[r][a] / m[a][a];

            for (int b = a; b < 4; b++)
                m[r][b] -= f * m[a][b];
        }
    for (int a = 0; a < 3; a++)
        c[a] = m[a][3] / m[a][a];
    return n >= 4 && isfinite(c[0]) && isfinite(c[1]) && c[2] > 0 &&
           fabs(c[1] / (2 * c[2])) < log(4);
}

/* The complete trial of this batch with the least cost: along the parabola where there is one and
 * noise to average, as measured otherwise. */
static int choose(const struct rate_search *s)
{
    double c[3], least = INFINITY;
    const int last = s->set.n_rungs - 1;
    int chosen = s->best;
    const int smooth = s->best >= 0 && s->set.noise > 0 && parabola(s, c);

    for (int i = 0; i < s->n_trials && s->best >= 0; i++) {
        const double x = log(s->trial[i].rate / s->trial[s->best].rate);

        if (!complete(s, i) || s->trial[i].batch != s->trial[s->best].batch ||
            (smooth && fabs(x) > log(4)))
            continue;
        const double value = smooth ? c[0] + c[1] * x + c[2] * x * x : cost(s, i, last);

        if (value < least)
            least = value, chosen = i;
    }
    return chosen;
}

/* Takes what the group found. Returns whether the best is another one. */
static int take_best(struct rate_search *s)
{
    const int before = s->best, last = s->set.n_rungs - 1;

    for (int i = 0; i < s->n_group; i++)
        if (complete(s, s->group[i]) &&
            (s->best < 0 || cost(s, s->group[i], last) < cost(s, s->best, last)))
            s->best = s->group[i];
    return s->best != before;
}

static int finish(struct rate_search *s, const char *end)
{
    s->stage = DONE;
    s->end = end;
    return 0;
}

static void propose_around(struct rate_search *s, double factor)
{
    const double rate = s->trial[s->best].rate;

    propose(s, rate / factor, "%.4g is the best so far; a step of %.2f below", rate, factor);
    propose(s, rate * factor, "%.4g is the best so far; a step of %.2f above", rate, factor);
}

static double outermost(const struct rate_search *s, int sign)
{
    double rate = s->trial[0].rate;

    for (int i = 0; i < s->n_trials; i++)
        if (s->trial[i].batch == s->batch && sign * (s->trial[i].rate - rate) > 0)
            rate = s->trial[i].rate;
    return rate;
}

static int has_diverged(const struct rate_search *s)
{
    for (int i = 0; i < s->n_trials; i++)
        if (s->trial[i].end == TRIAL_DIVERGED)
            return 1;
    return 0;
}

/* Another power of ten where the best is the outermost one, or below when all diverged. */
static void extend(struct rate_search *s)
{
    const double low = outermost(s, -1), high = outermost(s, 1);

    if (s->extra == RATE_EXTRA || (s->best < 0 && !has_diverged(s)))
        return;
    if (s->best < 0 || s->trial[s->best].rate == low)
        propose(s, low / 10, s->best < 0 ? "all diverged so far" : "the smallest was the best");
    else if (s->trial[s->best].rate == high)
        propose(s, high * 10, "the largest was the best");
    s->extra += s->n_group > 0;
}

/* The start, scaled with the batch. */
static double centre(const struct rate_search *s)
{
    return s->set.rate * s->batch / s->set.batch;
}

/* The batch did not fit: all over again with half of it. */
static void shrink(struct rate_search *s)
{
    if (s->no_memory < 2)
        return;
    s->batch = s->no_memory / 2;
    propose_decades(s, centre(s));
}

/* Several trials came to their end, all at the very same: no rate is better than another. Without
 * a best one what ended did so with a batch that a later trial had no memory for. */
static int all_alike(const struct rate_search *s)
{
    const int last = s->set.n_rungs - 1;
    int n = 0;

    if (s->best < 0)
        return 0;
    for (int i = 0; i < s->n_trials; i++) {
        if (complete(s, i) && cost(s, i, last) != cost(s, s->best, last))
            return 0;
        n += complete(s, i);
    }
    return n > 1;
}

static void grow(struct rate_search *s)
{
    const int from = s->trial[s->best].batch;
    const double rate = s->trial[s->best].rate;

    if (from > s->set.max_batch / 2 || (s->no_memory && 2 * from >= s->no_memory))
        return;
    s->batch = 2 * from;
    propose(s, rate * M_SQRT2, "batch %d -> %d, rate by the root of two", from, s->batch);
    propose(s, rate * 2, "batch %d -> %d, rate doubled", from, s->batch);
}

/* The larger batch's best against the smaller one's: no worse, and faster when times are known. */
static int batch_pays(struct rate_search *s)
{
    const int before = s->best, last = s->set.n_rungs - 1;
    int found = -1;

    for (int i = 0; i < s->n_group; i++)
        if (complete(s, s->group[i]) &&
            (found < 0 || cost(s, s->group[i], last) < cost(s, found, last)))
            found = s->group[i];
    if (found < 0 || cost(s, found, last) > cost(s, before, last) + 2 * M_SQRT2 * s->set.noise)
        return 0;
    const double now = s->trial[found].seconds, then = s->trial[before].seconds;

    if (now > 0 && then > 0 && now > 0.97 * then)
        return 0;
    s->best = found;
    return 1;
}

static void propose_vertex(struct rate_search *s)
{
    double c[3];

    if (parabola(s, c))
        propose(s, s->trial[s->best].rate * exp(-c[1] / (2 * c[2])),
                "the minimum of a parabola through the results");
}

/* From a finished group to the next stage's; stages without candidates are passed over. */
static void after_decades(struct rate_search *s)
{
    take_best(s);
    s->n_group = 0;
    if (s->best < 0 && s->no_memory && s->no_memory <= s->batch) {
        shrink(s);
        s->stage = s->n_group ? DECADES : DONE;
        return;
    }
    if (all_alike(s)) {
        const int start = find_trial(s, centre(s));

        if (start >= 0 && complete(s, start))
            s->best = start;
        s->stage = DONE;
        return;
    }
    extend(s);
    if (s->n_group == 0)
        s->stage = s->best < 0 ? DONE : STEPS;
}

static void after_steps(struct rate_search *s)
{
    take_best(s);
    s->n_group = 0;
    if (s->factor < N_FACTORS)
        propose_around(s, factors[s->factor++]);
    else
        s->stage = WALK;
}

static void after_walk(struct rate_search *s)
{
    const int moved = take_best(s);

    s->n_group = 0;
    if (s->walks == 0 || (moved && s->walks < WALKS)) {
        s->walks++;
        propose_around(s, factors[N_FACTORS - 1]);
    }
    if (s->n_group == 0) {
        propose_vertex(s);
        s->stage = VERTEX;
    }
}

static void after_vertex(struct rate_search *s)
{
    take_best(s);
    s->n_group = 0;
    s->best = choose(s);
    s->stage = s->after_batch ? DONE : BATCH;
    if (s->stage == BATCH)
        grow(s);
}

static void after_batch(struct rate_search *s)
{
    const int pays = batch_pays(s);

    s->n_group = 0;
    s->after_batch |= pays;
    if (pays)
        grow(s);
    if (s->n_group)
        return;
    s->batch = s->trial[s->best].batch;
    s->factor = FINE;
    s->walks = 0;
    s->stage = s->after_batch ? STEPS : DONE;
}

static void advance(struct rate_search *s)
{
    static void (*const after[])(struct rate_search *) = {[DECADES] = after_decades,
                                                          [STEPS] = after_steps,
                                                          [WALK] = after_walk,
                                                          [VERTEX] = after_vertex,
                                                          [BATCH] = after_batch};

    do
        after[s->stage](s);
    while (s->n_group == 0 && s->stage != DONE);
    s->rung = 0;
}

static int next_trial(struct rate_search *s)
{
    int trial;

    while ((trial = next_in_group(s)) < 0) {
        advance(s);
        if (s->stage == DONE)
            return -1;
    }
    return trial;
}

int rate_search_ask(struct rate_search *s, struct rate_ask *out)
{
    if (s->asked < 0 && s->stage != DONE)
        s->asked = next_trial(s);
    if (s->asked < 0)
        return finish(s, s->best < 0                  ? "no trial ran to its end"
                         : all_alike(s)               ? "all rates did equally well"
                         : s->n_trials == RATE_TRIALS ? "the number of trials is used up"
                                                      : "steps of 10 % do not improve it further");
    const struct rate_trial *const t = &s->trial[s->asked];

    *out = (struct rate_ask){.id = s->asked,
                             .batch = t->batch,
                             .rate = t->rate,
                             .budget = budget_of(s, t->rungs),
                             .done = t->rungs ? budget_of(s, t->rungs - 1) : 0,
                             .why = t->why};
    return 1;
}

void rate_search_tell(struct rate_search *s, const struct rate_reading *reading)
{
    ASSERT(s->asked >= 0);
    struct rate_trial *const t = &s->trial[s->asked];

    s->asked = -1;
    t->end = reading->end;
    if (t->end == TRIAL_RAN && !isfinite(reading->quality))
        t->end = TRIAL_DIVERGED;
    if (t->end == TRIAL_NO_MEMORY && (!s->no_memory || t->batch < s->no_memory))
        s->no_memory = t->batch;
    if (reading->seconds > 0 && isfinite(reading->seconds))
        t->seconds += reading->seconds;
    if (t->end != TRIAL_NO_MEMORY)
        t->budget = budget_of(s, t->rungs);
    if (t->end == TRIAL_RAN)
        t->quality[t->rungs++] = reading->quality;
}

/* Results. */

int rate_search_result(const struct rate_search *s, struct rate_result *out)
{
    *out = (struct rate_result){.trial = s->best, .end = s->end};
    for (int i = 0; i < s->n_trials; i++)
        out->spent += s->trial[i].budget;
    if (s->best < 0 && has_diverged(s))
        return err(E_NUMERIC,
                   "every learning rate down to %.3g diverged; look at the data and the "
                   "loss before the rate",
                   outermost(s, -1));
    if (s->best < 0)
        return err(E_UNSUPPORTED, "no trial ran to its end; even a batch of %d did not", s->batch);
    out->batch = s->trial[s->best].batch;
    out->rate = s->trial[s->best].rate;
    out->quality = s->trial[s->best].quality[s->set.n_rungs - 1];
    return 0;
}

int rate_search_trials(const struct rate_search *s, const struct rate_trial **trials)
{
    *trials = s->trial;
    return s->n_trials;
}

void rate_search_add_table(const struct rate_search *s, struct str *out)
{
    static const char *const ends[] = {"", "diverged", "no memory", "failed"};

    str_printf(out, "%5s %7s %12s %8s %12s  why\n", "trial", "batch", "rate", "budget", "quality");
    for (int i = 0; i < s->n_trials; i++) {
        const struct rate_trial *const t = &s->trial[i];

        str_printf(out, "%4d%c %7d %12.5g %8.4g ", i, i == s->best ? '*' : ' ', t->batch, t->rate,
                   t->budget);
        if (t->end != TRIAL_RAN)
            str_printf(out, "%12s", ends[t->end]);
        else if (t->rungs)
            str_printf(out, "%12.5g", t->quality[t->rungs - 1]);
        else
            str_printf(out, "%12s", "not run");
        str_printf(out, "  %s\n", t->why);
    }
}
