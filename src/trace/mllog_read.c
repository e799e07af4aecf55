#include "trace/mllog_read.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/str.h"
#include "trace/mllog_record.h"

/* What every record begins with, and the longest of what one begins with. */
static const char token[] = ":::ML";
enum { TOKEN = sizeof(token) - 1, LONGEST_TOKEN = sizeof(":::MLLOG") - 1 };

struct reader {
    const struct mllog_visitor *v;
    enum mllog_format format; /* which records there are */
    struct str line;          /* since the last newline or carriage return, see make_room */
    struct str json;          /* scratch of the parser */
    size_t number;            /* of the line */
    size_t begin;             /* the column where this piece of the line began */
    size_t start;             /* the column of line.s[0] */
    size_t lost;              /* bytes of a record that is too long; it has been reported */
};

/* at counts bytes from the beginning of r->line. */
static int trouble(struct reader *r, size_t at, struct mllog_trouble t)
{
    t.line = r->number;
    t.column = r->start + at;
    return r->v->trouble ? r->v->trouble(r->v->context, &t) : 0;
}

/* ---- where records begin ---- */

static enum mllog_format format_of(const char *s, size_t n)
{
    if (n >= 8 && memcmp(s, ":::MLLOG", 8) == 0)
        return MLLOG_FORMAT_JSON;
    if (n >= 6 && memcmp(s, ":::MLL", 6) == 0)
        return MLLOG_FORMAT_06;
    return n >= 6 && memcmp(s, ":::MLP", 6) == 0 ? MLLOG_FORMAT_05 : MLLOG_FORMAT_ANY;
}

/* The format of the record that begins here; ANY: none does. */
static enum mllog_format begins(const struct reader *r, const char *s, size_t n)
{
    const enum mllog_format f = format_of(s, n);

    if (r->format == MLLOG_FORMAT_ANY || r->format == MLLOG_FORMAT_FIRST || f == r->format)
        return f;
    return r->format == MLLOG_FORMAT_06 && f == MLLOG_FORMAT_JSON ? MLLOG_FORMAT_06
                                                                  : MLLOG_FORMAT_ANY;
}

static size_t find_token(const struct reader *r, size_t from, enum mllog_format *format)
{
    const struct str *const line = &r->line;

    while (from + TOKEN <= line->len) {
        const char *const hit = memmem(line->s + from, line->len - from, token, TOKEN);

        if (!hit)
            break;
        from = (size_t)(hit - line->s);
        *format = begins(r, hit, line->len - from);
        if (*format != MLLOG_FORMAT_ANY)
            return from;
        from++;
    }
    return line->len;
}

/* ---- one record ---- */

static int deliver(struct reader *r, size_t at, int lost, struct mllog_parsed *p)
{
    const enum mllog_format f = p->record.format;
    int rc = 0;

    if (p->trailing.what)
        rc = trouble(
            r, at + p->trailing.at,
            (struct mllog_trouble){
                .kind = MLLOG_TRAILING, .about = p->trailing.what, .format = f, .lost = lost});
    if (rc != 0)
        return rc;
    if (p->wrong.what)
        return trouble(
            r, at + p->wrong.at,
            (struct mllog_trouble){
                .kind = p->wrong.kind, .about = p->wrong.what, .format = f, .lost = lost});
    p->record.line = r->number;
    p->record.column = r->start + at;
    p->record.lost = lost;
    return r->v->record ? r->v->record(r->v->context, &p->record) : 0;
}

static int read_record(struct reader *r, size_t at, size_t end, enum mllog_format format)
{
    struct mllog_parsed parsed;
    int rc;

    mllog_parse_record(r->line.s + at, end - at, format, &r->json, &parsed);
    rc = deliver(r, at, end < r->line.len, &parsed);
    cJSON_Delete(parsed.doc);
    return rc;
}

/* ---- lines ---- */

static int read_pieces(struct reader *r, size_t at, enum mllog_format format)
{
    int glued = 0;

    if (r->format == MLLOG_FORMAT_FIRST)
        r->format = format;
    for (size_t next; at < r->line.len; at = next, glued = 1) {
        enum mllog_format next_format = format;
        int rc = 0;

        next = find_token(r, at + TOKEN, &next_format);
        if (glued)
            rc = trouble(r, at,
                         (struct mllog_trouble){.kind = MLLOG_GLUED,
                                                .about = "a record behind another one on its line",
                                                .format = format});
        if (rc == 0)
            rc = read_record(r, at, next, format);
        if (rc != 0)
            return rc;
        format = next_format;
    }
    return 0;
}

static int note(struct reader *r, enum mllog_kind kind, const char *about)
{
    if (!r->v->trouble)
        return 0;
    return r->v->trouble(r->v->context,
                         &(struct mllog_trouble){
                             .kind = kind, .line = r->number, .column = r->begin, .about = about});
}

