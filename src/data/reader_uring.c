/* Reads under way while the thread decodes: uring and uring-direct. */
#include "data/reader_int.h"

extern const struct reader_ops reader_uring, reader_uring_direct;

static int ring_open(struct reader *r)
{
    return uring_open(&r->ring, (unsigned)r->n_flights);
}

static void ring_begin(struct reader *r, struct flight *f)
{
    f->landed = f->n == 0;
    f->result = 0;
    if (f->landed)
        return;
    flight_reserve(r, f);
    uring_queue(&r->ring, (struct uring_read){
                              .fd = f->fd,
                              .dst = f->mem,
                              .n = (unsigned)f->n_read,
                              .offset = f->at,
                              .tag = (uint64_t)(f - r->flights),
                          });
}

static void ring_submit(struct reader *r)
{
    uring_submit(&r->ring);
}

static int ring_finish(struct reader *r, struct flight *f)
{
    if (f->landed)
        uring_submit(&r->ring);
    while (!f->landed) {
        const struct uring_done done = uring_wait(&r->ring);
        struct flight *const other = &r->flights[done.tag];

        other->result = done.result;
        other->landed = 1;
    }
    if (f->result >= 0 && (size_t)f->result >= f->skip + f->n)
        return 0;
    return flight_read(r, f);
}

static void ring_close(struct reader *r)
{
    uring_close(&r->ring);
}

const struct reader_ops reader_uring = {
    .looks_ahead = 1,
    .open = ring_open,
    .begin = ring_begin,
    .submit = ring_submit,
    .finish = ring_finish,
    .close = ring_close,
};

const struct reader_ops reader_uring_direct = {
    .direct = 1,
    .looks_ahead = 1,
    .open = ring_open,
    .begin = ring_begin,
    .submit = ring_submit,
    .finish = ring_finish,
    .close = ring_close,
};
