#include "cli/run_folder.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>

#include "base/clock.h"
#include "base/cpus.h"
#include "base/err.h"
#include "base/file.h"
#include "base/json.h"

static void add_utc(struct str *out)
{
    const time_t now = (time_t)(clock_wall_ms() / 1000);
    char text[32];
    struct tm tm;

    strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &tm));
    str_add_json(out, text);
}

/* "model name" of the first processor, or nothing. */
static void add_cpu_model(struct str *out)
{
    FILE *const f = fopen("/proc/cpuinfo", "r");
    char line[512], name[256];

    while (f && fgets(line, sizeof(line), f))
        if (sscanf(line, "model name : %255[^\n]", name) == 1) {
            str_add(out, ",\n  \"cpu_model\": ");
            str_add_json(out, name);
            break;
        }
    if (f)
        fclose(f);
}

static void add_machine(const struct engine *e, struct str *out)
{
    struct utsname u;
    struct cpus cpus;
    struct str device = STR_INIT;

    if (uname(&u) == 0) {
        str_add(out, ",\n  \"host\": ");
        str_add_json(out, u.nodename);
        str_add(out, ",\n  \"kernel\": ");
        str_add_json(out, u.release);
    }
    add_cpu_model(out);
    if (cpus_find("", &cpus) == 0)
        str_printf(out, ",\n  \"cpus_usable\": %d,\n  \"cpus_online\": %d", cpus.count,
                   cpus.online);
    e->backend->describe(e->device, &device);
    str_printf(out, ",\n  \"device\": \"%s\",\n  \"device_about\": ", e->backend->name);
    str_add_json(out, device.s);
    str_release(&device);
}

static int write_text(const char *dir, const char *name, const struct str *text)
{
    char *const path = file_join(dir, name);
    const int rc = file_replace(path, text->s, text->len);

    free(path);
    return rc;
}

int run_folder_write_run(const char *dir, const struct setup *s, const struct task *task,
                         const struct engine *e, uint64_t seed)
{
    struct str out = STR_INIT, rules = STR_INIT;
    const char *const division = s->workload->rules(&s->settings, task, &rules);
    int rc;

    str_printf(&out, "{\n  \"stave_version\": \"%s\",\n  \"started_utc\": ", STAVE_VERSION);
    add_utc(&out);
    add_machine(e, &out);
    str_printf(&out,
               ",\n  \"workload\": \"%s\",\n  \"preset\": \"%s\",\n  \"seed\": %llu,\n  "
               "\"ruleset\": \"%s\",\n  \"division\": \"%s\"",
               s->workload->name, s->preset->name, (unsigned long long)seed, s->workload->ruleset,
               division);
    str_add(&out, ",\n  \"rules\": ");
    str_add_json(&out, rules.s);
    str_add(&out, ",\n  \"options\": ");
    command_line_add_json(&s->line, &out);
    str_add(&out, "\n}\n");
    rc = write_text(dir, "run.json", &out);
    str_release(&out);
    str_release(&rules);
    return rc;
}

static void add_real(struct str *out, const char *name, double v)
{
    if (!isfinite(v))
        return;
    str_printf(out, ",\n  \"%s\": ", name);
    str_add_real(out, v);
}

void run_folder_result_json(const struct setup *s, const struct task *task,
                            const struct train_result *r, struct str *out)
{
    str_printf(out, "{\n  \"status\": \"%s\",\n  \"metric\": \"%s\"", train_status_name(r->status),
               task->metric->name);
    if (r->resumed)
        str_add(out, ",\n  \"resumed\": true");
    if (r->checkpoint_failed)
        str_add(out, ",\n  \"checkpoint_failed\": true");
    if (s->settings.train.target > 0)
        add_real(out, "target", s->settings.train.target);
    add_real(out, "quality", r->quality);
    add_real(out, "best_quality", r->best);
    if (r->best_epoch > 0)
        str_printf(out, ",\n  \"best_epoch\": %lld", r->best_epoch);
    str_printf(out, ",\n  \"epochs\": %lld,\n  \"steps\": %lld,\n  \"samples_trained\": %llu",
               r->epochs, r->steps, (unsigned long long)r->samples);
    str_printf(out,
               ",\n  \"run_ns\": %lld,\n  \"init_ns\": %lld,\n  \"train_ns\": %lld,\n  "
               "\"eval_ns\": %lld,\n"
               "  \"checkpoint_ns\": %lld,\n  \"data_wait_ns\": %lld",
               (long long)r->run_ns, (long long)r->init_ns, (long long)r->train_ns,
               (long long)r->eval_ns, (long long)r->checkpoint_ns, (long long)r->wait_ns);
    if (r->train_ns > 0 && r->samples > 0)
        add_real(out, "samples_per_s", (double)r->samples / (double)r->train_ns * 1e9);
    add_real(out, "last_loss", r->last_loss);
    if (r->skipped_steps > 0)
        str_printf(out, ",\n  \"skipped_steps\": %lld", r->skipped_steps);
    str_printf(out, ",\n  \"bad_samples\": %llu\n}\n", (unsigned long long)r->bad_samples);
}

static int write_stages(const char *dir, const struct pipeline_counters *c)
{
    struct str out = STR_INIT;
    int rc;

    str_add(&out, "stage,samples,busy_ns\n");
    for (int i = 0; i < N_STAGES; i++)
        str_printf(&out, "%s,%llu,%lld\n", stage_get((enum stage_id)i)->name,
                   (unsigned long long)c->stage[i].samples, (long long)c->stage[i].busy_ns);
    str_printf(&out, "consumer_wait,,%lld\nworker_wait,,%lld\n", (long long)c->consumer_wait_ns,
               (long long)c->worker_wait_ns);
    rc = write_text(dir, "stages.csv", &out);
    str_release(&out);
    return rc;
}

int run_folder_write_result(const char *dir, const struct setup *s, const struct task *task,
                            const struct train_result *r)
{
    struct str out = STR_INIT;
    int rc;

    run_folder_result_json(s, task, r, &out);
    rc = write_text(dir, "result.json", &out);
    str_release(&out);
    return rc < 0 ? rc : write_stages(dir, &r->counters);
}

int run_folder_keep_log(const char *dir)
{
    char *const log = file_join(dir, "mlperf.log");
    char *old = NULL;
    int n = 0, rc = 0;

    do {
        free(old);
        old = xasprintf("%s/mlperf.%d.log", dir, ++n);
    } while (file_exists(old));
    if (file_exists(log) && rename(log, old) < 0)
        rc = err(E_IO, "rename %s to %s: %s", log, old, strerror(errno));
    free(log);
    free(old);
    return rc;
}

int run_folder_read_seed(const char *dir, uint64_t *seed)
{
    char *const path = file_join(dir, "run.json");
    char *text = NULL;
    size_t n;
    cJSON *doc;
    const cJSON *value;
    int rc = file_read(path, 1 << 20, &text, &n);

    doc = rc == 0 ? json_parse(text, n, NULL) : NULL;
    value = cJSON_GetObjectItemCaseSensitive(doc, "seed");
    if (rc == 0 &&
        !(cJSON_IsNumber(value) && value->valuedouble >= 0 && value->valuedouble < 0x1p53))
        rc = err(E_DATA, "%s holds no seed; the folder can not be resumed", path);
    if (rc == 0)
        *seed = (uint64_t)value->valuedouble;
    cJSON_Delete(doc);
    free(text);
    free(path);
    return rc;
}
