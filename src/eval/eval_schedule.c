#include "eval/eval_schedule.h"

#include "base/err.h"

static long long period(const struct eval_schedule *s)
{
    return s->every ? s->every : 1;
}

static long long first(const struct eval_schedule *s)
{
    return s->offset ? s->offset : period(s);
}

int eval_schedule_check(const struct eval_schedule *s)
{
    if (period(s) < 1)
        return err(E_USAGE, "evaluating every %lld epochs: at least 1 is needed", s->every);
    if (first(s) < 1 || first(s) > period(s))
        return err(E_USAGE,
                   "the first evaluation after epoch %lld: with one every %lld epochs it must come "
                   "after epoch 1 to %lld",
                   s->offset, period(s), period(s));
    return 0;
}

int eval_is_due(const struct eval_schedule *s, long long epoch)
{
    ASSERT(epoch >= 1);
    return epoch == s->last || (epoch >= first(s) && (epoch - first(s)) % period(s) == 0);
}

long long eval_block_epochs(const struct eval_schedule *s, long long first_epoch)
{
    long long epoch = first_epoch;

    while (!eval_is_due(s, epoch))
        epoch++;
    return epoch - first_epoch + 1;
}
