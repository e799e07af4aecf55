/* For the tests of hard inputs to a run: the table of outcomes, one line on stdout for each kind of
 * input, and draws for the generators of variants. */
#ifndef STAVE_TESTS_HARD_OUTCOME_H
#define STAVE_TESTS_HARD_OUTCOME_H

#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/err.h"
#include "base/file.h"
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

/* Between these two stderr goes to a file in dir; returns what was said, heap. */
static inline int hear(const char *dir)
{
    char *const path = file_join(dir, "heard");
    const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600), saved = dup(2);

    ASSERT(fd >= 0 && saved >= 0);
    fflush(stderr);
    dup2(fd, 2);
    close(fd);
    free(path);
    return saved;
}

static inline char *heard(const char *dir, int saved)
{
    char *const path = file_join(dir, "heard"), *text;
    size_t n;

    fflush(stderr);
    dup2(saved, 2);
    close(saved);
    if (file_read(path, 1 << 20, &text, &n) < 0)
        BUG("%s", err_reason());
    remove(path);
    free(path);
    return text;
}

#endif
