#include "optim/loss_scale.h"

#include "base/err.h"

struct loss_scale loss_scale_new(double start, int dynamic)
{
    return (struct loss_scale){.value = start > 0 ? start
                                        : dynamic ? LOSS_SCALE_START
                                                  : 0,
                               .dynamic = dynamic};
}

static int overflowed(struct loss_scale *s)
{
    if (!s->dynamic)
        return err(E_NUMERIC,
                   "the gradients are not finite at the loss scale %g; lower loss-scale, or let "
                   "dynamic-loss-scale find it",
                   s->value);
    if (s->value <= 1)
        return err(E_NUMERIC, "the gradients are not finite even at the loss scale 1");
    s->value = s->value / 2 > 1 ? s->value / 2 : 1;
    s->good_steps = 0;
    return 0;
}

int loss_scale_step(struct loss_scale *s, int finite)
{
    if (!finite)
        return overflowed(s);
    if (s->dynamic && ++s->good_steps >= LOSS_SCALE_WINDOW) {
        s->value = 2 * s->value < LOSS_SCALE_MAX ? 2 * s->value : LOSS_SCALE_MAX;
        s->good_steps = 0;
    }
    return 0;
}
