#include "rules/package_log.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "rules/check.h"
#include "rules/ruleset.h"
#include "trace/mllog_read.h"

/* ---- one log ---- */

static int on_trouble(void *context, const struct mllog_trouble *t)
{
    struct package_log *const l = context;

    if (t->kind == MLLOG_CUT || t->kind == MLLOG_TRAILING)
        l->parse_errors++;
    if (t->kind == MLLOG_FIELD && !l->crash)
        l->crash = xasprintf("line %zu: %s", t->line, t->about);
    return 0;
}

static int on_finding(void *context, const struct rule_finding *r)
{
    static const enum finding_level levels[N_RULE_SEVERITIES] = {
        [RULE_ERROR] = FINDING_ERROR,
        [RULE_STRICT] = FINDING_STRICT,
        [RULE_WARNING] = FINDING_NOTE,
        [RULE_NOTE] = FINDING_NOTE,
    };
    struct package_log *const l = context;
    struct str where = STR_INIT;

    if (r->severity == RULE_NOTE)
        return 0;
    str_add(&where, l->path);
    if (r->line > 0)
        str_printf(&where, ":%zu", r->line);
    finding_add(&l->found, levels[r->severity], where.s, "%s%s%s%s%s (%s)", r->key,
                *r->key ? ": " : "", r->found, *r->expected ? "; expected " : "", r->expected,
                r->rule);
    str_release(&where);
    return 0;
}

int package_log_read(struct package_log *l, const char *path, const char *ruleset)
{
    const struct mllog_visitor also = {.trouble = on_trouble, .context = l};
    const struct rule_visitor visitor = {.finding = on_finding, .context = l};
    struct rule_verdict verdict;

    *l = (struct package_log){.path = path};
    TRY(log_read(&l->log, path, &also));
    TRY(rules_check_file(path, ruleset_find(ruleset), &visitor, &verdict));
    l->accepted = verdict.official_accepts;
    return 0;
}

void package_log_release(struct package_log *l)
{
    log_release(&l->log);
    findings_release(&l->found);
    free(l->crash);
    *l = (struct package_log){0};
}

/* ---- seeds ---- */

/* "+0012" is 12, "-0" is 0. */
static char *canonical(const char *digits)
{
    const int minus = *digits == '-';

    digits += *digits == '-' || *digits == '+';
    if (!*digits || digits[strspn(digits, "0123456789")] != '\0')
        return NULL;
    digits += strspn(digits, "0");
    if (!*digits)
        return xstrdup("0");
    return xasprintf("%s%s", minus ? "-" : "", digits);
}

/* A string of digits with blanks around. */
static char *digits_of_text(const char *json)
{
    char *const copy = xstrdup(json + 1);
    char *begin = copy + strspn(copy, " "), *end = copy + strlen(copy), *digits;

    if (end > copy && end[-1] == '"')
        *--end = '\0';
    while (end > begin && end[-1] == ' ')
        *--end = '\0';
    digits = canonical(begin);
    free(copy);
    return digits;
}

char *package_seed_digits(const char *json)
{
    char *end;
    double x;

    if (*json == '"')
        return digits_of_text(json);
    if (strcmp(json, "true") == 0 || strcmp(json, "false") == 0)
        return xstrdup(*json == 't' ? "1" : "0");
    if (json[strspn(json, "-0123456789")] == '\0')
        return canonical(json);
    x = strtod(json, &end);
    if (end == json || *end != '\0' || !isfinite(x))
        return NULL;
    return trunc(x) == 0 ? xstrdup("0") : xasprintf("%.0f", trunc(x));
}

struct seed {
    struct package_log *log;
    const struct log_seed *record;
    char *digits;
};

static int is_same(const struct seed *a, const struct seed *b)
{
    return a->record->lineno == b->record->lineno && strcmp(a->digits, b->digits) == 0 &&
           strcmp(a->record->file, b->record->file) == 0;
}

/* What one log has; returns how many, or -1 with a finding when the checker takes none of them. */
static int collect(struct package_log *l, struct seed *out, struct findings *f)
{
    int n = 0;

    if (l->parse_errors) {
        finding_add(f, FINDING_ERROR, l->path, "its seeds are not read: %d lines are no records",
                    l->parse_errors);
        return -1;
    }
    for (size_t i = 0; i < l->log.n_seeds; i++) {
        const struct log_seed *const s = &l->log.seeds[i];
        char *const digits = package_seed_digits(s->value);

        if (!digits || !s->file || s->lineno < 0) {
            finding_add(f, FINDING_ERROR, l->path, "line %zu: the seed %s %s", s->line, s->value,
                        digits ? "has no file and lineno in its metadata" : "is no whole number");
            free(digits);
            while (n > 0)
                free(out[--n].digits);
            return -1;
        }
        out[n++] = (struct seed){l, s, digits};
    }
    if (n == 0)
        finding_add(f, FINDING_ERROR, l->path, "it logs no seed");
    if (n > 1)
        finding_add(f, FINDING_NOTE, l->path, "it logs %d seeds", n);
    return n;
}

