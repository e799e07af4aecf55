#include <stdlib.h>

#include "base/err.h"
#include "rules/check_int.h"

const char *rule_severity_name(enum rule_severity s)
{
    static const char *const names[N_RULE_SEVERITIES] = {
        [RULE_ERROR] = "error",
        [RULE_STRICT] = "strict",
        [RULE_WARNING] = "warning",
        [RULE_NOTE] = "note",
    };

    ASSERT(s < N_RULE_SEVERITIES);
    return names[s];
}

void check_tell(struct rule_check *c, const struct rule_finding *f)
{
    c->verdict.n[f->severity]++;
    if (c->rc == 0 && c->v.finding)
        c->rc = c->v.finding(c->v.context, f);
}

const char *check_rule_of(struct rule_check *c, const struct rule_key *key)
{
    const struct rule_sheet *const s = key ? &c->r->sheets[key->sheet] : NULL;

    str_reset(&c->rule);
    str_printf(&c->rule, "%s %s", c->r->version,
               !s              ? "log format"
               : s->depth == 0 ? "every log"
                               : s->name);
    return c->rule.s;
}

const char *check_value(struct rule_check *c, const struct mllog_record *r)
{
    enum { MOST = 60 };
    const size_t n = r->n_value < MOST ? r->n_value : MOST;

    str_reset(&c->found);
    str_add(&c->found, "value is ");
    if (r->value_text)
        str_add_bytes(&c->found, r->value_text, n);
    else
        str_add(&c->found, "null");
    if (n < r->n_value)
        str_add(&c->found, "...");
    return c->found.s;
}

static void tell_held(struct rule_check *c, const struct rule_key *key,
                      const struct held_finding *f)
{
    const int advises = c->r->sheets[key->sheet].advises && f->severity == RULE_ERROR;

    check_tell(c, &(struct rule_finding){.severity = advises ? RULE_WARNING : f->severity,
                                         .name = f->name,
                                         .line = f->line,
                                         .column = f->column,
                                         .key = key->name,
                                         .found = f->found ? f->found : "",
                                         .expected = f->expected ? f->expected : "",
                                         .rule = check_rule_of(c, key)});
}

void check_forget_held(struct row_state *row)
{
    for (int i = 0; i < row->n_held; i++) {
        free(row->held[i].found);
        free(row->held[i].expected);
    }
    row->n_held = 0;
}

enum fate { TELL, HOLD, FORGET };

/* What comes of a finding about this key as the sheets stand now. */
static enum fate fate_of(const struct rule_check *c, const struct rule_key *key, int stays)
{
    const int depth = c->r->sheets[key->sheet].depth;
    const struct rule_key *const *rows;
    size_t n;

    if (check_is_dead(c, key->sheet))
        return FORGET;
    if (!check_is_open(c, key->sheet))
        return HOLD;
    if (stays)
        return TELL;
    if (check_is_overridden(c, key))
        return FORGET;
    rows = ruleset_rows(c->r, key->number, &n);
    for (size_t i = 0; i < n; i++)
        if (rows[i]->count != RULE_SETTING && c->r->sheets[rows[i]->sheet].depth > depth &&
            !check_is_dead(c, rows[i]->sheet))
            return HOLD;
    return TELL;
}

static char *copy(const char *s)
{
    return s ? xstrdup(s) : NULL;
}

void check_find(struct rule_check *c, const struct rule_key *key, const struct held_finding *f)
{
    struct row_state *const row = &c->rows[key->row];
    const enum fate fate = fate_of(c, key, f->stays);

    if (fate == TELL)
        tell_held(c, key, f);
    if (fate != HOLD || row->n_held == MAX_HELD)
        return;
    row->held[row->n_held] = *f;
    row->held[row->n_held].found = copy(f->found);
    row->held[row->n_held++].expected = copy(f->expected);
}

static void release_row(struct rule_check *c, const struct rule_key *key)
{
    struct row_state *const row = &c->rows[key->row];
    int n = 0;

    for (int i = 0; i < row->n_held; i++) {
        const struct held_finding f = row->held[i];
        const enum fate fate = fate_of(c, key, f.stays);

        if (fate == HOLD) {
            row->held[n++] = f;
            continue;
        }
        if (fate == TELL)
            tell_held(c, key, &f);
        free(f.found);
        free(f.expected);
    }
    row->n_held = n;
}

void check_release_held(struct rule_check *c)
{
    for (size_t i = 0; i < c->r->n_sheets; i++)
        for (size_t k = 0; k < c->r->sheets[i].n_keys; k++)
            if (c->rows[c->r->sheets[i].keys[k].row].n_held)
                release_row(c, &c->r->sheets[i].keys[k]);
}
