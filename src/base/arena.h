/* A pool of small objects with one lifetime (a graph's, a plan's). Allocation never fails (see
 * xmalloc), memory is zeroed, nothing is freed alone. Not for activations or weights: those are
 * planned blocks. Owner: whoever called arena_init; one thread at a time. */
#ifndef STAVE_BASE_ARENA_H
#define STAVE_BASE_ARENA_H

#include <stddef.h>

struct arena_block;
struct arena {
    struct arena_block *head;
};

void arena_init(struct arena *a);
void arena_release(struct arena *a);
void *arena_alloc(struct arena *a, size_t bytes);
char *arena_strdup(struct arena *a, const char *s);
char *arena_printf(struct arena *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
