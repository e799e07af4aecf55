/* One record against one key of one sheet. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "rules/check_int.h"

static struct rule_seen seen_of(const struct rule_check *c, const struct mllog_record *r)
{
    return (struct rule_seen){.value = r->value,
                              .metadata = r->metadata,
                              .value_text = r->value_text,
                              .n_value = r->n_value,
                              .benchmark = r->benchmark,
                              .batch = c->batch};
}

static enum rule_outcome eval(struct rule_check *c, const struct rule_test *t,
                              const struct mllog_record *r)
{
    const struct rule_seen seen = seen_of(c, r);

    switch (t->op) {
    case RULE_AFTER:
        return check_count(c, t->name) > 0 ? RULE_PASSES : RULE_FAILS;
    case RULE_BEFORE:
        return check_count(c, t->name) == 0 ? RULE_PASSES : RULE_FAILS;
    case RULE_INIT_LIMIT:
        return r->time_ms - c->first_init_start_ms < c->init_limit_ms ? RULE_PASSES : RULE_FAILS;
    case RULE_IN_ORDER:
        return check_order(c, r->key, &seen);
    default:
        return rule_eval(t, &seen);
    }
}

/* ---- what a failed test is called ---- */

static const char *name_of(const struct rule_test *t)
{
    if (t->op == RULE_AFTER || t->op == RULE_BEFORE || t->op == RULE_IN_ORDER)
        return "order";
    if (t->op == RULE_INIT_LIMIT)
        return "init-time";
    return t->op == RULE_WITH || t->subject == RULE_OF_META ? "metadata" : "value";
}

/* A number that went through a 32-bit float shows digits that nobody wrote. */
static int looks_like_float32(const cJSON *item)
{
    char text[40];
    double x;

    if (!rule_number(item, &x) || (double)(float)x != x)
        return 0;
    snprintf(text, sizeof(text), "%.9g", x);
    if (strtod(text, NULL) == x)
        return 0;
    snprintf(text, sizeof(text), "%.7g", x);
    return (float)strtod(text, NULL) == (float)x;
}

static void add_init_limit(const struct rule_check *c, struct str *out)
{
    str_reset(out);
    if (c->init_limit_ms == 0)
        str_add(out, "submission_division before it: the time allowed depends on it");
    else
        str_printf(out, "less than %.10g minutes since the first init_start",
                   c->init_limit_ms / 60e3);
}

static const char *found_of(struct rule_check *c, const struct rule_test *t,
                            const struct mllog_record *r)
{
    char *meta;

    if (t->op == RULE_INIT_LIMIT) {
        str_reset(&c->found);
        str_printf(&c->found, "it comes %.1f minutes after the first init_start",
                   (r->time_ms - c->first_init_start_ms) / 60e3);
        return c->found.s;
    }
    if (t->op == RULE_AFTER || t->op == RULE_BEFORE || t->op == RULE_IN_ORDER)
        return "it comes at the wrong time";
    if (t->op != RULE_WITH && t->subject != RULE_OF_META) {
        check_value(c, r);
        if (looks_like_float32(r->value))
            str_add(&c->found, ", which a 32-bit float has rounded");
        return c->found.s;
    }
    meta = cJSON_PrintUnformatted(t->op == RULE_WITH ? r->metadata
                                                     : mllog_member(r->metadata, t->name));
    str_reset(&c->found);
    str_printf(&c->found, "metadata is %.60s%s", meta ? meta : "missing",
               meta && strlen(meta) > 60 ? "..." : "");
    cJSON_free(meta);
    return c->found.s;
}

static void complain(struct rule_check *c, const struct rule_key *key, const struct rule_test *t,
                     const struct mllog_record *r, enum rule_severity severity)
{
    str_reset(&c->expected);
    if (t->op == RULE_INIT_LIMIT)
        add_init_limit(c, &c->expected);
    else
        rule_add_wanted(t, &c->expected);
    check_find(c, key,
               &(struct held_finding){.severity = severity,
                                      .name = severity == RULE_WARNING ? "rules-text" : name_of(t),
                                      .line = r->line,
                                      .column = r->column,
                                      .found = (char *)(uintptr_t)found_of(c, t, r),
                                      .expected = c->expected.s});
}

/* ---- several records ---- */

