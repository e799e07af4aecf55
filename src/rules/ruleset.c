#include "rules/ruleset.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/embedded.h"
#include "base/err.h"
#include "base/str.h"
#include "rules/ruleset_parse.h"

static const char *const versions[] = {"0.5.0", "0.6.0", "0.7.0", "1.0.0", "1.1.0", "2.0.0",
                                       "2.1.0", "3.0.0", "3.1.0", "4.0.0", NULL};

const char *const *ruleset_versions(void)
{
    return versions;
}

static const char *carried_text(const char *version)
{
    char name[64];
    const struct embedded *e;

    snprintf(name, sizeof(name), "%s.rules", version);
    e = embedded_find(name);
    return e ? e->text : NULL;
}

/* The files are our own, so a mistake in one is ours. */
static struct ruleset *load(const char *version)
{
    const char *const text = carried_text(version);
    struct ruleset *r = NULL;
    char name[64];

    snprintf(name, sizeof(name), "%s.rules", version);
    if (!text)
        BUG("the program carries no %s", name);
    if (ruleset_parse(name, text, carried_text, &r) < 0)
        BUG("%s", err_reason());
    return r;
}

const struct ruleset *ruleset_find(const char *version)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static struct ruleset *loaded[COUNT_OF(versions)];
    const struct ruleset *found = NULL;

    for (size_t i = 0; versions[i] && !found; i++) {
        if (strcmp(versions[i], version) != 0)
            continue;
        pthread_mutex_lock(&lock);
        if (!loaded[i])
            loaded[i] = load(version);
        found = loaded[i];
        pthread_mutex_unlock(&lock);
    }
    return found;
}

const struct ruleset *ruleset_of_lines(enum mllog_format format)
{
    return ruleset_find(format == MLLOG_FORMAT_05   ? "0.5.0"
                        : format == MLLOG_FORMAT_06 ? "0.6.0"
                                                    : RULESET_PINNED);
}

int ruleset_round(const char *version)
{
    int major = 0, minor = 0;

    sscanf(version, "%d.%d", &major, &minor);
    return 10 * major + minor;
}

int ruleset_unknown(const char *version)
{
    struct str all = STR_INIT;
    int rc;

    str_add(&all, "");
    for (size_t i = 0; versions[i]; i++)
        str_printf(&all, "%s%s", i ? ", " : "", versions[i]);
    rc = err(E_USAGE, "there is no ruleset \"%s\"; there are %s", version, all.s);
    str_release(&all);
    return rc;
}

const struct rule_benchmark *ruleset_benchmark(const struct ruleset *r, const char *name)
{
    for (size_t i = 0; i < r->n_benchmarks; i++)
        if (strcmp(r->benchmarks[i].name, name) == 0)
            return &r->benchmarks[i];
    return NULL;
}

const char *rules_division(size_t n_deviations)
{
    return n_deviations ? "open" : "closed";
}
