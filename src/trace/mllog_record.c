#include "trace/mllog_record.h"

#include <stdio.h>
#include <string.h>

#include "base/err.h"

const cJSON *mllog_member(const cJSON *object, const char *name)
{
    const cJSON *found = NULL, *item;

    if (!cJSON_IsObject(object))
        return NULL;
    cJSON_ArrayForEach(item, object) if (strcmp(item->string, name) == 0) found = item;
    return found;
}

static void set_wrong(struct mllog_wrong *w, enum mllog_kind kind, size_t at, const char *what)
{
    *w = (struct mllog_wrong){kind, at, what};
}

/* What Python's strip() takes from the end of a line that was decoded as latin-1. */
static int is_blank(char c)
{
    const unsigned char b = (unsigned char)c;

    return (b >= 0x09 && b <= 0x0d) || (b >= 0x1c && b <= 0x20) || b == 0x85 || b == 0xa0;
}

static size_t skip_blanks(const char *s, size_t n, size_t at)
{
    while (at < n && is_blank(s[at]))
        at++;
    return at;
}

static size_t without_blanks(const char *s, size_t n)
{
    while (n > 0 && is_blank(s[n - 1]))
        n--;
    return n;
}

/* ---- the fields of a record ---- */

static const cJSON empty_object = {.type = cJSON_Object};
static const cJSON no_value = {.type = cJSON_NULL};

static void set_value_text(struct mllog_record *r, const char *s, const struct mllog_json *json)
{
    r->value_text = json->value_to ? s + json->value_from : NULL;
    r->n_value = json->value_to - json->value_from;
}

static void take_time(const cJSON *time, struct mllog_parsed *p)
{
    double *const ms = &p->record.time_ms;

    /* A quoted number is taken, as MLPerf's parser does; a boolean, too, but that is no time. */
    if (cJSON_IsNumber(time))
        *ms = time->valuedouble;
    else if (!cJSON_IsString(time) || !mllog_python_float(time->valuestring, ms))
        set_wrong(&p->wrong, cJSON_IsBool(time) ? MLLOG_TYPE : MLLOG_FIELD, 0,
                  "a record without a time_ms that is a number");
}

static void take_fields(const cJSON *doc, struct mllog_parsed *p)
{
    const cJSON *const key = mllog_member(doc, "key");
    const char *const type = cJSON_GetStringValue(mllog_member(doc, "event_type"));
    struct mllog_record *const r = &p->record;

    if (!cJSON_IsObject(doc)) {
        set_wrong(&p->wrong, MLLOG_FIELD, 0, "a record that is no object");
        return;
    }
    r->value = mllog_member(doc, "value");
    r->metadata = mllog_member(doc, "metadata");
    r->key = cJSON_GetStringValue(key);
    r->type = type ? type : "";
    take_time(mllog_member(doc, "time_ms"), p);
    if (p->wrong.what)
        return;
    if (!r->key || !*r->key)
        set_wrong(&p->wrong, key ? MLLOG_TYPE : MLLOG_FIELD, 0,
                  "a record without a key that is a name");
    else if (!r->value)
        set_wrong(&p->wrong, MLLOG_FIELD, 0, "a record without a value");
    else if (!cJSON_IsObject(r->metadata))
        set_wrong(&p->wrong, r->metadata ? MLLOG_TYPE : MLLOG_FIELD, 0,
                  "a record without a metadata that is an object");
}

static void note_trailing(struct mllog_parsed *p, const char *s, size_t n, size_t end)
{
    p->record.n_text = end;
    end = skip_blanks(s, n, end);
    if (end < n)
        set_wrong(&p->trailing, MLLOG_TRAILING, end, "text behind a record");
}

/* The JSON that begins at `at`; its end is the record's. */
static struct mllog_json take_json(const char *s, size_t n, size_t at, struct str *scratch,
                                   struct mllog_parsed *p)
{
    const struct mllog_json json = mllog_json_parse(s + at, n - at, scratch);

    p->doc = json.doc;
    if (!json.doc)
        set_wrong(&p->wrong, json.kind, at + json.end, json.what);
    else
        note_trailing(p, s, n, at + json.end);
    return json;
}

/* ---- rounds from 0.7 on ---- */

static void parse_current(const char *s, size_t n, struct str *scratch, struct mllog_parsed *p)
{
    size_t at = strlen(":::MLLOG");
    struct mllog_json json;

    if (at == n || s[at] != ' ') {
        set_wrong(&p->wrong, MLLOG_UNSPACED, at, "\":::MLLOG\" without a blank behind it");
        return;
    }
    while (at < n && (s[at] == ' ' || s[at] == '\t'))
        at++;
    if (at == n || s[at] != '{') {
        set_wrong(&p->wrong, MLLOG_CUT, at, "\":::MLLOG\" without an object behind it");
        return;
    }
    json = take_json(s, n, at, scratch, p);
    set_value_text(&p->record, s + at, &json);
    if (json.doc)
        take_fields(json.doc, p);
}

/* ---- older rounds ---- */

/* Copies the word at *at, of bytes that `is` takes, and moves behind it. */
static int take_word(const char *s, size_t n, size_t *at, int (*is)(char), char *out, size_t size)
{
    size_t k = 0;

    while (*at + k < n && is(s[*at + k]))
        k++;
    if (k == 0 || k >= size)
        return 0;
    memcpy(out, s + *at, k);
    out[k] = '\0';
    *at += k;
    return 1;
}

