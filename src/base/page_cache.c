#include "base/page_cache.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cgroup.h"
#include "base/err.h"
#include "base/file.h"

static const char drop_caches[] = "/proc/sys/vm/drop_caches";

int page_cache_drop_all(void)
{
    const int fd = open(drop_caches, O_WRONLY | O_CLOEXEC);
    int rc;

    if (fd < 0)
        return err(E_UNSUPPORTED, "open %s: %s", drop_caches, strerror(errno));
    sync(); /* only clean pages go */
    rc = file_write_all(fd, "3\n", 2, drop_caches);
    close(fd);
    return rc < 0 ? E_UNSUPPORTED : 0;
}

int64_t page_cache_missed_bytes(void)
{
    char *const text = cgroup_slurp("", "/proc/self/io");
    long long n;
    const int said = cgroup_field(text, "read_bytes:", &n);

    free(text);
    return said ? n : -1;
}

int page_cache_forget(int fd, const char *path)
{
    int rc;

    if (fsync(fd) < 0 && errno != EROFS && errno != EINVAL) /* nothing there can be dirty */
        return err(E_IO, "sync %s: %s", path, strerror(errno));
    rc = posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    return rc ? err(E_IO, "posix_fadvise %s: %s", path, strerror(rc)) : 0;
}

int page_cache_may_see(int fd)
{
    struct stat st;
    char *link;
    int writable;

    if (geteuid() == 0 || (fstat(fd, &st) == 0 && st.st_uid == geteuid()))
        return 1;
    link = xasprintf("/proc/self/fd/%d", fd);
    writable = faccessat(AT_FDCWD, link, W_OK, AT_EACCESS) == 0;
    free(link);
    return writable;
}

static uint64_t count_resident(const unsigned char *pages, size_t n, uint64_t page, uint64_t size)
{
    uint64_t bytes = 0;

    for (size_t i = 0; i < n; i++)
        if (pages[i] & 1)
            bytes += i + 1 < n ? page : size - (n - 1) * page;
    return bytes;
}

/* A piece of the file, so that the answer for a large one takes little memory. */
static int measure_piece(int fd, uint64_t at, uint64_t size, struct page_cache_share *s)
{
    const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    const size_t n = (size_t)((size + page - 1) / page);
    void *const map = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, (off_t)at);
    unsigned char *pages;
    int rc;

    if (map == MAP_FAILED)
        return -1;
    pages = xmalloc(n);
    rc = mincore(map, size, pages);
    if (rc == 0)
        s->resident += count_resident(pages, n, page, size);
    s->bytes += rc == 0 ? size : 0;
    free(pages);
    munmap(map, size);
    return rc;
}

int page_cache_measure(int fd, const char *path, struct page_cache_share *s)
{
    static const uint64_t piece = UINT64_C(1) << 30;
    struct stat st;

    if (fstat(fd, &st) < 0)
        return err(E_IO, "stat %s: %s", path, strerror(errno));
    if (!page_cache_may_see(fd))
        return err(E_UNSUPPORTED,
                   "the system does not tell this user what it keeps of %s; the owner, root and "
                   "whoever may write it can see that",
                   path);
    for (uint64_t at = 0, size = (uint64_t)st.st_size; at < size; at += piece)
        if (measure_piece(fd, at, size - at < piece ? size - at : piece, s) < 0)
            return err(E_UNSUPPORTED, "what is kept of %s in memory can not be seen: %s", path,
                       strerror(errno));
    return 0;
}
