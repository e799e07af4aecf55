#include "base/opt.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"

static const char unit_letters[] = "KMGT";

static const struct {
    const char *text;
    int value;
} bool_words[] = {{"yes", 1}, {"no", 0},  {"true", 1}, {"false", 0},
                  {"on", 1},  {"off", 0}, {"1", 1},    {"0", 0}};

static const void *field(const struct opt_row *row, const void *settings)
{
    return (const char *)settings + row->offset;
}

static char letter(char c)
{
    return c == '_' ? '-' : c;
}

int opt_same_name(const char *a, const char *b)
{
    while (*a && letter(*a) == letter(*b))
        a++, b++;
    return letter(*a) == letter(*b);
}

static int has_upper(const struct opt_row *row)
{
    return row->max >= row->min;
}

void opt_add_domain(const struct opt_row *row, struct str *out)
{
    static const char *const words[] = {
        [OPT_BOOL] = "yes or no",
        [OPT_INT] = "a whole number",
        [OPT_SIZE] = "a whole number (K, M, G, T may follow)",
        [OPT_REAL] = "a number",
        [OPT_STRING] = "a text",
        [OPT_LIST] = "a text, or several",
        [OPT_CHOICE] = "one of",
    };
    const int numeric = row->type == OPT_INT || row->type == OPT_SIZE || row->type == OPT_REAL;

    if (row->zero)
        str_printf(out, "%s, or ", row->zero);
    str_add(out, words[row->type]);
    if (row->type == OPT_CHOICE)
        for (size_t i = 0; row->choices[i]; i++)
            str_printf(out, "%s %s", i ? "," : "", row->choices[i]);
    if (numeric && (row->min != 0 || row->max != 0))
        str_printf(out, has_upper(row) ? " from %.10g to %.10g" : " of at least %.10g", row->min,
                   row->max);
}

static int refuse(const struct opt_row *row, const char *value, const char *where)
{
    struct str domain = STR_INIT;
    int rc;

    opt_add_domain(row, &domain);
    rc = err(E_USAGE, "%s: \"%.200s\" does not fit; expected %s", where, value, domain.s);
    str_release(&domain);
    return rc;
}

static int in_range(const struct opt_row *row, double v)
{
    if (row->min == 0 && row->max == 0)
        return 1;
    return v >= row->min && (!has_upper(row) || v <= row->max);
}

static int parse_bool(const char *s, int *v)
{
    for (size_t i = 0; i < COUNT_OF(bool_words); i++)
        if (strcmp(s, bool_words[i].text) == 0) {
            *v = bool_words[i].value;
            return 1;
        }
    return 0;
}

/* A number starts with a digit or a sign: strtoll and strtod would also take blanks and names. */
static int starts_number(const char *s)
{
    s += *s == '-' || *s == '+';
    s += *s == '.';
    return *s >= '0' && *s <= '9';
}

static int parse_whole(const char *s, int units, long long *v)
{
    const char *unit;
    char *end;

    errno = 0;
    *v = strtoll(s, &end, 10);
    if (!starts_number(s) || errno || end == s)
        return 0;
    if (!units || !*end)
        return !*end;
    unit = strchr(unit_letters, *end >= 'a' && *end <= 'z' ? *end - 'a' + 'A' : *end);
    if (!unit || end[1])
        return 0;
    return !__builtin_mul_overflow(*v, 1LL << 10 * (unit - unit_letters + 1), v);
}

static int parse_real(const char *s, double *v)
{
    char *end;

    *v = strtod(s, &end);
    return starts_number(s) && !*end && isfinite(*v);
}

static int parse_choice(const struct opt_row *row, const char *s, int *v)
{
    for (int i = 0; row->choices[i]; i++)
        if (opt_same_name(row->choices[i], s)) {
            *v = i;
            return 1;
        }
    return 0;
}

static int set_string(char **dst, const char *value)
{
    free(*dst);
    *dst = *value ? xstrdup(value) : NULL;
    return 1;
}

static int append_string(char **dst, const char *value)
{
    char *const longer = *dst ? xasprintf("%s %s", *dst, value) : xstrdup(value);

    free(*dst);
    *dst = longer;
    return 1;
}

static int has_string(const struct opt_row *row)
{
    return row->type == OPT_STRING || row->type == OPT_LIST;
}

int opt_set(const struct opt_row *row, void *settings, const char *value, const char *where)
{
    void *dst = (char *)settings + row->offset;
    long long whole;
    double real;
    int ok = 0;

    switch (row->type) {
    case OPT_BOOL:
        ok = parse_bool(value, dst);
        break;
    case OPT_INT:
    case OPT_SIZE:
        if (row->zero && strcmp(value, row->zero) == 0)
            value = "0";
        ok = parse_whole(value, row->type == OPT_SIZE, &whole) && in_range(row, (double)whole);
        if (ok)
            memcpy(dst, &whole, sizeof(whole));
        break;
    case OPT_REAL:
        ok = parse_real(value, &real) && in_range(row, real);
        if (ok)
            memcpy(dst, &real, sizeof(real));
        break;
    case OPT_STRING:
        ok = set_string(dst, value);
        break;
    case OPT_LIST:
        ok = append_string(dst, value);
        break;
    case OPT_CHOICE:
        ok = parse_choice(row, value, dst);
        break;
    }
    return ok ? 0 : refuse(row, value, where);
}

