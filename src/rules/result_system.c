/* The files beside a result's logs: the system's description and scaling.json. */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/json.h"
#include "rules/result.h"

/* One that can not be taken is a note. */
static cJSON *read_object(struct result *r, const char *path)
{
    cJSON *doc;

    if (json_read_object(path, &doc) < 0)
        str_printf(&r->notes, "%s; it is left out.\n", err_reason());
    return doc;
}

static char *text_of(const cJSON *doc, const char *key)
{
    const char *const s = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(doc, key));

    return s && *s ? xstrdup(s) : NULL;
}

/* Counts are strings by the rules and numbers in some published files. */
static double count_of(const cJSON *doc, const char *key)
{
    const cJSON *const item = cJSON_GetObjectItemCaseSensitive(doc, key);
    const char *const s = cJSON_GetStringValue(item);
    char *end;
    double x;

    if (cJSON_IsNumber(item))
        return item->valuedouble;
    if (!s || !isdigit((unsigned char)*s))
        return NAN;
    x = strtod(s, &end);
    return *end == '\0' ? x : NAN;
}

int result_check_system(const char *path)
{
    cJSON *doc;
    const int rc = json_read_object(path, &doc);

    cJSON_Delete(doc);
    return rc;
}

void result_read_system(struct result *r, const char *path)
{
    cJSON *const doc = read_object(r, path);

    if (!doc)
        return;
    free(r->system.name);
    free(r->system.submitter);
    free(r->system.division);
    free(r->system.accelerator);
    r->system = (struct result_system){
        .name = text_of(doc, "system_name"),
        .submitter = text_of(doc, "submitter"),
        .division = text_of(doc, "division"),
        .accelerator = text_of(doc, "accelerator_model_name"),
        .nodes = count_of(doc, "number_of_nodes"),
        .per_node = count_of(doc, "accelerators_per_node"),
    };
    cJSON_Delete(doc);
}

void result_read_entry(struct result *r, const char *path)
{
    cJSON *const doc = read_object(r, path);
    const cJSON *const list = cJSON_GetObjectItemCaseSensitive(doc, "nodes"), *node;
    double all = 0;

    if (!doc)
        return;
    cJSON_ArrayForEach(node, list)
    {
        all += count_of(node, "num_nodes") * count_of(node, "num_accelerators");
        if (!r->system.accelerator)
            r->system.accelerator = text_of(node, "accelerator");
    }
    r->system.nodes = 1;
    r->system.per_node = cJSON_GetArraySize(list) ? all : NAN;
    r->system.division = text_of(doc, "division");
    cJSON_Delete(doc);
}

void result_read_scaling(struct result *r, const char *path)
{
    cJSON *const doc = read_object(r, path);

    if (!doc)
        return;
    r->scaling_file = count_of(doc, "scaling_factor");
    if (!(r->scaling_file > 0)) {
        str_printf(&r->notes, "%s holds no scaling_factor above 0; it is left out.\n", path);
        r->scaling_file = NAN;
    }
    cJSON_Delete(doc);
}
