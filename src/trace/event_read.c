#include "trace/event_read.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"

enum { MOST_METADATA = 64 };

static int find_key(const char *name, enum trace_key *key)
{
    for (int k = 0; name && k < N_TRACE_KEYS; k++)
        if (strcmp(trace_key_name((enum trace_key)k), name) == 0) {
            *key = (enum trace_key)k;
            return 1;
        }
    return 0;
}

static int find_type(const char *name, enum trace_type *type)
{
    *type = !name                        ? TRACE_TYPE_POINT
            : strcmp(name, "start") == 0 ? TRACE_TYPE_START
            : strcmp(name, "end") == 0   ? TRACE_TYPE_END
                                         : TRACE_TYPE_POINT;
    return name != NULL;
}

static int find_time(const cJSON *doc, const char *name, int64_t *out)
{
    const cJSON *const v = cJSON_GetObjectItemCaseSensitive(doc, name);

    if (!cJSON_IsNumber(v) || !(v->valuedouble >= 0 && v->valuedouble < 0x1p53))
        return 0;
    *out = (int64_t)v->valuedouble;
    return 1;
}

/* Numbers that JSON has not are texts there. */
static struct trace_value value_of(const cJSON *v)
{
    static const struct {
        const char *name;
        double value;
    } odd[] = {{"NaN", NAN}, {"Infinity", INFINITY}, {"-Infinity", -INFINITY}};

    if (cJSON_IsNumber(v))
        return trace_real(v->valuedouble);
    if (cJSON_IsBool(v))
        return trace_bool(cJSON_IsTrue(v));
    if (!cJSON_IsString(v))
        return trace_none();
    for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++)
        if (strcmp(v->valuestring, odd[i].name) == 0)
            return trace_real(odd[i].value);
    return trace_string(v->valuestring);
}

static void tell_event(const cJSON *doc, struct trace_event *e,
                       void (*tell)(void *context, const struct trace_event *e), void *context)
{
    struct trace_pair meta[MOST_METADATA + 1] = {0};
    size_t n = 0;

    for (const cJSON *v = doc->child; v && n < MOST_METADATA; v = v->next) {
        const struct trace_value value = value_of(v);
        if (strcmp(v->string, "value") == 0)
            e->value = value;
        else if (value.kind != TRACE_NONE)
            meta[n++] = (struct trace_pair){v->string, value};
    }
    e->meta = meta;
    tell(context, e);
}

int event_read(const char *line, size_t n, void (*tell)(void *context, const struct trace_event *e),
               void *context)
{
    cJSON *const doc = json_parse(line, n, NULL);
    struct trace_event e = {.file = "", .value = trace_none()};
    const int is_event =
        cJSON_IsObject(doc) && find_time(doc, "time_ms", &e.time_ms) &&
        find_time(doc, "elapsed_ns", &e.elapsed_ns) &&
        find_type(cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(doc, "type")), &e.type) &&
        find_key(cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(doc, "key")), &e.key);

    if (is_event)
        tell_event(doc, &e, tell, context);
    cJSON_Delete(doc);
    return is_event;
}

void event_read_file(const char *path, long *at,
                     void (*tell)(void *context, const struct trace_event *e), void *context)
{
    FILE *const f = fopen(path, "re");
    char *line = NULL;
    size_t room = 0;
    ssize_t n;

    if (!f)
        return;
    if (fseek(f, *at, SEEK_SET) == 0)
        while ((n = getline(&line, &room, f)) > 0 && line[n - 1] == '\n') {
            *at += n;
            line[n - 1] = '\0';
            event_read(line, (size_t)n - 1, tell, context);
        }
    free(line);
    fclose(f);
}
