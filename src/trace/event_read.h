/* Events read back from events.jsonl (sinks.h), a line at a time. What is no event of this program
 * is none: half a line, other JSON, a key that is not known. Any thread. */
#ifndef STAVE_TRACE_EVENT_READ_H
#define STAVE_TRACE_EVENT_READ_H

#include <stddef.h>

#include "trace/trace.h"

/* Tells the event of a line, which has a zero byte behind its n bytes; it is borrowed for the call,
 * and so are its texts. Metadata that are lists or objects are left out. Whether there was one. */
int event_read(const char *line, size_t n, void (*tell)(void *context, const struct trace_event *e),
               void *context);

/* Tells the events of the file's lines from *at on, bytes, which moves behind the last whole line:
 * a file that grows can be read on. One that is not there (yet) has none. */
void event_read_file(const char *path, long *at,
                     void (*tell)(void *context, const struct trace_event *e), void *context);

#endif
