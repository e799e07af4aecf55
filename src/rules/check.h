/* Holds an MLPerf log against a ruleset: the official compliance checker's verdict, and what that
 * one does not look at (times, records lost by glued lines, ...).
 *
 * A `struct rule_check` takes the log one record or trouble at a time, so a file being read and a
 * log being written feed it alike, in memory that does not grow with the log. What is wrong is told
 * as soon as it is certain: values and order at once, provided that the log has named its division
 * and benchmark by then, what is missing at the end.
 *
 * Ownership: rule_check_free frees what rule_check_new made. Everything a finding points to holds
 * during the call only. Threads: a check is used by one thread at a time; rulesets are shared. */
#ifndef STAVE_RULES_CHECK_H
#define STAVE_RULES_CHECK_H

#include <stddef.h>

struct log;
struct mllog_record;
struct mllog_trouble;
struct ruleset;

/* With errors and strict findings a log does not stand. */
enum rule_severity {
    RULE_ERROR,   /* the official checker refuses the log, too */
    RULE_STRICT,  /* it would accept this; we do not: the name says why (docs/rules.md) */
    RULE_WARNING, /* accepted by both, and probably not what was meant */
    RULE_NOTE,    /* worth knowing */
    N_RULE_SEVERITIES
};
const char *rule_severity_name(enum rule_severity s); /* "error", "strict", "warning", "note" */

struct rule_finding {
    enum rule_severity severity;
    const char *name;     /* what kind, for programs: "missing", "value", "stop-before-start" */
    size_t line, column;  /* from 1; 0: about the log as a whole */
    const char *key;      /* "" when no key is concerned */
    const char *found;    /* a phrase: "value is 9.999999747378752e-05" */
    const char *expected; /* a phrase: "0.0001"; "" */
    const char *rule;     /* which rule: "4.0.0 closed resnet lars", "4.0.0 log format" */
};

/* A call that returns anything but 0 ends the check with that code. */
struct rule_visitor {
    int (*finding)(void *context, const struct rule_finding *f);
    void *context;
};

struct rule_verdict {
    int stands;           /* neither errors nor strict findings */
    int official_accepts; /* no errors */
    const char *version;  /* of the ruleset: "4.0.0" */
    int guessed;          /* the ruleset follows from the lines' format */
    char division[16];    /* "" when the log names none that is known */
    char benchmark[40];   /* the same */
    size_t n_records;
    size_t n[N_RULE_SEVERITIES];
};

struct rule_check;
/* v is copied. */
struct rule_check *rule_check_new(const struct ruleset *r, const struct rule_visitor *v);
void rule_check_free(struct rule_check *c); /* NULL is fine */
/* 0 or a visitor's code. */
int rule_check_record(struct rule_check *c, const struct mllog_record *r);
int rule_check_trouble(struct rule_check *c, const struct mllog_trouble *t);
/* What is missing; then the verdict. Once, at the end. */
int rule_check_finish(struct rule_check *c, struct rule_verdict *verdict);

/* A whole file. ruleset NULL: 0.5.0 or 0.6.0 where the lines have those rounds' format, the pinned
 * ruleset otherwise. 0, a visitor's code, or E_IO. */
int rules_check_file(const char *path, const struct ruleset *r, const struct rule_visitor *v,
                     struct rule_verdict *verdict);
/* The same, and what the log says, in one reading: l is to be released unless this fails. */
int rules_check_log(const char *path, const struct ruleset *r, const struct rule_visitor *v,
                    struct log *l, struct rule_verdict *verdict);
int rules_check_memory(const char *bytes, size_t n, const struct ruleset *r,
                       const struct rule_visitor *v, struct rule_verdict *verdict);

#endif
