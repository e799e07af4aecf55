/* What fio leaves: its document is refused with a sentence or read as numbers that can be, and
 * whatever it is, it makes JSON; its logs make a table of rows in order. The first byte chooses. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/json.h"
#include "fuzz.h"
#include "meter/ingest.h"

const char *const fuzz_words[] = {"\"fio version\":",
                                  "\"fio-3.33\"",
                                  "\"jobs\":",
                                  "\"error\":",
                                  "\"write\":",
                                  "\"io_bytes\":",
                                  "\"io_kbytes\":",
                                  "\"bw_bytes\":",
                                  "\"bw\":",
                                  "\"runtime\":",
                                  "\"total_ios\":",
                                  "\"lat_ns\":",
                                  "\"clat_ns\":",
                                  "\"lat\":",
                                  "\"mean\":",
                                  "\"max\":",
                                  "\"percentile\":",
                                  "\"99.000000\":",
                                  "\n{\n",
                                  "1e308",
                                  "-1",
                                  ", 1, 0, 0\n",
                                  ", 1, 4096\n",
                                  "nan",
                                  NULL};

static int is_known(double v)
{
    return v >= 0 && v < 0x1p74; /* microseconds times 1000 */
}

static void check_latency(double v)
{
    ASSERT(isnan(v) || is_known(v));
}

static void check_result(const struct ingest_result *r)
{
    ASSERT(r->error >= 0 && r->seconds >= 0 && is_known(r->seconds));
    ASSERT(r->write_bytes < 1ull << 63 && r->write_bytes_per_s >= 0);
    ASSERT(isfinite(r->write_bytes_per_s));
    check_latency(r->latency_mean_ns);
    check_latency(r->latency_p50_ns);
    check_latency(r->latency_p95_ns);
    check_latency(r->latency_p99_ns);
    check_latency(r->latency_max_ns);
    ASSERT(strncmp(r->fio_version, "fio-", 4) == 0);
}

static void check_words(const struct ingest_result *r)
{
    ASSERT(memchr(r->words, '\0', sizeof(r->words)) != NULL);
    for (const char *c = r->words; *c; c++)
        ASSERT((unsigned char)*c >= ' ' && *c != 0x7f);
}

static void check_json(const struct ingest_result *r)
{
    struct str out = STR_INIT;
    cJSON *doc;

    str_add(&out, "{");
    ingest_add_json("jobs=1", r, &out);
    str_add(&out, "}");
    doc = json_parse(out.s, out.len, NULL);
    ASSERT(cJSON_IsObject(doc));
    ASSERT(cJSON_IsNumber(cJSON_GetObjectItemCaseSensitive(doc, "error")));
    cJSON_Delete(doc);
    str_release(&out);
}

static void document(const char *text, size_t n)
{
    struct ingest_result r;
    const int rc = ingest_read(text, n, &r);

    if (rc < 0)
        fuzz_refused(rc);
    else
        check_result(&r);
    ASSERT(rc == 0 || (r.words[0] && r.error != 0));
    check_words(&r);
    check_json(&r);
}

/* Each row is a second after the one before it; a cell is empty or a number of at least 0. */
static void check_table(const char *text)
{
    long long before = 0, ms;
    const char *line = strchr(text, '\n') + 1;

    for (; *line; line = strchr(line, '\n') + 1) {
        const char *cell = line;
        int n = 1;
        ASSERT(sscanf(line, "%lld,", &ms) == 1);
        ASSERT(before == 0 || ms == before + 1000);
        before = ms;
        for (; *cell != '\n'; cell++)
            if (*cell == ',') {
                n++;
                ASSERT(cell[1] == ',' || cell[1] == '\n' || (cell[1] >= '0' && cell[1] <= '9') ||
                       (n == 2 && cell[1] == '-'));
            }
        ASSERT(n == 5);
    }
}

/* A time that no fuzzer would guess is the start plus what the text says: "@" stands for it. */
static void put_log(const char *name, const char *text, int64_t start)
{
    struct str out = STR_INIT;

    str_add(&out, "");
    for (; *text; text++)
        if (*text == '@')
            str_printf(&out, "%lld", (long long)(start / 100000));
        else
            str_add_bytes(&out, text, 1);
    fuzz_put(name, out.s, out.len);
    str_release(&out);
}

static void logs(const char *text)
{
    const int64_t start = clock_wall_ms() / 100000 * 100000 - 100000;
    char *const half = strdup(text + strlen(text) / 2), *table;
    char *const path = file_join(fuzz_dir(), "ingest.csv");
    size_t n;

    put_log("fio_bw.1.log", text, start);
    put_log("fio_lat.1.log", half, start);
    put_log("fio_bw.2.log", half, start);
    ASSERT(ingest_write_csv(fuzz_dir(), start) == 0);
    if (file_exists(path)) {
        ASSERT(file_read(path, (size_t)1 << 26, &table, &n) == 0);
        check_table(table);
        free(table);
        fuzz_remove("ingest.csv");
    }
    free(path);
    free(half);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    char *const text = xmalloc(n + 1);

    memcpy(text, data, n);
    text[n] = '\0';
    if (n && data[0] == 'L')
        logs(text + 1);
    else
        document(text, n);
    free(text);
    return 0;
}

void fuzz_seeds(void)
{
    static const char *const seeds[] = {
        "fio: pid=7, err=28/file:io_u.c:1803, func=io_u error, error=No space left on device\n\n"
        "{\n\"fio version\":\"fio-3.33\",\"timestamp\":1,\"jobs\":[{\"jobname\":\"ingest\","
        "\"error\":28,\"write\":{\"io_bytes\":50593792,\"bw_bytes\":20941139,\"bw\":20450,"
        "\"runtime\":2416,\"total_ios\":386,\"lat_ns\":{\"min\":1,\"max\":99,\"mean\":30.5,"
        "\"percentile\":{\"50.000000\":20,\"95.000000\":40,\"99.000000\":80}}}}]}\n",
        "{\n\"fio version\":\"fio-3.1\",\"jobs\":[{\"error\":0,\"write\":{\"io_kbytes\":5,\"bw\":2,"
        "\"runtime\":2,\"total_ios\":3,\"clat\":{\"max\":9,\"mean\":3}}},{\"write\":{\"io_bytes\":"
        "5,"
        "\"total_ios\":1,\"clat_ns\":{\"mean\":4}}}]}",
        "L@00310, 100, 1, 0, 0\n@01310, 50, 1, 0, 0\n@04311, 10, 1, 0, 0\n@04",
        "L@01000, 1000000, 9000000, 1, 0, 0\n@02000, 1000, 2000, 1, 0, 0\n@09000, 7, 1, 4096\n",
    };

    for (size_t i = 0; i < COUNT_OF(seeds); i++)
        fuzz_seed(seeds[i], strlen(seeds[i]));
}
