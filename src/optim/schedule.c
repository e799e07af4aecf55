#include "optim/schedule.h"

#include <math.h>

#include "base/err.h"

static int check_rates(const struct schedule *s)
{
    if (!(isfinite(s->base) && s->base >= 0 && isfinite(s->end) && s->end >= 0))
        return err(E_USAGE, "learning rate %g decaying to %g: both must be finite and not negative",
                   s->base, s->end);
    if (!(s->power >= 0 && s->factor >= 0))
        return err(E_USAGE, "decay power %g and factor %g must not be negative", s->power,
                   s->factor);
    return 0;
}

int schedule_check(const struct schedule *s)
{
    TRY(check_rates(s));
    if (s->warmup < 0 || s->total < 0)
        return err(E_USAGE, "%lld steps of warm-up in a run of %lld: neither may be negative",
                   s->warmup, s->total);
    if (s->warmup > s->total && s->kind != SCHEDULE_CONSTANT)
        return err(E_USAGE,
                   "a warm-up of %lld steps does not fit in a run of %lld; shorten the warm-up",
                   s->warmup, s->total);
    for (size_t i = 1; i < s->n_boundaries; i++)
        if (s->boundaries[i] <= s->boundaries[i - 1])
            return err(E_USAGE, "decay boundary %lld follows %lld; boundaries must rise",
                       s->boundaries[i], s->boundaries[i - 1]);
    return 0;
}

static double steps_rate(const struct schedule *s, long long step)
{
    double rate = s->base;

    for (size_t i = 0; i < s->n_boundaries && s->boundaries[i] <= step; i++)
        rate *= s->factor;
    return rate;
}

/* 0 at the end of warm-up, 1 when the decay is over. */
static double decay_progress(const struct schedule *s, long long step)
{
    const double t = (double)(step - s->warmup) / (double)(s->total - s->warmup + 1);

    return t < 1 ? t : 1;
}

static double decayed_rate(const struct schedule *s, long long step)
{
    const double span = s->base - s->end;

    switch (s->kind) {
    case SCHEDULE_CONSTANT:
        return s->base;
    case SCHEDULE_STEPS:
        return steps_rate(s, step);
    case SCHEDULE_COSINE:
        return s->end + span * (1 + cos(M_PI * decay_progress(s, step))) / 2;
    case SCHEDULE_POLYNOMIAL:
        return s->end + span * pow(1 - decay_progress(s, step), s->power);
    }
    BUG("no such schedule: %d", (int)s->kind);
}

double schedule_rate(const struct schedule *s, long long step)
{
    ASSERT(step >= 0);
    if (step >= s->warmup)
        return decayed_rate(s, step);
    return (s->kind == SCHEDULE_STEPS ? steps_rate(s, step) : s->base) * (double)step /
           (double)s->warmup;
}

double schedule_scale(double base, long long batch, long long reference_batch)
{
    ASSERT(batch > 0 && reference_batch > 0);
    return base * (double)batch / (double)reference_batch;
}
