/* The environment variable DEBUG: how much a run tells on stderr about what it computes. 1: devices
 * and plans; 2: also the time of every step, as a line that `stave bench-op` takes; 3: also the
 * shapes of results and the implementation chosen; 4: also statistics of every result. Read once,
 * before plans are made. */
#ifndef STAVE_BASE_DEBUG_H
#define STAVE_BASE_DEBUG_H

enum debug_level { DEBUG_OFF, DEBUG_PLANS, DEBUG_TIMES, DEBUG_CHOICES, DEBUG_VALUES };

/* Reads the variable; unset and empty mean off. E_USAGE when it is anything but 0 to 4. */
int debug_read(void);
enum debug_level debug_level(void);

#endif
