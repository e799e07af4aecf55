/* The log checker: any bytes against any round. A file and memory get the same findings, an error
 * or strict finding and only that makes a log fall, and a check that a visitor ends leaves nothing.
 */
#include <string.h>

#include "base/err.h"
#include "data/bytes.h"
#include "fuzz.h"
#include "rules/check.h"
#include "rules/ruleset.h"

enum { STOP = -100 };

const char *const fuzz_words[] = {
    ":::MLLOG {\"namespace\": \"\", \"time_ms\": ",
    ":::MLL 1.5 ",
    ":::MLPv0.5.0 resnet 1.5 (a.py:1) ",
    "\"key\": \"submission_division\", \"value\": \"closed\"",
    "\"key\": \"submission_benchmark\", \"value\": \"resnet\"",
    "\"key\": \"submission_benchmark\", \"value\": \"stable_diffusion\"",
    "\"key\": \"opt_name\", \"value\": \"lars\"",
    "\"key\": \"eval_accuracy\", \"value\": ",
    "\"key\": \"weights_initialization\", \"value\": null",
    "\"key\": \"init_start\", \"value\": null",
    "\"key\": \"run_stop\", \"value\": null",
    ", \"metadata\": {\"epoch_num\": 4, \"samples_count\": 3, \"metric\": \"FID\"}}\n",
    ", \"metadata\": {\"tensor\": \"conv0_weight\", \"status\": \"success\"}}\n",
    "NaN",
    "global_batch_size",
    "{\"BBOX\": 0.4, \"SEGM\": 0.4}",
    NULL};

struct seen {
    uint64_t sum;
    size_t n[N_RULE_SEVERITIES], stop_after;
};

static int on_finding(void *context, const struct rule_finding *f)
{
    struct seen *const s = context;

    ASSERT(f->severity < N_RULE_SEVERITIES && f->name[0] && f->found && f->expected && f->rule[0]);
    s->n[f->severity]++;
    s->sum = checksum_add(s->sum, f->name, strlen(f->name));
    s->sum = checksum_add(s->sum, f->key, strlen(f->key));
    s->sum = checksum_add(s->sum, f->found, strlen(f->found));
    s->sum = checksum_add(s->sum, &f->line, sizeof(f->line));
    return s->stop_after && --s->stop_after == 0 ? STOP : 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    const char *const *const rounds = ruleset_versions();
    struct seen a = {0}, b = {0}, c = {0};
    struct rule_verdict v, w;
    const struct ruleset *r;
    size_t n_rounds = 0;

    while (rounds[n_rounds])
        n_rounds++;
    if (n == 0)
        return 0;
    r = data[0] % (n_rounds + 1) == n_rounds ? NULL
                                             : ruleset_find(rounds[data[0] % (n_rounds + 1)]);
    ASSERT(rules_check_memory((const char *)data + 1, n - 1, r,
                              &(struct rule_visitor){on_finding, &a}, &v) == 0);
    ASSERT(rules_check_file(fuzz_put("x.log", data + 1, n - 1), r,
                            &(struct rule_visitor){on_finding, &b}, &w) == 0);
    ASSERT(a.sum == b.sum && v.stands == w.stands && v.n_records == w.n_records);
    ASSERT(v.stands == (a.n[RULE_ERROR] + a.n[RULE_STRICT] == 0));
    ASSERT(memcmp(a.n, v.n, sizeof(a.n)) == 0);
    c.stop_after = 1 + n % 3;
    if (rules_check_memory((const char *)data + 1, n - 1, r, &(struct rule_visitor){on_finding, &c},
                           &w) != 0)
        ASSERT(c.stop_after == 0);
    return 0;
}

void fuzz_seeds(void)
{
    static const char *const seeds[] = {
        "\x09:::MLLOG {\"time_ms\": 1, \"key\": \"submission_division\", \"value\": \"closed\", "
        "\"metadata\": {}}\n:::MLLOG {\"time_ms\": 2, \"key\": \"submission_benchmark\", "
        "\"value\": \"resnet\", \"metadata\": {}}\n:::MLLOG {\"time_ms\": 3, \"key\": "
        "\"opt_name\", \"value\": \"lars\", \"metadata\": {}}\n",
        "\x08:::MLLOG {\"time_ms\": 1, \"key\": \"submission_division\", \"value\": \"open\", "
        "\"metadata\": {}}\n:::MLLOG {\"time_ms\": 2, \"key\": \"submission_benchmark\", "
        "\"value\": \"stable_diffusion\", \"metadata\": {}}\n:::MLLOG {\"time_ms\": 3, \"key\": "
        "\"eval_accuracy\", \"value\": 3, \"metadata\": {\"metric\": \"FID\", \"step_num\": 1}}\n",
        "\x0a:::MLL 1.5 epoch_start: {\"value\": null, \"metadata\": {\"epoch_num\": 1}}\n",
        "\x0a:::MLPv0.5.0 resnet 1.0 (a.py:1) run_start\n:::MLPv0.5.0 resnet 2.5 (a.py:3) "
        "eval_accuracy: {\"epoch\": 4, \"value\": 0.75}\n",
        "\x04:::MLLOG {\"time_ms\": 1, \"key\": \"submission_division\", \"value\": \"closed\", "
        "\"metadata\": {}}\n:::MLLOG {\"time_ms\": 2, \"key\": \"submission_benchmark\", "
        "\"value\": \"bert\", \"metadata\": {}}\n:::MLLOG {\"time_ms\": 3, \"key\": "
        "\"weights_initialization\", \"value\": null, \"metadata\": {\"tensor\": "
        "\"bert/pooler/dense/bias\"}}\n",
    };

    for (size_t i = 0; i < COUNT_OF(seeds); i++)
        fuzz_seed(seeds[i], strlen(seeds[i]));
}
