#include "rules/ruleset_clause.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/str.h"

enum { MAX_VALUES = 64, MAX_TESTS = 16 };

void *rule_grow(struct arena *a, const void *old, size_t n, size_t size)
{
    void *bigger;

    if (n != 0 && (n < 4 || (n & (n - 1)) != 0))
        return (void *)(uintptr_t)old;
    bigger = arena_alloc(a, (n < 4 ? 4 : 2 * n) * size);
    if (n)
        memcpy(bigger, old, n * size);
    return bigger;
}

const char *rule_next_word(struct rule_words *w)
{
    return *w->words ? *w->words++ : NULL;
}

static int is_next(const struct rule_words *w, const char *word)
{
    return *w->words && strcmp(*w->words, word) == 0;
}

static int take(struct rule_words *w, const char *word)
{
    if (!is_next(w, word))
        return 0;
    w->words++;
    return 1;
}

static int expected(const struct rule_words *w, const char *what)
{
    return err(E_DATA, "%s: expected %s, found %s%s%s", w->where, what, *w->words ? "\"" : "",
               *w->words ? *w->words : "the end of the line", *w->words ? "\"" : "");
}

static int want(struct rule_words *w, const char *word)
{
    return take(w, word) ? 0 : expected(w, word);
}

static int is_number(const char *word, double *out)
{
    char *end;

    if (!*word || strspn(word, "+-.0123456789eEinf") != strlen(word))
        return 0;
    *out = strtod(word, &end);
    return *end == '\0';
}

int rule_next_number(struct rule_words *w, double *out)
{
    if (!*w->words || !is_number(*w->words, out))
        return expected(w, "a number");
    w->words++;
    return 0;
}

static int next_name(struct rule_words *w, const char **out)
{
    if (!*w->words || is_next(w, ";"))
        return expected(w, "a name");
    *out = *w->words++;
    return 0;
}

/* ---- values ---- */

static struct rule_value value_of(const char *word)
{
    struct rule_value v = {.text = NULL};

    if (strcmp(word, "true") == 0 || strcmp(word, "false") == 0)
        v = (struct rule_value){.number = word[0] == 't', .is_bool = 1};
    else if (!is_number(word, &v.number))
        v.text = word;
    return v;
}

static void set_values(struct rule_words *w, struct rule_test *t, const struct rule_value *values,
                       size_t n)
{
    struct rule_value *const copy = arena_alloc(w->arena, n * sizeof(*copy));

    memcpy(copy, values, n * sizeof(*copy));
    t->values = copy;
    t->n_values = n;
}

static int ends_values(const struct rule_words *w)
{
    return !*w->words || is_next(w, ";") || is_next(w, "when") || is_next(w, "or") ||
           is_next(w, "and");
}

static int read_values(struct rule_words *w, struct rule_test *t, size_t max)
{
    struct rule_value values[MAX_VALUES];
    size_t n = 0;

    while (!ends_values(w) && n < max)
        values[n++] = value_of(*w->words++);
    if (n == 0 || !ends_values(w))
        return expected(w, n ? "the end of a list of values" : "a value");
    set_values(w, t, values, n);
    return 0;
}

/* NAME, or NAME or NAME. */
static int read_names(struct rule_words *w, struct rule_test *t)
{
    struct rule_value names[MAX_VALUES];
    size_t n = 0;

    do {
        names[n] = (struct rule_value){.text = NULL};
        TRY(next_name(w, &names[n].text));
        n++;
    } while (n < MAX_VALUES && take(w, "or"));
    set_values(w, t, names, n);
    return 0;
}

/* ---- one test ---- */

static int read_power(struct rule_words *w, struct rule_test *t)
{
    TRY(want(w, "of"));
    TRY(want(w, "two"));
    TRY(want(w, "times"));
    return rule_next_number(w, &t->number);
}

static int read_kind(struct rule_words *w, struct rule_test *t)
{
    t->op = is_next(w, "boolean") ? RULE_IS_BOOLEAN : RULE_IS_INTEGER;
    return take(w, "boolean") ? 0 : want(w, "integer");
}

static int read_multiple(struct rule_words *w, struct rule_test *t)
{
    TRY(want(w, "of"));
    return rule_next_number(w, &t->number);
}

static int read_one_of(struct rule_words *w, struct rule_test *t)
{
    TRY(want(w, "of"));
    return read_values(w, t, MAX_VALUES);
}

static int read_equal(struct rule_words *w, struct rule_test *t)
{
    return read_values(w, t, 1);
}

static int read_number(struct rule_words *w, struct rule_test *t)
{
    return rule_next_number(w, &t->number);
}

static int read_key(struct rule_words *w, struct rule_test *t)
{
    return next_name(w, &t->name);
}

static int read_empty(struct rule_words *w, struct rule_test *t)
{
    (void)t;
    return want(w, "empty");
}

static int read_whole(struct rule_words *w, struct rule_test *t)
{
    (void)t;
    return want(w, "number");
}

static int read_limit(struct rule_words *w, struct rule_test *t)
{
    (void)t;
    return want(w, "init-limit");
}

