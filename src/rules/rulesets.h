/* The tables of all rulesets, from the list. */
#ifndef STAVE_RULES_RULESETS_H
#define STAVE_RULES_RULESETS_H

#include "rules/ruleset.h"

#define RULESET(name) extern const struct ruleset ruleset_##name;
#include "rules/list.h"
#undef RULESET

#endif
