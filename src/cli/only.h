/* `stave run W --only read|decode|augment|data`: a part of the input pipeline into nothing. No
 * model, no device, no run folder. */
#ifndef STAVE_CLI_ONLY_H
#define STAVE_CLI_ONLY_H

#include "cli/setup.h"

/* alone: one stage (see pipeline.h), 0: all of them. Runs --steps batches, or an epoch, and prints
 * what they took; json: as one document. Returns an exit code or an error. */
struct only_part {
    int alone, json;
};
int run_only(struct setup *s, struct only_part o);

#endif
