#include "report/table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"

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

void table_take(struct table *t, const struct samples *s, double start_ms)
{
    static const char *const keys[] = {"time_ms", "elapsed_s", "seconds", "phase", "epoch"};
    const int has_phases = s->n_phases > 0 && *s->phases[0];
    const size_t n_keys = has_phases ? COUNT_OF(keys) : 3;

    for (size_t i = 0; i < n_keys + s->n_columns; i++)
        table_add_column(t, i < n_keys ? keys[i] : s->names[i - n_keys]);
    for (size_t i = 0; has_phases && i < s->n_phases; i++)
        file_names_add(&t->words, xstrdup(s->phases[i]));
    for (size_t row = 0; row < s->n_rows; row++) {
        const double ms = s->time_ms[row];
        const double values[] = {ms, s->elapsed_s[row], (ms - start_ms) / 1e3, s->phase[row],
                                 s->epoch[row] ? (double)s->epoch[row] : NAN};

        table_add_row(t);
        for (size_t i = 0; i < n_keys + s->n_columns; i++)
            t->columns[i].v[row] = i < n_keys ? values[i] : s->columns[i - n_keys][row];
    }
}
