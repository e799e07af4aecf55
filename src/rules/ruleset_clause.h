/* The clauses behind a key of a ruleset's file, see ruleset_parse.h. */
#ifndef STAVE_RULES_RULESET_CLAUSE_H
#define STAVE_RULES_RULESET_CLAUSE_H

#include "rules/ruleset.h"

/* The words of one line that are still to be read. A separator ";" is a word of its own. */
struct rule_words {
    struct arena *arena;
    const char *where; /* "4.0.0.rules:12" */
    char **words;      /* NULL ends them */
};

/* Reads all clauses of a line into key. E_DATA on a mistake. */
int rule_parse_clauses(struct rule_words *w, struct rule_key *key);
/* The next word, or NULL at the end of the line. */
const char *rule_next_word(struct rule_words *w);
/* The next word, a number; "inf" is one. */
int rule_next_number(struct rule_words *w, double *out);
/* An array of n members with room for one more. */
void *rule_grow(struct arena *a, const void *old, size_t n, size_t size);

#endif
