#include "fail_alloc.h"

#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>

extern void *__libc_malloc(size_t n);
extern void *__libc_calloc(size_t count, size_t n);
extern void *__libc_realloc(void *p, size_t n);
extern void *__libc_memalign(size_t align, size_t n);

void *malloc(size_t n);
void *calloc(size_t count, size_t n);
void *realloc(void *p, size_t n);
void *aligned_alloc(size_t align, size_t n);
void *memalign(size_t align, size_t n);
int posix_memalign(void **out, size_t align, size_t n);

static atomic_long count;
static long fail_at;
static int on_from_there, armed;

void fail_alloc_arm(long at, int onwards)
{
    atomic_store(&count, 0);
    fail_at = at;
    on_from_there = onwards;
    armed = 1;
}

void fail_alloc_disarm(void)
{
    armed = 0;
}

long fail_alloc_count(void)
{
    return atomic_load(&count);
}

static int fails(void)
{
    long n;

    if (!armed)
        return 0;
    n = atomic_fetch_add(&count, 1) + 1;
    if (fail_at == 0 || (on_from_there ? n < fail_at : n != fail_at))
        return 0;
    errno = ENOMEM;
    return 1;
}

void *malloc(size_t n)
{
    return fails() ? NULL : __libc_malloc(n);
}

void *calloc(size_t n_items, size_t n)
{
    return fails() ? NULL : __libc_calloc(n_items, n);
}

void *realloc(void *p, size_t n)
{
    return fails() ? NULL : __libc_realloc(p, n);
}

void *memalign(size_t align, size_t n)
{
    return fails() ? NULL : __libc_memalign(align, n);
}

void *aligned_alloc(size_t align, size_t n)
{
    return memalign(align, n);
}

int posix_memalign(void **out, size_t align, size_t n)
{
    void *const p = memalign(align, n);

    if (!p)
        return ENOMEM;
    *out = p;
    return 0;
}
