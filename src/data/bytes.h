/* A byte buffer that only grows, so that a worker which reuses it stops allocating once it has met
 * its largest sample. Zeroed is empty; the owner releases it; one thread at a time. */
#ifndef STAVE_DATA_BYTES_H
#define STAVE_DATA_BYTES_H

#include <stddef.h>
#include <stdint.h>

struct bytes {
    uint8_t *data;
    size_t n, cap;
};

/* Makes room for n bytes and sets the length to n. The contents up to the old length survive. */
void bytes_resize(struct bytes *b, size_t n);
void bytes_add(struct bytes *b, const void *data, size_t n);
void bytes_release(struct bytes *b);

/* FNV-1a, 64 bits: tells accidental change, not malice. Start with CHECKSUM_INIT. */
#define CHECKSUM_INIT UINT64_C(0xCBF29CE484222325)
uint64_t checksum_add(uint64_t sum, const void *data, size_t n);

#endif
