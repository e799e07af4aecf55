/* Which charts a page has, from the columns that its runs left, as the JSON that page.js draws. The
 * columns travel beside it, packed (table.h), each once and whole. */
#ifndef STAVE_REPORT_CHARTS_H
#define STAVE_REPORT_CHARTS_H

#include "report/folder.h"

/* Appends members "tables", "charts", "runs" and "spans" to an object that is begun in json, and
 * the packed columns to blocks. One run or several: the same charts, a line for each run. */
void charts_add(const struct folder *runs, size_t n_runs, struct str *json, struct str *blocks);
/* The name that people know a column by. */
void charts_add_label(struct str *out, const char *column);

#endif
