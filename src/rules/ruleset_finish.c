/* What a ruleset needs once all its text is read: keys by name, and a look for names that nothing
 * bears. */
#include <string.h>

#include "base/err.h"
#include "base/random.h"
#include "rules/ruleset_clause.h"
#include "rules/ruleset_int.h"

/* A hash table of the keys' names: open addressing, twice as large as needed. */
struct rule_name {
    const char *name;
    const struct rule_key **rows;
    size_t n_rows;
};
struct rule_index {
    struct rule_name *names;
    size_t n_names, n_slots;
    int *slots; /* index into names plus 1; 0: free */
};

static int *slot_of(const struct rule_index *x, const char *name)
{
    size_t at = random_name(name) & (x->n_slots - 1);

    while (x->slots[at] && strcmp(x->names[x->slots[at] - 1].name, name) != 0)
        at = (at + 1) & (x->n_slots - 1);
    return &x->slots[at];
}

static struct rule_name *name_in(struct rule_index *x, const char *name)
{
    int *const slot = slot_of(x, name);

    if (!*slot) {
        x->names[x->n_names].name = name;
        *slot = (int)++x->n_names;
    }
    return &x->names[*slot - 1];
}

static void add_row(struct ruleset *r, struct rule_key *key)
{
    struct rule_name *const n = name_in(r->index, key->name);

    key->row = (int)r->n_rows++;
    key->number = (int)(n - r->index->names);
    key->list = key->tensors ? ruleset_tensors(r, key->tensors) : NULL;
    key->first_only = strstr(key->name, "submission_") != NULL;
    n->rows = rule_grow(&r->arena, n->rows, n->n_rows, sizeof(*n->rows));
    n->rows[n->n_rows++] = key;
}

static void build_index(struct ruleset *r)
{
    struct rule_index *const x = arena_alloc(&r->arena, sizeof(*x));
    size_t n = 1;

    for (size_t i = 0; i < r->n_sheets; i++)
        n += r->sheets[i].n_keys + 1;
    for (x->n_slots = 16; x->n_slots < 2 * n; x->n_slots *= 2)
        ;
    x->names = arena_alloc(&r->arena, n * sizeof(*x->names));
    x->slots = arena_alloc(&r->arena, x->n_slots * sizeof(*x->slots));
    r->index = x;
    for (size_t i = 0; i < r->n_sheets; i++) {
        struct rule_sheet *const s = &r->sheets[i];

        for (size_t k = 0; k < s->n_keys; k++) {
            s->keys[k].sheet = (int)i;
            add_row(r, &s->keys[k]);
        }
        if (s->gather.from)
            name_in(x, s->gather.from);
    }
}

int ruleset_name(const struct ruleset *r, const char *key)
{
    return *slot_of(r->index, key) - 1;
}

size_t ruleset_n_names(const struct ruleset *r)
{
    return r->index->n_names;
}

const struct rule_key *const *ruleset_rows(const struct ruleset *r, int name, size_t *n)
{
    ASSERT(name >= 0 && (size_t)name < r->index->n_names);
    *n = r->index->names[name].n_rows;
    return r->index->names[name].rows;
}

int ruleset_sheet(const struct ruleset *r, const char *name)
{
    for (size_t i = 0; i < r->n_sheets; i++)
        if (strcmp(r->sheets[i].name, name) == 0)
            return (int)i;
    return -1;
}

const struct rule_tensors *ruleset_tensors(const struct ruleset *r, const char *name)
{
    for (size_t i = 0; i < r->n_tensors; i++)
        if (strcmp(r->tensors[i].name, name) == 0)
            return &r->tensors[i];
    return NULL;
}

/* ---- which sheet opens which ---- */

/* Whether `name` is the prefix and one more word. */
static int is_below(const char *name, const char *prefix)
{
    const size_t n = strlen(prefix);
    const char *const word = n ? name + n + 1 : name;

    if (strcmp(name, "log") == 0 || (n && (strncmp(name, prefix, n) != 0 || name[n] != ' ')))
        return 0;
    return !strchr(word, ' ');
}

static void set_parents(struct ruleset *r)
{
    for (size_t i = 0; i < r->n_sheets; i++) {
        r->sheets[i].parent = r->format == MLLOG_FORMAT_05 ? 0 : -1;
        r->sheets[i].advises = r->format == MLLOG_FORMAT_05 && i > 0;
    }
    for (size_t i = 0; i < r->n_sheets; i++)
        for (size_t k = 0; k < r->sheets[i].n_keys; k++)
            for (size_t j = 0; r->sheets[i].keys[k].opens && j < r->n_sheets; j++)
                if (is_below(r->sheets[j].name, r->sheets[i].keys[k].opens))
                    r->sheets[j].parent = (int)i;
}

/* A sheet is opened from the log, not from itself. */
static int check_parents(const struct ruleset *r, const char *file)
{
    for (size_t i = 0; i < r->n_sheets; i++) {
        size_t n = 0;

        for (int above = (int)i; above > 0 && n <= r->n_sheets; n++)
            above = r->sheets[above].parent;
        if (n > r->n_sheets)
            return err(E_DATA, "%s: [%s] is opened by a key of its own or of a sheet that it opens",
                       file, r->sheets[i].name);
    }
    return 0;
}

/* ---- names that nothing bears ---- */

static int has_key(const struct rule_sheet *s, const char *name)
{
    for (size_t i = 0; i < s->n_keys; i++)
        if (strcmp(s->keys[i].name, name) == 0)
            return 1;
    return 0;
}

static int check_tests(const struct rule_sheet *s, const struct rule_key *k, const char *file)
{
    for (size_t i = 0; i < k->tests.n; i++) {
        const struct rule_test *const t = &k->tests.all[i];

        if ((t->op == RULE_AFTER || t->op == RULE_BEFORE) && !has_key(s, t->name))
            return err(E_DATA, "%s: %s of [%s] comes after or before %s, which the sheet lacks",
                       file, k->name, s->name, t->name);
    }
    return 0;
}

static int check_key(const struct ruleset *r, const struct rule_sheet *s, const struct rule_key *k,
                     const char *file)
{
    if (k->other && !has_key(s, k->other))
        return err(E_DATA, "%s: %s of [%s] leans on %s, which the sheet lacks", file, k->name,
                   s->name, k->other);
    if (k->tensors && !ruleset_tensors(r, k->tensors))
        return err(E_DATA, "%s: %s of [%s] wants the tensors of %s, of which there is no list",
                   file, k->name, s->name, k->tensors);
    return check_tests(s, k, file);
}

int ruleset_finish(struct ruleset *r, const char *file)
{
    if (!r->version)
        return err(E_DATA, "%s: a line \"ruleset VERSION\" is missing", file);
    if (r->n_sheets == 0 || strcmp(r->sheets[0].name, "log") != 0)
        return err(E_DATA, "%s: the first sheet is not [log]", file);
    for (size_t i = 0; i < r->n_sheets; i++)
        for (size_t k = 0; k < r->sheets[i].n_keys; k++)
            TRY(check_key(r, &r->sheets[i], &r->sheets[i].keys[k], file));
    for (size_t i = 0; i < r->n_benchmarks; i++)
        r->benchmarks[i].ruleset = r;
    set_parents(r);
    TRY(check_parents(r, file));
    build_index(r);
    return 0;
}
