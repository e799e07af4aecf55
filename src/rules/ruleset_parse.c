#include "rules/ruleset_parse.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/str.h"
#include "rules/ruleset_clause.h"
#include "rules/ruleset_int.h"

enum { MAX_WORDS = 256, MAX_DEPTH = 16, MAX_NAMES = 4096 };

enum section { IN_HEAD, IN_BENCHMARK, IN_SHEET, IN_TENSORS };

struct parser {
    struct ruleset *r;
    ruleset_source *source;
    const char *file;
    char *where; /* of the line being read */
    int depth;   /* of files that build on one another */
    enum section section;
    size_t at; /* the section's benchmark, sheet or list */
    char *words[MAX_WORDS + 1];
    size_t n;
    struct rule_words rest;
};

static int mistake(const struct parser *p, const char *what)
{
    return err(E_DATA, "%s: %s", p->where, what);
}

/* ---- a line's words ---- */

static char *end_of_word(char *s)
{
    while (*s && *s != ' ' && *s != '\t' && *s != '#' && *s != ';')
        s++;
    return s;
}

static int split(struct parser *p, char *s)
{
    p->n = 0;
    for (;;) {
        char *end;

        s += strspn(s, " \t\r");
        if (!*s || *s == '#')
            break;
        if (p->n == MAX_WORDS)
            return mistake(p, "too many words");
        end = *s == '"' ? strchr(s + 1, '"') : *s == ';' ? s + 1 : end_of_word(s);
        if (!end)
            return mistake(p, "a quotation that does not end");
        s += *s == '"';
        p->words[p->n] = arena_alloc(&p->r->arena, (size_t)(end - s) + 1);
        memcpy(p->words[p->n++], s, (size_t)(end - s));
        s = end + (*end == '"');
    }
    p->words[p->n] = NULL;
    p->rest = (struct rule_words){&p->r->arena, p->where, p->words};
    return 0;
}

/* The words from `from` on as one text. */
static const char *joined(struct parser *p, size_t from)
{
    struct str text = STR_INIT;
    char *copy;

    str_add(&text, "");
    for (size_t i = from; i < p->n; i++)
        str_printf(&text, "%s%s", i > from ? " " : "", p->words[i]);
    copy = arena_strdup(&p->r->arena, text.s);
    str_release(&text);
    return copy;
}

/* ---- the round ---- */

static int parse_text(struct parser *p, const char *text);

static int read_parent(struct parser *p, const char *version)
{
    struct parser parent = {.r = p->r, .source = p->source, .depth = p->depth + 1};
    const char *const text = p->source ? p->source(version) : NULL;
    const char *const own = p->r->version;
    int rc;

    if (!text)
        return err(E_DATA, "%s: there is no round %s", p->where, version);
    if (parent.depth > MAX_DEPTH)
        return mistake(p, "rounds build on one another without end");
    parent.file = arena_printf(&p->r->arena, "%s.rules", version);
    rc = parse_text(&parent, text);
    p->r->version = own;
    return rc;
}

static int read_format(struct parser *p, const char *word)
{
    static const struct {
        const char *word;
        enum mllog_format format;
    } formats[] = {
        {"MLLOG", MLLOG_FORMAT_JSON}, {"MLL", MLLOG_FORMAT_06}, {"MLPv0.5.0", MLLOG_FORMAT_05}};

    for (size_t i = 0; i < COUNT_OF(formats); i++)
        if (strcmp(formats[i].word, word) == 0) {
            p->r->format = formats[i].format;
            return 0;
        }
    return mistake(p, "lines are MLLOG, MLL or MLPv0.5.0");
}

static int read_init_limit(struct parser *p)
{
    struct rule_words w = p->rest;
    double closed, open;

    w.words = p->words + 1;
    p->r->init_limit_by_division = p->n == 5;
    if (p->n == 5)
        w.words++;
    TRY(rule_next_number(&w, &closed));
    open = closed;
    if (p->n == 5) {
        w.words++;
        TRY(rule_next_number(&w, &open));
    }
    if (*w.words)
        return mistake(p, "init-limit MINUTES, or init-limit closed MINUTES open MINUTES");
    p->r->init_limit_ms = closed * 60e3;
    p->r->open_init_limit_ms = open * 60e3;
    return 0;
}

static int has_word(const char *name, const char *word)
{
    const size_t m = strlen(word);
    const char *const at = strstr(name, word);

    return at && (at == name || at[-1] == ' ') && (at[m] == '\0' || at[m] == ' ');
}

static void drop_benchmark(struct ruleset *r, const char *name)
{
    size_t n = 0;

    for (size_t i = 0; i < r->n_benchmarks; i++)
        if (strcmp(r->benchmarks[i].name, name) != 0)
            r->benchmarks[n++] = r->benchmarks[i];
    r->n_benchmarks = n;
    n = 0;
    for (size_t i = 0; i < r->n_sheets; i++)
        if (!has_word(r->sheets[i].name, name))
            r->sheets[n++] = r->sheets[i];
    r->n_sheets = n;
}

