/* How an epoch is divided among ranks, as arithmetic: from the number of samples, the number of
 * ranks and the batch of one rank to the steps of an epoch and each rank's share of each step.
 *
 * A step takes the next n_ranks * batch_size places of the epoch's order, and rank r the r-th
 * batch_size of them. Every rank makes the same number of steps, known before the run. Places
 * behind the end of the epoch are padding, which has weight 0: a rank may have a step without a
 * real sample. With the tail kept, every place belongs to exactly one rank and step; with the tail
 * dropped, steps are whole, except that a data set smaller than one step makes one padded step.
 *
 * Pure functions; no state. */
#ifndef STAVE_DATA_SHARD_H
#define STAVE_DATA_SHARD_H

#include <stddef.h>
#include <stdint.h>

struct shard {
    uint64_t n_samples;
    size_t batch_size; /* of one rank, at least 1 */
    int rank, n_ranks; /* 0 ranks means 1 */
    enum { SHARD_DROP_TAIL, SHARD_KEEP_TAIL } tail;
};

/* Steps of an epoch, the same for every rank; 0 when there are no samples. */
uint64_t shard_steps(const struct shard *s);
/* The places [first, first + n_real) of the epoch's order are this rank's in a step; the rest of
 * its batch is padding. first is n_samples when n_real is 0. */
struct shard_part {
    uint64_t first;
    size_t n_real;
};
struct shard_part shard_part(const struct shard *s, uint64_t step);

#endif
