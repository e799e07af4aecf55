#include <string.h>

#include "base/err.h"
#include "rules/check_int.h"

/* A log being read. The check is made when the ruleset is known: at once, or with the first record
 * that shows the round. */
struct reading {
    const struct ruleset *r;
    const struct rule_visitor *v;
    struct rule_check *check;
    int guessed;
};

static const struct ruleset *guess(enum mllog_format format)
{
    const char *const version = format == MLLOG_FORMAT_05   ? "0.5.0"
                                : format == MLLOG_FORMAT_06 ? "0.6.0"
                                                            : RULESET_PINNED;
    return ruleset_find(version);
}

static void begin(struct reading *reading, enum mllog_format format)
{
    if (reading->check)
        return;
    if (!reading->r) {
        reading->r = guess(format);
        reading->guessed = reading->r->format != MLLOG_FORMAT_JSON;
    }
    reading->check = rule_check_new(reading->r, reading->v);
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

    if (t->kind <= MLLOG_RETURN && t->kind != MLLOG_PREFIX)
        return 0;
    if (!reading->check && t->format == MLLOG_FORMAT_ANY && !reading->r)
        return 0; /* before the first record, which nothing is known of */
    begin(reading, t->format);
    return rule_check_trouble(reading->check, t);
}

static int end(struct reading *reading, int rc, struct rule_verdict *verdict)
{
    begin(reading, MLLOG_FORMAT_JSON);
    if (rc == 0)
        rc = rule_check_finish(reading->check, verdict);
    verdict->guessed = reading->guessed;
    rule_check_free(reading->check);
    return rc;
}

static struct mllog_visitor visitor_of(struct reading *reading)
{
    return (struct mllog_visitor){on_record, on_trouble, reading};
}

static enum mllog_format format_of(const struct reading *reading)
{
    return reading->r ? reading->r->format : MLLOG_FORMAT_FIRST;
}

int rules_check_file(const char *path, const struct ruleset *r, const struct rule_visitor *v,
                     struct rule_verdict *verdict)
{
    struct reading reading = {.r = r, .v = v};
    const struct mllog_visitor visitor = visitor_of(&reading);

    *verdict = (struct rule_verdict){.version = RULESET_PINNED};
    return end(&reading, mllog_read_file_as(format_of(&reading), path, &visitor), verdict);
}

int rules_check_memory(const char *bytes, size_t n, const struct ruleset *r,
                       const struct rule_visitor *v, struct rule_verdict *verdict)
{
    struct reading reading = {.r = r, .v = v};
    const struct mllog_visitor visitor = visitor_of(&reading);

    *verdict = (struct rule_verdict){.version = RULESET_PINNED};
    return end(&reading, mllog_read_memory_as(format_of(&reading), bytes, n, &visitor), verdict);
}
