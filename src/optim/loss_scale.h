/* Loss scaling: the loss is multiplied by a power of two before the backward pass, so that small
 * gradients survive in a narrow type, and the gradients are divided by it before the update. A step
 * whose gradients are not finite changes no weight. Dynamic: such a step halves the scale, and
 * LOSS_SCALE_WINDOW good steps in a row double it (Micikevicius et al. 2018). A pure state machine;
 * its state is part of a checkpoint. */
#ifndef STAVE_OPTIM_LOSS_SCALE_H
#define STAVE_OPTIM_LOSS_SCALE_H

enum { LOSS_SCALE_WINDOW = 2000 };
#define LOSS_SCALE_START 65536.0
#define LOSS_SCALE_MAX 16777216.0

struct loss_scale {
    double value;         /* 0: no scaling */
    int dynamic;          /* follow the gradients; else value stays */
    long long good_steps; /* since it last changed */
};

/* start 0 with dynamic means LOSS_SCALE_START. */
struct loss_scale loss_scale_new(double start, int dynamic);
/* After a step: whether all its gradients were finite. E_NUMERIC when they were not and the scale
 * can not fall any more: it stands at 1, or is static. */
int loss_scale_step(struct loss_scale *s, int finite);

#endif
