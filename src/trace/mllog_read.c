#include "trace/mllog_read.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/json.h"
#include "base/str.h"

static const char token[] = ":::MLLOG";
enum { TOKEN = sizeof(token) - 1 };

struct reader {
    const struct mllog_visitor *v;
    struct str line; /* since the last newline or carriage return */
    struct str json; /* a record's JSON with bare words quoted */
    size_t number;   /* of the line */
    size_t start;    /* the column of line.s[0] */
    size_t lost;     /* bytes of a line that is too long; it has been reported */
};

static int trouble(struct reader *r, enum mllog_kind kind, size_t at, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

/* at counts bytes from the beginning of r->line. */
static int trouble(struct reader *r, enum mllog_kind kind, size_t at, const char *fmt, ...)
{
    char about[128];
    va_list args;

    if (!r->v->trouble)
        return 0;
    va_start(args, fmt);
    vsnprintf(about, sizeof(about), fmt, args);
    va_end(args);
    return r->v->trouble(r->v->context, &(struct mllog_trouble){.kind = kind,
                                                                .line = r->number,
                                                                .column = r->start + at,
                                                                .about = about});
}

/* ---- one record ---- */

/* A word that JSON does not know and MLPerf's parser takes: its length, or 0. */
static size_t bare_word(const char *s, size_t n)
{
    static const char *const words[] = {"NaN", "Infinity", "-Infinity"};

    for (size_t i = 0; i < COUNT_OF(words); i++)
        if (n >= strlen(words[i]) && memcmp(s, words[i], strlen(words[i])) == 0)
            return strlen(words[i]);
    return 0;
}

/* Where a scan of a record's JSON ended: behind the last brace, or at a trouble. */
struct scan {
    size_t end;
    enum mllog_kind kind;
    const char *what; /* NULL: whole */
};

/* The end of the string that starts at s[at], or n; *bad gets the place of a control character. */
static size_t string_end(const char *s, size_t n, size_t at, size_t *bad)
{
    for (at++; at < n && s[at] != '"'; at++) {
        if ((unsigned char)s[at] < 0x20) {
            *bad = at;
            return n;
        }
        at += s[at] == '\\';
    }
    return at < n ? at + 1 : n;
}

/* Finds the end of the object that s starts with and copies it to r->json, bare words quoted, so
 * that only text of known size and depth reaches the JSON parser. */
static struct scan scan_object(struct reader *r, const char *s, size_t n)
{
    size_t at = 0, depth = 0, bad = n;

    str_reset(&r->json);
    while (at < n) {
        const size_t from = at, word = bare_word(s + at, n - at);

        if (s[at] == '"') {
            at = string_end(s, n, at, &bad);
            if (bad < n)
                return (struct scan){bad, MLLOG_CUT, "a control character inside a string"};
        } else
            at += word ? word : 1;
        if ((unsigned char)s[from] < 0x20 && s[from] != '\t')
            return (struct scan){from, MLLOG_CUT, "a control character inside a record"};
        if (word)
            str_add(&r->json, "\"");
        str_add_bytes(&r->json, s + from, at - from);
        if (word)
            str_add(&r->json, "\"");
        depth += s[from] == '{' || s[from] == '[';
        if (depth > MLLOG_MAX_DEPTH)
            return (struct scan){from, MLLOG_DEEP, "JSON nested deeper than any record is"};
        if (s[from] == '}' || s[from] == ']')
            depth--;
        if (depth == 0)
            return (struct scan){.end = at};
    }
    return (struct scan){n, MLLOG_CUT, "the record ends before its JSON does"};
}

/* The place in s of the place `at` of its copy with bare words quoted. */
static size_t place_in(const char *s, const struct str *copy, size_t at)
{
    size_t place = 0;

    for (size_t i = 0; i < at && i < copy->len; i++)
        place += s[place] == copy->s[i];
    return place;
}

static const char *wrong_field(const cJSON *doc, struct mllog_record *out)
{
    const cJSON *const time = cJSON_GetObjectItemCaseSensitive(doc, "time_ms");
    const char *const type =
        cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(doc, "event_type"));

    out->key = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(doc, "key"));
    out->value = cJSON_GetObjectItemCaseSensitive(doc, "value");
    out->metadata = cJSON_GetObjectItemCaseSensitive(doc, "metadata");
    out->type = type ? type : "";
    /* A quoted number is taken, as MLPerf's parser does. */
    if (cJSON_IsNumber(time))
        out->time_ms = time->valuedouble;
    else if (!cJSON_IsString(time) || sscanf(time->valuestring, "%lf", &out->time_ms) != 1)
        return "time_ms that is a number";
    if (!out->key || !*out->key)
        return "key that is a name";
    if (!out->value)
        return "value";
    return cJSON_IsObject(out->metadata) ? NULL : "metadata that is an object";
}

static int deliver(struct reader *r, const cJSON *doc, struct mllog_record *record)
{
    const char *const missing = wrong_field(doc, record);

    if (missing)
        return trouble(r, MLLOG_FIELD, record->column - r->start, "a record without a %s", missing);
    return r->v->record ? r->v->record(r->v->context, record) : 0;
}

