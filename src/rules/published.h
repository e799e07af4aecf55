/* Published figures, from the text files of src/rules/data: results of others to compare with
 * (anchors.txt) and the reference times that v0.5's speed-ups are relative to
 * (reference_times.txt). Only figures whose source is named stand there. Text belongs to the
 * program. Any thread. */
#ifndef STAVE_RULES_PUBLISHED_H
#define STAVE_RULES_PUBLISHED_H

#include <stddef.h>

struct anchor {
    char benchmark[24], round[8]; /* "resnet", "1.0" */
    int accelerators;             /* -1: not stated for certain */
    double minutes;
    int scored; /* the factor of the reference convergence test is in it */
    char system[96];
};

/* Calls back for every anchor of a benchmark, in the file's order; benchmark NULL: all. */
void published_anchors(const char *benchmark, void (*each)(void *context, const struct anchor *a),
                       void *context);
/* Minutes of the reference in round 0.5; NAN: no confirmed one. */
double published_reference_minutes(const char *version, const char *benchmark);

#endif
