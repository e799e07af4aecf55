/* The allocator of a program, with failures on order: malloc and its relatives, of this program and
 * of every library in it, counted from arming on; the chosen one returns NULL. In front of the C
 * library's; no preloading. Any thread may allocate; one arms. */
#ifndef STAVE_TESTS_FAIL_ALLOC_H
#define STAVE_TESTS_FAIL_ALLOC_H

/* Counts from 0; call number `at` fails, and with `onwards` every one after it. 0: none fails. */
void fail_alloc_arm(long at, int onwards);
void fail_alloc_disarm(void);
long fail_alloc_count(void);

#endif
