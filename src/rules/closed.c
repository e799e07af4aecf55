/* Settings against the closed division's table. */
#include <math.h>
#include <string.h>

#include "base/err.h"
#include "base/str.h"
#include "rules/ruleset.h"

struct settings {
    const struct rule_setting *rows;
    size_t n;
};

static const struct rule_setting *find(struct settings s, const char *key)
{
    for (size_t i = 0; i < s.n; i++)
        if (strcmp(s.rows[i].key, key) == 0)
            return &s.rows[i];
    return NULL;
}

static int is_whole(double x)
{
    return isfinite(x) && fabs(x - round(x)) < 1e-5;
}

static int is_one_of_words(const char *words, const char *value)
{
    const size_t n = value ? strlen(value) : 0;

    for (const char *p = words; n && p; p = strchr(p, '|')) {
        p += *p == '|';
        if (strncmp(p, value, n) == 0 && (p[n] == '\0' || p[n] == '|'))
            return 1;
    }
    return 0;
}

static int satisfies(const struct rule_constraint *c, const struct rule_setting *s)
{
    const double x = s->number;

    switch (c->check) {
    case RULE_PRESENT:
        return 1;
    case RULE_POSITIVE:
        return x > 0;
    case RULE_NOT_NEGATIVE:
        return x >= 0;
    case RULE_EQUALS:
        return x == c->a;
    case RULE_AT_LEAST:
        return x >= c->a;
    case RULE_BETWEEN:
        return x >= c->a && x <= c->b;
    case RULE_ONE_OF:
        return x == c->a || x == c->b;
    case RULE_MULTIPLE:
        return x > 0 && is_whole(x / c->a);
    case RULE_WHOLE:
        return x >= 0 && x == round(x);
    case RULE_POWER_OF_TWO:
        return x > 0 && is_whole(log2(x / c->a));
    case RULE_TEXT:
        return is_one_of_words(c->text, s->text);
    }
    BUG("no such check: %d", (int)c->check);
}

static void add_wanted(const struct rule_constraint *c, struct str *out)
{
    switch (c->check) {
    case RULE_PRESENT:
        str_add(out, "a value");
        return;
    case RULE_POSITIVE:
        str_add(out, "more than 0");
        return;
    case RULE_NOT_NEGATIVE:
        str_add(out, "0 or more");
        return;
    case RULE_EQUALS:
        str_printf(out, "%.10g", c->a);
        return;
    case RULE_AT_LEAST:
        str_printf(out, "at least %.10g", c->a);
        return;
    case RULE_BETWEEN:
        str_printf(out, "%.10g to %.10g", c->a, c->b);
        return;
    case RULE_ONE_OF:
        str_printf(out, "%.10g or %.10g", c->a, c->b);
        return;
    case RULE_MULTIPLE:
        str_printf(out, "a multiple of %.10g", c->a);
        return;
    case RULE_WHOLE:
        str_add(out, "a whole number");
        return;
    case RULE_POWER_OF_TWO:
        str_printf(out, "%.10g times a power of two", c->a);
        return;
    case RULE_TEXT:
        str_printf(out, "one of %s", c->text);
        return;
    }
    BUG("no such check: %d", (int)c->check);
}

static void add_value(const struct rule_setting *s, struct str *out)
{
    if (!s)
        str_add(out, "is not set");
    else if (s->text)
        str_printf(out, "is %s", s->text);
    else
        str_printf(out, "is %.10g", s->number);
}

static size_t check_table(const struct rule_constraint *c, size_t n, struct settings s,
                          struct str *words)
{
    const struct rule_setting *batch = find(s, "global_batch_size");
    size_t n_bad = 0;

    for (size_t i = 0; i < n; i++) {
        const struct rule_setting *given = find(s, c[i].key);

        if (c[i].below_batch && batch && batch->number >= (double)c[i].below_batch)
            continue;
        if (given && satisfies(&c[i], given))
            continue;
        str_printf(words, "%s ", c[i].key);
        add_value(given, words);
        str_add(words, "; the closed division wants ");
        add_wanted(&c[i], words);
        if (c[i].below_batch)
            str_printf(words, " for batches below %lld", c[i].below_batch);
        str_add(words, "\n");
        n_bad++;
    }
    return n_bad;
}

size_t rules_deviations(const struct rule_benchmark *b, const struct rule_setting *settings,
                        size_t n, struct str *words)
{
    const struct settings s = {settings, n};
    const struct rule_setting *optimizer = find(s, "opt_name");
    size_t n_bad = check_table(b->constraints, b->n_constraints, s, words);

    for (size_t i = 0; optimizer && optimizer->text && i < b->n_optimizers; i++)
        if (strcmp(b->optimizers[i].name, optimizer->text) == 0)
            n_bad +=
                check_table(b->optimizers[i].constraints, b->optimizers[i].n_constraints, s, words);
    return n_bad;
}
