#include "rules/system_desc.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/file.h"
#include "base/json.h"
#include "rules/ruleset.h"

enum { MAX_BYTES = 1 << 20 };

#define SYSTEM_FIELD(name, ask) {name, ask},
const struct system_field system_fields[SYSTEM_FIELDS] = {
#include "rules/system_fields.h"
};
#undef SYSTEM_FIELD

/* Of both vocabularies; the second came with round 4.0. */
static const struct {
    const char *log, *early, *late;
} statuses[] = {
    {"onprem", "onprem", "Available on-premise"},
    {"cloud", "cloud", "Available cloud"},
    {"preview", "preview", "Preview"},
    {"research", "research", "Research, Development, or Internal (RDI)"},
};

int system_field_index(const char *name)
{
    for (int i = 0; i < SYSTEM_FIELDS; i++)
        if (strcmp(system_fields[i].name, name) == 0)
            return i;
    return -1;
}

static int known_index(const char *name)
{
    const int i = system_field_index(name);

    if (i < 0)
        BUG("a system description has no field %s", name);
    return i;
}

const char *system_desc_get(const struct system_desc *d, const char *name)
{
    const char *const v = d->values[known_index(name)];

    return v ? v : "";
}

int system_is_unfilled(const char *value)
{
    return strncmp(value, SYSTEM_FILL_IN, strlen(SYSTEM_FILL_IN)) == 0;
}

void system_desc_set(struct system_desc *d, const char *name, const char *value)
{
    char **const at = &d->values[known_index(name)];

    free(*at);
    *at = value ? xstrdup(value) : NULL;
}

void system_desc_release(struct system_desc *d)
{
    for (int i = 0; i < SYSTEM_FIELDS; i++)
        free(d->values[i]);
    *d = (struct system_desc){0};
}

const char *system_status_of(const char *status)
{
    for (size_t i = 0; i < COUNT_OF(statuses); i++)
        if (strcmp(status, statuses[i].early) == 0 || strcmp(status, statuses[i].late) == 0)
            return statuses[i].log;
    return NULL;
}

/* An object, and nothing behind it. */
static int read_object(const char *path, cJSON **doc)
{
    const char *end;
    char *text;
    size_t n;

    *doc = NULL;
    TRY(file_read(path, MAX_BYTES, &text, &n));
    if (strlen(text) == n && strncmp(text, "\xef\xbb\xbf", 3) != 0)
        *doc = json_parse(text, n, &end);
    if (*doc && (!cJSON_IsObject(*doc) || end[strspn(end, " \t\r\n")] != '\0')) {
        cJSON_Delete(*doc);
        *doc = NULL;
    }
    free(text);
    return *doc ? 0 : err(E_DATA, "%s is not one JSON object", path);
}

int system_desc_read(struct system_desc *d, const char *path)
{
    cJSON *doc;

    *d = (struct system_desc){0};
    TRY(read_object(path, &doc));
    for (int i = 0; i < SYSTEM_FIELDS; i++) {
        const cJSON *const v = mllog_member(doc, system_fields[i].name);
        char *text;

        if (cJSON_IsString(v)) {
            d->values[i] = xstrdup(v->valuestring);
        } else if (v && (text = cJSON_PrintUnformatted(v))) {
            d->values[i] = xstrdup(text);
            cJSON_free(text);
        }
    }
    cJSON_Delete(doc);
    return 0;
}

void system_desc_json(const struct system_desc *d, struct str *out)
{
    str_add(out, "{");
    for (int i = 0; i < SYSTEM_FIELDS; i++) {
        const struct system_field *const f = &system_fields[i];
        struct str ask = STR_INIT;

        str_printf(&ask, "%s%s", *f->ask ? SYSTEM_FILL_IN : "", f->ask);
        str_printf(out, "%s\n  \"%s\": ", i ? "," : "", f->name);
        str_add_json(out, d->values[i] ? d->values[i] : ask.s);
        str_release(&ask);
    }
    str_add(out, "\n}\n");
}

/* Fields that the checker joins into a line of a table; with anything but a string it ends in a
 * traceback. */
static int is_joined(const char *name)
{
    static const char *const joined[] = {
        "submitter",
        "system_name",
        "host_processor_model_name",
        "host_processor_core_count",
        "accelerator_model_name",
        "accelerators_per_node",
        "framework",
    };

    for (size_t i = 0; i < COUNT_OF(joined); i++)
        if (strcmp(name, joined[i]) == 0)
            return 1;
    return 0;
}

/* Of the two vocabularies of the status. */
static int has_long_names(const char *ruleset)
{
    return ruleset_round(ruleset) >= 40;
}

/* From 4.0 on the checker knows a status when it sees one, and this is none. */
static enum finding_level unfilled_level(const char *name, const char *ruleset)
{
    return strcmp(name, "status") == 0 && has_long_names(ruleset) ? FINDING_ERROR : FINDING_STRICT;
}

static void check_field(const struct system_field *field, const cJSON *v, const char *ruleset,
                        const char *where, struct findings *f)
{
    if (!v)
        finding_add(f, FINDING_ERROR, where, "the field %s is missing", field->name);
    else if (!cJSON_IsString(v) && is_joined(field->name))
        finding_add(f, FINDING_ERROR, where,
                    "%s is not a string, and the official checker ends in a traceback there; put "
                    "its value between quotes",
                    field->name);
    else if (!cJSON_IsString(v))
        finding_add(f, FINDING_STRICT, where,
                    "%s is not a string; the rules want strings in every field", field->name);
    else if (system_is_unfilled(v->valuestring))
        finding_add(f, unfilled_level(field->name, ruleset), where, "%s is not filled in yet: %s",
                    field->name, v->valuestring + strlen(SYSTEM_FILL_IN));
}

/* From 4.0 on one of the long names; before, anything. */
static void check_status(const cJSON *v, const char *ruleset, const char *where, struct findings *f)
{
    const char *const status = cJSON_IsString(v) ? v->valuestring : NULL;
    const int late = has_long_names(ruleset);

    if (!v || (status && system_is_unfilled(status)))
        return;
    for (size_t i = 0; status && i < COUNT_OF(statuses); i++)
        if (strcmp(status, late ? statuses[i].late : statuses[i].early) == 0)
            return;
    finding_add(f, late ? FINDING_ERROR : FINDING_STRICT, where,
                "status is \"%s\"; ruleset %s knows %s", status ? status : "no string", ruleset,
                late ? "Available on-premise, Available cloud, Preview, and Research, Development, "
                       "or Internal (RDI)"
                     : "onprem, cloud, preview and research");
}

void system_desc_check(const char *path, const char *ruleset, struct findings *f)
{
    cJSON *doc;

    if (read_object(path, &doc) < 0) {
        finding_add(f, FINDING_ERROR, "", "%s", err_reason());
        return;
    }
    for (int i = 0; i < SYSTEM_FIELDS; i++)
        check_field(&system_fields[i], mllog_member(doc, system_fields[i].name), ruleset, path, f);
    check_status(mllog_member(doc, "status"), ruleset, path, f);
    cJSON_Delete(doc);
}
