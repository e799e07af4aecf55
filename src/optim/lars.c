#include "optim/optim.h"

void optimiser_lars_update(struct graph *g, const struct optim_param *p)
{
    lars_update(g, p->w, p->grad, optim_moment(g, p->w, "momentum"), p->lr, p->scale, p->update);
}
