#include "rules/result_read.h"

#include <stdlib.h>

#include "base/err.h"
#include "rules/check.h"
#include "rules/ruleset.h"

static int on_finding(void *context, const struct rule_finding *f)
{
    struct result_log *const l = context;
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

int result_log_read(struct result_log *l, const char *path, const char *version)
{
    const struct ruleset *const r = version ? ruleset_find(version) : NULL;
    const struct rule_visitor v = {on_finding, l};
    struct rule_verdict verdict;
    int rc;

    *l = (struct result_log){0};
    rc = rules_check_log(path, r, &v, &l->log, &verdict);
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
