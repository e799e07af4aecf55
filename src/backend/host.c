#include "backend/host.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/err.h"
#include "base/hostile.h"

enum { LINE_BYTES = 64, HUGE_BYTES = 2 << 20 };

/* Large blocks are aligned for and asked on huge pages. Writing the zeros also makes the pages real
 * now, not inside the first steps that are timed. */
int host_alloc(struct device *d, size_t bytes, void **out)
{
    const size_t align = bytes >= HUGE_BYTES ? HUGE_BYTES : LINE_BYTES;
    const size_t whole = (bytes + align - 1) / align * align;

    (void)d;
    *out = aligned_alloc(align, whole);
    if (!*out)
        return err(E_NOMEM,
                   "no memory for a block of %zu bytes; use a smaller batch or free memory", bytes);
    if (align == HUGE_BYTES)
        madvise(*out, whole, MADV_HUGEPAGE);
    memset(*out, 0, whole);
    return 0;
}

void host_free(struct device *d, void *p, size_t bytes)
{
    (void)d;
    if (HOSTILE)
        hostile_poison(p, bytes);
    free(p);
}

int host_write(struct device *d, void *dst, const void *src, size_t bytes)
{
    (void)d;
    memcpy(dst, src, bytes);
    return 0;
}

int host_read(struct device *d, void *dst, const void *src, size_t bytes)
{
    (void)d;
    memcpy(dst, src, bytes);
    return 0;
}

int host_sync(struct device *d)
{
    (void)d;
    return 0;
}

int host_supports(const struct device *d, enum dtype t)
{
    (void)d;
    return t == DT_F32 || t == DT_BF16
               ? 0
               : err(E_UNSUPPORTED, "activations are f32 or bf16, not %s", dtype_name(t));
}

int host_accepts(const struct node *n)
{
    (void)n;
    return 0;
}
