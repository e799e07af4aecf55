#include "rules/log.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"

struct reader {
    struct log *log;
    const struct mllog_visitor *also;
    double epochs, samples; /* of the last evaluation and train_samples so far */
    int timed;              /* the pair of run_start and run_stop is complete */
};

/* ---- values ---- */

static double number_of(const cJSON *value)
{
    return cJSON_IsNumber(value) ? value->valuedouble : NAN;
}

static long long lineno_of(const cJSON *metadata)
{
    const double x = number_of(mllog_member(metadata, "lineno"));

    return x >= 0 && x < 1e15 ? (long long)x : -1;
}

static char *text_of(const cJSON *value)
{
    const char *const s = cJSON_GetStringValue(value);

    return s ? xstrdup(s) : NULL;
}

static char *json_of(const cJSON *value)
{
    char *text = NULL;

    if (cJSON_IsNumber(value) && !isfinite(value->valuedouble))
        return xstrdup(isnan(value->valuedouble) ? "NaN"
                       : value->valuedouble > 0  ? "Infinity"
                                                 : "-Infinity");
    if (value)
        text = cJSON_PrintUnformatted(value);
    return text ? text : xstrdup("null");
}

static void set_text(char **place, const cJSON *value)
{
    free(*place);
    *place = text_of(value);
}

/* To three places, as the rcp checker does. */
static double rounded(double epoch)
{
    char text[400];

    snprintf(text, sizeof(text), "%.3f", epoch);
    return isfinite(epoch) ? strtod(text, NULL) : epoch;
}

/* Room for one more in a list of n elements: doubles at powers of two. */
static void *one_more(void *list, size_t n, size_t size)
{
    return n & (n - 1) ? list : xrealloc(list, (n ? 2 * n : 1) * size);
}

/* ---- records ---- */

static void add_seed(struct log *l, const struct mllog_record *r)
{
    l->seeds = one_more(l->seeds, l->n_seeds, sizeof(*l->seeds));
    l->seeds[l->n_seeds++] = (struct log_seed){
        .value = json_of(r->value),
        .file = text_of(mllog_member(r->metadata, "file")),
        .lineno = lineno_of(r->metadata),
        .line = r->line,
    };
}

static void add_setting(struct log *l, const struct mllog_record *r)
{
    l->settings = one_more(l->settings, l->n_settings, sizeof(*l->settings));
    l->settings[l->n_settings++] = (struct log_setting){
        .key = xstrdup(r->key),
        .value = json_of(r->value),
        .file = text_of(mllog_member(r->metadata, "file")),
        .lineno = lineno_of(r->metadata),
        .line = r->line,
    };
}

static void add_members(struct log_evaluation *e, const cJSON *value)
{
    const cJSON *m;

    cJSON_ArrayForEach(m, value)
    {
        e->members = one_more(e->members, e->n_members, sizeof(*e->members));
        e->members[e->n_members++] = (struct log_member){xstrdup(m->string), number_of(m)};
    }
}

/* Benchmarks of which the rcp checker takes the samples instead of the epochs. */
static int counts_samples(const char *benchmark)
{
    return benchmark && strcmp(benchmark, "llama2_70b_lora") == 0;
}

static void add_evaluation(struct reader *reader, const struct mllog_record *r)
{
    struct log *const l = reader->log;
    struct log_evaluation e = {
        .time_ms = r->time_ms,
        .value = number_of(r->value),
        .epoch = rounded(number_of(mllog_member(r->metadata, "epoch_num"))),
        .samples = number_of(mllog_member(r->metadata, "samples_count")),
        .step = number_of(mllog_member(r->metadata, "step_num")),
        .metric = text_of(mllog_member(r->metadata, "metric")),
        .line = r->line,
    };

    if (l->format == MLLOG_FORMAT_05 && mllog_member(r->value, "epoch")) {
        e.value = number_of(mllog_member(r->value, "value"));
        e.epoch = number_of(mllog_member(r->value, "epoch")) + 1;
    }
    if (cJSON_IsObject(r->value) && isnan(e.value))
        add_members(&e, r->value);
    l->evaluations = one_more(l->evaluations, l->n_evaluations, sizeof(*l->evaluations));
    l->evaluations[l->n_evaluations++] = e;
    reader->epochs = counts_samples(l->benchmark) ? e.samples : e.epoch;
}

static double place_of(const struct log_evaluation *e)
{
    return isnan(e->samples) ? e->step : e->samples;
}

