/* Between the files of a ruleset. */
#ifndef STAVE_RULES_RULESET_INT_H
#define STAVE_RULES_RULESET_INT_H

#include "rules/ruleset.h"

/* Sorts the sheets, numbers the keys, looks for names that nothing bears. E_DATA. */
int ruleset_finish(struct ruleset *r, const char *file);
/* The reference convergence points of round and benchmark: fills in points and n_points. */
void ruleset_add_points(struct ruleset *r);

#endif
