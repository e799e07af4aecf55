/* What only the whole log can lack. */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "rules/check_int.h"

static void missing(struct rule_check *c, const struct rule_key *key, const char *name,
                    const char *found, const char *expected)
{
    check_find(c, key,
               &(struct held_finding){.severity = RULE_ERROR,
                                      .name = name,
                                      .found = (char *)(uintptr_t)found,
                                      .expected = (char *)(uintptr_t)expected,
                                      .stays = 1});
}

static void check_once(struct rule_check *c, const struct rule_key *key, size_t n)
{
    struct held_finding f = {.severity = RULE_WARNING, .name = "copies", .stays = 1};

    if (n == 0)
        missing(c, key, "missing", "it is not there", "exactly one");
    if (n < 2 || c->rows[key->row].contradicted)
        return;
    f.found = xasprintf("%zu equal records", n);
    f.expected = (char[]){"exactly one; one process should write the log"};
    check_find(c, key, &f);
    free(f.found);
}

static void check_some(struct rule_check *c, const struct rule_key *key, size_t n)
{
    char *const expected = xasprintf("at least %d", key->least);
    char *const found = xasprintf("%zu records", n);

    if (n < (size_t)key->least)
        missing(c, key, "missing", n ? found : "it is not there",
                key->least > 1 ? expected : "at least one");
    free(expected);
    free(found);
}

/* The official checker asks this of the pair, whatever later sheets say; two keys that lean on each
 * other are one pair. */
static void check_some_or(struct rule_check *c, const struct rule_key *key, size_t n)
{
    const struct rule_sheet *const s = &c->r->sheets[key->sheet];
    char *expected;

    if (n > 0 || check_count(c, key->other) > 0)
        return;
    for (const struct rule_key *k = s->keys; k < key; k++)
        if (k->count == RULE_SOME_OR && strcmp(k->name, key->other) == 0 &&
            strcmp(k->other, key->name) == 0)
            return;
    expected = xasprintf("at least one, or %s", key->other);
    missing(c, key, "missing", "it is not there", expected);
    free(expected);
}

static void check_one_if(struct rule_check *c, const struct rule_key *key, size_t n)
{
    const size_t wanted = c->rows[key->row].other_seen != 0;
    char *found, *expected;

    if (n == wanted)
        return;
    found = xasprintf("%zu records", n);
    expected = xasprintf("%zu, as %s %s %s", wanted, key->other, wanted ? "is" : "is not",
                         key->other_value);
    missing(c, key, "missing", found, expected);
    free(found);
    free(expected);
}

static void check_tensors(struct rule_check *c, const struct rule_key *key)
{
    const struct rule_tensors *const list = key->list;
    const struct row_state *const row = &c->rows[key->row];
    size_t lacking = 0, twice = 0, first = 0;
    char *found, *expected;

    for (size_t i = list->n; i-- > 0;) {
        const int n = row->tensors ? row->tensors[i] : 0;

        lacking += n == 0;
        twice += n > 1;
        first = n != 1 ? i : first;
    }
    if (!lacking && !twice && !row->strange_tensor)
        return;
    found = xasprintf("%zu of %zu tensors are missing, %zu come more than once%s", lacking, list->n,
                      twice, row->strange_tensor ? ", others are not of this model" : "");
    expected = lacking + twice ? xasprintf("each name once, among them %s", list->names[first])
                               : xstrdup("only the names of the list");
    missing(c, key, "tensors", found, expected);
    free(found);
    free(expected);
}

static void check_reached(struct rule_check *c, const struct rule_key *key, size_t n)
{
    struct str expected = STR_INIT;

    if (n == 0 || c->rows[key->row].reached)
        return;
    str_add(&expected, "one record with ");
    for (size_t i = 0; i < key->reaches.n; i++) {
        str_add(&expected, i ? " and " : "");
        rule_add_wanted(&key->reaches.all[i], &expected);
    }
    missing(c, key, "target-missed", "no record reaches the target", expected.s);
    str_release(&expected);
}

static void check_key(struct rule_check *c, const struct rule_key *key)
{
    const size_t n = c->names[key->number].n;
    const int counts = !check_is_overridden(c, key);

    if (key->count == RULE_ONCE && counts)
        check_once(c, key, n);
    else if (key->count == RULE_SOME && counts)
        check_some(c, key, n);
    else if (key->count == RULE_SOME_OR)
        check_some_or(c, key, n);
    else if (key->count == RULE_ONE_IF)
        check_one_if(c, key, n);
    if (key->tensors)
        check_tensors(c, key);
    if (key->reaches.n)
        check_reached(c, key, n);
}

/* Records that the sheet makes of others come behind all of the log. */
static void add_gathered(struct rule_check *c, const struct rule_sheet *s)
{
    struct mllog_record r;

    for (size_t i = 0; check_gathered(c, i, s, &r); i++)
        for (size_t k = 0; k < s->n_keys; k++)
            if (strcmp(s->keys[k].name, s->gather.into) == 0) {
                c->names[s->keys[k].number].n++;
                check_row(c, &s->keys[k], &r);
            }
}

void check_missing(struct rule_check *c)
{
    for (size_t i = 0; i < c->r->n_sheets; i++) {
        const struct rule_sheet *const s = &c->r->sheets[i];

        if (!check_is_open(c, (int)i))
            continue;
        if (s->gather.from)
            add_gathered(c, s);
        for (size_t k = 0; k < s->n_keys; k++)
            check_key(c, &s->keys[k]);
    }
}
