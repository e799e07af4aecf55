/* MLPerf rulesets as data: what a round demands of a benchmark's log and of its settings. A round
 * is a text file in src/rules/data/ (ruleset_parse.h says how one is written); nothing here knows
 * any workload.
 *
 * A ruleset is made of sheets. The sheet "log" holds for every log; a key that `opens` others adds
 * a sheet by its value: submission_division "closed" opens "closed", whose submission_benchmark
 * "resnet" opens "closed resnet", whose opt_name "lars" opens "closed resnet lars". What a later
 * sheet says of a key replaces what an earlier one found of it, as in the official checker.
 *
 * Rulesets are constant once loaded. Threads: any. */
#ifndef STAVE_RULES_RULESET_H
#define STAVE_RULES_RULESET_H

#include <stddef.h>

#include "base/arena.h"
#include "trace/mllog_read.h"

struct str;

/* ---- tests of one record ---- */

enum rule_op {
    RULE_GREATER,      /* > number */
    RULE_AT_LEAST,     /* >= number */
    RULE_LESS,         /* < number */
    RULE_AT_MOST,      /* <= number */
    RULE_EQUALS,       /* = values[0] */
    RULE_ONE_OF,       /* values */
    RULE_NOT_EMPTY,    /* anything but "" */
    RULE_MULTIPLE,     /* a whole number of times number */
    RULE_DIVIDES,      /* number is a whole number of times it */
    RULE_POWER_OF_TWO, /* number times 2^N */
    RULE_WHOLE,        /* a whole number, not negative */
    RULE_IS_INTEGER,   /* written as one: no fraction, no exponent */
    RULE_IS_BOOLEAN,
    RULE_HAS,    /* the value has a member of one of values */
    RULE_WITH,   /* the metadata has a member of one of values */
    RULE_AFTER,  /* the key `name` has been logged */
    RULE_BEFORE, /* it has not */
    RULE_INIT_LIMIT,
    RULE_IN_ORDER, /* round 0.6: epochs, evaluations and blocks nest and count on */
};

enum rule_subject {
    RULE_OF_VALUE,
    RULE_OF_MEMBER,    /* value[name] */
    RULE_OF_ITEM,      /* value[item - 1] */
    RULE_OF_LENGTH,    /* how many items value has */
    RULE_OF_META,      /* metadata[name] */
    RULE_OF_BENCHMARK, /* the name in a line of round 0.5 */
};

struct rule_value {
    const char *text; /* NULL: number */
    double number;    /* "true" is 1 with is_bool */
    int is_bool;
};

enum rule_when { RULE_ALWAYS, RULE_BATCH_BELOW, RULE_BATCH_FROM, RULE_WHEN_META };

struct rule_test {
    enum rule_op op;
    enum rule_subject subject;
    const char *name;
    int item;
    int if_there; /* RULE_OF_META: holds when the member is not there */
    double number;
    const struct rule_value *values;
    size_t n_values;
    enum rule_when when;
    double when_batch;
    const char *when_name;
    const struct rule_test *or_else; /* this one, or that one */
};

struct rule_tests {
    const struct rule_test *all;
    size_t n;
};

/* ---- keys and sheets ---- */

enum rule_count {
    RULE_ANY,     /* how often does not matter */
    RULE_ONCE,    /* exactly once; identical copies are a warning */
    RULE_SOME,    /* at least `least` times */
    RULE_SOME_OR, /* it or `other`, at least once */
    RULE_ONE_IF,  /* once when `other` was logged with value `other_value`, else never */
    RULE_SETTING, /* no key of the log: what the rules ask of a setting */
};

struct rule_tensors {
    const char *name;
    const char **names;
    size_t n;
};

struct rule_key {
    const char *name;
    enum rule_count count;
    int least;
    const char *other, *other_value;
    struct rule_tests tests;   /* of every record */
    struct rule_tests reaches; /* all of them, in one record at least */
    struct rule_tests text;    /* what the rules' text asks and the official checker does not */
    const char *opens;         /* the sheet "OPENS VALUE"; "": the sheet "VALUE"; NULL: none */
    const char *tensors;       /* metadata tensor: each name of this list once; NULL: none */
    const struct rule_tensors *list; /* that list */
    int first_only;                  /* of its records only the first counts */
    int sheet;                       /* index of its sheet */
    int row;                         /* its number among all keys of all sheets */
    int number;                      /* its name's, see ruleset_name */
};

