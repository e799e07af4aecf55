#include <string.h>

#include "rules/check_int.h"

int check_is_open(const struct rule_check *c, int sheet)
{
    for (; sheet > 0; sheet = c->r->sheets[sheet].parent)
        if (c->sheets[sheet] != SHEET_CHOSEN)
            return 0;
    return sheet == 0;
}

int check_is_dead(const struct rule_check *c, int sheet)
{
    for (; sheet > 0; sheet = c->r->sheets[sheet].parent)
        if (c->sheets[sheet] == SHEET_DEAD)
            return 1;
    return sheet < 0;
}

int check_is_overridden(const struct rule_check *c, const struct rule_key *key)
{
    const int depth = c->r->sheets[key->sheet].depth;
    const struct rule_key *const *rows;
    size_t n;

    rows = ruleset_rows(c->r, key->number, &n);
    for (size_t i = 0; i < n; i++)
        if (rows[i]->count != RULE_SETTING && c->r->sheets[rows[i]->sheet].depth > depth &&
            check_is_open(c, rows[i]->sheet))
            return 1;
    return 0;
}

static int is_child(const struct rule_check *c, size_t sheet, const struct rule_key *key)
{
    return c->r->sheets[sheet].parent == key->sheet;
}

/* Whether `name` is the prefix and the word. */
static int is_name(const char *name, const char *prefix, const char *word)
{
    const size_t n = strlen(prefix);

    if (n == 0)
        return strcmp(name, word) == 0;
    return strncmp(name, prefix, n) == 0 && name[n] == ' ' && strcmp(name + n + 1, word) == 0;
}

int check_choose(struct rule_check *c, const struct rule_key *key, const cJSON *value)
{
    const char *const word = cJSON_GetStringValue(value);
    int found = 0;

    for (size_t i = 1; i < c->r->n_sheets; i++) {
        if (!is_child(c, i, key))
            continue;
        if (word && is_name(c->r->sheets[i].name, key->opens, word)) {
            c->sheets[i] = SHEET_CHOSEN;
            found = 1;
        } else if (key->first_only)
            c->sheets[i] = SHEET_DEAD;
    }
    return found;
}
