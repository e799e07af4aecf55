/* Learning-rate schedules: pure functions from the number of a step to a rate, in double.
 *
 * Steps count from 0; step s is the (s+1)-th update. With w = warmup and T = total:
 *     s <= w            base * s / w: step 0 has rate 0, step w has the base rate (no warm-up:
 * base) s > w, constant   base steps      base * factor^(number of boundaries <= s) cosine     end
 * + (base - end) * (1 + cos(pi * t)) / 2 polynomial end + (base - end) * (1 - t)^power with t = (s
 * - w) / (T - w + 1), at most 1. This is the convention of MLPerf's ResNet reference: the decay is
 * one step longer than the steps left, so the last update, s = T - 1, still moves, and the end rate
 * holds exactly from s = T + 1 on. Boundaries count from step 0, warm-up included, and apply during
 * it, too. */
#ifndef STAVE_OPTIM_SCHEDULE_H
#define STAVE_OPTIM_SCHEDULE_H

#include <stddef.h>

enum schedule_kind {
    SCHEDULE_CONSTANT,
    SCHEDULE_STEPS,
    SCHEDULE_COSINE,
    SCHEDULE_POLYNOMIAL,
};

struct schedule {
    enum schedule_kind kind;
    double base;
    double end;                  /* cosine, polynomial */
    double power;                /* polynomial */
    double factor;               /* steps */
    long long warmup, total;     /* steps */
    const long long *boundaries; /* rising; borrowed */
    size_t n_boundaries;
};

/* E_USAGE with a sentence when the schedule makes no sense (a warm-up longer than the run, falling
 * boundaries, a rate that is negative or not finite). */
int schedule_check(const struct schedule *s);
double schedule_rate(const struct schedule *s, long long step);
/* The linear scaling rule: base rates are stated for a reference batch. */
double schedule_scale(double base, long long batch, long long reference_batch);

#endif
