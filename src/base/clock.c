#include "base/clock.h"

#include <time.h>

static int64_t read_ns(clockid_t id)
{
    struct timespec t;

    clock_gettime(id, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

int64_t clock_ns(void)
{
    return read_ns(CLOCK_MONOTONIC);
}

int64_t clock_thread_ns(void)
{
    return read_ns(CLOCK_THREAD_CPUTIME_ID);
}

int64_t clock_process_ns(void)
{
    return read_ns(CLOCK_PROCESS_CPUTIME_ID);
}

int64_t clock_wall_ms(void)
{
    return read_ns(CLOCK_REALTIME) / 1000000;
}

void clock_sleep_ns(int64_t ns)
{
    const struct timespec t = {.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000};

    nanosleep(&t, NULL);
}
