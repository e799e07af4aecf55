#include <math.h>
#include <string.h>

#include "backend/cpu/cpu.h"
#include "backend/cpu/native.h"

static float scalar(const struct step *s, int i)
{
    return *(const float *)s->in[i];
}

static float rate(const struct step *s, int i)
{
    return (float)((double)scalar(s, i) * s->node->attr.update.lr_mult);
}

static int sgd_run(struct device *d, const struct step *s)
{
    const struct update *const u = &s->node->attr.update;
    const struct cpu_sgd a = {.n = count_of(s->node->in[0]),
                              .w = s->in[0],
                              .grad = s->in[1],
                              .v = s->in[2],
                              .lr = rate(s, 3),
                              .scale = scalar(s, 4),
                              .momentum = (float)u->momentum,
                              .decay = u->plain ? 0 : (float)u->weight_decay,
                              .nesterov = u->nesterov};

    cpu_sgd(d->lib.threads, &a);
    return 0;
}

static int lars_run(struct device *d, const struct step *s)
{
    const struct update *const u = &s->node->attr.update;
    const struct cpu_lars a = {.n = count_of(s->node->in[0]),
                               .w = s->in[0],
                               .grad = s->in[1],
                               .v = s->in[2],
                               .lr = rate(s, 3),
                               .scale = scalar(s, 4),
                               .momentum = (float)u->momentum,
                               .decay = (float)u->weight_decay,
                               .eta = (float)u->eta,
                               .eps = (float)u->eps,
                               .lr_inside = !u->rate_outside,
                               .plain = u->plain};

    cpu_lars(d->lib.threads, &a);
    return 0;
}

static int adamw_run(struct device *d, const struct step *s)
{
    const struct update *const u = &s->node->attr.update;
    const struct cpu_adamw a = {.n = count_of(s->node->in[0]),
                                .w = s->in[0],
                                .grad = s->in[1],
                                .m = s->in[2],
                                .v = s->in[3],
                                .lr = rate(s, 4),
                                .scale = scalar(s, 5),
                                .step = scalar(s, 6),
                                .beta1 = u->beta1,
                                .beta2 = u->beta2,
                                .eps = (float)u->eps,
                                .decay = u->plain ? 0 : (float)u->weight_decay};

    cpu_adamw(d->lib.threads, &a);
    return 0;
}

static int accumulate_run(struct device *d, const struct step *s)
{
    cpu_add(d->lib.threads,
            &(struct cpu_map){
                .n = count_of(s->node->in[0]), .a = s->in[0], .b = s->in[1], .dst = s->in[0]});
    return 0;
}

static int clear_run(struct device *d, const struct step *s)
{
    (void)d;
    memset(s->in[0], 0, tensor_bytes(s->node->in[0]));
    return 0;
}

static int global_norm_run(struct device *d, const struct step *s)
{
    double sum = 0;

    for (int i = 0; i < s->node->n_in; i++)
        sum += cpu_sum_squares(d->lib.threads, s->in[i], count_of(s->node->in[i]));
    *(float *)s->out[0] = (float)sqrt(sum);
    return 0;
}

static int clip_scale_run(struct device *d, const struct step *s)
{
    const double scale = (double)scalar(s, 0), total = (double)scalar(s, 1) * fabs(scale);
    const double max = s->node->attr.reals.a;

    (void)d;
    *(float *)s->out[0] = (float)(total > max ? scale * max / total : total <= max ? scale : NAN);
    return 0;
}

static int reciprocal_run(struct device *d, const struct step *s)
{
    const double x = (double)scalar(s, 0);

    (void)d;
    *(float *)s->out[0] = isfinite(scalar(s, 1)) && x != 0 ? (float)(1 / x) : NAN;
    return 0;
}

CPU_KERNEL(sgd, sgd_run);
CPU_KERNEL(lars, lars_run);
CPU_KERNEL(adamw, adamw_run);
CPU_KERNEL(accumulate, accumulate_run);
CPU_KERNEL(clear, clear_run);
CPU_KERNEL(global_norm, global_norm_run);
CPU_KERNEL(clip_scale, clip_scale_run);
CPU_KERNEL(reciprocal, reciprocal_run);
