#include "score_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/file.h"
#include "base/str.h"
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

static void add_end(struct str *out, double ms, const struct fake_run *run)
{
    char meta[80];

    snprintf(meta, sizeof(meta), "\"epoch_num\": %.10g, ", run->epochs);
    add(out, ms, "eval_accuracy", "0.7601", meta);
    if (run->status && !*run->status)
        return;
    snprintf(meta, sizeof(meta), "\"status\": \"%s\", ", run->status ? run->status : "success");
    add(out, ms, "run_stop", "null", meta);
}

void fake_log(const char *dir, const char *name, const struct fake_result *f,
              const struct fake_run *run, int number)
{
    struct str out = STR_INIT;
    const double start = (double)f->start_ms + 1000. * number;
    char batch[24];

    snprintf(batch, sizeof(batch), "%ld", f->batch ? f->batch : 3264);
    add_text(&out, "submission_benchmark", f->benchmark ? f->benchmark : "resnet");
    add_text(&out, "submission_division", f->division ? f->division : "closed");
    add_text(&out, "submission_org", "Org");
    add(&out, 1, "global_batch_size", batch, "");
    add(&out, start, "run_start", "null", "");
    add(&out, start, "train_samples", "1281167", "");
    add_end(&out, start + run->minutes * 60000, run);
    free(scratch_file(dir, name, out.s));
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