/* Whether one of the evaluations at this place says so of its metric. */
static int passed_at(const struct log *l, double place, const char *metric)
{
    for (size_t i = 0; i < l->n_evaluations; i++) {
        const struct log_evaluation *const e = &l->evaluations[i];

        if (place_of(e) == place && e->metric && strcmp(e->metric, metric) == 0 &&
            (strcmp(metric, "FID") == 0 ? e->value <= 90 : e->value >= 0.15))
            return 1;
    }
    return 0;
}

/* Stable Diffusion: FID and CLIP come in any order, some after others of later steps. */
static double first_pass(const struct log *l)
{
    double first = NAN;

    for (size_t i = 0; i < l->n_evaluations; i++) {
        const double place = place_of(&l->evaluations[i]);

        if (!(place >= first) && passed_at(l, place, "FID") && passed_at(l, place, "CLIP"))
            first = place;
    }
    return first;
}

/* Some logs of 0.5 have the word as a text. */
static int says_true(const cJSON *value)
{
    const char *const word = cJSON_GetStringValue(value);

    return cJSON_IsTrue(value) || (word && strcmp(word, "true") == 0);
}

static void end_run(struct reader *reader, const struct mllog_record *r)
{
    struct log *const l = reader->log;
    int success;

    if (!reader->timed)
        l->run_stop_ms = r->time_ms;
    set_text(&l->run_status, mllog_member(r->metadata, "status"));
    if (!l->run_status && mllog_member(r->value, "success"))
        l->run_status =
            xstrdup(says_true(mllog_member(r->value, "success")) ? "success" : "aborted");
    l->run_stop_line = r->line;
    success = l->run_status && strcmp(l->run_status, "success") == 0;
    l->epochs = success ? reader->epochs : NAN;
    if (success && l->benchmark && strcmp(l->benchmark, "stable_diffusion") == 0)
        l->epochs = first_pass(l);
    l->samples_at_stop = success ? reader->samples : NAN;
}

/* What happened when. 0: the key is none of these. */
static int is_time(struct reader *reader, const struct mllog_record *r)
{
    struct log *const l = reader->log;
    const char *const k = r->key;

    if (strcmp(k, "run_start") == 0) {
        if (!reader->timed)
            l->run_start_ms = r->time_ms;
    } else if (strcmp(k, "run_stop") == 0)
        end_run(reader, r);
    else if (strcmp(k, "init_start") == 0) {
        if (isnan(l->init_start_ms))
            l->init_start_ms = r->time_ms;
    } else if (strcmp(k, "init_stop") == 0)
        l->init_stop_ms = r->time_ms;
    else
        return 0;
    reader->timed = !isnan(l->run_start_ms) && !isnan(l->run_stop_ms);
    return 1;
}

/* Records that only say that a run goes on. */
static int is_progress(const char *key)
{
    static const char *const keys[] = {
        "epoch_start", "epoch_stop",  "block_start",      "block_stop", "eval_start",
        "eval_stop",   "cache_clear", "tracked_stats",    "throughput", "train_loop",
        "train_epoch", "eval_size",   "train_checkpoint", "run_final",  "run_clear_caches"};

    for (size_t i = 0; i < COUNT_OF(keys); i++)
        if (strcmp(key, keys[i]) == 0)
            return 1;
    return 0;
}

static void take_size(struct reader *reader, const struct mllog_record *r)
{
    struct log *const l = reader->log;

    if (strcmp(r->key, "global_batch_size") == 0)
        l->batch = number_of(r->value);
    else if (strcmp(r->key, "train_samples") == 0)
        l->train_samples = reader->samples = number_of(r->value);
    else if (strcmp(r->key, "preproc_num_train_examples") == 0)
        l->train_samples = number_of(r->value);
    else if (strcmp(r->key, "preproc_num_eval_examples") == 0)
        l->eval_samples = number_of(r->value);
    else if (strcmp(r->key, "eval_samples") == 0)
        l->eval_samples = number_of(r->value);
}

static void take_name(struct log *l, const struct mllog_record *r)
{
    if (strcmp(r->key, "submission_benchmark") == 0)
        set_text(&l->benchmark, r->value);
    else if (strcmp(r->key, "submission_division") == 0)
        set_text(&l->division, r->value);
    else if (strcmp(r->key, "submission_org") == 0)
        set_text(&l->org, r->value);
    else if (strcmp(r->key, "submission_platform") == 0)
        set_text(&l->platform, r->value);
    else if (strcmp(r->key, "submission_status") == 0)
        set_text(&l->status, r->value);
}

