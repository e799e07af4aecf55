/* Reads through the page cache that leave nothing there: dontcache and evict. What the system reads
 * ahead of itself would stay behind, so it is told not to. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/uio.h>

#include "base/err.h"
#include "base/file.h"
#include "data/reader_int.h"

extern const struct reader_ops reader_dontcache, reader_evict;

enum { DONTCACHE = 0x80 }; /* RWF_DONTCACHE of linux/fs.h, since 6.14 */

static void uncached_begin(struct reader *r, struct flight *f)
{
    (void)r;
    posix_fadvise(f->fd, 0, 0, POSIX_FADV_RANDOM);
}

static int no_dontcache(const char *path)
{
    return err(E_UNSUPPORTED,
               "%s can not be read past the page cache with RWF_DONTCACHE (Linux 6.14, and file "
               "systems that know it); take the reader direct or evict",
               path);
}

/* Behind the end of every file, so that no sample is touched. */
static int dontcache_check(struct flight *f)
{
    static const off_t far = (off_t)1 << 60;
    char byte;
    const struct iovec v = {&byte, 1};

    if (preadv2(f->fd, &v, 1, far, DONTCACHE) < 0 && errno == EOPNOTSUPP)
        return no_dontcache(f->x.path);
    return 0;
}

/* As file_pread. */
static int dontcache_finish(struct reader *r, struct flight *f)
{
    size_t done = 0;

    flight_reserve(r, f);
    while (done < f->n) {
        const struct iovec v = {f->mem + done, f->n - done};
        const ssize_t got = preadv2(f->fd, &v, 1, (off_t)(f->at + done), DONTCACHE);

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0 && errno == EOPNOTSUPP)
            return no_dontcache(f->x.path);
        if (got < 0)
            return err(E_IO, "read %s at byte %llu: %s", f->x.path,
                       (unsigned long long)(f->at + done), strerror(errno));
        if (got == 0)
            return file_ends(f->x.path, f->at + done, f->n - done);
        done += (size_t)got;
    }
    return 0;
}

/* Only whole pages are forgotten: those at the ends, which neighbours share, too. */
static int evict_finish(struct reader *r, struct flight *f)
{
    const uint64_t page = READER_ALIGN, from = f->at / page * page;
    const int rc = flight_read(r, f);

    if (f->n)
        posix_fadvise(f->fd, (off_t)from, (off_t)((f->at + f->n + page - 1) / page * page - from),
                      POSIX_FADV_DONTNEED);
    return rc;
}

const struct reader_ops reader_dontcache = {
    .begin = uncached_begin,
    .check = dontcache_check,
    .finish = dontcache_finish,
};

const struct reader_ops reader_evict = {
    .begin = uncached_begin,
    .finish = evict_finish,
};