static int read_head(struct parser *p)
{
    const char *const word = p->words[0];

    if (p->n < 2)
        return mistake(p, "a line of the round needs a value");
    if (strcmp(word, "ruleset") == 0)
        p->r->version = p->words[1];
    else if (strcmp(word, "from") == 0)
        return read_parent(p, p->words[1]);
    else if (strcmp(word, "lines") == 0)
        return read_format(p, p->words[1]);
    else if (strcmp(word, "init-limit") == 0)
        return read_init_limit(p);
    else if (strcmp(word, "without") == 0)
        for (size_t i = 1; i < p->n; i++)
            drop_benchmark(p->r, p->words[i]);
    else
        return mistake(p, "a round has ruleset, from, lines, init-limit and without");
    return 0;
}

/* ---- a benchmark's facts ---- */

static int read_target(struct parser *p, struct rule_benchmark *b)
{
    p->rest.words++;
    TRY(rule_next_number(&p->rest, &b->target));
    b->lower_is_better = p->n >= 4 && strncmp(p->words[3], "less", 4) == 0;
    if (b->lower_is_better)
        p->rest.words += 2;
    b->target2 = 0;
    if (*p->rest.words)
        TRY(rule_next_number(&p->rest, &b->target2));
    return 0;
}

static int read_count(struct parser *p, int *out)
{
    double n;

    p->rest.words++;
    TRY(rule_next_number(&p->rest, &n));
    if (!(n >= 0 && n <= 1000 && n == floor(n)))
        return mistake(p, "expected a count");
    *out = (int)n;
    return 0;
}

static int read_epochs(struct parser *p, struct rule_benchmark *b)
{
    const size_t max = COUNT_OF(b->eval_at) - 1;
    size_t n = 0;

    memset(b->eval_at, 0, sizeof(b->eval_at));
    for (size_t i = 2; i < p->n && n < max; i++)
        b->eval_at[n++] = atoll(p->words[i]);
    return n == p->n - 2 ? 0 : mistake(p, "too many epochs");
}

static int read_evaluate(struct parser *p, struct rule_benchmark *b)
{
    const char *const kind = p->n > 2 ? p->words[1] : "";

    b->eval_every = b->eval_first = b->eval_last = 0;
    b->eval_at[0] = 0;
    b->evaluate = joined(p, strcmp(kind, "other") == 0 ? 2 : 1);
    if (strcmp(kind, "at") == 0)
        return read_epochs(p, b);
    if (strcmp(kind, "other") == 0)
        return 0;
    if (strcmp(kind, "every") != 0)
        return mistake(p, "evaluate is every N [first A..B], at N N..., or other WORDS");
    b->eval_every = b->eval_first = b->eval_last = atoll(p->words[2]);
    if (p->n == 5 && sscanf(p->words[4], "%lld..%lld", &b->eval_first, &b->eval_last) != 2)
        return mistake(p, "expected a range of epochs, such as 1..4");
    return b->eval_every > 0 ? 0 : mistake(p, "expected a number of epochs");
}

static int read_benchmark(struct parser *p)
{
    struct rule_benchmark *const b = &p->r->benchmarks[p->at];
    const char *const word = p->words[0];

    if (p->n < 2)
        return mistake(p, "a fact needs a value");
    if (strcmp(word, "title") == 0)
        b->title = joined(p, 1);
    else if (strcmp(word, "metric") == 0)
        b->metric = joined(p, 1);
    else if (strcmp(word, "note") == 0)
        b->note = joined(p, 1);
    else if (strcmp(word, "weights") == 0)
        b->published_weights = strcmp(p->words[1], "published") == 0;
    else if (strcmp(word, "target") == 0)
        return read_target(p, b);
    else if (strcmp(word, "runs") == 0)
        return read_count(p, &b->n_runs);
    else if (strcmp(word, "drop") == 0)
        return read_count(p, &b->n_drop);
    else if (strcmp(word, "first") == 0)
        return read_count(p, &b->n_first);
    else if (strcmp(word, "evaluate") == 0)
        return read_evaluate(p, b);
    else
        return mistake(
            p,
            "a benchmark has title, metric, target, runs, drop, first, evaluate, weights and note");
    return 0;
}

/* ---- a sheet's keys ---- */

static struct rule_key *find_key(struct rule_sheet *s, const char *name, int is_setting)
{
    for (size_t i = 0; i < s->n_keys; i++)
        if (strcmp(s->keys[i].name, name) == 0 && (s->keys[i].count == RULE_SETTING) == is_setting)
            return &s->keys[i];
    return NULL;
}