static void take(struct reader *reader, const struct mllog_record *r)
{
    struct log *const l = reader->log;

    l->n_records++;
    l->format = r->format;
    if (r->benchmark[0] && !l->benchmark)
        l->benchmark = xstrdup(r->benchmark);
    if (is_time(reader, r) || is_progress(r->key))
        return;
    if (strcmp(r->key, "seed") == 0 || strcmp(r->key, "run_set_random_seed") == 0)
        add_seed(l, r);
    else if (strcmp(r->key, "eval_accuracy") == 0 || strcmp(r->key, "eval_error") == 0)
        add_evaluation(reader, r);
    else {
        take_size(reader, r);
        take_name(l, r);
        add_setting(l, r);
    }
}

static int take_record(void *context, const struct mllog_record *r)
{
    struct reader *const reader = context;

    take(reader, r);
    return reader->also && reader->also->record ? reader->also->record(reader->also->context, r)
                                                : 0;
}

static int take_trouble(void *context, const struct mllog_trouble *t)
{
    struct reader *const reader = context;
    struct log *const l = reader->log;

    if (t->kind > MLLOG_LAST_NOTE && l->n_troubles++ == 0)
        l->trouble = xasprintf("line %zu, column %zu: %s", t->line, t->column, t->about);
    return reader->also && reader->also->trouble ? reader->also->trouble(reader->also->context, t)
                                                 : 0;
}

/* ---- whole logs ---- */

static void begin(struct log *l)
{
    *l = (struct log){
        .format = MLLOG_FORMAT_JSON,
        .batch = NAN,
        .train_samples = NAN,
        .eval_samples = NAN,
        .init_start_ms = NAN,
        .init_stop_ms = NAN,
        .run_start_ms = NAN,
        .run_stop_ms = NAN,
        .epochs = NAN,
        .samples_at_stop = NAN,
    };
}

int log_read_as(struct log *l, enum mllog_format format, const char *path,
                const struct mllog_visitor *also)
{
    struct reader reader = {.log = l, .also = also, .epochs = NAN, .samples = NAN};
    int rc;

    begin(l);
    rc = mllog_read_file_as(format, path,
                            &(struct mllog_visitor){take_record, take_trouble, &reader});
    if (rc != 0)
        log_release(l);
    return rc;
}

int log_read(struct log *l, const char *path, const struct mllog_visitor *also)
{
    return log_read_as(l, MLLOG_FORMAT_ANY, path, also);
}

int log_read_memory(struct log *l, const char *bytes, size_t n)
{
    struct reader reader = {.log = l, .epochs = NAN, .samples = NAN};
    int rc;

    begin(l);
    rc = mllog_read_memory(bytes, n, &(struct mllog_visitor){take_record, take_trouble, &reader});
    if (rc != 0)
        log_release(l);
    return rc;
}

static void release_lists(struct log *l)
{
    for (size_t i = 0; i < l->n_seeds; i++) {
        free(l->seeds[i].value);
        free(l->seeds[i].file);
    }
    for (size_t i = 0; i < l->n_evaluations; i++) {
        for (size_t k = 0; k < l->evaluations[i].n_members; k++)
            free(l->evaluations[i].members[k].name);
        free(l->evaluations[i].members);
        free(l->evaluations[i].metric);
    }
    for (size_t i = 0; i < l->n_settings; i++) {
        free(l->settings[i].key);
        free(l->settings[i].value);
        free(l->settings[i].file);
    }
    free(l->seeds);
    free(l->evaluations);
    free(l->settings);
}

void log_release(struct log *l)
{
    release_lists(l);
    free(l->benchmark);
    free(l->division);
    free(l->org);
    free(l->platform);
    free(l->status);
    free(l->run_status);
    free(l->trouble);
    *l = (struct log){0};
}

const struct log_setting *log_setting(const struct log *l, const char *key)
{
    for (size_t i = l->n_settings; i-- > 0;)
        if (strcmp(l->settings[i].key, key) == 0)
            return &l->settings[i];
    return NULL;
}

double log_number(const struct log *l, const char *key)
{
    const struct log_setting *const s = log_setting(l, key);
    char *end;
    double x;

    if (!s)
        return NAN;
    x = strtod(s->value, &end);
    return end > s->value && *end == '\0' ? x : NAN;
}

double log_minutes(const struct log *l)
{
    return (l->run_stop_ms - l->run_start_ms) / 60 / 1000;
}
