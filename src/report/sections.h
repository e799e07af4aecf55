/* The parts of a run's page that are text: HTML whose every word can be read, selected and printed
 * without the page's script. */
#ifndef STAVE_REPORT_SECTIONS_H
#define STAVE_REPORT_SECTIONS_H

#include "report/summary.h"

/* A section with its heading: begin, content, end. id is its anchor. */
void section_begin(struct str *out, const char *id, const char *title);
void section_end(struct str *out);

/* The sentence, the key figures, what is odd about the folder. */
void section_add_head(const struct folder *f, const struct summary *s, const struct barrel *b,
                      struct str *out);
/* Mean, median and 95th percentile of the columns of samples.csv, a phase each. */
void section_add_phases(const struct folder *f, struct str *out);
/* Bytes asked for and delivered, an epoch each. */
void section_add_epochs(const struct folder *f, struct str *out);
/* The memory ceiling and the ingest that the run was made under, where there were any. */
void section_add_conditions(const struct folder *f, struct str *out);
void section_add_machine(const struct folder *f, struct str *out);
void section_add_options(const struct folder *f, struct str *out);
void section_add_warnings(const struct folder *f, struct str *out);

#endif
