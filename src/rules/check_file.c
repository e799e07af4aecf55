#include <stdio.h>

#include "rules/check_int.h"
#include "rules/log.h"

/* A log being read. The check is made when the ruleset is known: at once, or with the first record
 * that shows the round. */
struct reading {
    const struct ruleset *r;
    const struct rule_visitor *v;
    struct rule_check *check;
    int guessed;
    /* The first place before any record, held until the ruleset is known; about is a copy. */
    struct mllog_trouble early;
    char about[160];
};

/* Returns 0 or a visitor's code. */
static int begin(struct reading *reading, enum mllog_format format)
{
    if (reading->check)
        return 0;
    if (!reading->r) {
        reading->r = ruleset_of_lines(format);
        reading->guessed = reading->r->format != MLLOG_FORMAT_JSON;
    }
    reading->check = rule_check_new(reading->r, reading->v);
    return reading->early.line ? rule_check_trouble(reading->check, &reading->early) : 0;
}

static void hold(struct reading *reading, const struct mllog_trouble *t)
{
    if (reading->early.line)
        return;
    reading->early = *t;
    snprintf(reading->about, sizeof(reading->about), "%s", t->about);
    reading->early.about = reading->about;
}

static int on_record(void *context, const struct mllog_record *r)
{
    struct reading *const reading = context;
    const int rc = begin(reading, r->format);

    return rc ? rc : rule_check_record(reading->check, r);
}

static int on_trouble(void *context, const struct mllog_trouble *t)
{
    struct reading *const reading = context;
    int rc;

    if (t->kind <= MLLOG_RETURN && t->kind != MLLOG_PREFIX)
        return 0;
    if (!reading->check && t->format == MLLOG_FORMAT_ANY && !reading->r) {
        hold(reading, t);
        return 0;
    }
    rc = begin(reading, t->format);
    return rc ? rc : rule_check_trouble(reading->check, t);
}

static int end(struct reading *reading, int rc, struct rule_verdict *verdict)
{
    const int started = begin(reading, MLLOG_FORMAT_JSON);

    if (rc == 0)
        rc = started;
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

int rules_check_log(const char *path, const struct ruleset *r, const struct rule_visitor *v,
                    struct log *l, struct rule_verdict *verdict)
{
    struct reading reading = {.r = r, .v = v};
    const struct mllog_visitor visitor = visitor_of(&reading);
    int rc;

    *verdict = (struct rule_verdict){.version = RULESET_PINNED};
    rc = end(&reading, log_read_as(l, format_of(&reading), path, &visitor), verdict);
    if (rc != 0)
        log_release(l);
    return rc;
}

int rules_check_memory(const char *bytes, size_t n, const struct ruleset *r,
                       const struct rule_visitor *v, struct rule_verdict *verdict)
{
    struct reading reading = {.r = r, .v = v};
    const struct mllog_visitor visitor = visitor_of(&reading);

    *verdict = (struct rule_verdict){.version = RULESET_PINNED};
    return end(&reading, mllog_read_memory_as(format_of(&reading), bytes, n, &visitor), verdict);
}
