/* Seeds of runs that were not given one. */
#ifndef STAVE_CLI_SEED_H
#define STAVE_CLI_SEED_H

#include <stdint.h>

enum { SEED_BITS = 53 }; /* so that every JSON reader keeps them */

/* From the system's entropy, as the rules want; never 0. E_IO when it gives none. */
int seed_draw(uint64_t *seed);

#endif
