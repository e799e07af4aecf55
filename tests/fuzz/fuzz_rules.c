/* The loader of rulesets: a mistake is a proper refusal that names file and line; what is accepted
 * can be printed and held against a log. */
#include <stdlib.h>
#include <string.h>

#include "base/embedded.h"
#include "base/err.h"
#include "base/str.h"
#include "fuzz.h"
#include "rules/check.h"
#include "rules/ruleset_parse.h"

const char *const fuzz_words[] = {"ruleset 1.0.0\n",
                                  "from 0.7.0\n",
                                  "[log]\n",
                                  "[closed resnet]\n",
                                  "[benchmark x]\n",
                                  "[tensors x]\n",
                                  " once ",
                                  " some ",
                                  " at-least 2 ",
                                  "some-or ",
                                  "one-if a b ",
                                  " dropped\n",
                                  "reaches >= 0.5 and < 1",
                                  "with a or b when c",
                                  "metadata a? > 0",
                                  "multiple of 0.02 or divides 0.02 when global_batch_size < 16",
                                  "opens closed",
                                  "tensors x",
                                  "{0..9}",
                                  "{a,b}",
                                  "in-order",
                                  "gather a m by s into b\n",
                                  "init-limit closed 3 open 4\n",
                                  NULL};

static const char *source(const char *version)
{
    return strcmp(version, "0.7.0") == 0
               ? "ruleset 0.7.0\nlines MLLOG\n[log]\na once > 0; opens\n[x]\nb some one of 1 2\n"
               : NULL;
}

static int nothing(void *context, const struct rule_finding *f)
{
    (void)context;
    ASSERT(f->name[0]);
    return 0;
}

static void use(const struct ruleset *r)
{
    static const char log[] =
        ":::MLLOG {\"time_ms\": 1, \"key\": \"a\", \"value\": \"x\", \"metadata\": {\"c\": 1}}\n"
        ":::MLLOG {\"time_ms\": 2, \"key\": \"b\", \"value\": 1, \"metadata\": {\"m\": \"q\", "
        "\"s\": 1, \"tensor\": \"x\"}}\n";
    struct rule_verdict v;
    struct str out = STR_INIT;

    ruleset_print(r, &out);
    for (size_t i = 0; i < r->n_benchmarks; i++)
        ruleset_print_benchmark(r, &r->benchmarks[i], &out);
    fuzz_touch(out.s, out.len);
    str_release(&out);
    ASSERT(rules_check_memory(log, sizeof(log) - 1, r, &(struct rule_visitor){nothing, NULL}, &v) ==
           0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    char *const text = xmalloc(n + 1);
    struct ruleset *r = NULL;
    int rc;

    memcpy(text, data, n);
    text[n] = '\0';
    rc = ruleset_parse("x.rules", text, source, &r);
    if (rc < 0)
        fuzz_refused(rc);
    else
        use(r);
    ruleset_free(r);
    free(text);
    return 0;
}

void fuzz_seeds(void)
{
    for (const struct embedded *e = embedded_files; e->name; e++)
        if (strstr(e->name, ".rules"))
            fuzz_seed(e->text, e->n);
}
