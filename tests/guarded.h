/* Buffers for the tests of kernels: random numbers with canaries round them (the sanitizers do not
 * see what generated code writes), and comparison with a result in double. One pool for the whole
 * test program; release_buffers, a cmocka teardown, checks all canaries and frees. */
#ifndef STAVE_TESTS_GUARDED_H
#define STAVE_TESTS_GUARDED_H

#include <stddef.h>

void *guarded(size_t bytes); /* 64-byte aligned, filled with the canary */
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
