#include "submission_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/file.h"
#include "rules/system_desc.h"
#include "scratch.h"
#include "trace/sinks.h"
#include "trace/trace.h"

static void emit_settings(struct trace *t, const struct made_run *r)
{
    TRACE_POINT(t, submission_org, trace_string(r->org));
    TRACE_POINT(t, submission_platform, trace_string(r->platform));
    TRACE_POINT(t, submission_division, trace_string(r->division));
    TRACE_POINT(t, submission_status, trace_string(r->status));
    TRACE_POINT(t, submission_benchmark, trace_string(r->benchmark));
    TRACE_POINT(t, global_batch_size, trace_int(r->batch));
    TRACE_POINT(t, gradient_accumulation_steps, trace_int(1));
    TRACE_POINT(t, seed, trace_int(r->seed));
    TRACE_POINT(t, opt_name, trace_string("lars"));
    TRACE_POINT(t, lars_opt_base_learning_rate, trace_real(10.5));
    TRACE_POINT(t, lars_opt_end_learning_rate, trace_real(0.0001));
    TRACE_POINT(t, lars_opt_learning_rate_decay_poly_power, trace_int(2));
    TRACE_POINT(t, lars_opt_learning_rate_decay_steps, trace_int(41));
    TRACE_POINT(t, lars_epsilon, trace_real(0));
    TRACE_POINT(t, lars_opt_learning_rate_warmup_epochs, trace_int(2));
    TRACE_POINT(t, lars_opt_momentum, trace_real(0.9));
    TRACE_POINT(t, lars_opt_weight_decay, trace_real(0.00005));
}

static void emit_block(struct trace *t, long long first, long long last, double quality)
{
    TRACE_START(t, block_start, trace_none(), {"first_epoch_num", trace_int(first)},
                {"epoch_count", trace_int(last - first + 1)});
    TRACE_START(t, eval_start, trace_none(), {"epoch_num", trace_int(last)});
    TRACE_POINT(t, eval_accuracy, trace_real(quality), {"epoch_num", trace_int(last)});
    TRACE_END(t, eval_stop, trace_none(), {"epoch_num", trace_int(last)});
    TRACE_END(t, block_stop, trace_none(), {"first_epoch_num", trace_int(first)});
}

static void emit_run(struct trace *t, const struct made_run *r)
{
    const double reached = 0.76 + 1e-4 * (double)(r->seed % 100); /* no two runs are alike */
    long long first = 1;

    TRACE_POINT(t, cache_clear, trace_bool(1));
    TRACE_START(t, init_start, trace_none());
    emit_settings(t, r);
    TRACE_END(t, init_stop, trace_none());
    TRACE_START(t, run_start, trace_none());
    TRACE_POINT(t, train_samples, trace_int(1281167));
    TRACE_POINT(t, eval_samples, trace_int(50000));
    for (long long last = 3; last <= r->epochs; first = last + 1, last += 4)
        emit_block(t, first, last, last == r->epochs ? reached : 0.01 * (double)last);
    TRACE_END(t, run_stop, trace_none(), {"status", trace_string(r->run_status)});
}

static void set(const char **text, const char *dflt)
{
    *text = *text ? *text : dflt;
}

void make_run(const char *dir, const char *name, struct made_run r)
{
    char *const folder = file_join(dir, name), *const log = file_join(folder, "mlperf.log");
    char *const json = file_join(name, "run.json");
    struct trace t;

    set(&r.division, "open");
    set(&r.org, "tiny");
    set(&r.platform, "testbox");
    set(&r.status, "research");
    set(&r.benchmark, "resnet");
    set(&r.run_status, "success");
    r.batch = r.batch ? r.batch : 3264;
    r.epochs = r.epochs ? r.epochs : 39;
    assert_int_equal(file_mkdirs(folder), 0);
    trace_open(&t);
    assert_int_equal(trace_add(&t, &mllog_sink, &(struct mllog_options){.path = log}), 0);
    emit_run(&t, &r);
    assert_int_equal(trace_close(&t), 0);
    free(scratch_file(
        dir, json,
        "{\"stave_version\": \"0.1.0\", \"workload\": \"resnet50\", \"preset\": \"sample\", "
        "\"seed\": 7, \"ruleset\": \"4.0.0\", \"rules\": \"target is low\\n\", \"options\": "
        "{\"run\": {\"out\": \"/secret/place\", \"init\": null}, \"machine\": {\"preset\": "
        "\"sample\", \"threads\": 0}, \"training\": {\"lr\": 1.5, \"seed\": 7, \"nesterov\": "
        "false}, \"data\": {\"data-dir\": \"/secret/data\"}, \"resnet50\": {\"pixel-mean\": "
        "\"73,73,73\"}}}"));
    free(folder);
    free(log);
    free(json);
}

void make_runs(const char *dir, struct made_run r)
{
    for (int i = 1; i <= 5; i++) {
        char name[16];

        snprintf(name, sizeof(name), "run-%d", i);
        r.seed = 1000 + i;
        make_run(dir, name, r);
    }
}

void make_description(const char *dir, const char *name, const char *division)
{
    struct system_desc d = {0};
    struct str text = STR_INIT;

    for (int i = 0; i < SYSTEM_FIELDS; i++)
        system_desc_set(&d, system_fields[i].name, "x");
    system_desc_set(&d, "submitter", "tiny");
    system_desc_set(&d, "division", division ? division : "open");
    system_desc_set(&d, "status", "Research, Development, or Internal (RDI)");
    system_desc_set(&d, "system_name", "testbox");
    system_desc_json(&d, &text);
    free(scratch_file(dir, name, text.s));
    str_release(&text);
    system_desc_release(&d);
}

static int edit(const char *dir, const char *name, const char *find, const char *with, int all)
{
    char *const path = file_join(dir, name);
    struct str out = STR_INIT;
    char *text, *at, *from;
    size_t n;
    int found = 0;

    if (file_read(path, 1 << 20, &text, &n) < 0)
        fail_msg("%s", err_reason());
    from = text;
    while ((!found || all) && (at = strstr(from, find))) {
        str_add_bytes(&out, from, (size_t)(at - from));
        str_add(&out, with);
        from = at + strlen(find);
        found++;
    }
    str_add(&out, from);
    free(scratch_bytes(dir, name, out.s ? out.s : "", out.len));
    str_release(&out);
    free(text);
    free(path);
    return found;
}

void edit_file(const char *dir, const char *name, const char *find, const char *with)
{
    if (!edit(dir, name, find, with, 0))
        fail_msg("%s holds no %s", name, find);
}

void edit_all(const char *dir, const char *name, const char *find, const char *with)
{
    if (!edit(dir, name, find, with, 1))
        fail_msg("%s holds no %s", name, find);
}