static void compare_seeds(const struct seed *seeds, size_t n, struct findings *f)
{
    for (size_t i = 1; i < n; i++)
        for (size_t k = 0; k < i; k++)
            if (is_same(&seeds[i], &seeds[k])) {
                finding_add(f, FINDING_ERROR, seeds[i].log->path,
                            "seed %s at %s:%lld is also the seed of %s; every run needs its own",
                            seeds[i].digits, seeds[i].record->file, seeds[i].record->lineno,
                            seeds[k].log->path);
                seeds[i].log->is_twin = 1;
                break;
            }
}

void package_check_seeds(struct package_log *logs, size_t n, struct findings *f)
{
    struct seed *seeds;
    size_t room = 1, n_seeds = 0;

    for (size_t i = 0; i < n; i++)
        room += logs[i].log.n_seeds;
    seeds = xcalloc(room, sizeof(*seeds));
    for (size_t i = 0; i < n; i++) {
        const int got = collect(&logs[i], seeds + n_seeds, f);
        n_seeds += got > 0 ? (size_t)got : 0;
    }
    compare_seeds(seeds, n_seeds, f);
    for (size_t i = 0; i < n_seeds; i++)
        free(seeds[i].digits);
    free(seeds);
}

/* ---- one run twice ---- */

static int is_same_record(const struct log_seed *a, const struct log_seed *b)
{
    return a->file && b->file && a->lineno >= 0 && a->lineno == b->lineno &&
           strcmp(a->value, b->value) == 0 && strcmp(a->file, b->file) == 0;
}

static int is_whole(const char *json)
{
    char *const digits = package_seed_digits(json);
    const int whole = digits != NULL;

    free(digits);
    return whole;
}

/* The first seed of b that a logs as well; NULL: none. */
static const struct log_seed *common_seed(const struct log *a, const struct log *b)
{
    for (size_t i = 0; i < b->n_seeds; i++)
        for (size_t k = 0; k < a->n_seeds; k++) {
            if (!is_same_record(&a->seeds[k], &b->seeds[i]))
                continue;
            if (is_whole(b->seeds[i].value))
                return &b->seeds[i];
            break;
        }
    return NULL;
}

static void check_seed_twin(struct package_log *l, const struct package_log *before,
                            struct findings *f)
{
    const struct log_seed *const seed = common_seed(&before->log, &l->log);

    if (!seed)
        return;
    finding_add(f, FINDING_STRICT, l->path,
                "seed %s at %s:%lld is also that of %s; two runs log the same seed: they are one "
                "run twice",
                seed->value, seed->file, seed->lineno, before->path);
    l->is_twin = 1;
}

void package_check_seed_twins(struct package_log *logs, size_t n, struct findings *f)
{
    for (size_t i = 1; i < n; i++)
        for (size_t k = 0; k < i && !logs[i].is_twin; k++)
            check_seed_twin(&logs[i], &logs[k], f);
}

static int same_bytes(FILE *a, FILE *b)
{
    char x[1 << 12], y[1 << 12];
    size_t n;

    do {
        n = fread(x, 1, sizeof(x), a);
        if (fread(y, 1, sizeof(y), b) != n || memcmp(x, y, n) != 0)
            return 0;
    } while (n > 0);
    return !ferror(a) && !ferror(b);
}

static int is_copy(const char *one, const char *other)
{
    FILE *const a = fopen(one, "rb"), *const b = fopen(other, "rb");
    const int same = a && b && same_bytes(a, b);

    if (a)
        fclose(a);
    if (b)
        fclose(b);
    return same;
}

void package_check_copies(struct package_log *logs, size_t n, struct findings *f)
{
    for (size_t i = 1; i < n; i++)
        for (size_t k = 0; k < i && !logs[i].is_twin; k++)
            if (is_copy(logs[i].path, logs[k].path)) {
                finding_add(f, FINDING_STRICT, logs[i].path,
                            "it is byte for byte %s: they are one run twice", logs[k].path);
                logs[i].is_twin = 1;
            }
}
