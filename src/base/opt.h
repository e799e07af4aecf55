/* Options as rows. Whoever owns a structure of settings owns one table of rows; from these rows
 * come the parsing of the command line (--name value), of -o key=value and of the YAML file, range
 * checks, defaults, --help, the man page, --dry-run and the echo into run.json. Dashes and
 * underscores in names are the same letter. Values live at row->offset in the caller's structure;
 * string values are heap-owned by the structure. Tables are constant; a structure is used by one
 * thread at a time. */
#ifndef STAVE_BASE_OPT_H
#define STAVE_BASE_OPT_H

#include <stddef.h>

#include "base/str.h"

enum opt_type {
    OPT_BOOL,   /* int: yes/no, true/false, on/off, 1/0; the bare flag means yes */
    OPT_INT,    /* long long */
    OPT_SIZE,   /* long long, bytes or a count; takes K, M, G, T (powers of 1024) */
    OPT_REAL,   /* double, finite */
    OPT_STRING, /* char *, may stay NULL; an empty text sets it to NULL */
    OPT_LIST,   /* char *, may stay NULL; may be said several times: the values, a blank between */
    OPT_CHOICE, /* int: index into row->choices */
};

struct opt_row {
    const char *name; /* "batch-size" */
    enum opt_type type;
    size_t offset;              /* offsetof(struct owner, field) */
    const char *dflt;           /* text, parsed like any value; NULL: zero / unset */
    double min, max;            /* numbers; both zero: no limit; max below min: no upper limit */
    const char *const *choices; /* NULL-terminated, for OPT_CHOICE */
    const char *arg;            /* name of the argument in --help, "N", "DIR"; NULL for bool */
    const char *help;           /* one sentence, no full stop */
    char letter;                /* short flag or 0 */
    const char *zero;           /* a word that says 0, for OPT_INT; NULL: none */
};

/* A row for field `field` of struct `owner`; further members by name: OPT_ROW(owner, "lr",
 * OPT_REAL, lr, .dflt = "0.1"). */
#define OPT_ROW(owner, name_, type_, field, ...)                                                   \
    {                                                                                              \
        .name = name_, .type = type_, .offset = offsetof(struct owner, field), __VA_ARGS__         \
    }

struct opt_table {
    const char *owner; /* heading in --help */
    const struct opt_row *rows;
    size_t n_rows;
};

/* Takes settings as uninitialised memory: what the rows name is overwritten, nothing is freed. */
void opt_defaults(const struct opt_table *t, void *settings);
void opt_release(const struct opt_table *t, void *settings); /* frees strings */
/* NULL when there is no such row. */
const struct opt_row *opt_find(const struct opt_table *t, const char *name);
/* The row whose name is nearest to a misspelt one, or NULL when none is near. */
const struct opt_row *opt_nearest(const struct opt_table *t, const char *name);
/* where is "--batch-size", "config.yaml:3: batch-size": it starts the message. On failure (E_USAGE)
 * the setting keeps its value. */
int opt_set(const struct opt_row *row, void *settings, const char *value, const char *where);
/* Appends the value as JSON (number, string, true; null when an unset string). */
void opt_add_json(const struct opt_row *row, const void *settings, struct str *out);
/* The same of the row's default. */
void opt_add_default_json(const struct opt_row *row, struct str *out);
/* Appends the value as text that opt_set reads back. */
void opt_add_text(const struct opt_row *row, const void *settings, struct str *out);
/* Appends what a value may be: "a whole number from 1 to 65536", "one of sgd, lars". */
void opt_add_domain(const struct opt_row *row, struct str *out);

/* 1 when two names are equal, a dash and an underscore being the same letter. */
int opt_same_name(const char *a, const char *b);
/* The search behind "did you mean": 1 when candidate is near enough to name to be meant by it and
 * nearer than *best, which then holds its distance. Start with *best = INT_MAX. */
int opt_nearer(const char *name, const char *candidate, int *best);

#endif
