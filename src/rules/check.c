#include "rules/check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/random.h"
#include "rules/check_int.h"

struct rule_check *rule_check_new(const struct ruleset *r, const struct rule_visitor *v)
{
    struct rule_check *const c = xcalloc(1, sizeof(*c));

    c->r = r;
    c->v = *v;
    c->names = xcalloc(ruleset_n_names(r) + 1, sizeof(*c->names));
    c->rows = xcalloc(r->n_rows + 1, sizeof(*c->rows));
    c->sheets = xcalloc(r->n_sheets, sizeof(*c->sheets));
    c->first_init_start_ms = 9e99;
    c->init_limit_ms = r->init_limit_by_division ? 0 : r->init_limit_ms;
    c->order.accuracy_printed = 1;
    c->order.block_first = -1;
    c->own.last_ms = -INFINITY;
    c->own.run_stop_ms = c->own.run_final_ms = NAN;
    c->gathered = -1;
    for (size_t i = 0; i < r->n_sheets; i++)
        if (r->sheets[i].gather.from)
            c->gathered = ruleset_name(r, r->sheets[i].gather.from);
    c->verdict.version = r->version;
    str_add(&c->found, "");
    str_add(&c->expected, "");
    return c;
}

void rule_check_free(struct rule_check *c)
{
    if (!c)
        return;
    for (size_t i = 0; i < ruleset_n_names(c->r); i++)
        cJSON_Delete(c->names[i].first);
    for (size_t i = 0; i < c->r->n_rows; i++) {
        check_forget_held(&c->rows[i]);
        free(c->rows[i].tensors);
    }
    for (size_t i = 0; i < c->n_groups; i++) {
        cJSON_Delete(c->groups[i].by);
        cJSON_Delete(c->groups[i].value);
    }
    cJSON_Delete(c->batch);
    free(c->names);
    free(c->rows);
    free(c->sheets);
    free(c->groups);
    str_release(&c->found);
    str_release(&c->expected);
    str_release(&c->rule);
    free(c);
}

size_t check_count(const struct rule_check *c, const char *key)
{
    const int name = ruleset_name(c->r, key);

    return name < 0 ? 0 : c->names[name].n;
}

/* ---- a record ---- */

static void copy_word(char *out, size_t size, const char *word)
{
    const size_t n = strlen(word);

    if (n < size)
        memcpy(out, word, n + 1);
}

/* Round 0.5 names the benchmark in every line and asks for both of its levels. */
static void open_05(struct rule_check *c, const struct mllog_record *r)
{
    for (size_t i = 1; i < c->r->n_sheets; i++) {
        const char *const name = c->r->sheets[i].name;
        const int is_asked = strcmp(name, "level 2") == 0 || strcmp(name, r->benchmark) == 0;

        c->sheets[i] = is_asked ? SHEET_CHOSEN : SHEET_DEAD;
    }
    copy_word(c->verdict.benchmark, sizeof(c->verdict.benchmark), r->benchmark);
    c->benchmark = ruleset_benchmark(c->r, r->benchmark);
}

static int is_once(const struct rule_key *const *rows, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (rows[i]->count == RULE_ONCE)
            return 1;
    return 0;
}

/* Round 0.5's checker looks at every line once, however often it stands in the log. 0: this one has
 * been seen. */
static int count_record(struct name_state *n, const struct mllog_record *r, int keep)
{
    const uint64_t text = r->format == MLLOG_FORMAT_05 ? random_name_n(r->text, r->n_text) : 0;

    if (text && n->n && n->first_text == text)
        return 0;
    if (n->n++ == 0) {
        n->first_line = r->line;
        n->first_text = text;
        n->first = keep ? cJSON_Duplicate(r->value, 1) : NULL;
    }
    return 1;
}

static void note_division(struct rule_check *c, const struct mllog_record *r)
{
    const char *const word = cJSON_GetStringValue(r->value);

    if (c->r->init_limit_by_division && c->init_limit_ms == 0)
        c->init_limit_ms =
            word && strcmp(word, "open") == 0 ? c->r->open_init_limit_ms : c->r->init_limit_ms;
    if (word && !c->verdict.division[0] &&
        (strcmp(word, "closed") == 0 || strcmp(word, "open") == 0))
        copy_word(c->verdict.division, sizeof(c->verdict.division), word);
}

static void note_benchmark(struct rule_check *c, const struct mllog_record *r)
{
    const char *const word = cJSON_GetStringValue(r->value);

    if (!word || c->benchmark)
        return;
    c->benchmark = ruleset_benchmark(c->r, word);
    if (c->benchmark)
        copy_word(c->verdict.benchmark, sizeof(c->verdict.benchmark), word);
}

/* What later records are held against. */
static void advance(struct rule_check *c, const struct mllog_record *r)
{
    if (strcmp(r->key, "init_start") == 0 && r->time_ms < c->first_init_start_ms)
        c->first_init_start_ms = r->time_ms;
    else if (strcmp(r->key, "submission_division") == 0)
        note_division(c, r);
    else if (strcmp(r->key, "submission_benchmark") == 0)
        note_benchmark(c, r);
    else if (strcmp(r->key, "global_batch_size") == 0) {
        cJSON_Delete(c->batch);
        c->batch = cJSON_Duplicate(r->value, 1);
    }
    if (c->r->format == MLLOG_FORMAT_06)
        check_order_advance(c, r->key, r->metadata);
}

static int check_rows(struct rule_check *c, int name, const struct mllog_record *r)
{
    const struct rule_key *const *rows;
    size_t n;
    int opens = 0;

    rows = ruleset_rows(c->r, name, &n);
    if (!count_record(&c->names[name], r, is_once(rows, n)))
        return 0;
    for (size_t i = 0; i < n; i++)
        if (!check_is_dead(c, rows[i]->sheet)) {
            check_row(c, rows[i], r);
            opens |= rows[i]->opens != NULL;
        }
    return opens;
}

int rule_check_record(struct rule_check *c, const struct mllog_record *r)
{
    const int name = ruleset_name(c->r, r->key);

    if (r->lost)
        return c->rc;
    if (c->n_records++ == 0 && c->r->format == MLLOG_FORMAT_05)
        open_05(c, r);
    check_own_record(c, r);
    if (name >= 0) {
        const int opens = check_rows(c, name, r);

        if (name == c->gathered)
            check_gather(c, r);
        advance(c, r);
        if (opens)
            check_release_held(c);
    }
    return c->rc;
}

int rule_check_trouble(struct rule_check *c, const struct mllog_trouble *t)
{
    check_own_trouble(c, t);
    return c->rc;
}

/* What never opened dies. */
static void close_sheets(struct rule_check *c)
{
    for (size_t i = 1; i < c->r->n_sheets; i++)
        if (c->sheets[i] == SHEET_POSSIBLE)
            c->sheets[i] = SHEET_DEAD;
    check_release_held(c);
}

int rule_check_finish(struct rule_check *c, struct rule_verdict *verdict)
{
    if (c->n_records == 0)
        check_tell(c, &(struct rule_finding){.severity = RULE_ERROR,
                                             .name = "empty",
                                             .key = "",
                                             .found = "no record",
                                             .expected = "a log",
                                             .rule = check_rule_of(c, NULL)});
    close_sheets(c);
    check_missing(c);
    check_own_finish(c);
    c->verdict.n_records = c->n_records;
    c->verdict.official_accepts = c->verdict.n[RULE_ERROR] == 0;
    c->verdict.stands = c->verdict.official_accepts && c->verdict.n[RULE_STRICT] == 0;
    *verdict = c->verdict;
    return c->rc;
}
