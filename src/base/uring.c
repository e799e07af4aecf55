#include "base/uring.h"

#include <errno.h>
#include <linux/io_uring.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/err.h"

/* The rings are shared with the kernel: it reads what was written before its tail was stored. */
static unsigned load(const unsigned *p)
{
    return __atomic_load_n(p, __ATOMIC_ACQUIRE);
}

static void store(unsigned *p, unsigned value)
{
    __atomic_store_n(p, value, __ATOMIC_RELEASE);
}

static int refused(void)
{
    return err(E_UNSUPPORTED,
               "io_uring can not be used here (%s): the kernel, its setting "
               "kernel.io_uring_disabled or the container does not allow it; take another reader, "
               "such as pread or direct",
               strerror(errno));
}

static int map(struct uring *u, const struct io_uring_params *p)
{
    const size_t sq = p->sq_off.array + p->sq_entries * sizeof(unsigned);
    const size_t cq = p->cq_off.cqes + p->cq_entries * sizeof(struct io_uring_cqe);
    const size_t sqes = p->sq_entries * sizeof(struct io_uring_sqe);
    void *m;

    u->rings_bytes = sq > cq ? sq : cq;
    m = mmap(NULL, u->rings_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, u->fd,
             IORING_OFF_SQ_RING);
    if (m == MAP_FAILED)
        return refused();
    u->rings = m;
    m = mmap(NULL, sqes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, u->fd, IORING_OFF_SQES);
    if (m == MAP_FAILED)
        return refused();
    u->sqes = m;
    return 0;
}

static unsigned *at(const struct uring *u, unsigned offset)
{
    return (unsigned *)(void *)(u->rings + offset);
}

int uring_open(struct uring *u, unsigned n_reads)
{
    struct io_uring_params p = {0};
    int rc;

    *u = (struct uring){0};
    u->fd = (int)syscall(SYS_io_uring_setup, n_reads, &p);
    if (u->fd < 0)
        return refused();
    u->n_entries = p.sq_entries;
    errno = ENOSYS; /* came with the read operation, after the single mapping */
    rc = p.features & IORING_FEAT_RW_CUR_POS ? map(u, &p) : refused();
    if (rc < 0) {
        uring_close(u);
        return rc;
    }
    u->sq_tail = at(u, p.sq_off.tail);
    u->sq_mask = at(u, p.sq_off.ring_mask);
    u->sq_array = at(u, p.sq_off.array);
    u->cq_head = at(u, p.cq_off.head);
    u->cq_tail = at(u, p.cq_off.tail);
    u->cq_mask = at(u, p.cq_off.ring_mask);
    u->cqes = (const struct io_uring_cqe *)(const void *)at(u, p.cq_off.cqes);
    return 0;
}

void uring_close(struct uring *u)
{
    while (u->n_flying)
        uring_wait(u);
    if (u->sqes)
        munmap(u->sqes, u->n_entries * sizeof(*u->sqes));
    if (u->rings)
        munmap(u->rings, u->rings_bytes);
    close(u->fd);
    *u = (struct uring){.fd = -1};
}

void uring_queue(struct uring *u, struct uring_read read)
{
    const unsigned tail = *u->sq_tail, i = tail & *u->sq_mask;

    ASSERT(u->n_flying < u->n_entries);
    u->sqes[i] = (struct io_uring_sqe){
        .opcode = IORING_OP_READ,
        .fd = read.fd,
        .off = read.offset,
        .addr = (uint64_t)(uintptr_t)read.dst,
        .len = read.n,
        .user_data = read.tag,
    };
    u->sq_array[i] = i;
    store(u->sq_tail, tail + 1);
    u->n_queued++;
    u->n_flying++;
}

static void enter(struct uring *u, unsigned n_wait)
{
    const long n = syscall(SYS_io_uring_enter, u->fd, u->n_queued, n_wait,
                           n_wait ? IORING_ENTER_GETEVENTS : 0, NULL, 0);

    if (n < 0 && errno != EINTR && errno != EAGAIN && errno != EBUSY && errno != ENOMEM)
        BUG("io_uring_enter: %s", strerror(errno));
    if (n > 0)
        u->n_queued -= (unsigned)n;
}

void uring_submit(struct uring *u)
{
    if (u->n_queued)
        enter(u, 0);
}

struct uring_done uring_wait(struct uring *u)
{
    const unsigned head = *u->cq_head;
    const struct io_uring_cqe *c;
    struct uring_done done;

    ASSERT(u->n_flying > 0);
    if (load(u->cq_tail) != head)
        uring_submit(u);
    while (load(u->cq_tail) == head)
        enter(u, 1);
    c = &u->cqes[head & *u->cq_mask];
    done = (struct uring_done){c->user_data, c->res};
    store(u->cq_head, head + 1);
    u->n_flying--;
    return done;
}
