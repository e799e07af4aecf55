/* Between the files of a ruleset. */
#ifndef STAVE_RULES_RULESET_INT_H
#define STAVE_RULES_RULESET_INT_H

#include "rules/ruleset.h"

/* Sorts the sheets, numbers the keys, looks for names that nothing bears. E_DATA. */
int ruleset_finish(struct ruleset *r, const char *file);

#endif
