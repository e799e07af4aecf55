/* bf16 in tests: rounding by its definition, in double, which shares nothing with base/bf16.h; and
 * guarded buffers of it. Include after guarded.h. */
#ifndef STAVE_TESTS_NARROWED_H
#define STAVE_TESTS_NARROWED_H

#include <math.h>
#include <stdint.h>
#include <string.h>

/* The float whose upper half is x. */
static inline float wide(uint16_t x)
{
    const uint32_t bits = (uint32_t)x << 16;
    float f;

    memcpy(&f, &bits, sizeof(f));
    return f;
}

/* Eight significant bits, the smallest step 2^-133, ties to even, nothing above 2^128. A NaN keeps
 * its upper half and gets the bit that makes it quiet. */
static inline uint16_t nearest(float v)
{
    uint32_t bits;
    double step;
    int exponent;
    float f;

    memcpy(&bits, &v, sizeof(bits));
    if (isnan(v))
        return (uint16_t)(bits >> 16 | 0x40);
    if (isinf(v))
        return (uint16_t)(bits >> 16);
    frexp((double)v, &exponent);
    step = ldexp(1, exponent - 8 > -133 ? exponent - 8 : -133);
    f = (float)copysign(nearbyint((double)v / step) * step, (double)v);
    memcpy(&bits, &f, sizeof(bits));
    return (uint16_t)(bits >> 16);
}

static inline uint16_t *narrow_room(size_t n)
{
    return guarded(n * sizeof(uint16_t));
}

static inline uint16_t *narrowed(const float *x, size_t n)
{
    uint16_t *const y = narrow_room(n);

    for (size_t i = 0; i < n; i++)
        y[i] = nearest(x[i]);
    return y;
}

static inline float *widened(const uint16_t *x, size_t n)
{
    float *const y = room(n);

    for (size_t i = 0; i < n; i++)
        y[i] = wide(x[i]);
    return y;
}

static inline uint16_t *narrow_copy(const uint16_t *x, size_t n)
{
    return memcpy(narrow_room(n), x, n * sizeof(uint16_t));
}

#endif
