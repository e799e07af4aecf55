/* study.json of a study: refused, or judged, written and read again it is the same plan. */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "cli/study.h"
#include "fuzz.h"

const char *const fuzz_words[] = {"\"kind\":",
                                  "\"study\"",
                                  "\"ingest\"",
                                  "\"seed\":",
                                  "\"settings\":",
                                  "\"steps\":",
                                  "\"unit\":",
                                  "\"options\":",
                                  "\"conditions\":",
                                  "\"alone\":",
                                  "\"training\"",
                                  "\"both\"",
                                  "\"runs\":",
                                  "\"run-01\"",
                                  "\"repeat\":",
                                  "\"condition\":",
                                  "\"exit_code\":",
                                  "\"repeats\":",
                                  "\"warm_s\":",
                                  "[",
                                  "]",
                                  "{",
                                  "}",
                                  "1e999",
                                  "null",
                                  "-0",
                                  NULL};

static char *text_of(const struct study *s)
{
    struct study_result r;
    struct str out = STR_INIT;

    study_judge(s, &r);
    study_add_json(s, &r, &out);
    study_result_release(&r);
    return str_detach(&out);
}

static char *written_again(const char *text)
{
    struct study s = {0};
    char *again;

    ASSERT(study_parse(&s, text, strlen(text)) == 0);
    again = text_of(&s);
    study_release(&s);
    return again;
}

/* Bytes that are no UTF-8 are not the same the first time. */
static void check_again(const struct study *s)
{
    char *const first = text_of(s), *const second = written_again(first),
                *const third = written_again(second);

    ASSERT(strcmp(second, third) == 0);
    free(first);
    free(second);
    free(third);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    char *const text = xmalloc(n + 1);
    struct study s = {0};
    int rc;

    memcpy(text, data, n);
    text[n] = '\0';
    rc = study_parse(&s, text, n);
    if (rc < 0)
        fuzz_refused(rc);
    else
        check_again(&s);
    study_release(&s);
    free(text);
    return 0;
}

void fuzz_seeds(void)
{
    static const char seed[] =
        "{\"kind\": \"ingest\", \"stave_version\": \"0.1.0\", \"started_utc\": "
        "\"2026-01-01T00:00:00Z\", \"seed\": 11, \"warm_s\": 2, \"workloads\": [\"resnet50\"], "
        "\"settings\": [{\"steps\": 30, \"unit\": \"images\", \"says_evaluations\": true, "
        "\"says_checkpoints\": false, \"options\": {\"a\": {\"lr\": "
        "0.1}}}], "
        "\"repeats\": 2, \"conditions\": [{\"name\": \"training alone\", \"memory\": \"none\", "
        "\"cache\": \"none\", \"ingest\": \"off\", \"alone\": \"training\"}, {\"name\": "
        "\"together\", "
        "\"memory\": \"none\", \"cache\": \"none\", \"ingest\": \"bs=4k\", \"data\": \"/a\", "
        "\"copy_in_from\": \"/b\", \"alone\": \"both\"}], \"runs\": [{\"dir\": \"run-01\", "
        "\"condition\": 0, \"repeat\": 1, \"exit_code\": 0}, {\"dir\": \"run-03\", \"condition\": "
        "1, "
        "\"repeat\": 2, \"exit_code\": 4}]}";

    fuzz_seed(seed, strlen(seed));
}
