/* study.json, read: the plan, and which of its runs have ended how. Figures are read anew from the
 * runs' folders. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/file.h"
#include "base/json.h"
#include "cli/study.h"

static const char *text_of(const cJSON *object, const char *name)
{
    return cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, name));
}

/* A whole number from least to most. */
static int read_count(const cJSON *object, const char *name, double least, double most, double *out)
{
    const cJSON *const v = cJSON_GetObjectItemCaseSensitive(object, name);

    if (!cJSON_IsNumber(v) || !(v->valuedouble >= least && v->valuedouble <= most) ||
        v->valuedouble != floor(v->valuedouble))
        return err(E_DATA, "it has no number %s from %g to %g", name, least, most);
    *out = v->valuedouble;
    return 0;
}

static int read_text(const cJSON *object, const char *name, char **out)
{
    const char *const text = text_of(object, name);

    if (!text || !*text)
        return err(E_DATA, "it has no text %s", name);
    *out = xstrdup(text);
    return 0;
}

static char *optional_text(const cJSON *object, const char *name)
{
    const char *const text = text_of(object, name);

    return text && *text ? xstrdup(text) : NULL; /* an empty one is not written */
}

static int read_alone(const cJSON *object, enum study_alone *out)
{
    const char *const name = text_of(object, "alone");

    for (int i = 0; name && study_alone_names[i]; i++)
        if (strcmp(study_alone_names[i], name) == 0) {
            *out = (enum study_alone)i;
            return 0;
        }
    return err(E_DATA, "a condition in it does not say what runs in it");
}

static int read_condition(const cJSON *object, struct study *s)
{
    struct study_condition *c;

    study_add_condition(s, (struct study_condition){.alone = ALONE_TRAINING});
    c = &s->conditions[s->n_conditions - 1];
    TRY(read_text(object, "name", &c->name));
    TRY(read_text(object, "memory", &c->memory));
    TRY(read_text(object, "cache", &c->cache));
    TRY(read_text(object, "ingest", &c->ingest));
    c->data = optional_text(object, "data");
    c->copy_in = optional_text(object, "copy_in_from");
    return read_alone(object, &c->alone);
}

static int read_conditions(const cJSON *list, struct study *s)
{
    const int n = cJSON_GetArraySize(list);
    const cJSON *item;

    if (!cJSON_IsArray(list) || n < 1 || n > STUDY_MAX_CONDITIONS)
        return err(E_DATA, "it has no list of 1 to %d conditions", STUDY_MAX_CONDITIONS);
    cJSON_ArrayForEach(item, list) TRY(read_condition(item, s));
    return 0;
}

static int read_flag(const cJSON *object, const char *name, int *out)
{
    const cJSON *const v = cJSON_GetObjectItemCaseSensitive(object, name);

    *out = cJSON_IsTrue(v);
    return cJSON_IsBool(v) ? 0 : err(E_DATA, "a workload in it does not say whether %s", name);
}

static int read_settings(const cJSON *object, struct study_workload *w)
{
    const cJSON *const options = cJSON_GetObjectItemCaseSensitive(object, "options");
    double steps;
    struct str text = STR_INIT;

    TRY(read_text(object, "unit", &w->unit));
    TRY(read_count(object, "steps", 0, 1e12, &steps));
    w->steps = (long long)steps;
    TRY(read_flag(object, "says_evaluations", &w->says_evaluations));
    TRY(read_flag(object, "says_checkpoints", &w->says_checkpoints));
    if (!cJSON_IsObject(options))
        return err(E_DATA, "a workload in it has no options");
    json_add_value(&text, options);
    w->options = str_detach(&text);
    return 0;
}