/* What has come since the last newline or carriage return. */
static int read_line(struct reader *r)
{
    enum mllog_format format = MLLOG_FORMAT_ANY;
    size_t at;
    int rc = 0;

    if (r->lost || r->line.len == 0)
        return 0;
    at = find_token(r, 0, &format);
    if (at == r->line.len)
        return note(r, MLLOG_FOREIGN, "a line without a record");
    if (r->start + at > r->begin)
        rc = note(r, MLLOG_PREFIX, "text in front of a record");
    return rc == 0 ? read_pieces(r, at, format) : rc;
}

/* A line that is longer than any record: only from its last token on can it be one. */
static int make_room(struct reader *r)
{
    enum mllog_format format;
    const size_t len = r->line.len;
    size_t keep = len, at = 0;

    while ((at = find_token(r, at, &format)) < len)
        keep = at++;
    if (keep == len)
        keep = len < LONGEST_TOKEN ? 0 : len - LONGEST_TOKEN;
    if (keep == 0)
        return 0;
    memmove(r->line.s, r->line.s + keep, len - keep);
    r->line.len = len - keep;
    r->start += keep;
    return 1;
}

static int add_bytes(struct reader *r, const char *bytes, size_t n)
{
    if (r->lost) {
        r->lost += n;
        return 0;
    }
    if (n > MLLOG_MAX_LINE - r->line.len && !make_room(r)) {
        r->lost = n;
        return trouble(r, 0,
                       (struct mllog_trouble){.kind = MLLOG_LONG,
                                              .about = "a record that is longer than any is"});
    }
    str_add_bytes(&r->line, bytes, n);
    return 0;
}

static int end_line(struct reader *r, char end)
{
    int rc = read_line(r);

    r->start += r->line.len + r->lost;
    str_reset(&r->line);
    if (rc == 0 && end == '\r')
        rc = trouble(r, 0,
                     (struct mllog_trouble){.kind = MLLOG_RETURN, .about = "a carriage return"});
    if (rc == 0 && end == '\n' && r->start == 1)
        rc = note(r, MLLOG_FOREIGN, "an empty line");
    r->start = r->begin = end == '\n' ? 1 : r->start + 1;
    r->number += end == '\n';
    r->lost = 0;
    return rc;
}

static const char *end_in(const char *s, size_t n)
{
    const char *const newline = memchr(s, '\n', n);
    const char *const end = memchr(s, '\r', newline ? (size_t)(newline - s) : n);

    return end ? end : newline ? newline : s + n;
}

static int feed(struct reader *r, const char *bytes, size_t n)
{
    enum { PIECE = 1 << 14 }; /* less than what make_room frees */

    for (size_t at = 0; at < n;) {
        const size_t left = n - at < PIECE ? n - at : PIECE;
        const size_t end = (size_t)(end_in(bytes + at, left) - bytes);
        int rc = add_bytes(r, bytes + at, end - at);

        if (rc == 0 && end < at + left)
            rc = end_line(r, bytes[end]);
        if (rc != 0)
            return rc;
        at = end + (end < at + left);
    }
    return 0;
}

static void begin(struct reader *r, enum mllog_format format, const struct mllog_visitor *v)
{
    *r = (struct reader){.v = v, .format = format, .number = 1, .begin = 1, .start = 1};
    str_add(&r->line, "");
    str_add(&r->json, "");
}

static int finish(struct reader *r, int rc)
{
    if (rc == 0 && r->line.len + r->lost > 0)
        rc = trouble(r, r->line.len + r->lost,
                     (struct mllog_trouble){.kind = MLLOG_NO_NEWLINE,
                                            .about = "the log ends inside a line"});
    if (rc == 0)
        rc = read_line(r);
    str_release(&r->line);
    str_release(&r->json);
    return rc;
}

int mllog_read_memory_as(enum mllog_format format, const char *bytes, size_t n,
                         const struct mllog_visitor *v)
{
    struct reader r;

    begin(&r, format, v);
    return finish(&r, feed(&r, bytes, n));
}

int mllog_read_file_as(enum mllog_format format, const char *path, const struct mllog_visitor *v)
{
    FILE *const f = fopen(path, "re");
    char buf[1 << 14];
    struct reader r;
    size_t n;
    int rc = 0;

    if (!f)
        return err(E_IO, "open %s: %s", path, strerror(errno));
    begin(&r, format, v);
    while (rc == 0 && (n = fread(buf, 1, sizeof(buf), f)) > 0)
        rc = feed(&r, buf, n);
    if (rc == 0 && ferror(f))
        rc = err(E_IO, "read %s: %s", path, strerror(errno));
    rc = finish(&r, rc);
    fclose(f);
    return rc;
}

int mllog_read_memory(const char *bytes, size_t n, const struct mllog_visitor *v)
{
    return mllog_read_memory_as(MLLOG_FORMAT_ANY, bytes, n, v);
}

int mllog_read_file(const char *path, const struct mllog_visitor *v)
{
    return mllog_read_file_as(MLLOG_FORMAT_ANY, path, v);
}
