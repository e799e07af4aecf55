#include "trace/mllog_json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/json.h"

/* Stands in the copy for a bare word: a string that starts with a byte which no string of a log
 * may hold. */
enum { MARK = 0x01 };
static const struct {
    const char *word;
    double number;
} bare_words[] = {{"NaN", NAN}, {"Infinity", INFINITY}, {"-Infinity", -INFINITY}};

struct scan {
    const char *s;
    size_t n, at, depth;
    struct str *copy; /* what the JSON parser gets */
    size_t copied;    /* of s */
    int n_bare;
    struct mllog_json out;
    int in_value; /* at depth 1, behind "value": */
};

static int wrong(struct scan *c, enum mllog_kind kind, size_t at, const char *what)
{
    c->out.kind = kind;
    c->out.end = at;
    c->out.what = what;
    return -1;
}

/* Copies up to c->at, then `text` in place of the next n bytes. */
static void replace(struct scan *c, size_t n, const char *text, size_t n_text)
{
    str_add_bytes(c->copy, c->s + c->copied, c->at - c->copied);
    str_add_bytes(c->copy, text, n_text);
    c->copied = c->at + n;
}

/* ---- strings ---- */

static int hex4(const char *s, size_t n, unsigned *out)
{
    *out = 0;
    for (size_t i = 0; i < 4; i++) {
        const char *const digits = "0123456789abcdefABCDEF";
        const char *const hit = i < n && s[i] ? strchr(digits, s[i]) : NULL;
        const unsigned d = hit ? (unsigned)(hit - digits) : 0;

        if (!hit)
            return 0;
        *out = *out * 16 + (d > 15 ? d - 6 : d);
    }
    return 1;
}

/* \uXXXX at c->at. A zero and surrogates without their other half are Python's, not our parser's:
 * it gets the sign for what can not be shown. */
static int scan_unicode(struct scan *c)
{
    const char *const s = c->s + c->at + 2;
    const size_t n = c->n - c->at - 2;
    unsigned high, low;

    if (!hex4(s, n, &high))
        return wrong(c, MLLOG_CUT, c->at, "\\u without four hexadecimal digits");
    if (high >= 0xD800 && high < 0xDC00 && n >= 10 && s[4] == '\\' && s[5] == 'u' &&
        hex4(s + 6, n - 6, &low) && low >= 0xDC00 && low < 0xE000) {
        c->at += 12;
        return 0;
    }
    if (high == 0 || (high >= 0xD800 && high < 0xE000))
        replace(c, 6, "\\ufffd", 6);
    c->at += 6;
    return 0;
}

static int scan_escape(struct scan *c)
{
    const char e = c->at + 1 < c->n ? c->s[c->at + 1] : 'n';

    if (e == 'u')
        return scan_unicode(c);
    if (!strchr("\"\\/bfnrt", e) || !e)
        return wrong(c, MLLOG_CUT, c->at, "an escape that JSON does not know");
    c->at += 2;
    return 0;
}

static int scan_string(struct scan *c)
{
    for (c->at++; c->at < c->n && c->s[c->at] != '"';) {
        if ((unsigned char)c->s[c->at] < 0x20)
            return wrong(c, MLLOG_CUT, c->at, "a control character inside a string");
        if (c->s[c->at] != '\\')
            c->at++;
        else if (scan_escape(c) < 0)
            return -1;
    }
    if (c->at >= c->n)
        return wrong(c, MLLOG_CUT, c->n, "the record ends before its JSON does");
    c->at++;
    return 0;
}

/* ---- words and numbers ---- */

static int is_word_byte(char b)
{
    return (b >= '0' && b <= '9') || (b >= 'a' && b <= 'z') || (b >= 'A' && b <= 'Z') || b == '+' ||
           b == '-' || b == '.' || b == '_';
}

static size_t digits(const char *s, size_t n)
{
    size_t i = 0;

    while (i < n && s[i] >= '0' && s[i] <= '9')
        i++;
    return i;
}

/* JSON's grammar: no leading zeros, digits on both sides of a point. */
static int is_number(const char *s, size_t n)
{
    size_t at = n && s[0] == '-', d = digits(s + at, n - at);

    if (d == 0 || (d > 1 && s[at] == '0'))
        return 0;
    at += d;
    if (at < n && s[at] == '.') {
        d = digits(s + at + 1, n - at - 1);
        at += 1 + d;
        if (d == 0)
            return 0;
    }
    if (at < n && (s[at] == 'e' || s[at] == 'E')) {
        at++;
        at += at < n && (s[at] == '+' || s[at] == '-');
        d = digits(s + at, n - at);
        at += d;
        if (d == 0)
            return 0;
    }
    return at == n;
}

static int is_text(const char *s, size_t n, const char *word)
{
    return n == strlen(word) && memcmp(s, word, n) == 0;
}

