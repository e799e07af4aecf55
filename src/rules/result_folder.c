#include "rules/result_folder.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/json.h"
#include "rules/ruleset.h"

/* NULL when there is none that can be understood. */
static cJSON *read_beside(const char *log_path, const char *name)
{
    const char *const slash = strrchr(log_path, '/');
    char *const path = xasprintf("%.*s%s", slash ? (int)(slash + 1 - log_path) : 0, log_path, name);
    cJSON *doc;

    json_read_object(path, &doc);
    free(path);
    return doc;
}

static const cJSON *member(const cJSON *object, const char *key)
{
    return cJSON_GetObjectItemCaseSensitive(object, key);
}

static const char *ruleset_in(const cJSON *run)
{
    const char *const name = cJSON_GetStringValue(member(run, "ruleset"));
    const struct ruleset *const r = name ? ruleset_find(name) : NULL;

    return r ? r->version : NULL;
}

static const char *objection_in(const cJSON *run)
{
    const cJSON *const training = member(member(run, "options"), "training");
    const cJSON *const target = member(training, "target"), *const steps =
                                                                member(training, "steps");

    if (cJSON_IsNumber(steps) && steps->valuedouble > 0)
        return "it was made for a number of steps (--steps), not to a target";
    if (cJSON_IsNumber(target) && target->valuedouble == 0)
        return "it was made without a target (--target 0)";
    return NULL;
}

struct result_folder result_folder_read(const char *log_path)
{
    const char *const slash = strrchr(log_path, '/');
    struct result_folder f = {0};
    cJSON *run, *result;

    if (strcmp(slash ? slash + 1 : log_path, "mlperf.log") != 0)
        return f;
    run = read_beside(log_path, "run.json");
    result = read_beside(log_path, "result.json");
    f.ruleset = ruleset_in(run);
    /* a run that was resumed has a log of its last start only */
    f.why = cJSON_IsTrue(member(result, "resumed"))
                ? "it was resumed: the log covers its last start only"
                : objection_in(run);
    cJSON_Delete(run);
    cJSON_Delete(result);
    return f;
}
