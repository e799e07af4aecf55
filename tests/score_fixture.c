#include "score_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/file.h"
#include "base/str.h"
#include "rules/result_read.h"
#include "scratch.h"

static void add(struct str *out, double ms, const char *key, const char *value, const char *meta)
{
    str_printf(out,
               ":::MLLOG {\"namespace\": \"\", \"time_ms\": %.0f, \"event_type\": "
               "\"POINT_IN_TIME\", \"key\": \"%s\", \"value\": %s, \"metadata\": {%s\"file\": "
               "\"a.c\", \"lineno\": 1}}\n",
               ms, key, value, meta);
}

static void add_text(struct str *out, const char *key, const char *value)
{
    struct str quoted = STR_INIT;

    str_add_json(&quoted, value);
    add(out, 1, key, quoted.s, "");
    str_release(&quoted);
}

static void add_number(struct str *out, double ms, const char *key, double x)
{
    char value[32];

    snprintf(value, sizeof(value), "%.10g", x);
    add(out, ms, key, value, "");
}

/* What the closed division of 1.0 and 4.0 asks of ResNet-50. */
static void add_settings(struct str *out, int number)
{
    static const struct {
        const char *key;
        double value;
    } rows[] = {
        {"gradient_accumulation_steps", 1},          {"lars_opt_base_learning_rate", 10.5},
        {"lars_opt_end_learning_rate", 0.0001},      {"lars_opt_learning_rate_decay_poly_power", 2},
        {"lars_opt_learning_rate_decay_steps", 37},  {"lars_epsilon", 0},
        {"lars_opt_learning_rate_warmup_epochs", 2}, {"lars_opt_momentum", 0.9},
        {"lars_opt_weight_decay", 0.00005}};

    add_text(out, "opt_name", "lars");
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        add_number(out, 1, rows[i].key, rows[i].value);
    add_number(out, 1, "seed", 7 + number);
}

static void add_begin(struct str *out, const struct fake_result *f, double start, int number)
{
    add(out, 1, "cache_clear", "true", "");
    add(out, 1, "init_start", "null", "");
    add_text(out, "submission_benchmark", f->benchmark ? f->benchmark : "resnet");
    add_text(out, "submission_division", f->division ? f->division : "closed");
    add_text(out, "submission_org", "Org");
    add_text(out, "submission_platform", "Platform");
    add_text(out, "submission_status", "onprem");
    add_number(out, 1, "global_batch_size", f->batch ? (double)f->batch : 3264);
    add_settings(out, number);
    add(out, 2, "init_stop", "null", "");
    add(out, start, "run_start", "null", "");
    add_number(out, start, "train_samples", 1281167);
    add_number(out, start, "eval_samples", 50000);
    add(out, start, "block_start", "null", "\"first_epoch_num\": 1, \"epoch_count\": 40, ");
}

static void add_end(struct str *out, double ms, const struct fake_run *run)
{
    char meta[80];

    snprintf(meta, sizeof(meta), "\"epoch_num\": %.10g, ", run->epochs);
    add(out, ms, "eval_start", "null", meta);
    add(out, ms, "eval_accuracy", "0.7601", meta);
    add(out, ms, "eval_stop", "null", meta);
    add(out, ms, "block_stop", "null", "\"first_epoch_num\": 1, ");
    if (run->status && !*run->status)
        return;
    snprintf(meta, sizeof(meta), "\"status\": \"%s\", ", run->status ? run->status : "success");
    add(out, ms, "run_stop", "null", meta);
}

static void write_log(struct str *out, const struct fake_result *f, const struct fake_run *run,
                      int number)
{
    const double start = (double)f->start_ms + 1000. * number;

    add_begin(out, f, start, number);
    add_end(out, start + run->minutes * 60000, run);
}

void fake_log(const char *dir, const char *name, const struct fake_result *f,
              const struct fake_run *run, int number)
{
    struct str out = STR_INIT;

    write_log(&out, f, run, number);
    free(scratch_file(dir, name, out.s));
    str_release(&out);
}

struct result fake_result(const char *version, const struct fake_result *f,
                          const struct fake_run *runs, int n)
{
    struct result r;

    if (result_init(&r, version) != 0)
        BUG("%s", err_reason());
    for (int i = 0; i < n; i++)
        fake_add(&r, f, &runs[i], i);
    return r;
}

void fake_add(struct result *r, const struct fake_result *f, const struct fake_run *run, int number)
{
    struct result_log l = {.refused = NULL};
    struct str out = STR_INIT;
    char name[32];

    write_log(&out, f, run, number);
    if (log_read_memory(&l.log, out.s, out.len) != 0)
        BUG("%s", err_reason());
    snprintf(name, sizeof(name), "result_%d.txt", number);
    result_add(r, &l, name, name);
    result_log_release(&l);
    str_release(&out);
}

void fake_results(const char *dir, const char *sub, const struct fake_result *f,
                  const struct fake_run *runs, int n)
{
    for (int i = 0; i < n; i++) {
        char *const name = xasprintf("%s/result_%d.txt", sub, i);

        fake_log(dir, name, f, &runs[i], i);
        free(name);
    }
}

struct results fake_find(const char *dir, const char *sub, const char *version)
{
    struct results s = {.version = version};
    char *const path = *sub ? file_join(dir, sub) : xstrdup(dir);
    const char *const paths[] = {path};

    if (results_find(&s, paths, 1) != 0)
        BUG("%s", err_reason());
    free(path);
    return s;
}