static int scan_word(struct scan *c)
{
    const char *const s = c->s + c->at;
    char marked[16];
    size_t n = 0;

    while (c->at + n < c->n && is_word_byte(s[n]))
        n++;
    for (size_t i = 0; i < COUNT_OF(bare_words); i++)
        if (is_text(s, n, bare_words[i].word)) {
            marked[0] = marked[n + 2] = '"';
            marked[1] = MARK;
            memcpy(marked + 2, s, n);
            replace(c, n, marked, n + 3);
            c->n_bare++;
            c->at += n;
            return 0;
        }
    if (!is_text(s, n, "true") && !is_text(s, n, "false") && !is_text(s, n, "null") &&
        !is_number(s, n))
        return wrong(c, MLLOG_CUT, c->at, "a record that is not JSON");
    c->at += n;
    return 0;
}

/* ---- the value ---- */

/* Where the member "value" of the outermost object begins and ends, in what the log says. */
static void note_value(struct scan *c, size_t from)
{
    if (c->depth == 1 && c->s[from] == '"' && is_text(c->s + from, c->at - from, "\"value\"")) {
        size_t at = c->at;

        while (at < c->n && (c->s[at] == ' ' || c->s[at] == '\t'))
            at++;
        if (at < c->n && c->s[at] == ':') {
            c->in_value = 1;
            c->out.value_from = 0;
            return;
        }
    }
    if (c->in_value && c->out.value_from == 0 && c->s[from] != ':')
        c->out.value_from = from;
    if (c->in_value && c->depth == 1 && c->out.value_from) {
        c->out.value_to = c->at;
        c->in_value = 0;
    }
}

static int scan_mark(struct scan *c)
{
    const char b = c->s[c->at];

    c->at++;
    if (b == '{' || b == '[')
        c->depth++;
    if (c->depth > MLLOG_MAX_DEPTH)
        return wrong(c, MLLOG_DEEP, c->at - 1, "JSON nested deeper than any record is");
    if ((b == '}' || b == ']') && c->depth == 0)
        return wrong(c, MLLOG_CUT, c->at - 1, "a record that is not JSON");
    c->depth -= b == '}' || b == ']';
    return 0;
}

static int scan_token(struct scan *c)
{
    const size_t from = c->at;
    const char b = c->s[from];
    int rc;

    if (b == ' ' || b == '\t') {
        c->at++;
        return 0;
    }
    if (b == '"')
        rc = scan_string(c);
    else if (is_word_byte(b))
        rc = scan_word(c);
    else if (b && strchr("{}[],:", b))
        rc = scan_mark(c);
    else if ((unsigned char)b < 0x20)
        return wrong(c, MLLOG_CUT, from, "a control character inside a record");
    else
        return wrong(c, MLLOG_CUT, from, "a record that is not JSON");
    if (rc == 0)
        note_value(c, from);
    return rc;
}

/* Finds the end of the value; copies it so that only text of known size, depth and grammar reaches
 * the JSON parser. */
static int scan_value(struct scan *c)
{
    do {
        const size_t from = c->at;
        const char b = from < c->n ? c->s[from] : 0;

        if (from == c->n)
            return wrong(c, MLLOG_CUT, c->n, "the record ends before its JSON does");
        if (scan_token(c) < 0)
            return -1;
        if (c->depth == 0 && b != ' ' && b != '\t') {
            replace(c, 0, "", 0);
            c->out.end = c->at;
            return 0;
        }
    } while (1);
}

/* The strings that stand for bare words become numbers. */
static void set_bare(cJSON *item)
{
    for (; item; item = item->next) {
        if (cJSON_IsString(item) && item->valuestring[0] == MARK)
            for (size_t i = 0; i < COUNT_OF(bare_words); i++)
                if (strcmp(item->valuestring + 1, bare_words[i].word) == 0) {
                    item->type = cJSON_Number; /* the string stays, and is freed with the item */
                    item->valuedouble = bare_words[i].number;
                    break;
                }
        set_bare(item->child);
    }
}

/* The place in s of the place `at` of the copy. */
static size_t place_in(const char *s, size_t n, const struct str *copy, size_t at)
{
    size_t place = 0;

    for (size_t i = 0; i < at && i < copy->len && place < n; i++)
        place += s[place] == copy->s[i];
    return place;
}

struct mllog_json mllog_json_parse(const char *s, size_t n, struct str *scratch)
{
    struct scan c = {.s = s, .n = n, .copy = scratch};
    const char *stop = NULL;

    str_reset(scratch);
    if (scan_value(&c) < 0)
        return c.out;
    c.out.doc = json_parse(scratch->s, scratch->len, &stop);
    if (!c.out.doc)
        wrong(&c, MLLOG_CUT, place_in(s, n, scratch, stop ? (size_t)(stop - scratch->s) : 0),
              "a record that is not JSON");
    else if (c.n_bare)
        set_bare(c.out.doc);
    return c.out;
}

int mllog_python_float(const char *text, double *out)
{
    const char *const s = text + strspn(text, " \t\n\r\f\v");
    const size_t n = strspn(s, "+-.0123456789eEinfatyINFATY");
    char *end;

    *out = strtod(s, &end);
    return n > 0 && end == s + n && s[n + strspn(s + n, " \t\n\r\f\v")] == '\0';
}
