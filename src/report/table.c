#include "report/table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"

enum { MOST_COLUMNS = 4096, MOST_WORDS = 64 };
static const size_t most_bytes = (size_t)2 << 30;

void table_release(struct table *t)
{
    for (size_t i = 0; i < t->n_columns; i++) {
        free(t->columns[i].name);
        free(t->columns[i].v);
    }
    free(t->columns);
    file_names_release(&t->words);
    *t = (struct table){0};
}

static void fill(double *v, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++)
        v[i] = NAN;
}

size_t table_add_column(struct table *t, const char *name)
{
    const size_t i = t->n_columns++;

    t->columns = xrealloc(t->columns, t->n_columns * sizeof(t->columns[0]));
    t->columns[i].name = xstrdup(name);
    t->columns[i].v = xmalloc((t->cap_rows ? t->cap_rows : 1) * sizeof(double));
    fill(t->columns[i].v, 0, t->n_rows);
    return i;
}

static void reserve(struct table *t, size_t n_rows)
{
    if (n_rows <= t->cap_rows)
        return;
    t->cap_rows = n_rows > 2 * t->cap_rows ? n_rows : 2 * t->cap_rows;
    for (size_t i = 0; i < t->n_columns; i++)
        t->columns[i].v = xrealloc(t->columns[i].v, t->cap_rows * sizeof(double));
}

size_t table_add_row(struct table *t)
{
    reserve(t, t->n_rows + 1);
    for (size_t i = 0; i < t->n_columns; i++)
        t->columns[i].v[t->n_rows] = NAN;
    return t->n_rows++;
}

const double *table_find(const struct table *t, const char *name)
{
    for (size_t i = 0; i < t->n_columns; i++)
        if (strcmp(t->columns[i].name, name) == 0)
            return t->columns[i].v;
    return NULL;
}

double table_word(struct table *t, const char *word)
{
    for (size_t i = 0; i < t->words.n; i++)
        if (strcmp(t->words.all[i], word) == 0)
            return (double)i;
    if (!*word || t->words.n == MOST_WORDS)
        return NAN;
    file_names_add(&t->words, xstrdup(word));
    return (double)(t->words.n - 1);
}

/* ---- reading ---- */

/* The next cell of a line: ends it with a zero byte; NULL behind the last one. */
static char *next_cell(char **at)
{
    char *const cell = *at, *end;

    if (!cell)
        return NULL;
    end = cell + strcspn(cell, ",");
    *at = *end ? end + 1 : NULL;
    *end = '\0';
    return cell;
}

static size_t count_cells(const char *line)
{
    size_t n = 1;

    for (; *line; line++)
        n += *line == ',';
    return n;
}

static double cell_value(struct table *t, const char *name, const char *cell)
{
    char *end;
    double v;

    if (!*cell)
        return NAN;
    if (strcmp(name, "phase") == 0)
        return table_word(t, cell);
    v = strtod(cell, &end);
    return *end == '\0' && isfinite(v) ? v : NAN;
}

static void read_row(struct table *t, char *line)
{
    const size_t row = table_add_row(t);
    char *at = line, *cell;

    for (size_t i = 0; (cell = next_cell(&at)); i++)
        t->columns[i].v[row] = cell_value(t, t->columns[i].name, cell);
}

/* The next line, its end a zero byte; *whole: it had a newline. NULL at the end. */
static char *next_line(char **at, int *whole)
{
    char *const line = *at, *const end = line + strcspn(line, "\n");

    if (!*line)
        return NULL;
    *whole = *end == '\n';
    *at = end + *whole;
    if (end > line && end[-1] == '\r')
        end[-1] = '\0';
    *end = '\0';
    return line;
}

static int read_header(struct table *t, char *line, const char *path)
{
    char *at = line, *cell;

    if (!line || count_cells(line) > MOST_COLUMNS || !*line)
        return err(E_DATA, "%s names no columns in its first line", path);
    while ((cell = next_cell(&at)))
        table_add_column(t, cell);
    return 0;
}

static void read_rows(struct table *t, char *at, size_t *n_torn)
{
    int whole;

    for (char *line; (line = next_line(&at, &whole));)
        if (whole && count_cells(line) == t->n_columns)
            read_row(t, line);
        else
            ++*n_torn;
}

int table_read_csv(struct table *t, const char *path, size_t *n_torn)
{
    char *text, *at;
    int rc, whole = 0;
    size_t n;

    *n_torn = 0;
    TRY(file_read(path, most_bytes, &text, &n));
    for (char *zero = text; (zero = memchr(zero, '\0', n - (size_t)(zero - text)));)
        *zero = '?'; /* blocks that a crash left unwritten */
    at = text;
    rc = read_header(t, next_line(&at, &whole), path);
    if (rc == 0 && !whole)
        rc = err(E_DATA, "%s ends inside its first line", path);
    if (rc == 0)
        read_rows(t, at, n_torn);
    free(text);
    if (rc < 0)
        table_release(t);
    return rc;
}
