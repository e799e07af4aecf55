/* What disks did since the machine started, as the kernel counts it (Linux,
 * Documentation/admin-guide/iostats.rst), and the differences of two looks, summed over disks. */
#ifndef STAVE_METER_DISK_COUNTER_H
#define STAVE_METER_DISK_COUNTER_H

#include <stddef.h>

#include "meter/disk_path.h"

enum disk_field {
    DISK_READS,
    DISK_READ_SECTORS, /* of 512 bytes, whatever the disk's are */
    DISK_READ_MS,      /* of all requests together */
    DISK_WRITES,
    DISK_WRITE_SECTORS,
    DISK_WRITE_MS,
    DISK_BUSY_MS,  /* with a request under way */
    DISK_QUEUE_MS, /* requests under way, each millisecond added up */
    DISK_FIELDS
};

struct disk_counters;
/* Opens the counters of these disks; NULL when one of them has none. Owner: the caller. */
struct disk_counters *disk_counters_open(const char *root, const struct disk_leaf *leaves,
                                         size_t n_leaves);
void disk_counters_close(struct disk_counters *c);
/* The difference to the last look, of all disks together, but busy of the busiest one; NAN where it
 * is not known: at the first look, when a disk is gone, and when a counter went back (another disk
 * of that name, or one that wrapped). Allocates nothing. */
void disk_counters_look(struct disk_counters *c, double difference[DISK_FIELDS]);

#endif
