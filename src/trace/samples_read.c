/* The parser of samples. The file is passed over twice: for the number of its lines, so that
 * columns are allocated once and not moved, and for what they hold. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/file.h"
#include "trace/samples.h"

enum { PIECE = 1 << 20, MAX_CELL = 64, EXACT_DIGITS = 15, MAX_EPOCH = 1 << 30 };
enum { TIME = -1, ELAPSED = -2, PHASE = -3, EPOCH = -4, NOT_WANTED = -5 };

struct reading {
    struct samples *s;
    const char *const *wanted;
    int cells[SAMPLES_MAX_COLUMNS]; /* of a line: a column's number, or one of the above */
    size_t n_cells;
    size_t n_bytes, n_lines; /* of the file; its whole lines */
    size_t room;             /* for rows */
    size_t at_line;          /* that is read; 0: the header */
    int skips;               /* the rest of a line that is too long */
};

/* ---- numbers ---- */

static int is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* What is too long for exact arithmetic, or has an exponent. */
static const char *read_long_number(const char *p, const char *end, double *out)
{
    char text[MAX_CELL], *stop;
    const size_t n = (size_t)(end - p) < MAX_CELL - 1 ? (size_t)(end - p) : MAX_CELL - 1;

    memcpy(text, p, n);
    text[n] = '\0';
    text[strspn(text, "0123456789+-.eE")] = '\0';
    *out = strtod(text, &stop);
    return stop > text && isfinite(*out) ? p + (stop - text) : NULL;
}

/* One cell: returns where its comma or the line's end is, or NULL. Up to 15 digits and a power of
 * ten are exact, so one division makes the nearest number. */
static const char *read_number(const char *p, const char *end, double *out)
{
    static const double tens[] = {1,   1e1, 1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                  1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};
    const char *const start = p;
    const int negative = p < end && *p == '-';
    long long digits = 0;
    int n = 0, decimals = 0;

    *out = NAN;
    if (p == end || *p == ',')
        return p;
    for (p += negative; p < end && is_digit(*p) && n <= EXACT_DIGITS; p++, n++)
        digits = 10 * digits + (*p - '0');
    if (n > 0 && p < end && *p == '.')
        for (p++; p < end && is_digit(*p) && n <= EXACT_DIGITS; p++, n++, decimals++)
            digits = 10 * digits + (*p - '0');
    if (n == 0)
        return NULL;
    if (n > EXACT_DIGITS || (p < end && *p != ','))
        p = read_long_number(start, end, out);
    else
        *out = (double)(negative ? -digits : digits) / tens[decimals];
    return p && (p == end || *p == ',') ? p : NULL;
}

/* ---- the header ---- */

static int is_name(const char *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!is_digit(p[i]) && p[i] != '_' && !(p[i] >= 'a' && p[i] <= 'z') &&
            !(p[i] >= 'A' && p[i] <= 'Z'))
            return 0;
    return n > 0 && n <= SAMPLES_MAX_NAME;
}

static int is_wanted(const struct reading *r, const char *name)
{
    for (size_t i = 0; r->wanted && r->wanted[i]; i++)
        if (strcmp(r->wanted[i], name) == 0)
            return 1;
    return !r->wanted;
}

/* What stands under this name; a number of a new column, or one of those below 0. */
static int cell_of(struct reading *r, const char *name)
{
    static const char *const others[] = {"time_ms", "elapsed_s", "phase", "epoch"};
    struct samples *const s = r->s;

    for (int i = 0; i < (int)COUNT_OF(others); i++)
        if (strcmp(name, others[i]) == 0)
            return TIME - i;
    if (!is_wanted(r, name))
        return NOT_WANTED;
    s->names = xrealloc(s->names, (s->n_columns + 1) * sizeof(*s->names));
    s->names[s->n_columns] = xstrdup(name);
    return (int)s->n_columns++;
}

static int is_double(const struct reading *r, int cell)
{
    struct samples *const s = r->s;

    for (int i = 0; i < cell; i++)
        if (strcmp(s->names[i], s->names[cell]) == 0)
            return 1;
    for (size_t i = 0; cell < 0 && cell != NOT_WANTED && i < r->n_cells; i++)
        if (r->cells[i] == cell)
            return 1;
    return 0;
}

