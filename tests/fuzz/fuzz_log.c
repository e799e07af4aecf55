/* What a log says: from memory and from a file the same; lists hold what their counts say; times
 * and epochs come from records that were there. */
#include <math.h>
#include <string.h>

#include "base/err.h"
#include "fuzz.h"
#include "rules/log.h"

const char *const fuzz_words[] = {":::MLLOG {",
                                  ":::MLL 1.5 run_start: {\"value\": null, \"metadata\": {}}",
                                  ":::MLPv0.5.0 resnet 1.5 (a:1) run_start",
                                  "\"time_ms\": 1",
                                  "\"key\": \"run_start\"",
                                  "\"key\": \"run_stop\"",
                                  "\"key\": \"eval_accuracy\"",
                                  "\"key\": \"seed\"",
                                  "\"key\": \"global_batch_size\"",
                                  "\"key\": \"train_samples\"",
                                  "\"key\": \"submission_benchmark\"",
                                  "\"value\": {\"BBOX\": 0.3, \"SEGM\": NaN}",
                                  "\"metadata\": {\"epoch_num\": 1e308",
                                  "\"status\": \"success\"",
                                  "\"success\": true",
                                  "\"lineno\": -1",
                                  "Infinity",
                                  NULL};

static void touch(const char *text)
{
    if (text)
        fuzz_touch(text, strlen(text));
}

static void look(const struct log *l)
{
    for (size_t i = 0; i < l->n_seeds; i++) {
        touch(l->seeds[i].value);
        touch(l->seeds[i].file);
        ASSERT(l->seeds[i].lineno >= -1 && l->seeds[i].line >= 1);
    }
    for (size_t i = 0; i < l->n_evaluations; i++) {
        ASSERT(l->evaluations[i].n_members == 0 || isnan(l->evaluations[i].value));
        for (size_t k = 0; k < l->evaluations[i].n_members; k++)
            touch(l->evaluations[i].members[k].name);
    }
    for (size_t i = 0; i < l->n_settings; i++) {
        touch(l->settings[i].value);
        touch(l->settings[i].file);
        ASSERT(log_setting(l, l->settings[i].key) >= &l->settings[i]);
        (void)log_number(l, l->settings[i].key);
    }
    touch(l->benchmark);
    touch(l->run_status);
    touch(l->trouble);
    ASSERT((l->trouble != NULL) == (l->n_troubles > 0));
    ASSERT(l->n_seeds + l->n_evaluations + l->n_settings <= l->n_records);
    ASSERT(isnan(l->epochs) || (l->run_status && l->n_evaluations));
}

static int same(double a, double b)
{
    return (isnan(a) && isnan(b)) || a == b;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct log a, b;

    ASSERT(log_read_memory(&a, (const char *)data, n) == 0);
    ASSERT(log_read(&b, fuzz_put("x.log", data, n), NULL) == 0);
    look(&a);
    ASSERT(a.n_records == b.n_records && a.n_troubles == b.n_troubles && a.format == b.format);
    ASSERT(a.n_settings == b.n_settings && a.n_evaluations == b.n_evaluations);
    ASSERT(same(a.epochs, b.epochs) && same(a.batch, b.batch));
    ASSERT(same(log_minutes(&a), log_minutes(&b)));
    log_release(&a);
    log_release(&b);
    return 0;
}

void fuzz_seeds(void)
{
    static const char *const seeds[] = {
        ":::MLLOG {\"namespace\": \"\", \"time_ms\": 1700000000000, \"event_type\": "
        "\"POINT_IN_TIME\", \"key\": \"seed\", \"value\": 7, \"metadata\": {\"file\": \"a.c\", "
        "\"lineno\": 3}}\n"
        ":::MLLOG {\"time_ms\": 5, \"key\": \"run_start\", \"value\": null, \"metadata\": {}}\n"
        ":::MLLOG {\"time_ms\": 6, \"key\": \"eval_accuracy\", \"value\": {\"BBOX\": 0.4, "
        "\"SEGM\": "
        "0.3}, \"metadata\": {\"epoch_num\": 13.00049}}\n"
        ":::MLLOG {\"time_ms\": 7, \"key\": \"run_stop\", \"value\": null, \"metadata\": "
        "{\"status\": "
        "\"success\"}}\n",
        ":::MLL 1558635870.442 submission_benchmark: {\"value\": \"resnet\", \"metadata\": "
        "{\"file\": \"a.py\", \"lineno\": 226}}\n"
        ":::MLL 1558636062.045 run_stop: {\"value\": null, \"metadata\": {\"status\": "
        "\"success\"}}\n",
        ":::MLPv0.5.0 resnet 1541720386.719199657 (a.py:49) run_set_random_seed: 14209\n"
        ":::MLPv0.5.0 resnet 1541728484.694621563 (a.py:49) eval_accuracy: {\"epoch\": 62, "
        "\"value\": 0.7522}\n"
        ":::MLPv0.5.0 resnet 1541728484.695488691 (a.py:49) run_stop: {\"success\": true}\n",
    };

    for (size_t i = 0; i < COUNT_OF(seeds); i++)
        fuzz_seed(seeds[i], strlen(seeds[i]));
}
