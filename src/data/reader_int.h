/* Inside a reader: shared by reader.c and the kinds, reader_pread.c, reader_uring.c and
 * reader_uncached.c. */
#ifndef STAVE_DATA_READER_INT_H
#define STAVE_DATA_READER_INT_H

#include "base/uring.h"
#include "data/open_files.h"
#include "data/reader.h"

struct reader_memory {
    uint8_t *bytes;
    size_t cap;
};

/* A sample on its way, or the one that was handed out last. */
struct flight {
    enum { FLIGHT_FREE, FLIGHT_ON_ITS_WAY, FLIGHT_HANDED_OUT } state;
    uint64_t sample;
    struct extent x;
    int fd;
    struct open_file *shared; /* NULL: fd is the source's, or the flight's own */
    uint64_t at;              /* what is read: n_read bytes from here, of which */
    size_t n_read, skip, n;   /* n behind the first skip are the sample's */
    size_t block;             /* of O_DIRECT, else 1 */
    struct reader_memory own;
    uint8_t *mem;
    int result; /* of the ring: bytes or -errno */
    int landed;
};

struct reader_ops {
    int direct;
    int looks_ahead;
    int readahead;                 /* looks ahead where the readahead says so */
    int (*open)(struct reader *r); /* all but finish may be NULL */
    int (*check)(
        struct flight *f); /* whether the machine can read a file like that; reads nothing */
    void (*begin)(struct reader *r, struct flight *f);
    void (*submit)(struct reader *r);                  /* what was begun goes off */
    int (*finish)(struct reader *r, struct flight *f); /* what was begun goes off, and f lands */
    void (*close)(struct reader *r);                   /* all has landed */
};

enum { READER_MAX_TOLD = 64, READER_ALIGN = 4096 /* what every O_DIRECT takes */ };

struct reader {
    const struct reader_ops *ops;
    const struct source *source;
    int n_flights; /* depth, and the one handed out */
    struct flight *flights;
    struct flight *handed_out;
    struct reader_memory large; /* for the one handed out, when it was not read ahead */
    struct open_files files;
    size_t align; /* of memory and, with O_DIRECT, of what is read */
    uint64_t told[READER_MAX_TOLD];
    unsigned told_from, told_to; /* a ring: grow without end */
    struct uring ring;
};

/* Finds sample i, opens its file and says what to read. On success f is on its way, though nothing
 * is read yet, and has to be ended. */
int flight_aim(struct reader *r, struct flight *f, uint64_t i);
/* Room for what is to be read. */
void flight_reserve(struct reader *r, struct flight *f);
/* Reads it, waiting; the error names what failed. */
int flight_read(struct reader *r, struct flight *f);
void flight_end(struct flight *f);

#endif
