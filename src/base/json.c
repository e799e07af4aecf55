#include "base/json.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/err.h"
#include "base/file.h"
#include "base/str.h"

enum { MOST_BYTES = 1 << 20 };

static void use_xmalloc(void)
{
    cJSON_Hooks hooks = {.malloc_fn = xmalloc, .free_fn = free};

    cJSON_InitHooks(&hooks);
}

cJSON *json_parse(const char *text, size_t n, const char **end)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, use_xmalloc);
    return cJSON_ParseWithLengthOpts(text, n + 1, end, 0);
}

int json_read_object(const char *path, cJSON **doc)
{
    char *text;
    size_t n;

    *doc = NULL;
    TRY(file_read(path, MOST_BYTES, &text, &n));
    *doc = json_parse(text, n, NULL);
    free(text);
    if (cJSON_IsObject(*doc))
        return 0;
    cJSON_Delete(*doc);
    *doc = NULL;
    return err(E_DATA, "%s holds no JSON object", path);
}

void json_add_key(struct str *out, const char *key)
{
    size_t n = out->len;

    while (n > 0 && (out->s[n - 1] == ' ' || out->s[n - 1] == '\n'))
        n--;
    if (n > 0 && out->s[n - 1] != '{' && out->s[n - 1] != '[' && out->s[n - 1] != ',')
        str_add(out, ", ");
    if (key)
        str_printf(out, "\"%s\": ", key);
}

void json_add_text(struct str *out, const char *key, const char *text)
{
    if (!text || !*text)
        return;
    json_add_key(out, key);
    str_add_json(out, text);
}

void json_add_real(struct str *out, const char *key, double x)
{
    if (!isfinite(x))
        return;
    json_add_key(out, key);
    str_add_real(out, x);
}

void json_add_flag(struct str *out, const char *key, int yes)
{
    json_add_key(out, key);
    str_add(out, yes ? "true" : "false");
}

static void add_items(struct str *out, const cJSON *list)
{
    const cJSON *v;

    str_add(out, cJSON_IsArray(list) ? "[" : "{");
    cJSON_ArrayForEach(v, list)
    {
        str_add(out, v == list->child ? "" : ", ");
        if (cJSON_IsObject(list)) {
            str_add_json(out, v->string ? v->string : "");
            str_add(out, ": ");
        }
        json_add_value(out, v);
    }
    str_add(out, cJSON_IsArray(list) ? "]" : "}");
}

void json_add_value(struct str *out, const cJSON *v)
{
    if (cJSON_IsNumber(v) && isfinite(v->valuedouble))
        str_add_real(out, v->valuedouble);
    else if (cJSON_IsString(v))
        str_add_json(out, v->valuestring);
    else if (cJSON_IsArray(v) || cJSON_IsObject(v))
        add_items(out, v);
    else
        str_add(out, cJSON_IsTrue(v) ? "true" : cJSON_IsFalse(v) ? "false" : "null");
}