void opt_defaults(const struct opt_table *t, void *settings)
{
    static const size_t bytes[] = {
        [OPT_BOOL] = sizeof(int),    [OPT_INT] = sizeof(long long), [OPT_SIZE] = sizeof(long long),
        [OPT_REAL] = sizeof(double), [OPT_STRING] = sizeof(char *), [OPT_LIST] = sizeof(char *),
        [OPT_CHOICE] = sizeof(int),
    };

    for (size_t i = 0; i < t->n_rows; i++) {
        const struct opt_row *row = &t->rows[i];
        memset((char *)settings + row->offset, 0, bytes[row->type]);
        if (row->dflt && opt_set(row, settings, row->dflt, row->name) < 0)
            BUG("default of an option: %s", err_reason());
    }
}

void opt_release(const struct opt_table *t, void *settings)
{
    for (size_t i = 0; i < t->n_rows; i++)
        if (has_string(&t->rows[i])) {
            char **s = (char **)((char *)settings + t->rows[i].offset);
            free(*s);
            *s = NULL;
        }
}

const struct opt_row *opt_find(const struct opt_table *t, const char *name)
{
    for (size_t i = 0; i < t->n_rows; i++)
        if (opt_same_name(t->rows[i].name, name))
            return &t->rows[i];
    return NULL;
}

/* Edits (insert, delete, replace) that turn a into b; names longer than the table are far. */
static int distance(const char *a, const char *b)
{
    enum { LONGEST = 63 };
    int row[LONGEST + 1];
    const size_t na = strlen(a), nb = strlen(b);

    if (na > LONGEST || nb > LONGEST)
        return INT_MAX;
    for (size_t j = 0; j <= nb; j++)
        row[j] = (int)j;
    for (size_t i = 1; i <= na; i++) {
        int corner = row[0];
        row[0] = (int)i;
        for (size_t j = 1; j <= nb; j++) {
            const int replace = corner + (letter(a[i - 1]) != letter(b[j - 1]));
            const int insert = 1 + (row[j] < row[j - 1] ? row[j] : row[j - 1]);
            corner = row[j];
            row[j] = replace < insert ? replace : insert;
        }
    }
    return row[nb];
}

int opt_nearer(const char *name, const char *candidate, int *best)
{
    const size_t n = strlen(name);
    const int near = n < 4 ? 1 : n < 8 ? 2 : 3;
    int d = distance(name, candidate);

    /* "batch" means batch-size although four letters are missing */
    if (n >= 3 && strncmp(name, candidate, n) == 0)
        d = 1;
    if (d > near || d >= *best)
        return 0;
    *best = d;
    return 1;
}

const struct opt_row *opt_nearest(const struct opt_table *t, const char *name)
{
    const struct opt_row *nearest = NULL;
    int best = INT_MAX;

    for (size_t i = 0; i < t->n_rows; i++)
        if (opt_nearer(name, t->rows[i].name, &best))
            nearest = &t->rows[i];
    return nearest;
}

static void add_size(long long v, struct str *out)
{
    size_t unit = 0;

    while (v && v % 1024 == 0 && unit < sizeof(unit_letters) - 1) {
        v /= 1024;
        unit++;
    }
    str_printf(out, "%lld", v);
    if (unit)
        str_add_bytes(out, &unit_letters[unit - 1], 1);
}

void opt_add_text(const struct opt_row *row, const void *settings, struct str *out)
{
    const void *v = field(row, settings);

    switch (row->type) {
    case OPT_BOOL:
        str_add(out, *(const int *)v ? "yes" : "no");
        break;
    case OPT_INT:
        str_printf(out, "%lld", *(const long long *)v);
        break;
    case OPT_SIZE:
        add_size(*(const long long *)v, out);
        break;
    case OPT_REAL:
        str_add_real(out, *(const double *)v);
        break;
    case OPT_STRING:
    case OPT_LIST:
        str_add(out, *(char *const *)v ? *(char *const *)v : "");
        break;
    case OPT_CHOICE:
        str_add(out, row->choices[*(const int *)v]);
        break;
    }
}

void opt_add_json(const struct opt_row *row, const void *settings, struct str *out)
{
    const void *v = field(row, settings);

    if (row->type == OPT_BOOL)
        str_add(out, *(const int *)v ? "true" : "false");
    else if (row->type == OPT_SIZE)
        str_printf(out, "%lld", *(const long long *)v);
    else if (has_string(row) && !*(char *const *)v)
        str_add(out, "null");
    else if (has_string(row))
        str_add_json(out, *(char *const *)v);
    else if (row->type == OPT_CHOICE)
        str_add_json(out, row->choices[*(const int *)v]);
    else
        opt_add_text(row, settings, out);
}

void opt_add_default_json(const struct opt_row *row, struct str *out)
{
    union {
        int word;
        long long whole;
        double real;
        char *text;
    } value;
    struct opt_row here = *row;
    const struct opt_table alone = {"", &here, 1};

    here.offset = 0;
    opt_defaults(&alone, &value);
    opt_add_json(&here, &value, out);
    opt_release(&alone, &value);
}
