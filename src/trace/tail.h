/* A file of lines that somebody else is writing, read as it grows. The file may not be there yet,
 * end in half a line, be cut (a run that goes on takes half a line away), or be replaced by another
 * one; a line is handed out when its newline is there. Nothing but open, stat and pread is done to
 * it.
 *
 * Zeroed but for its first members, released by tail_release. One thread. */
#ifndef STAVE_TRACE_TAIL_H
#define STAVE_TRACE_TAIL_H

#include <stdint.h>

#include "base/str.h"

struct tail {
    const char *path; /* borrowed */
    int has_header;   /* the first line is handed out before others each time */
    uint64_t newest;  /* begin with the lines of so many last bytes; 0: with the first line */
    int fd;           /* 0: not open */
    uint64_t at;      /* the first byte that was not handed out, the start of a line */
    int is_within;    /* at is within a line that is left out, being too long or begun before */
    struct str header, lines;
};

enum tail_news {
    TAIL_NOTHING,
    TAIL_LINES, /* lines holds whole ones, each with its newline; there may be more */
    TAIL_AGAIN  /* it is another file: what was handed out is void. The next call reads it */
};
enum tail_news tail_read(struct tail *t);
void tail_release(struct tail *t);

#endif
