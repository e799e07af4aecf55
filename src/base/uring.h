/* Reads that are under way while the caller does something else: io_uring, as far as reading files
 * takes it. The calls of the system are made here (io_uring_setup(2), io_uring_enter(2) and the
 * layout of the rings that they describe), so no library is needed.
 *
 * Linux 5.6. One thread at a time. Buffers belong to the system until their read was waited for, or
 * the ring is closed. */
#ifndef STAVE_BASE_URING_H
#define STAVE_BASE_URING_H

#include <stddef.h>
#include <stdint.h>

struct uring {
    int fd;
    unsigned n_queued; /* not yet handed over */
    unsigned n_flying; /* queued or handed over, and not yet waited for */
    unsigned n_entries;
    uint8_t *rings; /* both, shared with the system */
    size_t rings_bytes;
    struct io_uring_sqe *sqes;
    unsigned *sq_tail, *sq_mask, *sq_array;
    unsigned *cq_head, *cq_tail, *cq_mask;
    const struct io_uring_cqe *cqes;
};

/* Room for so many reads at a time. E_UNSUPPORTED where the kernel has no io_uring or the container
 * does not let it in. */
int uring_open(struct uring *u, unsigned n_reads);
/* Waits for what is under way. */
void uring_close(struct uring *u);

struct uring_read {
    int fd;
    void *dst;
    unsigned n;
    uint64_t offset;
    uint64_t tag; /* comes back with the result */
};
/* At most n_reads may be under way. */
void uring_queue(struct uring *u, struct uring_read read);
/* Hands over what is queued. What the system does not take now goes with the next call. */
void uring_submit(struct uring *u);

struct uring_done {
    uint64_t tag;
    int result; /* bytes, fewer than asked for where the file ends or at will; or -errno */
};
/* Hands over what is queued and waits for any read; one must be under way. */
struct uring_done uring_wait(struct uring *u);

#endif
