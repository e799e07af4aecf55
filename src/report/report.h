/* One self-contained page, report.html, of what runs left in their folders: of a run, of several
 * runs side by side, of a set of runs, of a study, of a profile. From the folders alone, so it
 * works on another machine's. Files that are missing, cut or damaged are named on the page.
 *
 * The page loads nothing: its style, its script and the chart library are in it, and its policy
 * forbids everything else. Errors: E_IO where there is no run, or the page can not be written. */
#ifndef STAVE_REPORT_REPORT_H
#define STAVE_REPORT_REPORT_H

#include <stddef.h>

#include "base/str.h"

enum { REPORT_MAX_RUNS = 16 };

/* Writes DIR/report.html, replacing one that is there; *path, when wanted, is its name, heap. */
int report_write(const char *dir, char **path);
/* Writes the page of several runs to the file out. */
int report_compare(const char *const *dirs, size_t n, const char *out);

/* Within the module. A page that is being made: what stands in its body, the members of its data
 * object, and the packed columns. */
struct page {
    struct str title, body, json, blocks;
};
void page_release(struct page *p);
/* The whole document. */
void page_add(const struct page *p, struct str *out);

/* The pages, by what a folder holds. */
int report_run(const char *dir, struct page *p);
int report_runs(const char *const *dirs, size_t n, struct page *p);
int report_set(const char *dir, struct page *p);
int report_study(const char *dir, struct page *p);
/* The section with the charts of these runs, and what page.js draws them from. */
struct folder;
void report_add_charts(const struct folder *runs, size_t n, struct page *p);

#endif
