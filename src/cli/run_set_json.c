/* set.json, both ways. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/json.h"
#include "cli/run_set.h"

/* ---- writing ---- */

static void add_result(struct str *out, const struct set_result *r)
{
    str_printf(out, ", \"exit_code\": %d", r->code);
    json_add_text(out, "status", r->status);
    json_add_real(out, "quality", r->quality);
    json_add_real(out, "epochs", r->epochs);
    json_add_real(out, "minutes", r->minutes);
    if (r->cache_cleared >= 0)
        json_add_flag(out, "cache_cleared", r->cache_cleared);
    json_add_text(out, "why", r->why);
}

static void add_earlier(struct str *out, const struct set_run *r)
{
    for (size_t i = 0; i < r->n_earlier; i++) {
        str_add(out, i ? ", {\"folder\": " : ", \"earlier\": [{\"folder\": ");
        str_add_json(out, r->earlier[i].folder);
        str_printf(out, ", \"seed\": %llu}", (unsigned long long)r->earlier[i].seed);
    }
    str_add(out, r->n_earlier ? "]" : "");
}

static void add_runs(struct str *out, const struct run_set *s)
{
    for (size_t i = 0; i < s->n; i++) {
        const struct set_run *const r = &s->runs[i];
        str_printf(out, "%s    {\"folder\": \"run-%zu\", \"seed\": %llu, \"state\": \"%s\"",
                   i ? ",\n" : "", i + 1, (unsigned long long)r->seed, set_state_names[r->state]);
        if (r->state == SET_FINISHED)
            add_result(out, &r->result);
        add_earlier(out, r);
        str_add(out, "}");
    }
}

void run_set_add_json(const struct run_set *s, struct str *out)
{
    str_add(out, "{\n  \"stave_version\": ");
    str_add_json(out, s->stave_version);
    str_add(out, ",\n  \"started_utc\": ");
    str_add_json(out, s->started);
    str_add(out, ",\n  \"workload\": ");
    str_add_json(out, s->workload);
    str_add(out, ",\n  \"ruleset\": ");
    str_add_json(out, s->ruleset);
    str_add(out, ",\n  \"until_sure_percent\": ");
    str_add_real(out, s->until_sure);
    str_printf(out, ",\n  \"options\": %s,\n  \"runs\": [\n", s->options);
    add_runs(out, s);
    str_add(out, "\n  ]\n}\n");
}

/* ---- reading ---- */

static const char *text_of(const cJSON *object, const char *name)
{
    const cJSON *const v = cJSON_GetObjectItemCaseSensitive(object, name);

    return cJSON_IsString(v) ? v->valuestring : NULL;
}

static double number_of(const cJSON *object, const char *name)
{
    const cJSON *const v = cJSON_GetObjectItemCaseSensitive(object, name);

    return cJSON_IsNumber(v) ? v->valuedouble : NAN;
}

static int read_text(const cJSON *doc, const char *name, char **out)
{
    const char *const text = text_of(doc, name);

    if (!text)
        return err(E_DATA, "it has no text %s", name);
    *out = xstrdup(text);
    return 0;
}

static int read_seed(const cJSON *object, uint64_t *seed)
{
    const double v = number_of(object, "seed");

    if (!(v >= 1 && v < 0x1p53 && v == floor(v)))
        return err(E_DATA, "a run in it has no seed");
    *seed = (uint64_t)v;
    return 0;
}

static int read_state(const cJSON *object, enum set_state *state)
{
    const char *const name = text_of(object, "state");

    for (int i = 0; name && i < N_SET_STATES; i++)
        if (strcmp(set_state_names[i], name) == 0) {
            *state = (enum set_state)i;
            return 0;
        }
    return err(E_DATA, "a run in it has no state");
}

/* A text of our own words, or none. */
static int copy_words(const cJSON *object, const char *name, char *dst, size_t n)
{
    const char *const text = text_of(object, name);

    dst[0] = '\0';
    if (!text)
        return 0;
    for (const char *p = text; *p; p++)
        if (*p < ' ' || *p > '~')
            return err(E_DATA, "the %s of a run in it is not in plain letters", name);
    if (strlen(text) >= n)
        return err(E_DATA, "the %s of a run in it is too long", name);
    memcpy(dst, text, strlen(text) + 1);
    return 0;
}

