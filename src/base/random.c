#include "base/random.h"

#include <math.h>
#include <string.h>

#include "base/err.h"

uint64_t random_mix(uint64_t x)
{
    x += 0x9E3779B97F4A7C15u;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
    return x ^ (x >> 31);
}

static uint64_t key_hash(struct random_key key)
{
    return random_mix(random_mix(random_mix(key.seed) ^ (uint64_t)key.purpose) ^ key.epoch);
}

uint64_t random_hash(struct random_key key, uint64_t index)
{
    return random_mix(key_hash(key) ^ index);
}

uint64_t random_name_n(const char *name, size_t n)
{
    uint64_t h = 0xCBF29CE484222325u;

    for (size_t i = 0; i < n; i++)
        h = (h ^ (unsigned char)name[i]) * 0x100000001B3u;
    return h;
}

uint64_t random_name(const char *name)
{
    return random_name_n(name, strlen(name));
}

static double to_uniform(uint64_t h)
{
    return (double)(h >> 11) * 0x1p-53;
}

double random_uniform(struct random_key key, uint64_t index)
{
    return to_uniform(random_hash(key, index));
}

double random_normal(struct random_key key, uint64_t index)
{
    const double u =
        1.0 - random_uniform(key, 2 * index); /* (0, 1], so that the logarithm is finite */
    const double v = random_uniform(key, 2 * index + 1);

    return sqrt(-2.0 * log(u)) * cos(2.0 * 3.14159265358979323846 * v);
}

struct random_stream random_stream(struct random_key key, uint64_t index)
{
    return (struct random_stream){.state = random_hash(key, index)};
}

uint64_t random_next(struct random_stream *s)
{
    return random_mix(s->state ^ ++s->draws);
}

double random_next_uniform(struct random_stream *s)
{
    return to_uniform(random_next(s));
}

uint64_t random_permute(struct random_key key, uint64_t n, uint64_t i)
{
    const uint64_t base = key_hash(key);
    unsigned half = 1;

    ASSERT(i < n);
    while (half < 32 && (UINT64_C(1) << (2 * half)) < n)
        half++;
    do {
        const uint64_t mask = (UINT64_C(1) << half) - 1;
        uint64_t left = i >> half, right = i & mask;

        for (uint64_t round = 1; round <= 4; round++) {
            const uint64_t next = left ^ (random_mix(base ^ (round << 56) ^ right) & mask);
            left = right;
            right = next;
        }
        i = left << half | right;
    } while (i >= n);
    return i;
}
