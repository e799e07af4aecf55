/* Reading one value from a file of /proc or /sys below a root. Within meter. */
#ifndef STAVE_METER_PROBE_H
#define STAVE_METER_PROBE_H

#include "base/arena.h"

/* The first line without blanks around it, in the arena; NULL when there is none or it is empty.
 * Control characters become blanks. */
const char *probe_text(struct arena *a, const char *root, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* A whole number at the start of the file; dflt when there is none. */
long long probe_number(long long dflt, const char *root, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* "32K", "8M": bytes; 0 when it is no size. */
long long probe_size(const char *text);
/* Calls visit with every name in a folder but hidden ones, in the order of file_list; with none
 * when it can not be read. */
void probe_folder(const char *root, const char *path,
                  void (*visit)(void *context, const char *name), void *context);

#endif
