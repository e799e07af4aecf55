/* All randomness is a pure function of (seed, purpose, epoch, index): the number of threads or
 * ranks never changes the data, and any single value can be had without drawing those before it.
 * The hash is SplitMix64's finaliser (Steele, Lea, Flood 2014) applied once per key word;
 * tests/golden/hash.py computes the same values. */
#ifndef STAVE_BASE_RANDOM_H
#define STAVE_BASE_RANDOM_H

#include <stddef.h>
#include <stdint.h>

/* Purposes keep streams apart. Append only: the numbers are part of every golden file. */
enum random_purpose {
    RANDOM_INIT = 1,    /* weights: epoch = hash of the weight's name, index = element */
    RANDOM_SHUFFLE = 2, /* order of samples in an epoch */
    RANDOM_AUGMENT = 3, /* crops, flips: index = sample, then random_next for the draws */
    RANDOM_REPLACE = 4, /* the sample that stands in for a bad one */
    RANDOM_TEST = 5,    /* inputs of tests and fixtures */
    RANDOM_RUN_SEED = 6,
    RANDOM_SYNTHETIC = 7,
    RANDOM_GENERATE = 8, /* data sets made here: epoch = which stream, index = sample */
};

struct random_key {
    uint64_t seed;
    enum random_purpose purpose;
    uint64_t epoch;
};

/* h = mix(seed); h = mix(h ^ purpose); h = mix(h ^ epoch); h = mix(h ^ index), where mix(x) is
 * SplitMix64 of x. */
uint64_t random_mix(uint64_t x);
uint64_t random_hash(struct random_key key, uint64_t index);
/* FNV-1a, 64 bits: names to numbers. */
uint64_t random_name(const char *name);
uint64_t random_name_n(const char *name, size_t n); /* any n bytes */

/* [0, 1): the top 53 bits of the hash. */
double random_uniform(struct random_key key, uint64_t index);
/* Standard normal: Box-Muller (cosine branch) on the hashes of 2*index and 2*index+1. */
double random_normal(struct random_key key, uint64_t index);

/* A sequence of draws for one sample: start with random_stream, then random_next. */
struct random_stream {
    uint64_t state, draws;
};
struct random_stream random_stream(struct random_key key, uint64_t index);
uint64_t random_next(struct random_stream *s);
double random_next_uniform(struct random_stream *s); /* [0, 1) */

/* A permutation of 0..n-1 without memory: the place of i. A balanced Feistel network of four rounds
 * over the next even power of two, walked until it falls below n. n >= 1, i < n. */
uint64_t random_permute(struct random_key key, uint64_t n, uint64_t i);

#endif
