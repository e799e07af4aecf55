#include "data/cache_clear.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"

enum { MEASURED_FILES = 4096, ATTEMPTS = 3 };
static const int64_t pause_ns = 50000000; /* for pages that somebody held at that moment */

struct set {
    const struct source *const *sources;
    size_t n;
};

static uint64_t count_files(struct set s)
{
    uint64_t n = 0;

    for (size_t i = 0; i < s.n; i++)
        n += s.sources[i] ? s.sources[i]->n_files : 0;
    return n;
}

typedef int file_action(int fd, const char *path, struct page_cache_share *share);

static int on_file(const struct source *s, uint64_t i, file_action *act,
                   struct page_cache_share *share)
{
    char *const path = source_file(s, i);
    const int fd = file_open(path);
    const int rc = fd < 0 ? fd : act(fd, path, share);

    if (fd >= 0)
        close(fd);
    free(path);
    return rc;
}

/* Every step-th file of all sources together; counts them in *done. */
static int on_files(struct set s, uint64_t step, file_action *act, struct cache_clear *out,
                    uint64_t *done)
{
    uint64_t at = 0;

    for (size_t k = 0; k < s.n; k++)
        for (uint64_t i = 0; s.sources[k] && i < s.sources[k]->n_files; i++)
            if (at++ % step == 0) {
                TRY(on_file(s.sources[k], i, act, &out->share));
                ++*done;
            }
    return 0;
}

static int forget(int fd, const char *path, struct page_cache_share *share)
{
    (void)share;
    return page_cache_forget(fd, path);
}

static int clear(struct set s, enum cache_clear_what what, struct cache_clear *out)
{
    uint64_t n = 0;

    out->how = "drop_caches";
    if (what == CACHE_CLEAR_ALL && page_cache_drop_all() == 0)
        return 0;
    out->how = out->n_files ? "posix_fadvise" : NULL;
    if (out->n_files == 0 && what == CACHE_CLEAR_ALL)
        return err_prefix(E_UNSUPPORTED, "the machine's cache can not be cleared: ");
    if (out->n_files == 0)
        return err(E_UNSUPPORTED, "the run reads no data set whose files could be cleared");
    return on_files(s, 1, forget, out, &n);
}

static int measure(struct set s, struct cache_clear *out)
{
    int rc;

    out->n_measured = 0;
    out->share = (struct page_cache_share){0};
    rc = on_files(s, out->n_files / MEASURED_FILES + 1, page_cache_measure, out, &out->n_measured);
    if (rc < 0)
        out->n_measured = 0;
    return rc;
}

static int try_clear(struct set s, enum cache_clear_what what, struct cache_clear *out)
{
    const struct page_cache_share *const left = &out->share;

    for (int i = 0; i < ATTEMPTS; i++) {
        if (i)
            clock_sleep_ns(pause_ns);
        TRY(clear(s, what, out));
        TRY(measure(s, out));
        if (left->resident == 0)
            return 0;
    }
    return err(E_UNSUPPORTED,
               "%.3g of %.3g MiB of the data set (%.1f %%) are still in memory after %s: it lies "
               "on a file system in memory, or somebody else uses it",
               (double)left->resident / 0x1p20, (double)left->bytes / 0x1p20,
               100 * (double)left->resident / (double)left->bytes, out->how);
}

void cache_clear(const struct source *const *sources, size_t n, enum cache_clear_what what,
                 struct cache_clear *out)
{
    const struct set s = {sources, n};

    *out = (struct cache_clear){.n_files = count_files(s)};
    out->done = try_clear(s, what, out) == 0;
    if (!out->done)
        snprintf(out->why, sizeof(out->why), "%s", err_reason());
}
