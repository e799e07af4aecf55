/* One sample's way: where it lies, the open file, the piece to read, the memory, the read. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/file.h"
#include "base/hostile.h"
#include "data/reader_int.h"

static int no_direct(const char *path)
{
    return err(E_UNSUPPORTED,
               "%s lies on a file system that can not be read past the page cache (O_DIRECT); take "
               "the reader pread or uring",
               path);
}

/* The blocks that O_DIRECT reads the file in: 0 where the file system has no O_DIRECT. */
static size_t ask_block(int fd)
{
    struct statx st;

    if (statx(fd, "", AT_EMPTY_PATH, STATX_DIOALIGN, &st) < 0 || !(st.stx_mask & STATX_DIOALIGN))
        return READER_ALIGN;
    return st.stx_dio_mem_align > st.stx_dio_offset_align ? st.stx_dio_mem_align
                                                          : st.stx_dio_offset_align;
}

/* Asked once of a file that is kept open. */
static size_t block_of(const struct flight *f)
{
    if (!f->shared)
        return ask_block(f->fd);
    if (f->shared->block == 0)
        f->shared->block = ask_block(f->fd);
    return f->shared->block;
}

static int no_direct_open(const struct extent *x)
{
    struct stat st;

    if (x->fd < 0 && fstatat(x->dir, x->path, &st, 0) == 0 && !S_ISREG(st.st_mode))
        return err(E_DATA, "%s is no regular file", x->path);
    return no_direct(x->path);
}

/* A file of the data set; the source's own is opened once more where the way to open it matters.
 * See extent_open for O_NONBLOCK, with which some file systems would not wait in a ring either. */
static int open_file(const struct extent *x, int direct)
{
    const int flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | (direct ? O_DIRECT : 0);
    char link[64];
    int fd;

    snprintf(link, sizeof(link), "/proc/self/fd/%d", x->fd);
    fd = x->fd >= 0 ? open(link, flags) : openat(x->dir, x->path, flags);
    if (fd < 0 && direct && errno == EINVAL)
        return no_direct_open(x);
    if (fd < 0)
        return err(E_IO, "open %s: %s", x->path, strerror(errno));
    fcntl(fd, F_SETFL, direct ? O_DIRECT : 0);
    return fd;
}

static int take_file(struct reader *r, struct flight *f)
{
    const int one_each = r->source->n_files >= r->source->n_samples;

    f->shared = NULL;
    f->fd = f->x.fd;
    if (f->fd >= 0 && !r->ops->direct)
        return 0;
    f->shared = one_each ? NULL : open_files_take(&r->files, f->x.file);
    f->fd = f->shared ? f->shared->fd : open_file(&f->x, r->ops->direct);
    TRY(f->fd);
    if (!f->shared && !one_each)
        f->shared = open_files_keep(&r->files, f->x.file, f->fd);
    return 0;
}

static void give_file(struct flight *f)
{
    if (f->shared)
        open_files_give(f->shared);
    else if (f->fd != f->x.fd)
        close(f->fd);
}

/* What to read for the sample: with O_DIRECT whole blocks, which reach behind its ends. */
static int plan(struct reader *r, struct flight *f)
{
    const size_t block = r->ops->direct ? block_of(f) : 1;

    f->block = block;
    TRY(extent_bytes(&f->x, f->fd, &f->n));
    if (block == 0)
        return no_direct(f->x.path);
    r->align = block > r->align ? block : r->align;
    f->skip = (size_t)(f->x.offset % block);
    f->at = f->x.offset - f->skip;
    f->n_read = (f->skip + f->n + block - 1) / block * block;
    return 0;
}

void flight_reserve(struct reader *r, struct flight *f)
{
    struct reader_memory *const m = f->n_read > READER_AHEAD_BYTES ? &r->large : &f->own;
    const size_t want = HOSTILE ? f->n_read : f->n_read + f->n_read / 2;

    if (!m->bytes || f->n_read > m->cap || (uintptr_t)m->bytes % r->align) {
        free(m->bytes);
        m->cap = (want / r->align + 1) * r->align;
        m->bytes = aligned_alloc(r->align, m->cap);
    }
    if (!m->bytes)
        out_of_memory(m->cap);
    f->mem = m->bytes;
}

static int read_blocks(const struct flight *f)
{
    const size_t need = f->skip + f->n;
    size_t done = 0;

    while (done < need) {
        const ssize_t got = pread(f->fd, f->mem + done, f->n_read - done, (off_t)(f->at + done));

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0 && errno == EINVAL)
            return no_direct(f->x.path);
        if (got < 0)
            return err(E_IO, "read %s at byte %llu: %s", f->x.path,
                       (unsigned long long)(f->at + done), strerror(errno));
        done += (size_t)got;
        if (got == 0 || done % f->block)
            break; /* the file ends; inside a block no direct read begins */
    }
    if (done >= need)
        return 0;
    done = done > f->skip ? done - f->skip : 0;
    return file_ends(f->x.path, f->x.offset + done, f->n - done);
}

int flight_read(struct reader *r, struct flight *f)
{
    flight_reserve(r, f);
    if (r->ops->direct)
        return read_blocks(f);
    return file_pread(f->fd, f->mem, f->n, f->at, f->x.path);
}

int flight_aim(struct reader *r, struct flight *f, uint64_t i)
{
    int rc;

    f->sample = i;
    TRY(source_extent(r->source, i, &f->x));
    TRY(take_file(r, f));
    rc = plan(r, f);
    if (rc < 0) {
        give_file(f);
        return rc;
    }
    f->state = FLIGHT_ON_ITS_WAY;
    return 0;
}

void flight_end(struct flight *f)
{
    give_file(f);
    f->state = FLIGHT_FREE;
}
