/* Clearing the page cache before a timed run, and measuring what that left of the data set. The
 * rules ask for it (MLPerf Training rules, "You must flush the cache or restart the system prior to
 * benchmarking"; data starts on durable storage, not in memory), and the log must tell the truth:
 * done is set only when the data set was measured and none of it was left. */
#ifndef STAVE_DATA_CACHE_CLEAR_H
#define STAVE_DATA_CACHE_CLEAR_H

#include "base/page_cache.h"
#include "data/source.h"

enum cache_clear_what {
    CACHE_CLEAR_ALL, /* the machine's cache where that is allowed, otherwise the data set's files */
    CACHE_CLEAR_FILES /* the data set's files */
};

struct cache_clear {
    int done;                      /* the value for the log */
    const char *how;               /* "drop_caches", "posix_fadvise"; NULL: nothing was done */
    uint64_t n_files, n_measured;  /* of a data set of many files, a share is measured */
    struct page_cache_share share; /* of those measured */
    char why[320];                 /* one sentence; "" when done */
};

/* n sources, of which some may be NULL. Failures are what the result says, not errors: a run whose
 * cache could not be cleared is a run all the same. */
void cache_clear(const struct source *const *sources, size_t n, enum cache_clear_what what,
                 struct cache_clear *out);

#endif
