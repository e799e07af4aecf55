/* Results in words and as JSON. Text goes to a string. */
#ifndef STAVE_CLI_SCORE_REPORT_H
#define STAVE_CLI_SCORE_REPORT_H

#include "base/str.h"
#include "rules/result_find.h"

/* One result at length: every run, score, interval, reference, comparison. */
void score_report_result(const struct result *r, struct str *out);
/* Several results as a table, and under it why those that do not stand do not. */
void score_report_table(const struct results *s, struct str *out);
/* {"results": [...]}; what is not known is absent. */
void score_report_json(const struct results *s, struct str *out);

#endif
