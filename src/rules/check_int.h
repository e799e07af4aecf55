/* Between the files of the log checker. */
#ifndef STAVE_RULES_CHECK_INT_H
#define STAVE_RULES_CHECK_INT_H

#include <cjson/cJSON.h>
#include <stdint.h>

#include "base/str.h"
#include "rules/check.h"
#include "rules/rule_eval.h"

/* A finding that is told later, or never: when a sheet that may still open says something else of
 * its key, or when its own sheet never opens. */
struct held_finding {
    enum rule_severity severity;
    const char *name;
    size_t line, column;
    char *found, *expected;
    int stays; /* a later sheet does not take it back */
};

enum { MAX_HELD = 4 };
struct row_state {
    struct held_finding held[MAX_HELD];
    int n_held;
    int reached;      /* one record passed all of `reaches` */
    int other_seen;   /* RULE_ONE_IF: the other key had the value */
    int contradicted; /* it has been said that copies differ */
    int *tensors;     /* how often each name of the list came */
    size_t next_tensor;
    int strange_tensor; /* one that the list lacks */
};

struct name_state {
    size_t n, first_line;
    cJSON *first; /* value; NULL before, and where nobody asks */
    uint64_t first_text;
};

enum sheet_state { SHEET_POSSIBLE, SHEET_CHOSEN, SHEET_DEAD };

/* Round 0.6: what of epochs, evaluations and blocks is going on. NAN: not a number. */
struct order_state {
    int in_epoch, in_eval, in_block, accuracy_printed;
    double last_epoch, last_eval, block_first;
};

struct gather_group {
    cJSON *by, *value; /* value: an object that grows */
    size_t line, column;
};

/* What the official checker does not look at, see check_own.c. */
enum interval { IN_INIT, IN_RUN, IN_EPOCH, IN_BLOCK, IN_EVAL, N_INTERVALS };
struct own_state {
    double last_ms, start_ms[N_INTERVALS], run_stop_ms, run_final_ms;
    int started[N_INTERVALS];
    size_t start_line[N_INTERVALS];
    size_t n_backwards, n_prefixes, first_prefix, n_seeds;
    double last_eval_epoch;
    int n_evals, off_schedule;
};

struct rule_check {
    const struct ruleset *r;
    struct rule_visitor v;
    struct name_state *names; /* by number */
    struct row_state *rows;   /* by number */
    enum sheet_state *sheets;
    struct gather_group *groups;
    size_t n_groups;
    int gathered; /* the number of the key that sheets gather; -1: none do */
    size_t n_records;
    double first_init_start_ms, init_limit_ms;
    struct order_state order;
    struct own_state own;
    cJSON *batch; /* the last global_batch_size */
    const struct rule_benchmark *benchmark;
    struct rule_verdict verdict;
    struct str found, expected, rule; /* scratch */
    int rc;                           /* of the visitor */
};

/* ---- findings (check_finding.c) ---- */

/* Tells it now. */
void check_tell(struct rule_check *c, const struct rule_finding *f);
/* One about a key of a sheet: told now, held, or forgotten as the sheets stand. */
void check_find(struct rule_check *c, const struct rule_key *key, const struct held_finding *f);
/* Tells or forgets what was held, after sheets have been chosen. */
void check_release_held(struct rule_check *c);
void check_forget_held(struct row_state *row);
/* "4.0.0 closed resnet"; until the next call. */
const char *check_rule_of(struct rule_check *c, const struct rule_key *key);
/* The value of a record as it is written, not too long; until the next call. */
const char *check_value(struct rule_check *c, const struct mllog_record *r);

/* ---- sheets (check_sheets.c) ---- */

int check_is_open(const struct rule_check *c, int sheet);
int check_is_dead(const struct rule_check *c, int sheet);
/* Another sheet that is open says what holds for this key. */
int check_is_overridden(const struct rule_check *c, const struct rule_key *key);
/* The key's value chooses a sheet; where only its first record counts all others die. 0: there is
 * no such sheet. */
int check_choose(struct rule_check *c, const struct rule_key *key, const cJSON *value);

/* ---- the parts of a record's check ---- */

/* Round 0.6 (check_order.c): RULE_IN_ORDER, and what the record changes. */
enum rule_outcome check_order(struct rule_check *c, const char *key, const struct rule_seen *seen);
void check_order_advance(struct rule_check *c, const char *key, const cJSON *metadata);
/* check_gather.c */
void check_gather(struct rule_check *c, const struct mllog_record *r);
int check_gathered(struct rule_check *c, size_t i, const struct rule_sheet *s,
                   struct mllog_record *out);
/* check_row.c: one record against one key of one sheet. */
void check_row(struct rule_check *c, const struct rule_key *key, const struct mllog_record *r);
/* check_finish.c */
void check_missing(struct rule_check *c);
/* check_own.c */
void check_own_record(struct rule_check *c, const struct mllog_record *r);
void check_own_trouble(struct rule_check *c, const struct mllog_trouble *t);
void check_own_finish(struct rule_check *c);

size_t check_count(const struct rule_check *c, const char *key);

#endif
