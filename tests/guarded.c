#include "guarded.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/random.h"

enum { PAGE = 4096, LINE = 64, CANARY = 0xA5, MAX_BUFFERS = 128 };

/* Buffers of one test: checked and freed together. Each lies between two pages that nobody may
 * touch. */
static struct {
    char *map, *at; /* the mapping and the buffer in it */
    size_t room, bytes;
} buffers[MAX_BUFFERS];
static int n_buffers;
static uint64_t draws;
static enum guard_place place;

void guard_place(enum guard_place p)
{
    place = p;
}

void *guarded(size_t bytes)
{
    const size_t lines = (bytes + LINE - 1) / LINE * LINE;
    const size_t room_bytes = (lines + PAGE - 1) / PAGE * PAGE;
    char *const map = mmap(NULL, PAGE + room_bytes + PAGE, PROT_NONE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    char *at = map + PAGE;

    assert_true(map != MAP_FAILED && n_buffers < MAX_BUFFERS);
    if (room_bytes)
        assert_int_equal(mprotect(at, room_bytes, PROT_READ | PROT_WRITE), 0);
    memset(at, CANARY, room_bytes);
    if (place != GUARD_START)
        at += room_bytes - (place == GUARD_END ? lines : bytes);
    buffers[n_buffers].map = map;
    buffers[n_buffers].at = at;
    buffers[n_buffers].room = room_bytes;
    buffers[n_buffers++].bytes = bytes;
    return at;
}

static void check_canary(const char *at, const char *end)
{
    for (; at < end; at++)
        assert_int_equal((unsigned char)*at, CANARY);
}

int release_buffers(void **state)
{
    (void)state;
    for (int i = 0; i < n_buffers; i++) {
        const char *const first = buffers[i].map + PAGE;

        check_canary(first, buffers[i].at);
        check_canary(buffers[i].at + buffers[i].bytes, first + buffers[i].room);
        munmap(buffers[i].map, PAGE + buffers[i].room + PAGE);
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
