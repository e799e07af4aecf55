/* Activation memory planned by lifetime: every value gets an offset in one arena, and two values
 * share bytes only if no step needs both. Inputs and outputs live through the whole run. */
#ifndef STAVE_PLAN_MEMORY_H
#define STAVE_PLAN_MEMORY_H

#include "graph/graph.h"

enum { MEMORY_ALIGN = 64 };

struct memory {
    size_t *offset;     /* by tensor id; valid for values and inputs that some step uses */
    int *first, *last;  /* by tensor id: step numbers; first < 0 when unused */
    size_t arena_bytes; /* what the plan needs */
    size_t sum_bytes;   /* what all values together would need */
    int shared;         /* outputs that took over an input's memory */
};

void memory_init(struct memory *m, const struct graph *g);
void memory_release(struct memory *m);

#endif
