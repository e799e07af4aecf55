/* How far a preparation is, as one line on a terminal that is written over: share, count, rates and
 * the time that is left. Nothing when stderr is no terminal. Zeroed to begin with; one thread. */
#ifndef STAVE_CLI_PROGRESS_H
#define STAVE_CLI_PROGRESS_H

#include "base/str.h"
#include "data/prepare.h"

struct progress {
    char what[64];     /* that is shown */
    int64_t began_ns;  /* of it */
    int64_t showed_ns; /* the last line */
};

/* For struct prepare_progress; context is a struct progress. */
void progress_tell(void *context, const struct prepare_step *s);
/* The line, after so many seconds. */
void progress_line(const struct prepare_step *s, double seconds, struct str *out);

#endif
