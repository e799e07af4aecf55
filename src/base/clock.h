/* The only clocks. Intervals are measured on the monotonic one; the wall clock only labels log
 * records. */
#ifndef STAVE_BASE_CLOCK_H
#define STAVE_BASE_CLOCK_H

#include <stdint.h>

int64_t clock_ns(void); /* monotonic, nanoseconds, no meaning of its own */
/* Processor time of the calling thread, and of all threads of the process, nanoseconds. */
int64_t clock_thread_ns(void);
int64_t clock_process_ns(void);
int64_t clock_wall_ms(void); /* milliseconds since 1970-01-01 UTC */
void clock_sleep_ns(int64_t ns);

#endif
