/* fio's JSON document, as its releases since 3.0 write it: messages stand before the line that is
 * "{" when something went wrong, keys come twice, "disk_util" is not always there, latencies are
 * "lat_ns" and "clat_ns" in nanoseconds (without "_ns", of fio 2, in microseconds), bandwidth
 * is "bw_bytes" or, in KiB, "bw". Sources: https://github.com/axboe/fio (stat.c), issues 511, 731
 * and 1685 there. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/json.h"
#include "meter/ingest.h"

void ingest_clear(struct ingest_result *r)
{
    *r = (struct ingest_result){.latency_mean_ns = NAN,
                                .latency_p50_ns = NAN,
                                .latency_p95_ns = NAN,
                                .latency_p99_ns = NAN,
                                .latency_max_ns = NAN};
}

/* A line of fio's, unless it is blank or only says that fio was asked to end. */
static void add_line(const char *line, struct str *out)
{
    if (line[strspn(line, " \t")] == '\0' ||
        strncmp(line, "fio: terminating on signal", strlen("fio: terminating on signal")) == 0)
        return;
    if (out->len)
        str_add(out, "; ");
    str_add_printable(out, line);
}

void ingest_set_words(struct ingest_result *out, const char *text, size_t n)
{
    struct str raw = STR_INIT, words = STR_INIT;
    char *rest = NULL;
    size_t end;

    str_add_bytes(&raw, text, n);
    str_add(&raw, "");
    str_add(&words, "");
    for (char *l = strtok_r(raw.s, "\r\n", &rest); l; l = strtok_r(NULL, "\r\n", &rest))
        add_line(l, &words);
    end = words.len < sizeof(out->words) ? words.len : sizeof(out->words) - 1;
    while (end < words.len && end && ((unsigned char)words.s[end] & 0xc0) == 0x80)
        end--; /* not in the middle of a character */
    memcpy(out->words, words.s, end);
    out->words[end] = '\0';
    str_release(&raw);
    str_release(&words);
}

void ingest_fail(struct ingest_result *r, const char *words)
{
    ingest_set_words(r, words, strlen(words));
    r->error = INGEST_NOT_MEASURED;
}

/* The first line that is "{", or NULL. */
static const char *document_in(const char *text)
{
    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (line[0] == '{' && (line[1] == '\n' || line[1] == '\r'))
            return line;
    }
    return NULL;
}

static const cJSON *member(const cJSON *object, const char *name)
{
    return cJSON_GetObjectItemCaseSensitive(object, name);
}

/* NAN when it is not there, or no number that could be meant: all figures here are counts and
 * lengths of time. */
static double figure(const cJSON *object, const char *name)
{
    const cJSON *const item = member(object, name);
    const double v = cJSON_IsNumber(item) ? item->valuedouble : NAN;

    return v >= 0 && v < 0x1p63 ? v : NAN;
}

static double first_known(double a, double b)
{
    return isnan(a) ? b : a;
}

/* An object of latencies, and what its numbers are to be multiplied with. */
struct latencies {
    const cJSON *object;
    double ns;
};

/* From the submission where that is there, else from when the system had it. */
static struct latencies latencies_of(const cJSON *write, const char *needed)
{
    static const struct {
        const char *name;
        double ns;
    } kinds[] = {{"lat_ns", 1}, {"lat", 1000}, {"clat_ns", 1}, {"clat", 1000}};

    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        const cJSON *const object = member(write, kinds[i].name);
        if (object && member(object, needed))
            return (struct latencies){object, kinds[i].ns};
    }
    return (struct latencies){NULL, NAN};
}

static double latency(const cJSON *write, const char *name)
{
    const struct latencies l = latencies_of(write, name);

    return figure(l.object, name) * l.ns;
}

/* fio writes as many places as it likes behind the point of "99.000000". */
static double percentile(const cJSON *write, double which)
{
    const struct latencies l = latencies_of(write, "percentile");
    const cJSON *p;

    cJSON_ArrayForEach(p, member(l.object, "percentile"))
    {
        char *end;
        if (p->string && strtod(p->string, &end) == which && end != p->string && !*end)
            return figure(member(l.object, "percentile"), p->string) * l.ns;
    }
    return NAN;
}

static void take_greater(double *most, double v)
{
    if (isnan(*most) || v > *most)
        *most = v;
}

struct sums {
    double bytes, per_s, ios, latency, latency_ios; /* latency: mean times ios */
};

static void take_latencies(const cJSON *write, struct sums *s, struct ingest_result *out)
{
    const double ios = figure(write, "total_ios"), mean = latency(write, "mean");

    if (ios > 0 && isfinite(mean)) {
        s->latency += mean * ios;
        s->latency_ios += ios;
        take_greater(&out->latency_max_ns, latency(write, "max"));
        take_greater(&out->latency_p50_ns, percentile(write, 50));
        take_greater(&out->latency_p95_ns, percentile(write, 95));
        take_greater(&out->latency_p99_ns, percentile(write, 99));
    }
}