/* Records of `from` that belong together by metadata[by] make one of key `into`, with a member for
 * each metadata[member]. */
struct rule_gather {
    const char *from, *member, *by, *into;
};

struct rule_sheet {
    const char *name; /* "closed resnet" */
    int depth;        /* words of it; 0 for "log" */
    int parent;       /* the sheet with the key that opens this one; -1: none does */
    int advises;      /* what it finds are warnings */
    struct rule_key *keys;
    size_t n_keys;
    struct rule_gather gather; /* from is NULL: none */
};

/* ---- benchmarks ---- */

struct rule_benchmark {
    const char *name;       /* submission_benchmark: "resnet" */
    const char *title;      /* for people: "ResNet-50 v1.5" */
    const char *metric;     /* "top-1" */
    double target, target2; /* target2: of a second quality (masks), or 0 */
    int lower_is_better;
    int n_runs, n_drop; /* runs that make one result; as many best and worst do not count */
    int n_first;        /* of these runs only the first so many that converge count; 0: all */
    long long eval_every, eval_first, eval_last; /* epochs; the first after eval_first..eval_last */
    long long eval_at[16];                       /* or exactly after these; 0 ends them */
    const char *evaluate;  /* the schedule in words; NULL: the round prescribes none */
    int published_weights; /* the closed division starts from given weights */
    const char *note;
    const struct ruleset *ruleset;
};

struct ruleset {
    const char *version; /* "4.0.0" */
    enum mllog_format format;
    double init_limit_ms, open_init_limit_ms; /* run_start may come this much after init_start */
    int init_limit_by_division; /* and only counts once the log has named its division */
    struct rule_sheet *sheets;  /* [0] is "log" */
    size_t n_sheets, n_rows;
    struct rule_benchmark *benchmarks;
    size_t n_benchmarks;
    struct rule_tensors *tensors;
    size_t n_tensors;
    struct rule_index *index; /* from a key's name to its rows; see ruleset_rows */
    struct arena arena;
};

/* The ruleset that runs are judged by unless another is asked for. */
#define RULESET_PINNED "4.0.0"

/* NULL: no such ruleset or benchmark. A ruleset is loaded when it is first asked for and kept. */
const struct ruleset *ruleset_find(const char *version);
const struct rule_benchmark *ruleset_benchmark(const struct ruleset *r, const char *name);
/* The versions there are, oldest first; NULL-terminated. */
const char *const *ruleset_versions(void);
/* The one whose logs have lines of this format: 0.5.0, 0.6.0, otherwise the pinned one. */
const struct ruleset *ruleset_of_lines(enum mllog_format format);
/* The round of a version, by which versions compare: 21 for "2.1.0". */
int ruleset_round(const char *version);
/* E_USAGE with the versions there are. */
int ruleset_unknown(const char *version);

/* The sheet of that name; -1: none. */
int ruleset_sheet(const struct ruleset *r, const char *name);
const struct rule_tensors *ruleset_tensors(const struct ruleset *r, const char *name);
/* A key's number from 0 to ruleset_n_names, and its rows in all sheets, by rising sheet; -1 when no
 * sheet names it. */
int ruleset_name(const struct ruleset *r, const char *key);
size_t ruleset_n_names(const struct ruleset *r);
const struct rule_key *const *ruleset_rows(const struct ruleset *r, int name, size_t *n);

/* What a test wants, as a phrase: "0.0001 times a power of two". */
void rule_add_wanted(const struct rule_test *t, struct str *out);
/* When the closed division evaluates: "after every epoch"; nothing when the round does not say. */
void rule_add_schedule(const struct rule_benchmark *b, struct str *out);
/* For people: the round, or one benchmark of it. */
void ruleset_print(const struct ruleset *r, struct str *out);
void ruleset_print_benchmark(const struct ruleset *r, const struct rule_benchmark *b,
                             struct str *out);

/* ---- settings of a run ---- */

/* What the run was asked to do, by log key (and model_image_size, eval_every, ...: see the file).
 * text NULL means a number. */
struct rule_setting {
    const char *key;
    double number;
    const char *text;
};

/* Appends one line in words per deviation from the closed division, each ending in a newline, and
 * returns how many. With any the run's division is "open". A setting the rules need and that is
 * missing is a deviation. */
size_t rules_deviations(const struct rule_benchmark *b, const struct rule_setting *settings,
                        size_t n, struct str *words);
const char *rules_division(size_t n_deviations); /* "closed", "open" */

#endif
