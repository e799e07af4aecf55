/* The ring inside a pipeline. Shared by pipeline.c (consumer's side), pipeline_work.c (workers) and
 * pipeline_bad.c; nobody else includes it.
 *
 * Batch number b lives in slot b % prefetch. Workers claim chunks of samples in stream order; the
 * one that finishes a batch's last chunk makes it ready. Everything marked (lock) is guarded by
 * p->lock; a slot's contents belong to the workers until ready and to the consumer after. */
#ifndef STAVE_DATA_PIPELINE_INT_H
#define STAVE_DATA_PIPELINE_INT_H

#include <pthread.h>

#include "base/hostile.h"
#include "data/pipeline.h"
#include "data/shard.h"

enum { MAX_CHUNK = HOSTILE ? 1 : 16 };

/* A bad sample as the workers found it: place orders the list within the batch. */
struct bad_found {
    size_t place; /* position in the batch, then attempt */
    struct bad_sample bad;
};

struct slot {
    struct batch batch;
    size_t n_left;          /* (lock) samples still to be filled */
    struct bad_found *bads; /* (lock) until ready */
    size_t n_bads, cap_bads;
    uint64_t n_replaced, n_trait[N_TRAITS]; /* (lock) of this batch */
    int code; /* (lock) the failure that ends the stream here: the first by place */
    size_t code_place;
    char reason[1024];
};

/* What the stages before the one that runs alone have made of a sample. */
enum { MAX_HELD = 64, MAX_HELD_BYTES = 32 << 20 };
struct held {
    struct sample sample;
    struct view view;
    struct image image;
};

struct worker {
    struct pipeline *p;
    pthread_t thread;
    struct work work;
    struct held *held; /* MAX_HELD of them when a stage behind the first runs alone */
    size_t n_held, held_bytes, next_held;
    struct pipeline_counters counters; /* since the last chunk */
};

/* Samples named in the current epoch, and the queue the consumer has not read yet. */
struct bad_log {
    uint64_t epoch, n_total;
    uint64_t *seen; /* open addressing, index + 1, 0 is free */
    size_t n_seen, cap_seen;
    struct bad_sample *queue;
    size_t n_queue, n_told;
};

struct pipeline {
    struct pipeline_config config;
    struct shard shard;
    uint64_t n_samples, steps_per_epoch, first_batch, end_batch;
    size_t chunk, sample_bytes;
    int size; /* pixels a side */
    struct slot *slots;
    struct worker *workers;
    int n_started;

    pthread_mutex_t lock;
    pthread_cond_t slot_free, batch_ready;
    int stop;                          /* (lock) */
    uint64_t fill_batch, n_done;       /* (lock) batch being claimed; batches given back */
    size_t fill_at;                    /* (lock) next sample of it to claim */
    struct pipeline_counters counters; /* (lock) */

    uint64_t next_batch; /* consumer's */
    int code;            /* consumer's: the stream has failed */
    char reason[1024];
    struct bad_log bad;
};

static inline struct slot *slot_of(const struct pipeline *p, uint64_t batch)
{
    return &p->slots[batch % (uint64_t)p->config.prefetch];
}

void *worker_main(void *worker);

/* Notes a bad sample in a slot (takes the lock). code stays with the slot when it ends the stream.
 */
void slot_add_bad(struct pipeline *p, struct slot *s, const struct bad_found *b);
void slot_fail(struct pipeline *p, struct slot *s, const struct bad_found *b);
/* Moves a delivered slot's bad samples into the log. */
void bad_log_take(struct bad_log *l, struct slot *s);
void bad_log_release(struct bad_log *l);

#endif
