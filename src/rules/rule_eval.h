/* Whether one record satisfies one test of a ruleset, with the outcomes of the official checker,
 * which is written in Python: there a test that compares a text with a number raises an exception.
 * A file that a key's ordinary test raises in is refused, a `reaches` test that raises ends the
 * official checker with a traceback. */
#ifndef STAVE_RULES_RULE_EVAL_H
#define STAVE_RULES_RULE_EVAL_H

#include "rules/ruleset.h"

enum rule_outcome { RULE_PASSES, RULE_FAILS, RULE_RAISES };

/* What a test looks at. */
struct rule_seen {
    const cJSON *value, *metadata;
    const char *value_text; /* as the log writes it, or NULL; of n_value bytes */
    size_t n_value;
    const char *benchmark; /* of a record of round 0.5 */
    const cJSON *batch;    /* the last global_batch_size before; NULL: none */
};

/* Not for RULE_AFTER, RULE_BEFORE, RULE_INIT_LIMIT and RULE_IN_ORDER, which look at other records.
 */
enum rule_outcome rule_eval(const struct rule_test *t, const struct rule_seen *seen);
/* Equal as Python's == has it: 1, 1.0 and true are one, the order of members does not matter. */
int rule_equal(const cJSON *a, const cJSON *b);
/* A number or a boolean. */
int rule_number(const cJSON *item, double *out);

#endif