static int take_name(struct reading *r, const char *p, size_t n)
{
    char name[SAMPLES_MAX_NAME + 1];
    int cell;

    if (!is_name(p, n) || r->n_cells == SAMPLES_MAX_COLUMNS)
        return err(E_DATA, "its first line is no list of at most %d names", SAMPLES_MAX_COLUMNS);
    memcpy(name, p, n);
    name[n] = '\0';
    cell = cell_of(r, name);
    if (is_double(r, cell))
        return err(E_DATA, "it has two columns %s", name);
    if (r->n_cells < 2 && cell != TIME - (int)r->n_cells)
        return err(E_DATA, "its first columns are not time_ms and elapsed_s");
    r->cells[r->n_cells++] = cell;
    return 0;
}

/* A row has at least a byte a cell, so a short file makes no large columns. */
static void make_room(struct reading *r)
{
    struct samples *const s = r->s;
    const size_t most = r->n_bytes / r->n_cells;

    r->room = r->n_lines - 1 < most ? r->n_lines - 1 : most;
    s->columns = xcalloc(s->n_columns + 1, sizeof(*s->columns));
    for (size_t i = 0; i < s->n_columns; i++)
        s->columns[i] = xmalloc((r->room + 1) * sizeof(double));
    s->elapsed_s = xmalloc((r->room + 1) * sizeof(double));
    s->seconds = xmalloc((r->room + 1) * sizeof(double));
    s->time_ms = xmalloc((r->room + 1) * sizeof(double));
    s->epoch = xmalloc((r->room + 1) * sizeof(int));
    s->phase = xmalloc(r->room + 1);
}

static int take_header(struct reading *r, const char *p, const char *end)
{
    for (;; p++) {
        const char *const comma = memchr(p, ',', (size_t)(end - p));
        const char *const stop = comma ? comma : end;

        TRY(take_name(r, p, (size_t)(stop - p)));
        p = stop;
        if (!comma)
            break;
    }
    if (r->n_cells < 2)
        return err(E_DATA, "its first columns are not time_ms and elapsed_s");
    make_room(r);
    return 0;
}

/* ---- rows ---- */

static int phase_number(struct samples *s, const char *p, size_t n)
{
    for (size_t i = 0; i < s->n_phases; i++)
        if (strlen(s->phases[i]) == n && memcmp(s->phases[i], p, n) == 0)
            return (int)i;
    if ((n > 0 && !is_name(p, n)) || s->n_phases == SAMPLES_MAX_PHASES)
        return -1;
    s->phases[s->n_phases] = memcpy(xcalloc(n + 1, 1), p, n);
    return (int)s->n_phases++;
}

static const char *take_phase(struct samples *s, const char *p, const char *end)
{
    const char *const comma = memchr(p, ',', (size_t)(end - p));
    const char *const stop = comma ? comma : end;
    const int number = phase_number(s, p, (size_t)(stop - p));

    s->phase[s->n_rows] = (unsigned char)number;
    return number < 0 ? NULL : stop;
}

static const char *take_epoch(struct samples *s, const char *p, const char *end)
{
    double v;

    p = read_number(p, end, &v);
    if (!p || (!isnan(v) && !(v >= 0 && v <= MAX_EPOCH && v == floor(v))))
        return NULL;
    s->epoch[s->n_rows] = isnan(v) ? 0 : (int)v;
    return p;
}

static const char *take_cell(struct reading *r, int cell, const char *p, const char *end)
{
    struct samples *const s = r->s;
    double unused;

    if (cell >= 0)
        return read_number(p, end, &s->columns[cell][s->n_rows]);
    if (cell == PHASE)
        return take_phase(s, p, end);
    if (cell == EPOCH)
        return take_epoch(s, p, end);
    return read_number(p, end,
                       cell == TIME      ? &s->time_ms[s->n_rows]
                       : cell == ELAPSED ? &s->elapsed_s[s->n_rows]
                                         : &unused);
}

static int is_in_time(struct samples *s)
{
    const size_t at = s->n_rows;
    const double last = at > 0 ? s->elapsed_s[at - 1] : 0;

    s->seconds[at] = at > 0 ? s->elapsed_s[at] - last : 0;
    return s->elapsed_s[at] >= last && isfinite(s->time_ms[at]);
}

/* Whether the line is a row. Its numbers are put where the next row stands. */
static int take_row(struct reading *r, const char *p, const char *end)
{
    struct samples *const s = r->s;

    if (s->n_rows == r->room)
        return 0;
    s->epoch[s->n_rows] = 0;
    s->phase[s->n_rows] = 0;
    for (size_t i = 0; i < r->n_cells; i++) {
        if (i > 0 && (p == end || *p++ != ','))
            return 0;
        p = take_cell(r, r->cells[i], p, end);
        if (!p)
            return 0;
    }
    return p == end && is_in_time(s);
}