static int is_time_byte(char c)
{
    return (c >= '0' && c <= '9') || c == '.';
}

static int is_key_byte(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static int take_byte(const char *s, size_t n, size_t *at, char byte)
{
    if (*at >= n || s[*at] != byte)
        return 0;
    ++*at;
    return 1;
}

/* SECONDS, to p->record.time_ms. */
static int take_seconds(const char *s, size_t n, size_t *at, struct mllog_parsed *p)
{
    char text[64];
    double seconds;

    if (!take_word(s, n, at, is_time_byte, text, sizeof(text)) ||
        !mllog_python_float(text, &seconds))
        return 0;
    p->record.time_ms = 1e3 * seconds;
    return 1;
}

static void parse_06(const char *s, size_t n, struct str *scratch, struct mllog_parsed *p)
{
    size_t at = strlen(":::MLL"), colon;
    struct mllog_json json;

    n = without_blanks(s, n);
    if (!take_byte(s, n, &at, ' ') || !take_seconds(s, n, &at, p) || !take_byte(s, n, &at, ' ') ||
        !take_word(s, n, &at, is_key_byte, p->name, sizeof(p->name))) {
        set_wrong(&p->wrong, MLLOG_CUT, at, "a record that is not \":::MLL SECONDS KEY: {...}\"");
        return;
    }
    take_byte(s, n, &at, ' ');
    colon = at;
    at = take_byte(s, n, &at, ':') ? skip_blanks(s, n, at) : at;
    if (at < colon + 2 || at == n) {
        set_wrong(&p->wrong, MLLOG_CUT, at, "a record that is not \":::MLL SECONDS KEY: {...}\"");
        return;
    }
    json = take_json(s, n, at, scratch, p);
    if (!json.doc)
        return;
    set_value_text(&p->record, s + at, &json);
    p->record.key = p->name;
    p->record.value = mllog_member(json.doc, "value");
    p->record.metadata = mllog_member(json.doc, "metadata");
    if (!p->record.value)
        set_wrong(&p->wrong, MLLOG_TYPE, 0, "a record without a value");
    if (!p->record.metadata)
        p->record.metadata = &empty_object;
    if (!cJSON_IsObject(p->record.metadata))
        set_wrong(&p->wrong, MLLOG_TYPE, 0, "a record without a metadata that is an object");
}

static int is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static int is_file_byte(char c)
{
    return c != ':' && c != ' ';
}

static int is_name_byte(char c)
{
    return c >= 'a' && c <= 'z';
}

static size_t skip(const char *s, size_t n, size_t *at, int (*is)(char))
{
    const size_t from = *at;

    while (*at < n && is(s[*at]))
        ++*at;
    return *at - from;
}

/* "v0.5.0", or another of that form. */
static int take_version(const char *s, size_t n, size_t *at)
{
    return take_byte(s, n, at, 'v') && skip(s, n, at, is_digit) && take_byte(s, n, at, '.') &&
           skip(s, n, at, is_digit) && take_byte(s, n, at, '.') && skip(s, n, at, is_digit);
}

/* "(FILE:LINE)". */
static int take_place(const char *s, size_t n, size_t *at)
{
    return take_byte(s, n, at, '(') && skip(s, n, at, is_file_byte) && take_byte(s, n, at, ':') &&
           skip(s, n, at, is_digit) && take_byte(s, n, at, ')');
}

static void parse_05(const char *s, size_t n, struct str *scratch, struct mllog_parsed *p)
{
    size_t at = strlen(":::MLP");
    struct mllog_record *const r = &p->record;

    n = without_blanks(s, n);
    if (!take_version(s, n, &at) || !take_byte(s, n, &at, ' ') ||
        !take_word(s, n, &at, is_name_byte, p->head, sizeof(p->head)) ||
        !take_byte(s, n, &at, ' ') || !take_seconds(s, n, &at, p) || !take_byte(s, n, &at, ' ') ||
        !take_place(s, n, &at) || !take_byte(s, n, &at, ' ') ||
        !take_word(s, n, &at, is_key_byte, p->name, sizeof(p->name))) {
        set_wrong(&p->wrong, MLLOG_CUT, at,
                  "a record that is not \":::MLPv0.5.0 BENCHMARK SECONDS (FILE:LINE) KEY\"");
        return;
    }
    r->key = p->name;
    r->benchmark = p->head;
    r->value = &no_value;
    r->metadata = &empty_object;
    r->n_text = at;
    take_byte(s, n, &at, ' ');
    if (at == n)
        return;
    if (!take_byte(s, n, &at, ':')) {
        set_wrong(&p->wrong, MLLOG_CUT, at, "a key that \":\" and a value do not follow");
        return;
    }
    at = skip_blanks(s, n, at);
    if (at < n) {
        take_json(s, n, at, scratch, p);
        r->value = p->doc ? p->doc : r->value;
        r->value_text = s + at;
        r->n_value = p->doc ? r->n_text - at : 0;
    }
}

void mllog_parse_record(const char *s, size_t n, enum mllog_format format, struct str *scratch,
                        struct mllog_parsed *out)
{
    *out = (struct mllog_parsed){
        .record = {.text = s, .n_text = n, .type = "", .benchmark = "", .format = format}};
    if (format == MLLOG_FORMAT_06)
        parse_06(s, n, scratch, out);
    else if (format == MLLOG_FORMAT_05)
        parse_05(s, n, scratch, out);
    else
        parse_current(s, n, scratch, out);
}
