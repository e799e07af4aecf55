/* Counts heap allocations of this program: alloc_count_begin() once, then read alloc_count. The
 * sanitizer owns malloc in its builds and offers a hook; elsewhere this file's malloc stands in
 * front of the C library's. Include from one file of a program. */
#ifndef STAVE_TESTS_ALLOC_COUNT_H
#define STAVE_TESTS_ALLOC_COUNT_H

#include <stdlib.h>

static volatile long alloc_count;

#ifdef __SANITIZE_ADDRESS__

extern int __sanitizer_install_malloc_and_free_hooks(void (*on_malloc)(const volatile void *,
                                                                       size_t),
                                                     void (*on_free)(const volatile void *));

static void count_malloc(const volatile void *p, size_t n)
{
    (void)p;
    (void)n;
    alloc_count++;
}

static void ignore_free(const volatile void *p)
{
    (void)p;
}

static void alloc_count_begin(void)
{
    __sanitizer_install_malloc_and_free_hooks(count_malloc, ignore_free);
}

#else

extern void *__libc_malloc(size_t n);
extern void *__libc_calloc(size_t count, size_t n);
extern void *__libc_realloc(void *p, size_t n);
extern void *__libc_memalign(size_t align, size_t n);

void *malloc(size_t n)
{
    alloc_count++;
    return __libc_malloc(n);
}

void *calloc(size_t count, size_t n)
{
    alloc_count++;
    return __libc_calloc(count, n);
}

void *realloc(void *p, size_t n)
{
    alloc_count++;
    return __libc_realloc(p, n);
}

void *aligned_alloc(size_t align, size_t n)
{
    alloc_count++;
    return __libc_memalign(align, n);
}

static void alloc_count_begin(void)
{
    alloc_count = 0;
}

#endif
#endif