static int read_result(const cJSON *object, struct set_result *r)
{
    const double code = number_of(object, "exit_code");
    const cJSON *const cleared = cJSON_GetObjectItemCaseSensitive(object, "cache_cleared");

    if (!(code >= 0 && code <= 255 && code == floor(code)))
        return err(E_DATA, "a run in it has finished without an exit code");
    r->code = (int)code;
    TRY(copy_words(object, "status", r->status, sizeof(r->status)));
    TRY(copy_words(object, "why", r->why, sizeof(r->why)));
    r->quality = number_of(object, "quality");
    r->epochs = number_of(object, "epochs");
    r->minutes = number_of(object, "minutes");
    r->cache_cleared = cJSON_IsBool(cleared) ? cJSON_IsTrue(cleared) : -1;
    return 0;
}

static int read_earlier(const cJSON *list, struct set_run *r)
{
    const cJSON *item;

    r->earlier = xcalloc((size_t)cJSON_GetArraySize(list) + 1, sizeof(*r->earlier));
    cJSON_ArrayForEach(item, list)
    {
        struct set_attempt *const a = &r->earlier[r->n_earlier++];
        TRY(read_text(item, "folder", &a->folder));
        TRY(read_seed(item, &a->seed));
    }
    return 0;
}

static int read_run(const cJSON *object, struct set_run *r)
{
    TRY(read_seed(object, &r->seed));
    TRY(read_state(object, &r->state));
    TRY(read_earlier(cJSON_GetObjectItemCaseSensitive(object, "earlier"), r));
    return r->state == SET_FINISHED ? read_result(object, &r->result) : 0;
}

static int read_runs(const cJSON *list, struct run_set *s)
{
    const int n = cJSON_GetArraySize(list);
    const cJSON *item;

    if (!cJSON_IsArray(list) || n < 2 || n > SET_MAX_RUNS)
        return err(E_DATA, "it has no list of 2 to %d runs", SET_MAX_RUNS);
    s->runs = xcalloc((size_t)n, sizeof(*s->runs));
    cJSON_ArrayForEach(item, list) TRY(read_run(item, &s->runs[s->n++]));
    return 0;
}

static int read_options(const cJSON *options, struct run_set *s)
{
    struct str text = STR_INIT;

    if (!cJSON_IsObject(options))
        return err(E_DATA, "it has no options");
    json_add_value(&text, options);
    s->options = str_detach(&text);
    return 0;
}

static int read_set(const cJSON *doc, struct run_set *s)
{
    TRY(read_text(doc, "stave_version", &s->stave_version));
    TRY(read_text(doc, "started_utc", &s->started));
    TRY(read_text(doc, "workload", &s->workload));
    TRY(read_text(doc, "ruleset", &s->ruleset));
    TRY(read_options(cJSON_GetObjectItemCaseSensitive(doc, "options"), s));
    s->until_sure = number_of(doc, "until_sure_percent");
    if (!(s->until_sure >= 0 && s->until_sure <= 100))
        return err(E_DATA, "it has no until_sure_percent from 0 to 100");
    return read_runs(cJSON_GetObjectItemCaseSensitive(doc, "runs"), s);
}

static int check_seeds(const struct run_set *s)
{
    for (size_t i = 0; i < s->n; i++)
        for (size_t k = 0; k < i; k++)
            if (s->runs[i].seed == s->runs[k].seed)
                return err(E_DATA, "runs %zu and %zu have one seed", k + 1, i + 1);
    return 0;
}

int run_set_parse(struct run_set *s, const char *text, size_t n)
{
    cJSON *const doc = json_parse(text, n, NULL);
    int rc = doc ? read_set(doc, s) : err(E_DATA, "it is not JSON");

    cJSON_Delete(doc);
    return rc < 0 ? rc : check_seeds(s);
}
