/* bfloat16: the upper half of a float32 (1 sign, 8 exponent, 7 fraction bits). */
#ifndef STAVE_BASE_BF16_H
#define STAVE_BASE_BF16_H

#include <stdint.h>
#include <string.h>

static inline float bf16_to_float(uint16_t x)
{
    const uint32_t bits = (uint32_t)x << 16;
    float f;

    memcpy(&f, &bits, sizeof(f));
    return f;
}

/* To nearest, ties to even; beyond the largest to infinity; a NaN stays one and becomes quiet.
 * No branch, so that loops of it become vectors. */
static inline uint16_t bf16_from_float(float f)
{
    const uint32_t nan = 0u - (uint32_t)(f != f);
    uint32_t bits;

    memcpy(&bits, &f, sizeof(bits));
    bits += (0x7fffu + (bits >> 16 & 1u)) & ~nan;
    return (uint16_t)((bits | (nan & 0x400000u)) >> 16);
}

#endif
