/* A log as `stave borrow` reads it: whatever stands in it, a configuration that is made of it is
 * one that the reader of configurations takes, every key an option; what is out of range is the
 * run's to say. And the same bytes as a system description and as a seed. */
#include <stdlib.h>
#include <string.h>

#include "base/config.h"
#include "base/err.h"
#include "base/opt.h"
#include "fuzz.h"
#include "rules/log.h"
#include "rules/package_log.h"
#include "rules/system_desc.h"
#include "workloads/borrow.h"

const char *const fuzz_words[] = {":::MLLOG {\"key\": \"",
                                  "\"value\": ",
                                  "\"metadata\": {\"epoch_num\": 4}}",
                                  "\"time_ms\": 1, ",
                                  "opt_name",
                                  "\"lars\"",
                                  "\"sgd\"",
                                  "global_batch_size",
                                  "train_samples",
                                  "lars_opt_learning_rate_decay_steps",
                                  "lars_opt_learning_rate_warmup_epochs",
                                  "lars_opt_base_learning_rate",
                                  "eval_accuracy",
                                  "submission_org",
                                  "1e308",
                                  "NaN",
                                  "\"status\": \"Preview\"",
                                  NULL};

static int take(void *context, const char *key, const char *value, const char *where)
{
    struct train_settings *const s = context;
    const struct opt_row *const row = opt_find(&train_options, key);

    (void)where;
    if (row)
        opt_set(row, s, value, key); /* a rate of the log may be out of range: the run says so */
    else
        ASSERT(strcmp(key, "label-smoothing") == 0);
    return 0;
}

static void try_borrow(const uint8_t *data, size_t n)
{
    char *const text = xmalloc(n + 1);
    struct str out = STR_INIT;
    struct train_settings s;
    struct log l;
    int rc;

    memcpy(text, data, n);
    text[n] = '\0';
    if (log_read_memory(&l, text, n) == 0) {
        rc = borrow_resnet50(&l, &(struct workload_borrow){"log", 32}, &out);
        if (rc < 0) {
            fuzz_refused(rc);
        } else {
            opt_defaults(&train_options, &s);
            ASSERT(config_load(fuzz_put("c.yaml", out.s, out.len), take, &s) == 0);
            opt_release(&train_options, &s);
        }
        log_release(&l);
    }
    str_release(&out);
    free(text);
}

static void try_description(const uint8_t *data, size_t n)
{
    const char *const path = fuzz_put("system.json", data, n);
    struct findings f = {0};
    struct system_desc d;
    struct str out = STR_INIT;
    const int rc = system_desc_read(&d, path);

    system_desc_check(path, "4.0.0", &f);
    if (rc < 0) {
        fuzz_refused(rc);
        ASSERT(f.count[FINDING_ERROR] == 1);
    } else {
        system_desc_json(&d, &out);
        fuzz_touch(out.s, out.len);
        system_desc_release(&d);
    }
    findings_json(&f, &out);
    str_release(&out);
    findings_release(&f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    char *const seed = xmalloc(n + 1);

    memcpy(seed, data, n);
    seed[n] = '\0';
    free(package_seed_digits(seed));
    free(seed);
    try_borrow(data, n);
    try_description(data, n);
    return 0;
}

void fuzz_seeds(void)
{
    static const char *const seeds[] = {
        ":::MLLOG {\"time_ms\": 1, \"key\": \"opt_name\", \"value\": \"lars\", \"metadata\": {}}\n"
        ":::MLLOG {\"time_ms\": 1, \"key\": \"global_batch_size\", \"value\": 3264, \"metadata\": "
        "{}}\n"
        ":::MLLOG {\"time_ms\": 1, \"key\": \"lars_opt_learning_rate_decay_steps\", \"value\": "
        "13756, \"metadata\": {}}\n"
        ":::MLLOG {\"time_ms\": 1, \"key\": \"eval_accuracy\", \"value\": 0.7, \"metadata\": "
        "{\"epoch_num\": 3}}\n"
        ":::MLLOG {\"time_ms\": 1, \"key\": \"eval_accuracy\", \"value\": 0.7, \"metadata\": "
        "{\"epoch_num\": 7}}\n",
        "{\"submitter\": \"a\", \"status\": \"Preview\", \"cooling\": 1}",
        "\" +0012 \"",
        "1004.7",
    };

    for (size_t i = 0; i < COUNT_OF(seeds); i++)
        fuzz_seed(seeds[i], strlen(seeds[i]));
}