static int read_workloads(const cJSON *doc, struct study *s)
{
    const cJSON *const names = cJSON_GetObjectItemCaseSensitive(doc, "workloads");
    const cJSON *const settings = cJSON_GetObjectItemCaseSensitive(doc, "settings");
    const int n = cJSON_GetArraySize(names);

    if (!cJSON_IsArray(names) || !cJSON_IsArray(settings) || n < 1 || n > STUDY_MAX_WORKLOADS ||
        cJSON_GetArraySize(settings) != n)
        return err(E_DATA, "it has no list of 1 to %d workloads with settings for each",
                   STUDY_MAX_WORKLOADS);
    s->workloads = xcalloc((size_t)n, sizeof(*s->workloads));
    for (int i = 0; i < n; i++) {
        const char *const name = cJSON_GetStringValue(cJSON_GetArrayItem(names, i));
        if (!name)
            return err(E_DATA, "a workload in it has no name");
        s->workloads[s->n_workloads++].name = xstrdup(name);
        TRY(read_settings(cJSON_GetArrayItem(settings, i), &s->workloads[i]));
    }
    return 0;
}

static int read_run(const cJSON *object, struct study *s)
{
    const char *const dir = text_of(object, "dir");
    double code, condition, repeat;
    size_t at;
    char end;

    if (!dir || sscanf(dir, "run-%zu%c", &at, &end) != 1 || at < 1 || at > s->n_runs)
        return err(E_DATA, "a run in it has no folder run-01 to run-%02zu", s->n_runs);
    TRY(read_count(object, "exit_code", 0, 255, &code));
    TRY(read_count(object, "condition", 0, (double)s->n_conditions - 1, &condition));
    TRY(read_count(object, "repeat", 1, (double)s->n_repeats, &repeat));
    if (s->runs[at - 1].condition != (size_t)condition || s->runs[at - 1].repeat != (size_t)repeat)
        return err(E_DATA, "%s in it is not of the condition and repeat that its plan has there",
                   dir);
    s->runs[at - 1].state = STUDY_DONE;
    s->runs[at - 1].exit_code = (int)code;
    return 0;
}

static int read_kind(const cJSON *doc, struct study *s)
{
    const char *const kind = text_of(doc, "kind");

    s->kind = !kind                         ? NULL
              : strcmp(kind, "study") == 0  ? "study"
              : strcmp(kind, "ingest") == 0 ? "ingest"
                                            : NULL;
    return s->kind ? 0 : err(E_DATA, "its kind is neither study nor ingest");
}

static int read_study(const cJSON *doc, struct study *s)
{
    const cJSON *const warm = cJSON_GetObjectItemCaseSensitive(doc, "warm_s"), *item;
    double seed, repeats;

    TRY(read_kind(doc, s));
    TRY(read_text(doc, "stave_version", &s->stave_version));
    TRY(read_text(doc, "started_utc", &s->started));
    TRY(read_count(doc, "seed", 1, 0x1p53, &seed));
    s->seed = (uint64_t)seed;
    if (!cJSON_IsNumber(warm) || !(warm->valuedouble >= 0))
        return err(E_DATA, "it does not say how long the warm-up is");
    s->warm_s = warm->valuedouble;
    TRY(read_workloads(doc, s));
    TRY(read_conditions(cJSON_GetObjectItemCaseSensitive(doc, "conditions"), s));
    TRY(read_count(doc, "repeats", 1, STUDY_MAX_REPEATS, &repeats));
    study_set_repeats(s, (size_t)repeats);
    cJSON_ArrayForEach(item, cJSON_GetObjectItemCaseSensitive(doc, "runs")) TRY(read_run(item, s));
    return 0;
}

int study_parse(struct study *s, const char *text, size_t n)
{
    cJSON *const doc = json_parse(text, n, NULL);
    const int rc = doc ? read_study(doc, s) : err(E_DATA, "it is not JSON");

    cJSON_Delete(doc);
    return rc;
}

int study_exists(const char *dir)
{
    char *const path = file_join(dir, "study.json");
    const int there = file_exists(path);

    free(path);
    return there;
}

int study_read(struct study *s)
{
    char *const path = file_join(s->dir, "study.json"), *text = NULL;
    size_t n;
    int rc = file_read(path, 1 << 24, &text, &n);

    if (rc == 0)
        rc = study_parse(s, text, n);
    if (rc == E_DATA)
        err_prefix(rc, "%s is damaged: ", path);
    free(text);
    free(path);
    return rc;
}
