#include "base/crc32c.h"

#include <pthread.h>
#include <string.h>

enum { POLYNOMIAL_HIGH = 0x82F6, POLYNOMIAL_LOW = 0x3B78, SLICES = 8 };

static uint32_t table[SLICES][256];
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* table[k][b] is byte b followed by k zero bytes: eight bytes are looked up at once (Kounavis and
 * Berry, "A Systematic Approach to Building High Performance Software-Based CRC Generators"). */
static void make_tables(void)
{
    const uint32_t polynomial = (uint32_t)POLYNOMIAL_HIGH << 16 | POLYNOMIAL_LOW;

    for (uint32_t b = 0; b < 256; b++) {
        uint32_t v = b;

        for (int bit = 0; bit < 8; bit++)
            v = v >> 1 ^ (v & 1 ? polynomial : 0);
        table[0][b] = v;
    }
    for (int k = 1; k < SLICES; k++)
        for (int b = 0; b < 256; b++)
            table[k][b] = table[k - 1][b] >> 8 ^ table[0][table[k - 1][b] & 0xFF];
}

uint32_t crc32c_tables(uint32_t sum, const void *bytes, size_t n)
{
    const uint8_t *p = bytes;

    pthread_once(&once, make_tables);
    sum = ~sum;
    for (; n >= SLICES; n -= SLICES, p += SLICES) {
        const uint32_t low = sum ^ ((uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 |
                                    (uint32_t)p[3] << 24);

        sum = table[7][low & 0xFF] ^ table[6][low >> 8 & 0xFF] ^ table[5][low >> 16 & 0xFF] ^
              table[4][low >> 24] ^ table[3][p[4]] ^ table[2][p[5]] ^ table[1][p[6]] ^
              table[0][p[7]];
    }
    for (; n; n--, p++)
        sum = sum >> 8 ^ table[0][(sum ^ *p) & 0xFF];
    return ~sum;
}

#ifdef __x86_64__
#include <nmmintrin.h>

__attribute__((target("sse4.2"))) static uint32_t crc32c_sse42(uint32_t sum, const void *bytes,
                                                               size_t n)
{
    const uint8_t *p = bytes;
    uint64_t wide = (uint32_t)~sum;

    for (; n >= sizeof(uint64_t); n -= sizeof(uint64_t), p += sizeof(uint64_t)) {
        uint64_t word;

        memcpy(&word, p, sizeof(word));
        wide = _mm_crc32_u64(wide, word);
    }
    for (; n; n--, p++)
        wide = _mm_crc32_u8((uint32_t)wide, *p);
    return ~(uint32_t)wide;
}

uint32_t crc32c(uint32_t sum, const void *bytes, size_t n)
{
    return __builtin_cpu_supports("sse4.2") ? crc32c_sse42(sum, bytes, n)
                                            : crc32c_tables(sum, bytes, n);
}
#else
uint32_t crc32c(uint32_t sum, const void *bytes, size_t n)
{
    return crc32c_tables(sum, bytes, n);
}
#endif