static int take_line(struct reading *r, const char *p, size_t n)
{
    const char *const end = p + n - (n > 0 && p[n - 1] == '\r');

    if (r->at_line++ == 0)
        return take_header(r, p, end);
    if (take_row(r, p, end))
        r->s->n_rows++;
    else
        r->s->n_left_out++;
    return 0;
}

/* ---- a file in pieces ---- */

/* Hands on all whole lines of text; *left: bytes behind the last one. */
static int take_lines(struct reading *r, const char *text, size_t n, size_t *left)
{
    const char *p = text, *const end = text + n, *newline;

    while (r->at_line < r->n_lines && (newline = memchr(p, '\n', (size_t)(end - p)))) {
        TRY(r->skips ? 0 : take_line(r, p, (size_t)(newline - p)));
        r->s->n_left_out += (size_t)r->skips;
        r->at_line += (size_t)r->skips;
        r->skips = 0;
        p = newline + 1;
    }
    *left = (size_t)(end - p);
    return 0;
}

static void count_lines(struct reading *r, const char *text, size_t n)
{
    const char *const end = text + n, *p = text, *newline;

    for (; (newline = memchr(p, '\n', (size_t)(end - p))); p = newline + 1)
        r->n_lines++;
    r->n_bytes += n;
}

static int read_piece(int fd, char *at, size_t n, const char *path, size_t *got)
{
    ssize_t k;

    do
        k = read(fd, at, n);
    while (k < 0 && errno == EINTR);
    *got = k > 0 ? (size_t)k : 0;
    return k < 0 ? err(E_IO, "read %s: %s", path, strerror(errno)) : 0;
}

static int count_file(struct reading *r, int fd, const char *path, char *piece)
{
    size_t n;

    do {
        TRY(read_piece(fd, piece, PIECE, path, &n));
        count_lines(r, piece, n);
    } while (n > 0);
    return lseek(fd, 0, SEEK_SET) < 0 ? err(E_IO, "seek in %s: %s", path, strerror(errno)) : 0;
}

static int has_header(const struct reading *r)
{
    return r->n_lines > 0 ? 0 : err(E_DATA, "it has no whole first line");
}

/* A line that fills the whole piece is none of ours. */
static int read_lines(struct reading *r, int fd, const char *path, char *piece)
{
    size_t n, left = 0;

    while (r->at_line < r->n_lines) {
        if (left == PIECE && r->at_line == 0)
            return err(E_DATA, "its first line is no list of at most %d names",
                       SAMPLES_MAX_COLUMNS);
        if (left == PIECE) {
            r->skips = 1;
            left = 0;
        }
        TRY(read_piece(fd, piece + left, PIECE - left, path, &n));
        if (n == 0)
            break;
        n += left;
        TRY(take_lines(r, piece, n, &left));
        memmove(piece, piece + n - left, left);
    }
    return 0;
}

static int read_file(struct reading *r, const char *path)
{
    const int fd = file_open(path);
    char *piece;
    int rc;

    if (fd < 0)
        return fd;
    piece = xmalloc(PIECE);
    rc = count_file(r, fd, path, piece);
    if (rc == 0)
        rc = has_header(r);
    if (rc == 0)
        rc = read_lines(r, fd, path, piece);
    free(piece);
    close(fd);
    return rc == E_DATA ? err_prefix(rc, "%s can not be read as samples: ", path) : rc;
}

/* Files without phases are all one. */
static int settle(struct samples *s, int rc)
{
    if (rc < 0)
        samples_release(s);
    else if (s->n_phases == 0)
        s->phases[s->n_phases++] = xstrdup("");
    return rc;
}

int samples_read(const char *path, const char *const *wanted, struct samples *out)
{
    struct reading r = {.s = out, .wanted = wanted};

    *out = (struct samples){0};
    return settle(out, read_file(&r, path));
}

int samples_read_memory(const char *text, size_t n, struct samples *out)
{
    struct reading r = {.s = out};
    size_t left;
    int rc;

    *out = (struct samples){0};
    count_lines(&r, text, n);
    rc = has_header(&r);
    if (rc == 0)
        rc = take_lines(&r, text, n, &left);
    return settle(out, rc);
}
