/* Between sink.c and sink_journal.c. */
#ifndef STAVE_DATA_SINK_INT_H
#define STAVE_DATA_SINK_INT_H

#include "data/sink.h"

/* Writes down how far the files have come; they have been synced. */
int sink_journal_write(const struct sink *k);
/* Takes up what the journal says; 0: there is none, or it speaks of something else. */
int sink_journal_read(struct sink *k);

/* The path in the work folder, heap, of the file of shard i. */
char *sink_work_path(const struct sink *k, uint64_t shard);
/* The first sample of a shard; of n_shards: n_samples. */
uint64_t sink_shard_first(const struct sink *k, uint64_t shard);

#endif