/* By their first word; what follows it is read by `rest`. */
static const struct form {
    const char *word;
    enum rule_op op;
    int (*rest)(struct rule_words *w, struct rule_test *t);
} forms[] = {
    {">", RULE_GREATER, read_number},        {">=", RULE_AT_LEAST, read_number},
    {"<", RULE_LESS, read_number},           {"<=", RULE_AT_MOST, read_number},
    {"=", RULE_EQUALS, read_equal},          {"one", RULE_ONE_OF, read_one_of},
    {"not", RULE_NOT_EMPTY, read_empty},     {"multiple", RULE_MULTIPLE, read_multiple},
    {"divides", RULE_DIVIDES, read_number},  {"power", RULE_POWER_OF_TWO, read_power},
    {"whole", RULE_WHOLE, read_whole},       {"is", RULE_IS_INTEGER, read_kind},
    {"has", RULE_HAS, read_names},           {"with", RULE_WITH, read_names},
    {"after", RULE_AFTER, read_key},         {"before", RULE_BEFORE, read_key},
    {"within", RULE_INIT_LIMIT, read_limit}, {"in-order", RULE_IN_ORDER, NULL},
};

static const struct form *next_form(struct rule_words *w)
{
    for (size_t i = 0; i < COUNT_OF(forms); i++)
        if (take(w, forms[i].word))
            return &forms[i];
    return NULL;
}

static int read_meta(struct rule_words *w, struct rule_test *t)
{
    size_t n;

    TRY(next_name(w, &t->name));
    n = strlen(t->name);
    t->if_there = t->name[n - 1] == '?';
    if (t->if_there) {
        char *const copy = arena_strdup(w->arena, t->name);
        copy[n - 1] = '\0';
        t->name = copy;
    }
    t->subject = RULE_OF_META;
    return 0;
}

static int read_item(struct rule_words *w, struct rule_test *t)
{
    double item;

    TRY(rule_next_number(w, &item));
    if (!(item >= 1 && item <= 1000))
        return err(E_DATA, "%s: items count from 1", w->where);
    t->item = (int)item;
    t->subject = RULE_OF_ITEM;
    return 0;
}

static int read_subject(struct rule_words *w, struct rule_test *t)
{
    if (take(w, "metadata"))
        return read_meta(w, t);
    if (take(w, "item"))
        return read_item(w, t);
    if (is_next(w, "length") || is_next(w, "benchmark")) {
        t->subject = is_next(w, "length") ? RULE_OF_LENGTH : RULE_OF_BENCHMARK;
        w->words++;
        return 0;
    }
    for (size_t i = 0; i < COUNT_OF(forms); i++)
        if (is_next(w, forms[i].word))
            return 0;
    t->subject = RULE_OF_MEMBER;
    return next_name(w, &t->name);
}

static int read_condition(struct rule_words *w, struct rule_test *t)
{
    if (!take(w, "when"))
        return 0;
    if (!take(w, "global_batch_size")) {
        t->when = RULE_WHEN_META;
        return next_name(w, &t->when_name);
    }
    t->when = is_next(w, "<") ? RULE_BATCH_BELOW : RULE_BATCH_FROM;
    if (!take(w, "<"))
        TRY(want(w, ">="));
    return rule_next_number(w, &t->when_batch);
}

static int read_test(struct rule_words *w, struct rule_test *t, int depth)
{
    const struct form *form;
    struct rule_test *other;

    *t = (struct rule_test){.op = RULE_GREATER};
    TRY(read_subject(w, t));
    form = next_form(w);
    if (!form)
        return expected(w, "a test");
    t->op = form->op;
    if (form->rest)
        TRY(form->rest(w, t));
    TRY(read_condition(w, t));
    if (!take(w, "or"))
        return 0;
    if (depth > 8)
        return err(E_DATA, "%s: too many alternatives", w->where);
    other = arena_alloc(w->arena, sizeof(*other));
    t->or_else = other;
    return read_test(w, other, depth + 1);
}

/* ---- clauses ---- */

static void add_test(struct rule_words *w, struct rule_tests *list, const struct rule_test *t)
{
    struct rule_test *const all = rule_grow(w->arena, list->all, list->n, sizeof(*all));

    all[list->n] = *t;
    list->all = all;
    list->n++;
}

static int read_tests(struct rule_words *w, struct rule_tests *list)
{
    struct rule_test t;

    do {
        TRY(read_test(w, &t, 0));
        add_test(w, list, &t);
    } while (list->n < MAX_TESTS && take(w, "and"));
    return 0;
}

static int read_opens(struct rule_words *w, struct rule_key *key)
{
    struct str sheet = STR_INIT;

    str_add(&sheet, "");
    while (*w->words && !is_next(w, ";"))
        str_printf(&sheet, "%s%s", sheet.len ? " " : "", *w->words++);
    key->opens = arena_strdup(w->arena, sheet.s);
    str_release(&sheet);
    return 0;
}

static int read_clause(struct rule_words *w, struct rule_key *key)
{
    if (take(w, "opens"))
        return read_opens(w, key);
    if (take(w, "tensors"))
        return next_name(w, &key->tensors);
    if (take(w, "reaches"))
        return read_tests(w, &key->reaches);
    if (take(w, "rules"))
        return read_tests(w, &key->text);
    return read_tests(w, &key->tests);
}

int rule_parse_clauses(struct rule_words *w, struct rule_key *key)
{
    while (*w->words) {
        TRY(read_clause(w, key));
        if (*w->words && !take(w, ";"))
            return expected(w, "\";\" or the end of the line");
    }
    return 0;
}