static void take_job(const cJSON *job, struct sums *s, struct ingest_result *out)
{
    const cJSON *const write = member(job, "write");
    const double code = figure(job, "error"), runtime = figure(write, "runtime") / 1000;
    const double bytes = first_known(figure(write, "io_bytes"), figure(write, "io_kbytes") * 1024);
    const double per_s = first_known(figure(write, "bw_bytes"), figure(write, "bw") * 1024);

    if (out->error == 0 && code > 0 && code < 65536)
        out->error = (int)code;
    s->bytes += isnan(bytes) ? 0 : bytes;
    s->per_s += isnan(per_s) ? 0 : per_s;
    if (runtime > out->seconds)
        out->seconds = runtime;
    take_latencies(write, s, out);
}

static int damaged(struct ingest_result *out, const char *what)
{
    char *const words =
        out->words[0] ? xasprintf("%s; before it: %s", what, out->words) : xstrdup(what);
    int rc;

    ingest_set_words(out, words, strlen(words));
    rc = err(E_DATA, "fio.json can not be used: %s", out->words);
    free(words);
    return rc;
}

static int take_jobs(const cJSON *doc, struct ingest_result *out)
{
    const cJSON *const jobs = member(doc, "jobs"), *job;
    struct sums s = {0};

    if (!cJSON_IsArray(jobs) || cJSON_GetArraySize(jobs) == 0)
        return damaged(out, "the document names no jobs, as fio's does");
    cJSON_ArrayForEach(job, jobs) take_job(job, &s, out);
    if (s.bytes >= 0x1p63 || !isfinite(s.per_s))
        return damaged(out, "its numbers are beyond all measure");
    out->write_bytes = (uint64_t)s.bytes;
    out->write_bytes_per_s = s.per_s;
    if (s.latency_ios > 0)
        out->latency_mean_ns = s.latency / s.latency_ios;
    return 0;
}

static int take_document(const char *text, size_t n, struct ingest_result *out)
{
    cJSON *const doc = json_parse(text, n, NULL);
    const char *const version = cJSON_GetStringValue(member(doc, "fio version"));
    int rc;

    if (!cJSON_IsObject(doc))
        rc = damaged(out, "the document is not whole, as of a fio that was killed or a full disk");
    else if (!version || strncmp(version, "fio-", 4) != 0)
        rc = damaged(out, "the document is not fio's: it names no \"fio version\"");
    else
        rc = take_jobs(doc, out);
    if (rc == 0)
        for (size_t i = 0; version[i] && i + 1 < sizeof(out->fio_version); i++)
            out->fio_version[i] = version[i] > ' ' && version[i] < 0x7f ? version[i] : '?';
    cJSON_Delete(doc);
    return rc;
}

int ingest_read(const char *text, size_t n, struct ingest_result *out)
{
    const char *const document = document_in(text);
    char words[sizeof(out->words)];
    int rc;

    ingest_clear(out);
    ingest_set_words(out, text, document ? (size_t)(document - text) : n);
    if (document)
        rc = take_document(document, n - (size_t)(document - text), out);
    else
        rc = damaged(out, n ? "no document of fio's is in it" : "the document is empty");
    if (rc < 0) {
        memcpy(words, out->words, sizeof(words));
        ingest_clear(out);
        memcpy(out->words, words, sizeof(words));
        out->error = INGEST_NOT_MEASURED;
    }
    return rc;
}

void ingest_add_json(const char *spec, const struct ingest_result *r, struct str *out)
{
    json_add_text(out, "spec", spec);
    json_add_text(out, "fio_version", r->fio_version);
    if (r->seconds > 0) {
        json_add_key(out, "write_bytes");
        str_printf(out, "%llu", (unsigned long long)r->write_bytes);
        json_add_real(out, "write_bytes_per_s", r->write_bytes_per_s);
        json_add_real(out, "seconds", r->seconds);
    }
    if (isfinite(r->latency_mean_ns)) {
        json_add_key(out, "latency_ns");
        str_add(out, "{");
        json_add_real(out, "mean", r->latency_mean_ns);
        json_add_real(out, "p50", r->latency_p50_ns);
        json_add_real(out, "p95", r->latency_p95_ns);
        json_add_real(out, "p99", r->latency_p99_ns);
        json_add_real(out, "max", r->latency_max_ns);
        str_add(out, "}");
    }
    json_add_key(out, "error");
    str_printf(out, "%d", r->error);
    json_add_text(out, "words", r->words);
}
