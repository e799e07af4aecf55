/* What a run left, as the figures of a study. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/file.h"
#include "cli/command.h"
#include "cli/copy_in.h"
#include "cli/run_folder.h"
#include "cli/study.h"
#include "cli/warm.h"
#include "trace/event_read.h"
#include "trace/samples.h"

const char *const study_figure_names[N_FIGURES] = {
#define FIGURE(name, where, column) [FIGURE_##name] = #name,
#include "cli/study_list.h"
};

static double number_of(const cJSON *object, const char *name)
{
    const cJSON *const v = cJSON_GetObjectItemCaseSensitive(object, name);

    return cJSON_IsNumber(v) ? v->valuedouble : NAN;
}

static const char *text_of(const cJSON *object, const char *name)
{
    const char *const text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, name));

    return text ? text : "";
}

/* ---- events.jsonl: steps behind the warm-up (cli/warm.h) ---- */

/* Each step event speaks of the steps since the one before it: how many samples a second they took,
 * and which share of their time the training waited for data. */
struct pace {
    struct warm warm;
    double last_step;
    double steps, step_seconds, wait_seconds; /* behind the warm-up; seconds are of one sample */
};

static void take_step(struct pace *p, const struct trace_event *e)
{
    const double step = trace_find_real(e, "step_num"), rate = trace_find_real(e, "samples_per_s");
    const double waited = trace_find_real(e, "data_wait_ratio"), n = step - p->last_step;

    if (!(n > 0 && rate > 0))
        return;
    p->last_step = step;
    if (p->warm.over) {
        p->steps += n;
        p->step_seconds += n / rate;
        p->wait_seconds += waited > 0 ? waited * n / rate : 0;
    }
}

/* The event with which the warm-up is over is of steps before that. */
static void take_event(void *context, const struct trace_event *e)
{
    struct pace *const p = context;

    if (e->key == KEY_step)
        take_step(p, e);
    warm_over(&p->warm, e);
}

static void read_pace(const char *folder, struct pace *p)
{
    char *const path = file_join(folder, "events.jsonl");
    long at = 0;

    event_read_file(path, &at, take_event, p);
    free(path);
}

/* ---- result.json ---- */

static void read_pace_of_all(const cJSON *result, struct study_run *r)
{
    r->whole = 1;
    r->figures[FIGURE_train_samples_per_s] = number_of(result, "samples_per_s");
    r->figures[FIGURE_wait_ratio] =
        number_of(result, "data_wait_ns") / number_of(result, "train_ns");
}

static void read_training(const struct study *s, const char *folder, const cJSON *result,
                          struct study_run *r)
{
    struct pace p = {.warm = {.seconds = s->warm_s}};
    const double samples = number_of(result, "samples_trained"), steps = number_of(result, "steps");

    read_pace(folder, &p);
    r->figures[FIGURE_run_s] = number_of(result, "run_ns") / 1e9;
    if (s->conditions[r->condition].alone == ALONE_INGEST)
        return;
    if (p.steps > 0 && samples > 0 && steps > 0) {
        r->figures[FIGURE_train_samples_per_s] = p.steps / p.step_seconds;
        r->figures[FIGURE_wait_ratio] = p.wait_seconds / p.step_seconds;
    } else {
        read_pace_of_all(result, r);
    }
}

static void read_ingest(const cJSON *result, struct study_run *r)
{
    const cJSON *const ingest = cJSON_GetObjectItemCaseSensitive(result, "ingest");
    const cJSON *const latency = cJSON_GetObjectItemCaseSensitive(ingest, "latency_ns");

    r->figures[FIGURE_ingest_bytes_per_s] = number_of(ingest, "write_bytes_per_s");
    r->figures[FIGURE_ingest_p99_ms] = number_of(latency, "p99") / 1e6;
}

static void read_origin(const cJSON *result, struct study_run *r)
{
    const cJSON *epoch;

    snprintf(r->origin, sizeof(r->origin), "%s", text_of(result, "origin"));
    cJSON_ArrayForEach(epoch, cJSON_GetObjectItemCaseSensitive(result, "data_epochs"))
    {
        const double ratio = number_of(epoch, "delivered_ratio");
        if (isfinite(ratio))
            r->figures[FIGURE_delivered_ratio] = ratio;
    }
}

/* ---- samples.csv ---- */

enum where { MEAN, RATE, GPU_MEAN, GPU_SUM, OTHER };
static const struct {
    enum where where;
    const char *column;
} sources[N_FIGURES] = {
#define FIGURE(name, where, column) [FIGURE_##name] = {where, column},
#include "cli/study_list.h"
};

static const struct samples_where training = {.phase = "train"};

static double mean_of(const struct samples *m, const char *column)
{
    return samples_level(m, samples_column(m, column), &training).mean;
}

/* The sum of the means of gpu0_NAME, gpu1_NAME and so on; *n accelerators say it. */
static double sum_of_gpus(const struct samples *m, const char *name, int *n)
{
    enum { MOST = 64 };
    double sum = 0;

    *n = 0;
    for (int i = 0; i < MOST; i++) {
        char *const column = xasprintf("gpu%d_%s", i, name);
        const double mean = mean_of(m, column);
        if (isfinite(mean)) {
            sum += mean;
            ++*n;
        }
        free(column);
    }
    return *n ? sum : NAN;
}

