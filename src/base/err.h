/* Errors. A mistake in our own program is BUG(): it aborts. Whatever the world can cause (a file, a
 * device, a user) returns a negative code with one formatted reason, recorded by err() at the first
 * failure and forwarded unchanged by TRY(). The reason is per thread and read by a separate call,
 * err_reason(). A worker thread copies its reason into whatever queue its consumer reads. A reason
 * is one sentence: what failed, where, what was expected, what to do. No trailing newline. */
#ifndef STAVE_BASE_ERR_H
#define STAVE_BASE_ERR_H

#include <stddef.h>

enum {
    E_OK = 0,
    E_USAGE = -2,       /* the command line or a configuration file is wrong */
    E_IO = -3,          /* a file, disk or device failed */
    E_DATA = -4,        /* bytes from outside are not what they claim to be */
    E_NOMEM = -5,       /* an allocation failed */
    E_UNSUPPORTED = -6, /* this build or this machine can not do it; also a kernel that declines */
    E_SHAPE = -7,       /* a model's shapes do not fit; carries scope and shapes */
    E_NUMERIC = -8,     /* not a number, or infinite */
    E_STOPPED = -9,     /* asked to stop (signal) */
};

/* A code in a word or two, for files: "usage", "no memory"; "none" for what is no error. */
const char *err_name(int code);

/* Records the reason and returns code, so that a failure is one statement: return err(E_IO, "open
 * %s: %s", ...). */
int err(int code, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Puts words in front of the recorded reason ("while reading FILE: ") and returns code. */
int err_prefix(int code, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* The last reason of this thread; "" when nothing failed. Valid until the thread's next err(). */
const char *err_reason(void);

/* One line on stderr: "stave: ", then before and text. Control characters, which the name of a file
 * may hold, are written as \xNN. A view that is drawn in place (base/screen.h) makes room. */
void err_print(const char *before, const char *text);
/* One line on stderr, prefixed "stave: warning: "; the run goes on. The text is kept as well. */
void warning(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

enum { WARNINGS_KEPT = 64 };
/* Visits the texts of this process's warnings in their order, the first WARNINGS_KEPT of them, as
 * they were given, control characters and all. Returns how many there were, kept or not. From any
 * thread; visit must not warn. */
size_t warnings_visit(void (*visit)(void *context, const char *text), void *context);
void warnings_forget(void);

_Noreturn void bug_at(const char *file, int line, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
#define BUG(...) bug_at(__FILE__, __LINE__, __VA_ARGS__)
#define ASSERT(cond) ((cond) ? (void)0 : BUG("assertion failed: %s", #cond))

/* Forwards a failure. The expression yields 0 or a negative code. */
#define TRY(expr)                                                                                  \
    do {                                                                                           \
        const int try_code_ = (expr);                                                              \
        if (try_code_ < 0)                                                                         \
            return try_code_;                                                                      \
    } while (0)

/* malloc that does not return NULL: out of memory outside the training loop's planned blocks ends
 * the program with exit code 3 and one sentence. Sizes that the world can choose (a file's claim)
 * must be checked first. */
_Noreturn void out_of_memory(size_t bytes); /* 0: nobody knows how many were asked for */
void *xmalloc(size_t bytes);
void *xcalloc(size_t count, size_t bytes);
void *xrealloc(void *p, size_t bytes);
char *xstrdup(const char *s);
char *xasprintf(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

#endif
