/* How the bytes of samples get from a data set's files into memory: the rows READER of list.h. A
 * source says where a sample lies and what its bytes mean (source.h); a reader chooses how they are
 * read, and may have those of the samples to come on their way. Every reader gives the same samples
 * and, for those that can not be read, the same sentences.
 *
 *   pread         one read after the other, through the page cache
 *   direct        the same past the page cache (O_DIRECT), whole blocks into aligned memory
 *   uring         up to `depth` reads under way at a time, through the page cache
 *   uring-direct  the same past the page cache
 *   dontcache     as pread, and what a read brings into the page cache is gone behind it
 *                 (preadv2 with RWF_DONTCACHE, Linux 6.14 and file systems that know it)
 *   evict         as pread, and the system is then advised to forget the sample's pages
 *
 * What is under way is a guess at no risk: where it fails or comes short, the sample is read once
 * more when its turn comes, and that read decides. One reader serves one thread and one source,
 * which has to stay open. Memory and open files only grow to a bound: `depth` samples of at most
 * READER_AHEAD_BYTES, and one of any size; larger ones are not read ahead. After warm-up nothing is
 * allocated. */
#ifndef STAVE_DATA_READER_H
#define STAVE_DATA_READER_H

#include "data/source.h"

enum reader_id {
#define READER(name, text) READER_##name,
#include "data/list.h"
    N_READERS
};

enum readahead {
    READAHEAD_AUTO,   /* samples, or none where they lie in order in files of many */
    READAHEAD_NONE,   /* only what the system does of itself */
    READAHEAD_SAMPLES /* the system is told of the samples to come, `depth` of them */
};

enum { READER_DEPTH = 8, READER_MAX_DEPTH = 64, READER_AHEAD_BYTES = 4 << 20 };

struct reader_config {
    enum reader_id id;
    int depth;                /* samples on their way; 0: READER_DEPTH */
    enum readahead readahead; /* of pread */
    int in_order;             /* nonzero: samples are read in the order of the source */
    int n_readers;            /* of this process, which share its limit of open files; 0: one */
};

struct reader;

/* Whether this machine can read the data set like that: E_UNSUPPORTED without io_uring, or where
 * the file system has no O_DIRECT or no RWF_DONTCACHE. */
int reader_check(const struct reader_config *c, const struct source *s);
int reader_open(const struct reader_config *c, const struct source *s, struct reader **out);
void reader_close(struct reader *r); /* NULL is fine; waits for reads under way */

/* 1: telling it early what comes next makes a difference. */
int reader_looks_ahead(const struct reader *r);
/* The samples that will be read next, in this order, behind those already told. More than it can
 * remember are forgotten. Each has to be read in the end, else it keeps its place until close. */
void reader_expect(struct reader *r, const uint64_t *samples, size_t n);
/* Sample i, expected or not. out->data lies in the reader and holds until the next call. */
int reader_read(struct reader *r, uint64_t i, struct sample *out);

/* Bytes of the samples that all readers of this process gave so far, as they are stored: what was
 * asked for, whoever brought it. Any thread. */
uint64_t reader_asked_bytes(void);

#endif