static void put_key(struct parser *p, struct rule_sheet *s, const struct rule_key *key)
{
    struct rule_key *row = find_key(s, key->name, key->count == RULE_SETTING);

    if (!row) {
        s->keys = rule_grow(&p->r->arena, s->keys, s->n_keys, sizeof(*s->keys));
        row = &s->keys[s->n_keys++];
    }
    *row = *key;
}

static int drop_key(struct parser *p, struct rule_sheet *s, const char *name)
{
    struct rule_key *const row = find_key(s, name, 0);

    if (!row)
        return mistake(p, "there is no such key to drop");
    s->n_keys--;
    memmove(row, row + 1, (size_t)(s->keys + s->n_keys - row) * sizeof(*row));
    return 0;
}

static int read_gather(struct parser *p, struct rule_sheet *s)
{
    if (p->n != 7 || strcmp(p->words[3], "by") != 0 || strcmp(p->words[5], "into") != 0)
        return mistake(p, "gather KEY MEMBER by NAME into KEY");
    s->gather = (struct rule_gather){p->words[1], p->words[2], p->words[4], p->words[6]};
    return 0;
}

static int read_how_often(struct parser *p, struct rule_key *key)
{
    const char *const word = rule_next_word(&p->rest);
    double n;

    key->least = 1;
    if (!word)
        return mistake(p, "how often must the key be there?");
    if (strcmp(word, "once") == 0)
        key->count = RULE_ONCE;
    else if (strcmp(word, "some") == 0)
        key->count = RULE_SOME;
    else if (strcmp(word, "any") == 0)
        key->count = RULE_ANY;
    else if (strcmp(word, "some-or") == 0) {
        key->count = RULE_SOME_OR;
        key->other = rule_next_word(&p->rest);
        return key->other ? 0 : mistake(p, "some-or KEY");
    } else if (strcmp(word, "one-if") == 0) {
        key->count = RULE_ONE_IF;
        key->other = rule_next_word(&p->rest);
        key->other_value = key->other ? rule_next_word(&p->rest) : NULL;
        return key->other_value ? 0 : mistake(p, "one-if KEY VALUE");
    } else if (strcmp(word, "at-least") == 0) {
        key->count = RULE_SOME;
        TRY(rule_next_number(&p->rest, &n));
        if (!(n >= 1 && n < 1000 && n == floor(n)))
            return mistake(p, "at-least COUNT");
        key->least = (int)n;
    } else
        return err(E_DATA, "%s: \"%s\" says not how often", p->where, word);
    return 0;
}

static int read_sheet(struct parser *p)
{
    struct rule_sheet *const s = &p->r->sheets[p->at];
    struct rule_key key = {.name = p->words[0]};

    if (p->n == 1 && strcmp(key.name, "dropped") == 0) {
        s->n_keys = 0;
        s->gather.from = NULL;
        return 0;
    }
    if (strcmp(key.name, "gather") == 0)
        return read_gather(p, s);
    if (p->n == 2 && strcmp(p->words[1], "dropped") == 0)
        return drop_key(p, s, key.name);
    p->rest.words++;
    if (strcmp(key.name, "rules") == 0) {
        key.name = rule_next_word(&p->rest);
        key.count = RULE_SETTING;
        if (!key.name)
            return mistake(p, "rules KEY CLAUSE");
    } else
        TRY(read_how_often(p, &key));
    TRY(rule_parse_clauses(&p->rest, &key));
    if (key.count == RULE_SETTING) {
        key.text = key.tests;
        key.tests = (struct rule_tests){0};
    }
    put_key(p, s, &key);
    return 0;
}

/* ---- lists of names ---- */

static int expand(struct parser *p, struct rule_tensors *list, const char *done, const char *rest);

static int expand_range(struct parser *p, struct rule_tensors *list, const char *done,
                        const char *open)
{
    const char *const close = strchr(open, '}');
    long from, to;
    char *end;

    from = strtol(open + 1, &end, 10);
    to = strtol(end + 2, &end, 10);
    if (end != close || from < 0 || to > 999 || from > to)
        return mistake(p, "expected a range, such as {0..23}");
    for (; from <= to; from++) {
        char *const next = xasprintf("%s%ld", done, from);
        const int rc = expand(p, list, next, close + 1);
        free(next);
        TRY(rc);
    }
    return 0;
}

static int expand_words(struct parser *p, struct rule_tensors *list, const char *done,
                        const char *open)
{
    const char *const close = strchr(open, '}');

    for (const char *s = open + 1; s <= close; s += strcspn(s, ",}") + 1) {
        char *const next = xasprintf("%s%.*s", done, (int)strcspn(s, ",}"), s);
        const int rc = expand(p, list, next, close + 1);
        free(next);
        TRY(rc);
    }
    return 0;
}

