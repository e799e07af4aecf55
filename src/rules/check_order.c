/* Round 0.6: epochs, evaluations and blocks nest and count on. */
#include <math.h>
#include <string.h>

#include "base/err.h"
#include "rules/check_int.h"

/* A number of the metadata; NAN, which no comparison holds for, when it is none. */
static double meta_number(const cJSON *metadata, const char *name)
{
    double x;

    return rule_number(mllog_member(metadata, name), &x) ? x : NAN;
}

static int running(const struct rule_check *c)
{
    return check_count(c, "run_start") > 0 && check_count(c, "run_stop") == 0;
}

static int epoch_start(const struct rule_check *c, const cJSON *meta)
{
    return running(c) && !c->order.in_epoch &&
           meta_number(meta, "epoch_num") == c->order.last_epoch + 1;
}

static int epoch_stop(const struct rule_check *c, const cJSON *meta)
{
    return c->order.in_epoch && meta_number(meta, "epoch_num") == c->order.last_epoch;
}

static int eval_start(const struct rule_check *c, const cJSON *meta)
{
    const double epoch = meta_number(meta, "epoch_num");

    return running(c) && !c->order.in_eval && epoch > c->order.last_eval &&
           c->order.accuracy_printed && epoch <= c->order.last_epoch;
}

static int eval_stop(const struct rule_check *c, const cJSON *meta)
{
    return c->order.in_eval && meta_number(meta, "epoch_num") == c->order.last_eval;
}

static int eval_accuracy(const struct rule_check *c, const cJSON *meta)
{
    return meta_number(meta, "epoch_num") == c->order.last_eval;
}

static int block_start(const struct rule_check *c, const cJSON *meta)
{
    const double first = meta_number(meta, "first_epoch_num");
    const double next = c->order.in_epoch ? c->order.last_eval : c->order.last_epoch + 1;

    return running(c) && !c->order.in_block && first == next &&
           meta_number(meta, "epoch_count") > 0;
}

static int block_stop(const struct rule_check *c, const cJSON *meta)
{
    return c->order.in_block && c->order.accuracy_printed &&
           meta_number(meta, "first_epoch_num") == c->order.block_first;
}

static int run_stop(const struct rule_check *c, const cJSON *meta)
{
    (void)meta;
    return !c->order.in_eval;
}

enum rule_outcome check_order(struct rule_check *c, const char *key, const struct rule_seen *seen)
{
    static const struct {
        const char *key;
        int (*holds)(const struct rule_check *c, const cJSON *meta);
    } rows[] = {
        {"epoch_start", epoch_start},     {"epoch_stop", epoch_stop},
        {"eval_start", eval_start},       {"eval_stop", eval_stop},
        {"eval_accuracy", eval_accuracy}, {"block_start", block_start},
        {"block_stop", block_stop},       {"run_stop", run_stop},
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++)
        if (strcmp(rows[i].key, key) == 0)
            return rows[i].holds(c, seen->metadata) ? RULE_PASSES : RULE_FAILS;
    return RULE_RAISES;
}

void check_order_advance(struct rule_check *c, const char *key, const cJSON *metadata)
{
    struct order_state *const o = &c->order;

    if (strcmp(key, "epoch_start") == 0) {
        o->in_epoch = 1;
        o->last_epoch = meta_number(metadata, "epoch_num");
    } else if (strcmp(key, "epoch_stop") == 0)
        o->in_epoch = 0;
    else if (strcmp(key, "eval_start") == 0) {
        o->in_eval = 1;
        o->accuracy_printed = 0;
        o->last_eval = meta_number(metadata, "epoch_num");
    } else if (strcmp(key, "eval_stop") == 0)
        o->in_eval = 0;
    else if (strcmp(key, "eval_accuracy") == 0)
        o->accuracy_printed = 1;
    else if (strcmp(key, "block_start") == 0) {
        o->in_block = o->accuracy_printed = 1;
        o->block_first = meta_number(metadata, "first_epoch_num");
    } else if (strcmp(key, "block_stop") == 0)
        o->in_block = 0;
}
