/* The files of a run folder, of a study and of a set, with a byte 1 between them, into a page. What
 * stands in it must be text, its data must be JSON, and its columns must be as many as that says.
 */
#include <string.h>

#include "base/err.h"
#include "base/json.h"
#include "fuzz.h"
#include "report/doc.h"
#include "report/report.h"

static const char *const names[] = {"run.json",    "result.json", "stages.csv",   "events.jsonl",
                                    "samples.csv", "ingest.csv",  "profile.json", "study.json"};

const char *const fuzz_words[] = {"\"key\": \"step\"",
                                  "\"time_ms\": ",
                                  "\"elapsed_ns\": ",
                                  "\"value\": ",
                                  "\"epoch_num\": ",
                                  "\"step_num\": ",
                                  "eval_accuracy",
                                  "eval_start",
                                  "eval_stop",
                                  "epoch_start",
                                  "epoch_stop",
                                  "run_start",
                                  "run_stop",
                                  "bad_sample",
                                  "\"reason\": ",
                                  "time_ms,",
                                  "elapsed_s,",
                                  "phase,",
                                  "epoch,",
                                  "_bytes,",
                                  "_percent,",
                                  "gpu0_",
                                  "train",
                                  "\"options\"",
                                  "\"defaults\"",
                                  "\"phases\"",
                                  "\"verdict\"",
                                  "\"samples_per_s\"",
                                  "\"table\"",
                                  "\"condition\"",
                                  "</script>",
                                  "<!--",
                                  "\xff",
                                  "1e308",
                                  "-1",
                                  NULL};

static size_t count(const char *text, const char *part)
{
    size_t n = 0;

    for (const char *p = text; (p = strstr(p, part)); p += strlen(part))
        n++;
    return n;
}

static size_t n_columns(const cJSON *doc)
{
    const cJSON *t;
    size_t n = 0;

    cJSON_ArrayForEach(t, doc_get(doc, "tables")) n +=
        (size_t)cJSON_GetArraySize(doc_get(t, "columns"));
    return n;
}

static void look_at(const struct page *p)
{
    cJSON *const doc = json_parse(p->json.s, p->json.len, NULL);
    const char *const body = p->body.s ? p->body.s : "", *const blocks =
                                                             p->blocks.s ? p->blocks.s : "";

    ASSERT(doc);
    ASSERT(count(blocks, "<script ") == n_columns(doc));
    ASSERT(count(body, "<script") == 0 && count(body, "<!--") == 0);
    for (const char *c = body; *c; c++)
        ASSERT((unsigned char)*c >= ' ' || *c == '\n');
    cJSON_Delete(doc);
}

static void make(int (*report)(const char *, struct page *))
{
    struct page p = {.title = STR_INIT};
    const int rc = report(fuzz_dir(), &p);

    if (rc == 0)
        look_at(&p);
    else
        ASSERT(rc == E_IO || rc == E_DATA);
    page_release(&p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    size_t from = 0;

    for (size_t i = 0; i < COUNT_OF(names); i++) {
        const uint8_t *const end = from < n ? memchr(data + from, 1, n - from) : NULL;
        const size_t to = end ? (size_t)(end - data) : n;

        fuzz_remove(names[i]);
        if (to > from)
            fuzz_put(names[i], data + from, to - from);
        from = to < n ? to + 1 : n;
    }
    make(report_run);
    make(report_study);
    return 0;
}

void fuzz_seeds(void)
{
    static const char run[] =
        "{\"workload\": \"resnet50\", \"unit\": \"images\", \"seed\": 7, \"rules\": \"a\\nb\", "
        "\"options\": "
        "{\"data\": {\"num-threads\": 2}}, \"defaults\": {\"data\": {\"num-threads\": 0}}}\1"
        "{\"status\": \"target reached\", \"metric\": \"top1\", \"target\": 0.5, \"quality\": 0.8, "
        "\"steps\": 78, "
        "\"samples_trained\": 9984, \"run_ns\": 1e11, \"train_ns\": 9e10, \"data_wait_ns\": 1e6, "
        "\"origin\": "
        "\"disk\", \"exit_code\": 0, \"data_epochs\": [{\"epoch_num\": 1, \"asked_bytes\": 5, "
        "\"origin\": \"disk\"}], "
        "\"ingest\": {\"spec\": \"a\", \"latency_ns\": {\"p50\": 5}}}\1"
        "stage,samples,busy_ns\nread,100,5000\ndecode,100,700\ncopy,100,50\ncompute,100,9000\n\1"
        "{\"time_ms\": 1000, \"type\": \"start\", \"key\": \"run_start\"}\n{\"time_ms\": 2000, "
        "\"type\": \"start\", "
        "\"key\": \"epoch_start\", \"epoch_num\": 1}\n{\"time_ms\": 3000, \"type\": \"point\", "
        "\"key\": \"step\", "
        "\"step_num\": 1, \"loss\": 2.5}\n{\"time_ms\": 4000, \"type\": \"point\", \"key\": "
        "\"eval_accuracy\", "
        "\"value\": 0.5, \"epoch_num\": 1}\n\1"
        "time_ms,elapsed_s,phase,epoch,cpu_process_percent,disk_read_bytes\n2000,1,init,,10,"
        "5\n3000,2,train,1,,9\n"
        "\1time_ms,elapsed_s,ingest_write_bytes_per_s\n3000,2,5\n";
    static const char profile[] = "\1\1\1\1\1\1{\"unit\": \"images\", \"phases\": {\"read\": "
                                  "{\"samples_per_s\": 900}, \"copy\": "
                                  "{\"samples_per_s\": 9e5}, \"model\": {\"samples_per_s\": 50}, "
                                  "\"loader\": {\"samples_per_s\": 500}}, "
                                  "\"verdict\": {\"shortest\": \"compute\", "
                                  "\"measured_samples_per_s\": 49, \"words\": \"a\\nb\\n\"}}\1"
                                  "{\"words\": \"w\", \"repeats\": 3, \"conditions\": [{\"name\": "
                                  "\"a\"}], \"runs\": [{\"dir\": \"run-01\", "
                                  "\"condition\": 0, \"stands\": true}], \"table\": "
                                  "[{\"condition\": 0, \"n\": 3, \"train_samples_per_s\": "
                                  "{\"mean\": 5, \"least\": 4, \"most\": 6}, \"slowdown\": "
                                  "{\"ratio\": 0.1, \"low\": 0, \"high\": 0.2}}]}";

    fuzz_seed(run, sizeof(run) - 1);
    fuzz_seed(profile, sizeof(profile) - 1);
}
