/* What came of a run in a few numbers and one sentence. */
#ifndef STAVE_REPORT_SUMMARY_H
#define STAVE_REPORT_SUMMARY_H

#include "report/barrel.h"
#include "report/folder.h"

enum summary_state {
    SUMMARY_REACHED,
    SUMMARY_STEPS_DONE,
    SUMMARY_NOT_REACHED,
    SUMMARY_INTERRUPTED,
    SUMMARY_FAILED,
    SUMMARY_INGEST,  /* no run: the ingest of a study alone */
    SUMMARY_CUT,     /* it never said that it ended: killed, or still at work */
    SUMMARY_PROFILE, /* no run: the stages alone */
};

/* NAN: not known. Texts are the folder's. */
struct summary {
    enum summary_state state;
    double quality, target, run_s, samples_per_s, wait_ratio, epochs, steps;
    double exit_code;
    const char *metric; /* "top-1" */
    int is_ratio;       /* the metric is a share, shown in per cent */
    const char *origin, *origin_words;
    const char *doubt; /* why a result that does not stand (exit status 4) does not */
};

void summary_find(const struct folder *f, struct summary *s);
void summary_add_quality(const struct summary *s, double quality, struct str *out);
/* One sentence, plain text: whether the target was reached, how long that took, which stave is the
 * shortest, and where the data came from. */
void summary_add_sentence(const struct summary *s, const struct barrel *b, struct str *out);
/* "target reached", "did not end" */
const char *summary_state_name(const struct summary *s);

#endif
