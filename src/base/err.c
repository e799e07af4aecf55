#include "base/err.h"

#include <execinfo.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/hostile.h"
#include "base/screen.h"

enum { REASON_BYTES = 2048 };

static _Thread_local char reason[REASON_BYTES];

int err(int code, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(reason, sizeof(reason), fmt, ap);
    va_end(ap);
    return code;
}

int err_prefix(int code, const char *fmt, ...)
{
    char old[REASON_BYTES];
    va_list ap;
    int n;

    memcpy(old, reason, sizeof(old));
    va_start(ap, fmt);
    n = vsnprintf(reason, sizeof(reason), fmt, ap);
    va_end(ap);
    if (n >= 0 && (size_t)n < sizeof(reason))
        snprintf(reason + n, sizeof(reason) - (size_t)n, "%s", old);
    return code;
}

const char *err_reason(void)
{
    return reason;
}

void err_print(const char *before, const char *text)
{
    char line[4 * REASON_BYTES];
    size_t n = 0;

    for (const char *p = text; *p && n + 5 < sizeof(line); p++) {
        if ((unsigned char)*p >= 0x20 && *p != 0x7F)
            line[n++] = *p;
        else
            n += (size_t)snprintf(line + n, sizeof(line) - n, "\\x%02x", (unsigned char)*p);
    }
    line[n] = '\0';
    screen_line_begin();
    fprintf(stderr, "stave: %s%s\n", before, line);
    screen_line_end();
}

static pthread_mutex_t warned_lock = PTHREAD_MUTEX_INITIALIZER;
static char *warned[WARNINGS_KEPT];
static size_t n_warned;

static void keep(const char *text)
{
    pthread_mutex_lock(&warned_lock);
    if (n_warned < WARNINGS_KEPT)
        warned[n_warned] = xstrdup(text);
    n_warned++;
    pthread_mutex_unlock(&warned_lock);
}

void warning(const char *fmt, ...)
{
    char line[REASON_BYTES];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(line, sizeof(line), fmt, ap);
    va_end(ap);
    err_print("warning: ", line);
    keep(line);
}

size_t warnings_visit(void (*visit)(void *context, const char *text), void *context)
{
    size_t n;

    pthread_mutex_lock(&warned_lock);
    n = n_warned;
    for (size_t i = 0; i < n && i < WARNINGS_KEPT; i++)
        visit(context, warned[i]);
    pthread_mutex_unlock(&warned_lock);
    return n;
}

void warnings_forget(void)
{
    pthread_mutex_lock(&warned_lock);
    for (size_t i = 0; i < n_warned && i < WARNINGS_KEPT; i++)
        free(warned[i]);
    n_warned = 0;
    pthread_mutex_unlock(&warned_lock);
}

_Noreturn void bug_at(const char *file, int line, const char *fmt, ...)
{
    void *frames[32];
    va_list ap;

    screen_abandon();
    fprintf(stderr, "stave: BUG at %s:%d: ", file, line);
    va_start(ap, fmt);
    vfprintf(stderr, fmt, ap);
    va_end(ap);
    fputc('\n', stderr);
    backtrace_symbols_fd(frames, backtrace(frames, (int)COUNT_OF(frames)), 2);
    abort();
}

/* The first thread ends the program; a second one that finds no memory meanwhile only waits for
 * that. Not exit(): it would take down what other threads are still using. */
_Noreturn void out_of_memory(size_t bytes)
{
    static atomic_flag ending = ATOMIC_FLAG_INIT;

    while (atomic_flag_test_and_set(&ending))
        pause();
    screen_abandon();
    if (bytes)
        fprintf(stderr,
                "stave: out of memory asking for %zu bytes; free memory or use a smaller batch\n",
                bytes);
    else
        fputs("stave: out of memory; free memory or use a smaller batch\n", stderr);
    fflush(stdout);
    _exit(3); /* outside the planned blocks there is nothing to return to */
}

static void *need(void *p, size_t bytes)
{
    if (!p)
        out_of_memory(bytes);
    return p;
}

void *xmalloc(size_t bytes)
{
    void *const p = need(malloc(bytes ? bytes : 1), bytes);

    if (HOSTILE)
        hostile_poison(p, bytes);
    return p;
}

void *xcalloc(size_t count, size_t bytes)
{
    return need(calloc(count ? count : 1, bytes ? bytes : 1), count * bytes);
}

void *xrealloc(void *p, size_t bytes)
{
    return need(realloc(p, bytes ? bytes : 1), bytes);
}

char *xstrdup(const char *s)
{
    return need(strdup(s), strlen(s) + 1);
}

char *xasprintf(const char *fmt, ...)
{
    va_list ap;
    char *s = NULL;
    int n;

    va_start(ap, fmt);
    n = vasprintf(&s, fmt, ap);
    va_end(ap);
    return need(n < 0 ? NULL : s, 0);
}

const char *err_name(int code)
{
    static const char *const names[] = {[-E_USAGE] = "usage",
                                        [-E_IO] = "io",
                                        [-E_DATA] = "data",
                                        [-E_NOMEM] = "no memory",
                                        [-E_UNSUPPORTED] = "unsupported",
                                        [-E_SHAPE] = "shape",
                                        [-E_NUMERIC] = "not finite",
                                        [-E_STOPPED] = "stopped"};

    return code < 0 && code >= E_STOPPED && names[-code] ? names[-code] : "none";
}
