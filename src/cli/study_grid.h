/* The conditions of `stave ingest`: training alone, ingest alone, both together, and both together
 * for every other setting of a grid of block sizes, rates, writers and engines. */
#ifndef STAVE_CLI_STUDY_GRID_H
#define STAVE_CLI_STUDY_GRID_H

#include "cli/study.h"

struct grid_lists {
    const char *base;                      /* a specification that all have; NULL, "off": none */
    const char *bs, *rate, *jobs, *engine; /* values with commas between; NULL: base's */
    const char *memory, *cache;            /* of all conditions, one value each; NULL: none */
};
/* E_USAGE for what is no setting of ingest, or too many of them. */
int study_plan_grid(struct study *s, const struct grid_lists *lists);

#endif
