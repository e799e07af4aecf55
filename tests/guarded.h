/* Buffers for the tests of kernels, each between two pages that nobody may touch (the sanitizers do
 * not see what generated code reads and writes), and comparison with a result in double. One pool
 * for the whole test program; release_buffers, a cmocka teardown, checks the canaries that fill the
 * rest of a buffer's pages and frees. */
#ifndef STAVE_TESTS_GUARDED_H
#define STAVE_TESTS_GUARDED_H

#include <stddef.h>

/* Where a buffer lies in its pages, for those made from now on. */
enum guard_place {
    GUARD_END,   /* its last cache line ends at the forbidden page */
    GUARD_START, /* it begins behind one */
    GUARD_EXACT, /* its last byte ends there: aligned to what its size is a multiple of */
};
void guard_place(enum guard_place p);

void *guarded(size_t bytes); /* 64-byte aligned unless exact, filled with the canary */
float *room(size_t n);
double *zeros(size_t n);
float *copy_of(const float *x, size_t n);
float *random_floats(size_t n); /* uniform in [-1, 1), new ones at each call */
float *random_about(size_t n, double centre);
int release_buffers(void **state);

/* |got - want| / (|want| + 0.1) stays below limit everywhere; NaN does not. */
void assert_near(const float *got, const double *want, size_t n, double limit);

#define TEST(name) cmocka_unit_test_teardown(name, release_buffers)

#endif
