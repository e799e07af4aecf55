#include "optim/optim.h"

/* Adam divides by the root of a moment that starts at zero: it can not do without an epsilon. */
static const double default_eps = 1e-8;

void optimiser_adamw_update(struct graph *g, const struct optim_param *p)
{
    struct update u = p->update;

    u.eps = u.eps > 0 ? u.eps : default_eps;
    adamw_update(g, p->w, p->grad, optim_moment(g, p->w, "moment1"),
                 optim_moment(g, p->w, "moment2"), p->lr, p->scale, p->step, u);
}