static void check_reaches(struct rule_check *c, const struct rule_key *key,
                          const struct mllog_record *r)
{
    enum rule_outcome now = RULE_PASSES;

    for (size_t i = 0; i < key->reaches.n && now == RULE_PASSES; i++)
        now = eval(c, &key->reaches.all[i], r);
    if (now == RULE_PASSES)
        c->rows[key->row].reached = 1;
    if (now != RULE_RAISES)
        return;
    check_find(c, key,
               &(struct held_finding){.severity = RULE_ERROR,
                                      .name = "not-comparable",
                                      .line = r->line,
                                      .column = r->column,
                                      .found = (char *)(uintptr_t)check_value(c, r),
                                      .expected = (char[]){"a value that can be held against the "
                                                           "target"},
                                      .stays = 1});
}

/* The names mostly come in the order of the list. */
static void take_tensor(struct rule_check *c, const struct rule_key *key,
                        const struct mllog_record *r)
{
    const char *const name = cJSON_GetStringValue(mllog_member(r->metadata, "tensor"));
    const struct rule_tensors *const list = key->list;
    struct row_state *const row = &c->rows[key->row];

    if (!row->tensors)
        row->tensors = xcalloc(list->n, sizeof(*row->tensors));
    for (size_t i = 0; name && i < list->n; i++) {
        const size_t at = (row->next_tensor + i) % list->n;

        if (strcmp(list->names[at], name) == 0) {
            row->tensors[at]++;
            row->next_tensor = at + 1;
            return;
        }
    }
    row->strange_tensor = 1;
}

/* Keys of this sheet that must be there when this one has a certain value. */
static void note_value(struct rule_check *c, const struct rule_key *key,
                       const struct mllog_record *r)
{
    const struct rule_sheet *const s = &c->r->sheets[key->sheet];
    const char *const value = cJSON_GetStringValue(r->value);

    for (size_t i = 0; value && i < s->n_keys; i++)
        if (s->keys[i].count == RULE_ONE_IF && strcmp(s->keys[i].other, key->name) == 0 &&
            strcmp(s->keys[i].other_value, value) == 0)
            c->rows[s->keys[i].row].other_seen = 1;
}

static void choose(struct rule_check *c, const struct rule_key *key, const struct mllog_record *r,
                   int is_fine)
{
    if (!check_choose(c, key, r->value) && is_fine)
        check_find(c, key,
                   &(struct held_finding){.severity = RULE_ERROR,
                                          .name = "no-such-sheet",
                                          .line = r->line,
                                          .column = r->column,
                                          .found = (char *)(uintptr_t)check_value(c, r),
                                          .expected = (char[]){"one that this round has rules "
                                                               "for"},
                                          .stays = 1});
}

static void check_copies(struct rule_check *c, const struct rule_key *key,
                         const struct mllog_record *r)
{
    const struct name_state *const n = &c->names[key->number];
    struct row_state *const row = &c->rows[key->row];
    char *expected;

    if (n->n < 2 || row->contradicted || !n->first || rule_equal(n->first, r->value))
        return;
    row->contradicted = 1;
    expected = xasprintf("the value of line %zu, or no second record", n->first_line);
    check_find(c, key,
               &(struct held_finding){.severity = RULE_ERROR,
                                      .name = "contradiction",
                                      .line = r->line,
                                      .column = r->column,
                                      .found = (char *)(uintptr_t)check_value(c, r),
                                      .expected = expected});
    free(expected);
}

void check_row(struct rule_check *c, const struct rule_key *key, const struct mllog_record *r)
{
    const int counts = !key->first_only || c->names[key->number].n == 1;
    int is_fine = 1;

    for (size_t i = 0; counts && i < key->tests.n; i++)
        if (eval(c, &key->tests.all[i], r) != RULE_PASSES) {
            complain(c, key, &key->tests.all[i], r, RULE_ERROR);
            is_fine = 0;
        }
    for (size_t i = 0; i < key->text.n; i++)
        if (eval(c, &key->text.all[i], r) == RULE_FAILS)
            complain(c, key, &key->text.all[i], r, RULE_WARNING);
    if (key->count == RULE_SETTING)
        return;
    if (key->opens && counts)
        choose(c, key, r, is_fine);
    if (key->count == RULE_ONCE)
        check_copies(c, key, r);
    if (key->reaches.n)
        check_reaches(c, key, r);
    if (key->tensors)
        take_tensor(c, key, r);
    if (c->r->format == MLLOG_FORMAT_06)
        note_value(c, key, r);
}
