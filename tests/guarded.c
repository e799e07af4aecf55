#include "guarded.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"

enum { GUARD = 256, CANARY = 0xA5, MAX_BUFFERS = 128 };

/* Buffers of one test: checked and freed together. */
static struct {
    char *base;
    size_t bytes;
} buffers[MAX_BUFFERS];
static int n_buffers;
static uint64_t draws;

void *guarded(size_t bytes)
{
    const size_t whole = GUARD + (bytes + GUARD - 1) / GUARD * GUARD + GUARD;
    char *const base = aligned_alloc(64, whole);

    assert_non_null(base);
    assert_true(n_buffers < MAX_BUFFERS);
    memset(base, CANARY, whole);
    buffers[n_buffers].base = base;
    buffers[n_buffers++].bytes = bytes;
    return base + GUARD;
}

static void check_canary(const char *at, size_t n)
{
    for (size_t i = 0; i < n; i++)
        assert_int_equal((unsigned char)at[i], CANARY);
}

int release_buffers(void **state)
{
    (void)state;
    for (int i = 0; i < n_buffers; i++) {
        check_canary(buffers[i].base, GUARD);
        check_canary(buffers[i].base + GUARD + buffers[i].bytes, GUARD);
        free(buffers[i].base);
    }
    n_buffers = 0;
    return 0;
}

float *room(size_t n)
{
    return guarded(n * sizeof(float));
}

float *random_about(size_t n, double centre)
{
    float *const x = room(n);
    const struct random_key key = {1, RANDOM_TEST, draws++};

    for (size_t i = 0; i < n; i++)
        x[i] = (float)(centre + 2 * random_uniform(key, i) - 1);
    return x;
}

float *random_floats(size_t n)
{
    return random_about(n, 0);
}

float *copy_of(const float *x, size_t n)
{
    return memcpy(room(n), x, n * sizeof(float));
}

void assert_near(const float *got, const double *want, size_t n, double limit)
{
    for (size_t i = 0; i < n; i++) {
        const double off = fabs((double)got[i] - want[i]) / (fabs(want[i]) + 0.1);

        if (!(off < limit)) {
            print_error("element %zu of %zu: %.9g, wanted %.9g\n", i, n, (double)got[i], want[i]);
            fail();
        }
    }
}

double *zeros(size_t n)
{
    double *const d = guarded(n * sizeof(double));

    memset(d, 0, n * sizeof(double));
    return d;
}
