/* One read after the other: pread and direct. */
#include <fcntl.h>

#include "data/reader_int.h"

extern const struct reader_ops reader_pread, reader_direct;

static void pread_begin(struct reader *r, struct flight *f)
{
    if (r->n_flights > 1 && f->n)
        posix_fadvise(f->fd, (off_t)f->at, (off_t)f->n_read, POSIX_FADV_WILLNEED);
}

static int pread_finish(struct reader *r, struct flight *f)
{
    return flight_read(r, f);
}

const struct reader_ops reader_pread = {
    .readahead = 1,
    .begin = pread_begin,
    .finish = pread_finish,
};

const struct reader_ops reader_direct = {
    .direct = 1,
    .finish = pread_finish,
};
