#include "cli/run_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <libgen.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "cli/guard.h"
#include "train/checkpoint.h"

enum { LOCK_TRIES = 10 };

char *run_folder_utc(void)
{
    const time_t now = (time_t)(clock_wall_ms() / 1000);
    char text[32];
    struct tm tm;

    strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &tm));
    return xstrdup(text);
}

static void add_utc(struct str *out)
{
    char *const now = run_folder_utc();

    str_add_json(out, now);
    free(now);
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

static void add_machine(const struct machine *m, const struct engine *e, struct str *out)
{
    struct utsname u;
    struct str device = STR_INIT;

    if (uname(&u) == 0) {
        str_add(out, ",\n  \"host\": ");
        str_add_json(out, u.nodename);
        str_add(out, ",\n  \"kernel\": ");
        str_add_json(out, u.release);
    }
    add_cpu_model(out);
    machine_add_json(m, out);
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
                         const struct engine *e, const struct train_run *run)
{
    struct str out = STR_INIT, rules = STR_INIT;
    const char *const division = s->workload->rules(&s->settings, task, &rules);
    int rc;

    str_printf(&out, "{\n  \"stave_version\": \"%s\",\n  \"started_utc\": ", STAVE_VERSION);
    add_utc(&out);
    add_machine(&s->machine, e, &out);
    str_printf(&out,
               ",\n  \"workload\": \"%s\",\n  \"preset\": \"%s\",\n  \"seed\": %llu,\n  "
               "\"ruleset\": \"%s\",\n  \"division\": \"%s\"",
               s->workload->name, s->preset->name, (unsigned long long)run->seed,
               workload_ruleset(s->workload, &s->settings), division);
    str_printf(&out, ",\n  \"unit\": \"%s\",\n  \"parameters\": %lld", task->unit,
               run->needs.parameters);
    str_add(&out, ",\n  \"rules\": ");
    str_add_json(&out, rules.s);
    str_add(&out, ",\n  \"options\": ");
    command_line_add_json(&s->line, &out);
    str_add(&out, ",\n  \"defaults\": ");
    command_line_add_defaults(&s->line, &out);
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

/* The metric's other values: for top-1 the images that were right, and all of them. */
static void add_evaluation(struct str *out, const struct task *task, const struct train_result *r)
{
    add_real(out, "eval_loss", r->eval_loss);
    for (size_t i = 1; i < r->n_values; i++) {
        str_printf(out, ",\n  \"eval_%s\": ", r->values[i].name);
        str_add_real(out, r->values[i].value);
    }
    if (r->last_eval_ns > 0)
        add_real(out, "eval_samples_per_s", (double)task->n_eval / (double)r->last_eval_ns * 1e9);
}

/* Whether the data set was out of memory when the run began, where that was asked for. */
static void add_cache(struct str *out, const struct cache_clear *c)
{
    if (!c)
        return;
    str_printf(out, ",\n  \"cache_cleared\": %s", c->done ? "true" : "false");
    if (c->n_measured > 0)
        str_printf(out, ",\n  \"cache_data_bytes\": %llu,\n  \"cache_resident_bytes\": %llu",
                   (unsigned long long)c->share.bytes, (unsigned long long)c->share.resident);
    if (!c->done) {
        str_add(out, ",\n  \"cache_warning\": ");
        str_add_json(out, c->why);
    }
}

static void add_warning(void *context, const char *text)
{
    struct str *const list = context;

    str_add(list, list->len ? ",\n    " : "\n    ");
    str_add_json(list, text);
}

/* What stderr was told, for those who did not see it. */
static void add_warnings(struct str *out)
{
    struct str list = STR_INIT;
    const size_t n = warnings_visit(add_warning, &list);

    if (n > WARNINGS_KEPT)
        str_printf(&list, ",\n    \"and %zu more\"", n - WARNINGS_KEPT);
    if (n > 0)
        str_printf(out, ",\n  \"warnings\": [%s\n  ]", list.s);
    str_release(&list);
}

void run_folder_result_json(const struct setup *s, const struct task *task,
                            const struct train_result *r, struct str *out)
{
    str_printf(out, "{\n  \"status\": \"%s\",\n  \"metric\": \"%s\"", train_status_name(r->status),
               task->metric->name);
    if (r->error < 0)
        str_printf(out, ",\n  \"error\": \"%s\"", err_name(r->error));
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
    add_real(out, "late_loss", r->late_loss);
    if (r->skipped_steps > 0)
        str_printf(out, ",\n  \"skipped_steps\": %lld", r->skipped_steps);
    add_evaluation(out, task, r);
    add_cache(out, r->cache);
    machine_add_changes(&s->machine, out);
    guard_add_json(s->guard, out);
    add_warnings(out);
    if (r->exit_code >= 0)
        str_printf(out, ",\n  \"exit_code\": %d", r->exit_code);
    str_printf(out, ",\n  \"bad_samples\": %llu", (unsigned long long)r->bad_samples);
    pipeline_counters_add_json(&r->counters, out);
    str_add(out, r->more ? r->more : "");
    str_add(out, "\n}\n");
}

/* Times are summed over the threads of a stage. Loader threads pass a sample through all of their
 * stages, so it waits in front of the first (for bytes: not on a processor) and behind the last
 * (for room in the ring); the thread that trains waits in front of copy. What can not be is empty.
 */
static int write_stages(const char *dir, const struct train_result *r)
{
    const struct pipeline_counters *const c = &r->counters;
    const struct session_counters *const s = &r->session;
    struct str out = STR_INIT;
    int rc;

    str_add(&out, "stage,samples,busy_ns,cpu_ns,input_wait_ns,output_wait_ns\n");
    for (int i = 0; i < N_STAGES; i++) {
        str_printf(&out, "%s,%llu,%lld,%lld,", stage_get((enum stage_id)i)->name,
                   (unsigned long long)c->stage[i].samples, (long long)c->stage[i].busy_ns,
                   (long long)c->stage[i].cpu_ns);
        if (i == 0)
            str_printf(&out, "%lld", (long long)(c->stage[i].busy_ns - c->stage[i].cpu_ns));
        str_add(&out, ",");
        if (i == N_STAGES - 1)
            str_printf(&out, "%lld", (long long)c->worker_wait_ns);
        str_add(&out, "\n");
    }
    str_printf(&out, "copy,%llu,%lld,,%lld,\ncompute,%llu,%lld,,,\n",
               (unsigned long long)s->samples, (long long)s->copy_ns,
               (long long)c->consumer_wait_ns, (unsigned long long)s->samples,
               (long long)s->compute_ns);
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
    return rc < 0 ? rc : write_stages(dir, r);
}

int run_folder_keep(const char *dir, const char *name)
{
    char *const path = file_join(dir, name);
    const char *const ending = strrchr(name, '.');
    char *old = NULL;
    int n = 0, rc = 0;

    do {
        free(old);
        old = xasprintf("%s/%.*s.%d%s", dir, (int)(ending - name), name, ++n, ending);
    } while (file_exists(old));
    if (file_exists(path) && rename(path, old) < 0)
        rc = err(E_IO, "rename %s to %s: %s", path, old, strerror(errno));
    free(path);
    free(old);
    return rc;
}

int run_folder_holds_run(const char *dir)
{
    static const char *const names[] = {"run.json", "mlperf.log", "set.json", "study.json"};
    int found = checkpoint_exists(dir);

    for (size_t i = 0; i < COUNT_OF(names); i++) {
        char *const path = file_join(dir, names[i]);
        found |= file_exists(path);
        free(path);
    }
    return found;
}

static int is_same_file(const char *a, const char *b)
{
    struct stat x, y;

    return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

static int is_checkpoint_name(const char *path)
{
    const char *const slash = strrchr(path, '/');

    return fnmatch("checkpoint*.safetensors", slash ? slash + 1 : path, 0) == 0;
}

int run_folder_check_target(const char *path, const char *source)
{
    struct stat st;
    const int there = lstat(path, &st) == 0;
    char *const copy = xstrdup(path);
    const char *const folder = dirname(copy);
    char *const run_json = file_join(folder, "run.json");
    const int in_a_run = file_exists(run_json), is_weights = !fnmatch("*.safetensors", path, 0);
    const int is_checkpoint =
        is_same_file(path, source) ||
        (is_checkpoint_name(path) && (in_a_run || is_same_file(folder, source)));

    free(run_json);
    free(copy);
    if (is_checkpoint)
        return err(E_USAGE,
                   "%s is a checkpoint that the exported file would replace; choose another name",
                   path);
    if (there && in_a_run && !is_weights)
        return err(E_USAGE, "%s belongs to a run; choose another name for the exported file", path);
    if (there && !S_ISREG(st.st_mode))
        return err(E_USAGE, "%s is no ordinary file that could be replaced; choose another name",
                   path);
    return 0;
}

/* The folder itself is locked: no file to leave behind, and the system lets go of it when the
 * process ends, however it ends. Where folders can not be locked (some network file systems) the
 * run does without. */
int run_folder_lock(const char *dir, int *fd)
{
    *fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (*fd < 0)
        return err(E_IO, "open %s: %s", dir, strerror(errno));
    for (int i = 0; i < LOCK_TRIES; i++) {
        if (flock(*fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK)
            return 0;
        clock_sleep_ns(5000000); /* it may be somebody who only looks */
    }
    close(*fd);
    *fd = -1;
    return err(E_USAGE,
               "another run is at work in %s; choose another --out, or wait until it has ended",
               dir);
}

int run_folder_is_held(const char *dir)
{
    const int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int held;

    if (fd < 0)
        return 0;
    held = flock(fd, LOCK_SH | LOCK_NB) < 0;
    close(fd);
    return held;
}

int run_folder_read_json(const char *dir, const char *name, cJSON **doc)
{
    char *const path = file_join(dir, name);
    const int rc = json_read_object(path, doc);

    if (rc == E_DATA)
        err(E_DATA, "%s is damaged: it is not JSON", path);
    free(path);
    return rc;
}

static int read_run_json(const char *dir, cJSON **doc)
{
    return run_folder_read_json(dir, "run.json", doc);
}

int run_folder_read_seed(const char *dir, uint64_t *seed)
{
    const cJSON *value;
    cJSON *doc;
    int rc = read_run_json(dir, &doc);

    value = cJSON_GetObjectItemCaseSensitive(doc, "seed");
    if (rc == 0 &&
        !(cJSON_IsNumber(value) && value->valuedouble >= 0 && value->valuedouble < 0x1p53))
        rc = err(E_DATA, "%s/run.json holds no seed; give the run's with --seed", dir);
    if (rc == 0)
        *seed = (uint64_t)value->valuedouble;
    cJSON_Delete(doc);
    return rc;
}

int run_folder_read_init(const char *dir, char **init)
{
    const cJSON *value;
    cJSON *doc;

    *init = NULL;
    TRY(read_run_json(dir, &doc));
    value = cJSON_GetObjectItemCaseSensitive(doc, "options");
    value = cJSON_GetObjectItemCaseSensitive(value, "run");
    value = cJSON_GetObjectItemCaseSensitive(value, "init");
    if (cJSON_IsString(value))
        *init = xstrdup(value->valuestring);
    cJSON_Delete(doc);
    return 0;
}

/* Options that change no weight, in the tables that hold those that do. */
static int changes_nothing(const char *option)
{
    static const char *const names[] = {"steps",
                                        "target",
                                        "eval-every",
                                        "eval-offset",
                                        "checkpoint-every",
                                        "checkpoint-steps",
                                        "num-threads",
                                        "prefetch",
                                        "seed",
                                        "reader",
                                        "reader-depth",
                                        "readahead",
                                        "numa",
                                        "org",
                                        "platform",
                                        "status"};

    for (size_t i = 0; i < COUNT_OF(names); i++)
        if (strcmp(option, names[i]) == 0)
            return 1;
    return 0;
}

static void add_option(struct str *out, const cJSON *value)
{
    char *const text = cJSON_PrintUnformatted(value);

    str_printf(out, "%s%s %s", out->len ? ", " : "", value->string, text ? text : "?");
    cJSON_free(text);
}

static void compare_table(const cJSON *was, const cJSON *is, struct str *before, struct str *now)
{
    const cJSON *option;

    cJSON_ArrayForEach(option, is)
    {
        const cJSON *const old = cJSON_GetObjectItemCaseSensitive(was, option->string);
        if (!old || changes_nothing(option->string) || cJSON_Compare(old, option, 1))
            continue;
        add_option(before, old);
        add_option(now, option);
    }
}

/* The device's own words: library, instruction set and threads decide how sums are rounded. */
static void compare_device(const cJSON *was, const struct engine *e, struct str *before,
                           struct str *now)
{
    const cJSON *const old = cJSON_GetObjectItemCaseSensitive(was, "device_about");
    struct str is = STR_INIT;

    e->backend->describe(e->device, &is);
    if (cJSON_IsString(old) && strcmp(old->valuestring, is.s) != 0) {
        str_printf(before, "device \"%s\"", old->valuestring);
        str_printf(now, "device \"%s\"", is.s);
    }
    str_release(&is);
}

void run_folder_warn_of_changes(const char *dir, const struct setup *s, const struct engine *e)
{
    struct str text = STR_INIT, before = STR_INIT, now = STR_INIT;
    cJSON *was = NULL, *is;
    const cJSON *table, *tables;

    command_line_add_json(&s->line, &text);
    is = json_parse(text.s, text.len, NULL);
    if (read_run_json(dir, &was) < 0)
        warning("%s; whether the run goes on with the options it had is not known", err_reason());
    compare_device(was, e, &before, &now);
    tables = cJSON_GetObjectItemCaseSensitive(was, "options");
    cJSON_ArrayForEach(table, is)
    {
        if (strcmp(table->string, "run") != 0 && strcmp(table->string, "machine") != 0)
            compare_table(cJSON_GetObjectItemCaseSensitive(tables, table->string), table, &before,
                          &now);
    }
    if (now.len)
        warning("the run in %s had %s, and goes on with %s; it does not end as it would have", dir,
                before.s, now.s);
    cJSON_Delete(was);
    cJSON_Delete(is);
    str_release(&text);
    str_release(&before);
    str_release(&now);
}

char *run_folder_default(const char *kind, const char *workload)
{
    const time_t now = (time_t)(clock_wall_ms() / 1000);
    char date[32];
    struct tm tm;

    strftime(date, sizeof(date), "%Y%m%d-%H%M%S", gmtime_r(&now, &tm));
    return xasprintf("runs/%s%s-%s", kind, workload, date);
}
