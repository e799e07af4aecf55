#include "report/doc.h"

#include <math.h>

const cJSON *doc_get(const cJSON *object, const char *name)
{
    return cJSON_IsObject(object) ? cJSON_GetObjectItemCaseSensitive(object, name) : NULL;
}

const char *doc_text(const cJSON *object, const char *name)
{
    const cJSON *const v = doc_get(object, name);

    return cJSON_IsString(v) ? v->valuestring : NULL;
}

double doc_number(const cJSON *object, const char *name)
{
    const cJSON *const v = doc_get(object, name);

    return cJSON_IsNumber(v) && isfinite(v->valuedouble) ? v->valuedouble : NAN;
}