/* The JSON of a record, [from, to) of the line, whose token stands at `at`. */
static int read_json(struct reader *r, size_t at, size_t from, size_t to)
{
    const char *const s = r->line.s + from, *stop = NULL;
    const struct scan scan = scan_object(r, s, to - from);
    size_t rest;
    cJSON *doc;
    int rc = 0;

    if (scan.what)
        return trouble(r, scan.kind, from + scan.end, "%s", scan.what);
    doc = json_parse(r->json.s, r->json.len, &stop);
    if (!doc)
        return trouble(r, MLLOG_CUT,
                       from + place_in(s, &r->json, stop ? (size_t)(stop - r->json.s) : 0),
                       "a record that is not JSON");
    rest = from + scan.end;
    while (rest < to && (r->line.s[rest] == ' ' || r->line.s[rest] == '\t'))
        rest++;
    if (rest < to)
        rc = trouble(r, MLLOG_TRAILING, rest, "text behind a record");
    if (rc == 0)
        rc = deliver(r, doc,
                     &(struct mllog_record){.text = r->line.s + at,
                                            .n_text = from + scan.end - at,
                                            .line = r->number,
                                            .column = r->start + at});
    cJSON_Delete(doc);
    return rc;
}

/* ---- lines ---- */

static size_t find_token(const struct str *line, size_t from)
{
    const char *const hit = memmem(line->s + from, line->len - from, token, TOKEN);

    return hit ? (size_t)(hit - line->s) : line->len;
}

static int read_pieces(struct reader *r, size_t at)
{
    const size_t end = r->line.len;
    int glued = 0;

    for (size_t next; at < end; at = next, glued = 1) {
        size_t from = at + TOKEN;
        int rc = glued ? trouble(r, MLLOG_GLUED, at, "a record behind another one on its line") : 0;

        next = find_token(&r->line, from);
        while (from < next && r->line.s[from] == ' ')
            from++;
        if (rc == 0 && (from == next || r->line.s[from] != '{'))
            rc = trouble(r, MLLOG_CUT, from, "\":::MLLOG\" without an object behind it");
        else if (rc == 0)
            rc = read_json(r, at, from, next);
        if (rc != 0)
            return rc;
    }
    return 0;
}

/* What has come since the last newline or carriage return. */
static int read_line(struct reader *r)
{
    size_t at;
    int rc = 0;

    if (r->lost || r->line.len == 0)
        return 0;
    at = find_token(&r->line, 0);
    if (at == r->line.len)
        rc = trouble(r, MLLOG_FOREIGN, 0, "a line without a record");
    else if (at > 0)
        rc = trouble(r, MLLOG_PREFIX, 0, "text in front of a record");
    return rc == 0 ? read_pieces(r, at) : rc;
}

static int add_bytes(struct reader *r, const char *bytes, size_t n)
{
    if (r->lost) {
        r->lost += n;
        return 0;
    }
    if (n > MLLOG_MAX_LINE - r->line.len) {
        r->lost = n;
        return trouble(r, MLLOG_LONG, 0, "a line of more than %d bytes", MLLOG_MAX_LINE);
    }
    str_add_bytes(&r->line, bytes, n);
    return 0;
}

static int end_line(struct reader *r, char end)
{
    int rc = read_line(r);

    if (rc == 0 && end == '\r')
        rc = trouble(r, MLLOG_RETURN, r->line.len + r->lost, "a carriage return");
    if (rc == 0 && end == '\n' && r->line.len + r->lost == 0 && r->start == 1)
        rc = trouble(r, MLLOG_FOREIGN, 0, "an empty line");
    r->start = end == '\n' ? 1 : r->start + r->line.len + r->lost + 1;
    r->number += end == '\n';
    r->lost = 0;
    str_reset(&r->line);
    return rc;
}

static int feed(struct reader *r, const char *bytes, size_t n)
{
    for (size_t at = 0; at < n;) {
        size_t end = at;
        int rc;

        while (end < n && bytes[end] != '\n' && bytes[end] != '\r')
            end++;
        rc = add_bytes(r, bytes + at, end - at);
        if (rc == 0 && end < n)
            rc = end_line(r, bytes[end]);
        if (rc != 0)
            return rc;
        at = end + 1;
    }
    return 0;
}

static void begin(struct reader *r, const struct mllog_visitor *v)
{
    *r = (struct reader){.v = v, .number = 1, .start = 1};
    str_add(&r->line, "");
    str_add(&r->json, "");
}

static int finish(struct reader *r, int rc)
{
    if (rc == 0 && r->line.len + r->lost > 0)
        rc = trouble(r, MLLOG_NO_NEWLINE, r->line.len + r->lost, "the log ends inside a line");
    if (rc == 0)
        rc = read_line(r);
    str_release(&r->line);
    str_release(&r->json);
    return rc;
}

int mllog_read_memory(const char *bytes, size_t n, const struct mllog_visitor *v)
{
    struct reader r;

    begin(&r, v);
    return finish(&r, feed(&r, bytes, n));
}

int mllog_read_file(const char *path, const struct mllog_visitor *v)
{
    FILE *const f = fopen(path, "re");
    char buf[1 << 14];
    struct reader r;
    size_t n;
    int rc = 0;

    if (!f)
        return err(E_IO, "open %s: %s", path, strerror(errno));
    begin(&r, v);
    while (rc == 0 && (n = fread(buf, 1, sizeof(buf), f)) > 0)
        rc = feed(&r, buf, n);
    if (rc == 0 && ferror(f))
        rc = err(E_IO, "read %s: %s", path, strerror(errno));
    rc = finish(&r, rc);
    fclose(f);
    return rc;
}
