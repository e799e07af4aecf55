/* set.json of a set of runs: refused, or written and read again it is the same. */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "cli/run_set.h"
#include "fuzz.h"

const char *const fuzz_words[] = {"\"seed\":",
                                  "\"state\":",
                                  "\"waiting\"",
                                  "\"running\"",
                                  "\"finished\"",
                                  "\"exit_code\":",
                                  "\"runs\":",
                                  "\"earlier\":",
                                  "\"options\":",
                                  "\"folder\":",
                                  "[",
                                  "]",
                                  "{",
                                  "}",
                                  "1e999",
                                  "null",
                                  "-0",
                                  NULL};

static char *text_of(const struct run_set *s)
{
    struct str out = STR_INIT;

    run_set_add_json(s, &out);
    return str_detach(&out);
}

/* Bytes that are no UTF-8 are not the same the first time. */
static char *written_again(const char *text)
{
    struct run_set s = {0};
    char *again;

    ASSERT(run_set_parse(&s, text, strlen(text)) == 0);
    again = text_of(&s);
    run_set_release(&s);
    return again;
}

static void check_again(const struct run_set *s)
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
    struct run_set s = {0};
    int rc;

    memcpy(text, data, n);
    text[n] = '\0';
    rc = run_set_parse(&s, text, n);
    if (rc < 0)
        fuzz_refused(rc);
    else
        check_again(&s);
    run_set_release(&s);
    free(text);
    return 0;
}

void fuzz_seeds(void)
{
    static const char seed[] =
        "{\"stave_version\": \"0.1.0\", \"started_utc\": \"2026-01-01T00:00:00Z\", \"workload\": "
        "\"resnet50\", \"ruleset\": \"4.0.0\", \"until_sure_percent\": 2, \"options\": {\"run\": "
        "{\"init\": null, \"lr\": 0.1, \"flip\": true, \"out\": \"a\"}}, \"runs\": [{\"folder\": "
        "\"run-1\", \"seed\": 11, \"state\": \"finished\", \"exit_code\": 0, \"status\": \"target "
        "reached\", \"quality\": 0.9, \"epochs\": 4, \"minutes\": 3.5, \"cache_cleared\": true}, "
        "{\"folder\": \"run-2\", \"seed\": 12, \"state\": \"running\", \"earlier\": [{\"folder\": "
        "\"run-2.failed-1\", \"seed\": 13}]}]}";

    fuzz_seed(seed, strlen(seed));
}
