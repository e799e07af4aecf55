/* Settings against the closed division's sheets. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/str.h"
#include "rules/rule_eval.h"

struct settings {
    const struct rule_setting *rows;
    size_t n;
    struct str *words;
    size_t n_bad;
};

static const struct rule_setting *find(const struct settings *s, const char *key)
{
    for (size_t i = 0; i < s->n; i++)
        if (strcmp(s->rows[i].key, key) == 0)
            return &s->rows[i];
    return NULL;
}

static cJSON as_value(const struct rule_setting *s)
{
    if (s->text)
        return (cJSON){.type = cJSON_String, .valuestring = (char *)(uintptr_t)s->text};
    return (cJSON){.type = cJSON_Number, .valuedouble = s->number};
}

static int satisfies(const struct settings *all, const struct rule_setting *s,
                     const struct rule_test *t)
{
    static const cJSON none = {.type = cJSON_Object};
    const struct rule_setting *const given = find(all, "global_batch_size");
    const cJSON value = as_value(s), batch = given ? as_value(given) : none;
    const struct rule_seen seen = {
        .value = &value, .metadata = &none, .batch = given ? &batch : NULL, .benchmark = ""};

    return rule_eval(t, &seen) == RULE_PASSES;
}

static void deviation(struct settings *all, const char *key, const struct rule_setting *s,
                      const struct rule_test *t)
{
    struct str *const words = all->words;

    str_printf(words, "%s ", key);
    if (!s)
        str_add(words, "is not set");
    else if (s->text)
        str_printf(words, "is %s", s->text);
    else
        str_printf(words, "is %.10g", s->number);
    str_add(words, "; the closed division wants ");
    if (t)
        rule_add_wanted(t, words);
    else
        str_add(words, "a value");
    str_add(words, "\n");
    all->n_bad++;
}

static void check_tests(struct settings *all, const char *key, const struct rule_tests *tests)
{
    const struct rule_setting *const s = find(all, key);

    for (size_t i = 0; s && i < tests->n; i++)
        if (!satisfies(all, s, &tests->all[i]))
            deviation(all, key, s, &tests->all[i]);
}

static void check_key(struct settings *all, const struct rule_key *k)
{
    const struct rule_tests *const any = k->tests.n ? &k->tests : &k->text;

    if ((k->count != RULE_ONCE && k->count != RULE_SETTING) ||
        strncmp(k->name, "submission_", 11) == 0)
        return;
    if (!find(all, k->name))
        deviation(all, k->name, NULL, any->n ? any->all : NULL);
    check_tests(all, k->name, &k->tests);
    check_tests(all, k->name, &k->text);
}

static void check_sheet(struct settings *all, const struct ruleset *r, const char *name)
{
    const int sheet = ruleset_sheet(r, name);

    for (size_t i = 0; sheet >= 0 && i < r->sheets[sheet].n_keys; i++)
        check_key(all, &r->sheets[sheet].keys[i]);
}

/* Between two bounds, both allowed; equal bounds are one value. */
static void check_bounds(struct settings *all, const char *key, double low, double high)
{
    const struct rule_setting *const s = find(all, key);

    if (s && s->number >= low && s->number <= high)
        return;
    if (s)
        str_printf(all->words, "%s is %.10g", key, s->number);
    else
        str_printf(all->words, "%s is not set", key);
    if (low < high)
        str_printf(all->words, "; the closed division wants %.10g to %.10g\n", low, high);
    else
        str_printf(all->words, "; the closed division wants %.10g\n", low);
    all->n_bad++;
}

/* The target and the schedule of evaluations are no keys of a log. */
static void check_facts(struct settings *all, const struct rule_benchmark *b)
{
    const struct rule_test target = {.op = b->lower_is_better ? RULE_AT_MOST : RULE_AT_LEAST,
                                     .number = b->target};
    const struct rule_tests tests = {&target, 1};

    if (!find(all, "target"))
        deviation(all, "target", NULL, &target);
    check_tests(all, "target", &tests);
    if (b->eval_every == 0)
        return;
    check_bounds(all, "eval_every", (double)b->eval_every, (double)b->eval_every);
    check_bounds(all, "eval_offset", (double)b->eval_first, (double)b->eval_last);
}

size_t rules_deviations(const struct rule_benchmark *b, const struct rule_setting *settings,
                        size_t n, struct str *words)
{
    struct settings all = {settings, n, words, 0};
    const struct rule_setting *const optimizer = find(&all, "opt_name");
    char name[160];

    check_sheet(&all, b->ruleset, "closed");
    snprintf(name, sizeof(name), "closed %s", b->name);
    check_sheet(&all, b->ruleset, name);
    if (optimizer && optimizer->text) {
        snprintf(name, sizeof(name), "closed %s %s", b->name, optimizer->text);
        check_sheet(&all, b->ruleset, name);
    }
    check_facts(&all, b);
    return all.n_bad;
}
