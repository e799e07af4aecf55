#include "rules/result_read.h"

#include <stdlib.h>

#include "base/err.h"
#include "rules/check.h"
#include "rules/ruleset.h"

struct reading {
    const struct ruleset *r; /* NULL: by the first record */
    struct rule_check *check;
    struct result_log *into;
};

static int on_finding(void *context, const struct rule_finding *f)
{
    struct result_log *const l = ((struct reading *)context)->into;
    char **const place = f->severity == RULE_ERROR    ? &l->refused
                         : f->severity == RULE_STRICT ? &l->strict
                                                      : NULL;
    char *where;

    if (!place || *place)
        return 0;
    where = f->line ? xasprintf("line %zu, ", f->line) : xstrdup("");
    *place = xasprintf("%s%s%s%s%s%s", where, f->key, *f->key ? ": " : "", f->found,
                       *f->expected ? "; expected " : "", f->expected);
    free(where);
    return 0;
}

static void begin(struct reading *reading, enum mllog_format format)
{
    const struct rule_visitor v = {on_finding, reading};

    if (reading->check)
        return;
    if (!reading->r)
        reading->r = ruleset_find(format == MLLOG_FORMAT_05   ? "0.5.0"
                                  : format == MLLOG_FORMAT_06 ? "0.6.0"
                                                              : RULESET_PINNED);
    reading->check = rule_check_new(reading->r, &v);
}

static int on_record(void *context, const struct mllog_record *r)
{
    struct reading *const reading = context;

    begin(reading, r->format);
    return rule_check_record(reading->check, r);
}

static int on_trouble(void *context, const struct mllog_trouble *t)
{
    struct reading *const reading = context;

    if (t->kind <= MLLOG_LAST_NOTE || (!reading->r && t->format == MLLOG_FORMAT_ANY))
        return 0;
    begin(reading, t->format);
    return rule_check_trouble(reading->check, t);
}

int result_log_read(struct result_log *l, const char *path, const char *version)
{
    struct reading reading = {.r = version ? ruleset_find(version) : NULL, .into = l};
    struct rule_verdict verdict;
    const struct mllog_visitor also = {on_record, on_trouble, &reading};
    const enum mllog_format format = reading.r ? reading.r->format : MLLOG_FORMAT_FIRST;
    int rc;

    *l = (struct result_log){0};
    rc = log_read_as(&l->log, format, path, &also);
    begin(&reading, MLLOG_FORMAT_JSON);
    if (rc == 0)
        rc = rule_check_finish(reading.check, &verdict);
    rule_check_free(reading.check);
    if (rc != 0)
        result_log_release(l);
    return rc;
}

void result_log_release(struct result_log *l)
{
    log_release(&l->log);
    free(l->refused);
    free(l->strict);
    *l = (struct result_log){0};
}
