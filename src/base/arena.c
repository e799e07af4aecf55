#include "base/arena.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/hostile.h"

enum { BLOCK_BYTES = HOSTILE ? 64 : 64 * 1024, ALIGN = 16 };

struct arena_block {
    struct arena_block *next;
    size_t used, size;
    _Alignas(ALIGN) unsigned char bytes[];
};

void arena_init(struct arena *a)
{
    a->head = NULL;
}

void arena_release(struct arena *a)
{
    while (a->head) {
        struct arena_block *const next = a->head->next;

        if (HOSTILE)
            hostile_poison(a->head->bytes, a->head->size);
        free(a->head);
        a->head = next;
    }
}

void *arena_alloc(struct arena *a, size_t bytes)
{
    const size_t need = (bytes + ALIGN - 1) / ALIGN * ALIGN;
    struct arena_block *b = a->head;
    void *p;

    if (!b || b->size - b->used < need) {
        const size_t size = need > BLOCK_BYTES ? need : BLOCK_BYTES;
        b = xcalloc(1, sizeof(*b) + size);
        b->size = size;
        b->next = a->head;
        a->head = b;
    }
    p = b->bytes + b->used;
    b->used += need;
    return p;
}

char *arena_strdup(struct arena *a, const char *s)
{
    const size_t n = strlen(s) + 1;

    return memcpy(arena_alloc(a, n), s, n);
}

char *arena_printf(struct arena *a, const char *fmt, ...)
{
    va_list ap, again;
    char *s;
    int n;

    va_start(ap, fmt);
    va_copy(again, ap);
    n = vsnprintf(NULL, 0, fmt, ap);
    ASSERT(n >= 0);
    s = arena_alloc(a, (size_t)n + 1);
    vsnprintf(s, (size_t)n + 1, fmt, again);
    va_end(again);
    va_end(ap);
    return s;
}
