/* For the tests of hard inputs to a run: the table of outcomes, one line on stdout for each kind of
 * input, and draws for the generators of variants. */
#ifndef STAVE_TESTS_HARD_OUTCOME_H
#define STAVE_TESTS_HARD_OUTCOME_H

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

#include "base/random.h"

/* A line of the table. It starts with "# ", a remark to whoever reads test results. */
__attribute__((format(printf, 3, 4))) static inline void outcome(const char *id, int variants,
                                                                 const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    printf("# %-3s %5d variants  ", id, variants);
    vprintf(fmt, ap);
    printf("\n");
    fflush(stdout);
    va_end(ap);
}

/* 0..n-1 from a state that the caller keeps; start it with the seed. */
static inline int draw(uint64_t *state, int n)
{
    *state = random_mix(*state + 1);
    return (int)(*state % (uint64_t)n);
}

#endif
