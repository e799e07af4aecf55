/* Reading values from files of /proc and /sys below a root: once, or again and again by the probes
 * of the meter. Within meter. */
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
int probe_begins(const char *text, const char *with);
/* "32K", "8M": bytes; 0 when it is no size. */
long long probe_size(const char *text);
/* Calls visit with every name in a folder but hidden ones, in the order of file_list; with none
 * when it can not be read. */
void probe_folder(const char *root, const char *path,
                  void (*visit)(void *context, const char *name), void *context);

/* For what is read again and again, without allocation: the file stays open. A descriptor, or -1.
 */
int probe_open(const char *root, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void probe_close(int fd); /* -1 is fine */
/* The file's first n - 1 bytes at most, as they are now, and a zero byte: "" when it can not be
 * read. One call of read gives a page of a file of /proc; this goes on to its end. Returns text. */
const char *probe_again(int fd, char *text, size_t n);
/* A whole number after blanks; NAN when there is none. *at moves behind it. */
double probe_whole(const char **at);
/* The number behind a word at the start of a line ("read_bytes:"); NAN when there is none. */
double probe_field(const char *text, const char *word);

/* Shorter intervals say nothing of rates and are part of the next: the kernel counts times in steps
 * of up to 10 ms. */
#define PROBE_SHORTEST_S 0.02

/* How fast a number grows. {0} to begin with. */
struct probe_rate {
    double last, seconds;
    int known;
};
/* By how much total has grown a second since it was last known; seconds: since the last call. NAN
 * at first, when it fell (it wrapped, or belongs to something else now), and for an interval of
 * less than PROBE_SHORTEST_S, which is added to the next. */
double probe_rate(struct probe_rate *r, double total, double seconds);

#endif
