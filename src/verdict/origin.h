/* Where a loader's bytes came from: storage, or the page cache, which plays the disk when a data
 * set fits into memory. Judged by what was asked for against what storage delivered, never by how
 * fast it went. Pure functions of measured numbers.
 *
 *     delivered ratio = bytes that storage delivered to the process / bytes that the loader asked
 * for
 *
 * at most 1: reading ahead and reading whole blocks may bring more than was asked for. Delivered to
 * the process is read_bytes of /proc/self/io: what the kernel had a device fetch because it was not
 * in memory. What lies behind the device - the cache of an array or of a host - is not seen. */
#ifndef STAVE_VERDICT_ORIGIN_H
#define STAVE_VERDICT_ORIGIN_H

#include "base/str.h"

enum origin { ORIGIN_UNKNOWN, ORIGIN_DISK, ORIGIN_CACHE, ORIGIN_MIXED };

/* From so much on "from disk"; up to so much "from cache"; between them "mixed". */
#define ORIGIN_DISK_RATIO 0.8
#define ORIGIN_CACHE_RATIO 0.2

enum origin_medium {
    MEDIUM_UNKNOWN,
    MEDIUM_DISK,   /* a file system on block devices */
    MEDIUM_MEMORY, /* tmpfs: there is no storage */
    MEDIUM_REMOTE, /* NFS and its like, and FUSE, whose bytes the kernel may not count as read from
                      storage */
    MEDIUM_UNACCOUNTED /* ZFS: it counts every read, those of its own cache (ARC) too */
};

/* Of an epoch, or a run; NAN: not known. */
struct origin_bytes {
    double asked;   /* by the loader */
    double process; /* delivered by storage to this process */
    double device;  /* read from the devices below the data set, by anybody */
    enum origin_medium medium;
};

/* 0 to 1; NAN when it can not be known. */
double origin_ratio(const struct origin_bytes *b);
/* Without the process's own count only that the devices did not deliver can be known; of a remote
 * file system that seems to deliver nothing, and of an unaccounted one, nothing. */
enum origin origin_find(const struct origin_bytes *b);
const char *origin_name(enum origin o); /* "disk", "cache", "mixed", "unknown" */
/* Appends "from disk: storage delivered 11.2 MiB of the 11.3 MiB asked for (99 %)". */
void origin_add_words(const struct origin_bytes *b, struct str *out);

#endif
