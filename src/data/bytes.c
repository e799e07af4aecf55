#include "data/bytes.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/hostile.h"

void bytes_resize(struct bytes *b, size_t n)
{
    if (n > b->cap) {
        b->cap = HOSTILE ? n : n + n / 2;
        b->data = xrealloc(b->data, b->cap);
    }
    b->n = n;
}

void bytes_add(struct bytes *b, const void *data, size_t n)
{
    const size_t at = b->n;

    bytes_resize(b, at + n);
    if (n)
        memcpy(b->data + at, data, n);
}

void bytes_release(struct bytes *b)
{
    free(b->data);
    *b = (struct bytes){0};
}

uint64_t checksum_add(uint64_t sum, const void *data, size_t n)
{
    const uint8_t *const p = data;

    for (size_t i = 0; i < n; i++)
        sum = (sum ^ p[i]) * UINT64_C(0x100000001B3);
    return sum;
}