static double sampled(const struct samples *m, enum study_figure f)
{
    const char *const column = sources[f].column;
    int n;

    switch (sources[f].where) {
    case MEAN:
        return mean_of(m, column);
    case RATE:
        return samples_growth(m, samples_column(m, column), &training) /
               samples_seconds(m, &training);
    case GPU_MEAN: {
        const double sum = sum_of_gpus(m, column, &n);
        return sum / n;
    }
    case GPU_SUM:
        return sum_of_gpus(m, column, &n);
    default:
        return NAN;
    }
}

static void read_samples(const char *folder, struct study_run *r)
{
    char *const path = file_join(folder, "samples.csv");
    struct samples m;

    if (file_exists(path) && samples_read(path, NULL, &m) == 0) {
        for (int f = 0; f < N_FIGURES; f++)
            if (sources[f].where != OTHER)
                r->figures[f] = sampled(&m, (enum study_figure)f);
        samples_release(&m);
    }
    free(path);
}

/* ---- the verdict on the run ---- */

/* A target that was not reached says nothing against the speed. */
static int is_done(const cJSON *result, int code)
{
    return code == EXIT_REACHED || (code == EXIT_NOT_REACHED &&
                                    strcmp(text_of(result, "status"), "target not reached") == 0);
}

static void say_why(const cJSON *result, struct study_run *r)
{
    const char *const error = text_of(result, "error"), *const status = text_of(result, "status");

    if (r->stands)
        snprintf(r->why, sizeof(r->why), "%s",
                 r->whole ? "it ended within its warm-up: figures of all of it" : "");
    else
        snprintf(r->why, sizeof(r->why), "%s%s%s%sexit code %d", status, *error ? ": " : "", error,
                 *status || *error ? "; " : "", r->exit_code);
}

static void refuse(struct study_run *r, const char *why, const char *more)
{
    if (!r->stands)
        return;
    r->stands = 0;
    snprintf(r->why, sizeof(r->why), "%s%.100s", why, more);
}

/* One that stopped on its way says nothing of what copying costs. */
static void look_at_copy(const char *folder, struct study_run *r)
{
    cJSON *doc = NULL;
    const int rc = run_folder_read_json(folder, COPY_IN_REPORT, &doc);
    const char *const error = text_of(doc, "error");

    r->figures[FIGURE_ingest_bytes_per_s] = number_of(doc, "copied_bytes_per_s");
    if (rc < 0 || *error)
        refuse(r, "the copy stopped: ", rc < 0 ? "no report" : error);
    else if (!(number_of(doc, "copied_bytes") > 0))
        refuse(r, "nothing was copied", "");
    cJSON_Delete(doc);
}

static void look_at_ingest(const cJSON *result, struct study_run *r)
{
    const cJSON *const ingest = cJSON_GetObjectItemCaseSensitive(result, "ingest");
    const double error = number_of(ingest, "error");

    if (!ingest)
        refuse(r, "nothing is known of its ingest", "");
    else if (!(error == 0))
        refuse(r, "its ingest failed: ", text_of(ingest, "words"));
}

static void look_at_ceiling(const cJSON *result, struct study_run *r)
{
    static const char uncached[] = "uncached reads";
    const cJSON *const ceiling = cJSON_GetObjectItemCaseSensitive(result, "ceiling");
    const char *const words = text_of(ceiling, "words");

    if (*words)
        refuse(r, "its ceiling: ", words);
    else if (!(number_of(ceiling, "memory_limit_bytes") > 0) &&
             strncmp(text_of(ceiling, "how"), uncached, sizeof(uncached) - 1) != 0)
        refuse(r, "there was no ceiling", "");
}

static int is_asked_for(const char *value, const char *none)
{
    return value && strcmp(value, none) != 0;
}

/* A run tells what a condition costs only when the condition was there. What runs ingest alone
 * (cmd_load.c) has no ceiling. */
static void look_at_condition(const struct study_condition *c, const char *folder,
                              const cJSON *result, struct study_run *r)
{
    const int ingest = is_asked_for(c->ingest, "off"), cache = is_asked_for(c->cache, "none");

    if (c->copy_in)
        look_at_copy(folder, r);
    if (ingest)
        look_at_ingest(result, r);
    if ((cache || is_asked_for(c->memory, "none")) && c->alone != ALONE_INGEST)
        look_at_ceiling(result, r);
    if (r->whole && (ingest || cache || c->copy_in))
        refuse(r, "it ended within its warm-up, before its condition began", "");
}

void study_look(const struct study *s, size_t at, int exit_code, struct study_run *out)
{
    const struct study_condition *const c = &s->conditions[out->condition];
    char *const folder = study_run_folder(s, at);
    cJSON *result = NULL;

    out->state = STUDY_DONE;
    out->exit_code = exit_code;
    out->why[0] = out->origin[0] = '\0';
    out->whole = 0;
    for (int f = 0; f < N_FIGURES; f++)
        out->figures[f] = NAN;
    read_samples(folder, out);
    if (run_folder_read_json(folder, "result.json", &result) == 0) {
        read_training(s, folder, result, out);
        read_ingest(result, out);
        read_origin(result, out);
    }
    out->stands = is_done(result, exit_code) && out->figures[FIGURE_run_s] > 0;
    say_why(result, out);
    look_at_condition(c, folder, result, out);
    cJSON_Delete(result);
    free(folder);
}
