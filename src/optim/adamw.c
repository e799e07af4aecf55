#include "optim/optim.h"

void optimiser_adamw_update(struct graph *g, const struct optim_param *p)
{
    adamw_update(g, p->w, p->grad, optim_moment(g, p->w, "moment1"),
                 optim_moment(g, p->w, "moment2"), p->lr, p->scale, p->step, p->update);
}
