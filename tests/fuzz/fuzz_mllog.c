/* The reader of MLPerf logs: from memory and from a file it must see the same records and troubles,
 * all of them inside the input and in order. */
#include <string.h>

#include "base/err.h"
#include "data/bytes.h"
#include "fuzz.h"
#include "trace/mllog_read.h"

enum { STOP = -100 };

const char *const fuzz_words[] = {":::MLLOG {",
                                  ":::MLL 1.5 run_start: {",
                                  ":::MLPv0.5.0 resnet 1.5 (a.py:1) run_start",
                                  "\"namespace\":\"\"",
                                  "\"time_ms\":",
                                  "\"event_type\":\"POINT_IN_TIME\"",
                                  "\"key\":\"run_start\"",
                                  "\"value\":",
                                  "\"metadata\":{",
                                  "\"file\":\"a\",\"lineno\":1",
                                  "NaN",
                                  "-Infinity",
                                  "\r",
                                  "\r\n",
                                  "\\u0000",
                                  "\\ud800",
                                  "\x1b[0m",
                                  "0: ",
                                  "{{{{{{{{",
                                  "[[[[[[[[",
                                  NULL};

/* What was seen so far. */
struct seen {
    uint64_t sum;
    size_t n_bytes, line, column, stop_after;
};

static int in_order(struct seen *s, size_t line, size_t column)
{
    ASSERT(line >= 1 && column >= 1 && line >= s->line && line <= s->n_bytes + 1);
    s->line = line;
    s->sum = checksum_add(s->sum, (size_t[]){line, column}, 2 * sizeof(size_t));
    return s->stop_after && --s->stop_after == 0 ? STOP : 0;
}

static int on_record(void *context, const struct mllog_record *r)
{
    static const char token[] = ":::ML";
    struct seen *const s = context;

    ASSERT(r->key && r->type && cJSON_IsObject(r->metadata));
    ASSERT(r->n_text >= sizeof(token) && r->n_text <= s->n_bytes);
    ASSERT(memcmp(r->text, token, sizeof(token) - 1) == 0);
    ASSERT(r->format == MLLOG_FORMAT_05 || r->text[r->n_text - 1] == '}');
    s->sum = checksum_add(s->sum, r->text, r->n_text);
    s->sum = checksum_add(s->sum, r->key, strlen(r->key));
    s->sum = checksum_add(s->sum, r->type, strlen(r->type));
    return in_order(s, r->line, r->column);
}

static int on_trouble(void *context, const struct mllog_trouble *t)
{
    struct seen *const s = context;

    ASSERT(t->about && t->about[0] && t->kind <= MLLOG_LONG);
    s->sum = checksum_add(s->sum, t->about, strlen(t->about)) + t->kind;
    return in_order(s, t->line, t->column);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct seen a = {.n_bytes = n}, b = a, c = a;
    struct mllog_visitor v = {.record = on_record, .trouble = on_trouble, .context = &a};

    ASSERT(mllog_read_memory((const char *)data, n, &v) == 0);
    v.context = &b;
    ASSERT(mllog_read_file(fuzz_put("x.log", data, n), &v) == 0);
    ASSERT(a.sum == b.sum);
    v.context = &c;
    c.stop_after = n ? 1 + data[0] % 4 : 1;
    ASSERT(mllog_read_memory((const char *)data, n, &v) == (c.stop_after ? 0 : STOP));
    return 0;
}

void fuzz_seeds(void)
{
    static const char *const seeds[] = {
        ":::MLLOG {\"namespace\": \"\", \"time_ms\": 1700000000000, \"event_type\": "
        "\"POINT_IN_TIME\", \"key\": \"seed\", \"value\": 7, \"metadata\": {\"file\": \"a.c\", "
        "\"lineno\": 3}}\n",
        "0: :::MLLOG {\"namespace\": \"\", \"time_ms\": 1, \"event_type\": \"INTERVAL_END\", "
        "\"key\": \"run_stop\", \"value\": null, \"metadata\": {\"status\": \"success\"}}\r\n"
        "words\n",
        ("a :::MLLOG {\"time_ms\": 1, \"key\": \"k\", \"value\": NaN, \"metadata\": {}}:::MLLOG "
         "{\"time_ms\": 2, \"key\": \"k\", \"value\": [1, \"}\\\"\"], \"metadata\": {}} b"),
        ":::MLL 1.5 k: {\"value\": 1, \"metadata\": {}}\n:::MLL 2 l : {\"value\": [NaN]} b\n",
        ":::MLPv0.5.0 ncf 1.5 (<string>:1) k\n:::MLPv0.5.0 ncf 2 (a.py:2) l: {\"epoch\": 0}\n",
        ":::MLLOG {\"time_ms\": 1, \"key\": \"k\", :::MLLOG {\"a\": [[[[[[{\"b\": 1}",
    };

    for (size_t i = 0; i < COUNT_OF(seeds); i++)
        fuzz_seed(seeds[i], strlen(seeds[i]));
}
