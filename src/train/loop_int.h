/* What loop.c and loop_open.c share. */
#ifndef STAVE_TRAIN_LOOP_INT_H
#define STAVE_TRAIN_LOOP_INT_H

#include "train/loop.h"

enum { MAX_DIGEST = 128 };

long long train_steps_per_epoch(const struct train_run *run);
/* What a checkpoint's place in the data depends on, as text; n is MAX_DIGEST. */
void train_digest(const struct train_run *run, char *text, size_t n);
/* A dynamically scaled run goes on with the scale of its checkpoint; E_DATA when that has none. */
int train_load_scale(const struct checkpoint *c, struct loss_scale *s);

#endif