static int expand(struct parser *p, struct rule_tensors *list, const char *done, const char *rest)
{
    const char *const open = strchr(rest, '{');
    char *head;
    int rc;

    if (!open) {
        if (list->n >= MAX_NAMES)
            return mistake(p, "too many names");
        list->names = rule_grow(&p->r->arena, list->names, list->n, sizeof(*list->names));
        list->names[list->n++] = arena_printf(&p->r->arena, "%s%s", done, rest);
        return 0;
    }
    if (!strchr(open, '}'))
        return mistake(p, "a { without its }");
    head = xasprintf("%s%.*s", done, (int)(open - rest), rest);
    rc = open[1 + strspn(open + 1, "0123456789")] == '.' ? expand_range(p, list, head, open)
                                                         : expand_words(p, list, head, open);
    free(head);
    return rc;
}

static int read_tensors(struct parser *p)
{
    for (size_t i = 0; i < p->n; i++)
        TRY(expand(p, &p->r->tensors[p->at], "", p->words[i]));
    return 0;
}

/* ---- sections ---- */

static void open_benchmark(struct parser *p, const char *name)
{
    struct ruleset *const r = p->r;

    p->section = IN_BENCHMARK;
    for (p->at = 0; p->at < r->n_benchmarks; p->at++)
        if (strcmp(r->benchmarks[p->at].name, name) == 0)
            return;
    r->benchmarks = rule_grow(&r->arena, r->benchmarks, r->n_benchmarks, sizeof(*r->benchmarks));
    r->benchmarks[r->n_benchmarks++] =
        (struct rule_benchmark){.name = name, .title = name, .metric = "quality", .n_drop = 1};
}

static void open_sheet(struct parser *p, const char *name)
{
    struct ruleset *const r = p->r;
    int depth = strcmp(name, "log") != 0;

    p->section = IN_SHEET;
    for (const char *s = name; (s = strchr(s, ' ')); s++)
        depth++;
    for (p->at = 0; p->at < r->n_sheets; p->at++)
        if (strcmp(r->sheets[p->at].name, name) == 0)
            return;
    r->sheets = rule_grow(&r->arena, r->sheets, r->n_sheets, sizeof(*r->sheets));
    r->sheets[r->n_sheets++] = (struct rule_sheet){.name = name, .depth = depth};
}

static void open_tensors(struct parser *p, const char *name)
{
    struct ruleset *const r = p->r;

    p->section = IN_TENSORS;
    p->at = r->n_tensors;
    r->tensors = rule_grow(&r->arena, r->tensors, r->n_tensors, sizeof(*r->tensors));
    r->tensors[r->n_tensors++] = (struct rule_tensors){.name = name};
}

static int open_section(struct parser *p)
{
    const char *const all = joined(p, 0);
    const size_t n = strlen(all);
    char *const name = arena_strdup(&p->r->arena, all + 1);

    if (n < 3 || all[n - 1] != ']')
        return mistake(p, "a section is [NAME]");
    name[n - 2] = '\0';
    if (strncmp(name, "benchmark ", 10) == 0)
        open_benchmark(p, name + 10);
    else if (strncmp(name, "tensors ", 8) == 0)
        open_tensors(p, name + 8);
    else
        open_sheet(p, name);
    return 0;
}

static int read_line(struct parser *p, char *line)
{
    static int (*const readers[])(struct parser *) = {
        [IN_HEAD] = read_head,
        [IN_BENCHMARK] = read_benchmark,
        [IN_SHEET] = read_sheet,
        [IN_TENSORS] = read_tensors,
    };

    TRY(split(p, line));
    if (p->n == 0)
        return 0;
    return p->words[0][0] == '[' ? open_section(p) : readers[p->section](p);
}

static int parse_text(struct parser *p, const char *text)
{
    int number = 0;

    while (*text) {
        const size_t n = strcspn(text, "\n");
        char *const line = arena_alloc(&p->r->arena, n + 1);

        memcpy(line, text, n);
        p->where = arena_printf(&p->r->arena, "%s:%d", p->file, ++number);
        TRY(read_line(p, line));
        text += n + (text[n] == '\n');
    }
    return 0;
}

int ruleset_parse(const char *name, const char *text, ruleset_source *source, struct ruleset **out)
{
    struct ruleset *const r = xcalloc(1, sizeof(*r));
    struct parser p = {.r = r, .source = source, .file = name};
    int rc;

    arena_init(&r->arena);
    rc = parse_text(&p, text);
    if (rc == 0)
        rc = ruleset_finish(r, name);
    if (rc == 0)
        *out = r;
    else
        ruleset_free(r);
    return rc;
}

void ruleset_free(struct ruleset *r)
{
    if (!r)
        return;
    arena_release(&r->arena);
    free(r);
}
