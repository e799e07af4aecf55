/* The hostile build (make HOSTILE=1) is the same program with the smallest sizes that must work,
 * memory that holds nonsense wherever nothing may be read, and threads that dawdle in the worst
 * places: a mistake that luck hides elsewhere shows here. HOSTILE is a constant, so other builds
 * carry nothing of it. */
#ifndef STAVE_BASE_HOSTILE_H
#define STAVE_BASE_HOSTILE_H

#include <stddef.h>

#ifdef STAVE_HOSTILE
enum { HOSTILE = 1 };
#else
enum { HOSTILE = 0 };
#endif

/* Fills memory with a pattern that is not a number in every floating-point type and a large index
 * as an integer. */
void hostile_poison(void *p, size_t n);
/* Gives way to other threads, at times for a tenth of a millisecond. Any thread. */
void hostile_pause(void);

#endif
