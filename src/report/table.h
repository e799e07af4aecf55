/* Numbers of a run in named columns: what samples.csv, ingest.csv and the events hold, as charts
 * and summaries need it. A cell that is not known is NAN. A table owns its memory; zero is an empty
 * one. */
#ifndef STAVE_REPORT_TABLE_H
#define STAVE_REPORT_TABLE_H

#include <stddef.h>

#include "base/file.h"
#include "base/str.h"
#include "trace/samples.h"

struct table_column {
    char *name;
    double *v; /* n_rows */
};

struct table {
    size_t n_rows, cap_rows, n_columns;
    struct table_column *columns;
    struct file_names words; /* of the column phase, whose cells are numbers of this list */
};

void table_release(struct table *t);
/* A new column at the end, all NAN; returns its number. */
size_t table_add_column(struct table *t, const char *name);
/* A new row of NANs; returns its number. */
size_t table_add_row(struct table *t);
/* The cells of a column, or NULL. */
const double *table_find(const struct table *t, const char *name);
/* Fills an empty table with what was measured: time_ms, elapsed_s, seconds (since start_ms), where
 * there are phases phase and epoch, and then the columns of s. */
void table_take(struct table *t, const struct samples *s, double start_ms);

/* How a table travels in a page. Appends to json the description
 *     {"n": rows, "words": [...], "columns": [{"name": .., "scale": .., "from": .., "id": "c7"},
 * ...]} and to blocks one script element a column with that id: base64 of zlib of the cells. scale
 * >= 1: each cell is a whole number / scale, stored as the difference to the known cell before it
 * (the first one: to from), in 32 bits, the least number standing for a cell that is not known; of
 * all cells the first bytes before the second bytes and so on. scale 0: doubles, bytes in the same
 * order. Little endian; every value survives exactly. next_id numbers the elements of a page. */
void table_pack(const struct table *t, struct str *json, struct str *blocks, int *next_id);

#endif
