/* Bad samples: noted by workers in the batch they were found in, told to the consumer in the order
 * of the stream, each once per epoch. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/hostile.h"
#include "base/random.h"
#include "data/pipeline_int.h"

enum { MAX_QUEUE = 256 };

void slot_add_bad(struct pipeline *p, struct slot *s, const struct bad_found *b)
{
    pthread_mutex_lock(&p->lock);
    if (s->n_bads == s->cap_bads) {
        s->cap_bads = s->cap_bads ? 2 * s->cap_bads : HOSTILE ? 1 : 8;
        s->bads = xrealloc(s->bads, s->cap_bads * sizeof(*s->bads));
    }
    s->bads[s->n_bads++] = *b;
    pthread_mutex_unlock(&p->lock);
}

void slot_fail(struct pipeline *p, struct slot *s, const struct bad_found *b)
{
    pthread_mutex_lock(&p->lock);
    if (s->code == 0 || b->place < s->code_place) {
        s->code = b->bad.code;
        s->code_place = b->place;
        snprintf(s->reason, sizeof(s->reason), "%s: %s", b->bad.location, b->bad.reason);
    }
    pthread_mutex_unlock(&p->lock);
}

static void insert(struct bad_log *l, uint64_t key)
{
    size_t i = (size_t)random_mix(key) & (l->cap_seen - 1);

    while (l->seen[i])
        i = (i + 1) & (l->cap_seen - 1);
    l->seen[i] = key;
}

static void grow_seen(struct bad_log *l)
{
    uint64_t *const old = l->seen;
    const size_t n = l->cap_seen;

    l->cap_seen = n ? 2 * n : HOSTILE ? 2 : 256;
    l->seen = xcalloc(l->cap_seen, sizeof(*l->seen));
    for (size_t i = 0; i < n; i++)
        if (old[i])
            insert(l, old[i]);
    free(old);
}

/* 1 when the sample was not yet named in this epoch. */
static int first_sight(struct bad_log *l, uint64_t epoch, uint64_t index)
{
    const uint64_t key = index + 1;

    if (epoch != l->epoch && l->n_seen) {
        memset(l->seen, 0, l->cap_seen * sizeof(*l->seen));
        l->n_seen = 0;
    }
    l->epoch = epoch;
    if (2 * (l->n_seen + 1) > l->cap_seen)
        grow_seen(l);
    for (size_t i = (size_t)random_mix(key) & (l->cap_seen - 1); l->seen[i];
         i = (i + 1) & (l->cap_seen - 1))
        if (l->seen[i] == key)
            return 0;
    insert(l, key);
    l->n_seen++;
    return 1;
}

static int by_place(const void *a, const void *b)
{
    const size_t x = ((const struct bad_found *)a)->place, y = ((const struct bad_found *)b)->place;

    return x < y ? -1 : x > y;
}

/* Forgets what the consumer has read, so that the queue is short as long as it is being read. */
static void drop_told(struct bad_log *l)
{
    if (l->n_told == 0)
        return;
    memmove(l->queue, l->queue + l->n_told, (l->n_queue - l->n_told) * sizeof(*l->queue));
    l->n_queue -= l->n_told;
    l->n_told = 0;
}

void bad_log_take(struct bad_log *l, struct slot *s)
{
    drop_told(l);
    if (s->n_bads == 0)
        return;
    if (!l->queue)
        l->queue = xcalloc(MAX_QUEUE, sizeof(*l->queue));
    qsort(s->bads, s->n_bads, sizeof(*s->bads), by_place);
    for (size_t i = 0; i < s->n_bads; i++) {
        const struct bad_sample *const b = &s->bads[i].bad;

        if (!first_sight(l, b->epoch, b->index))
            continue;
        l->n_total++;
        if (l->n_queue < MAX_QUEUE)
            l->queue[l->n_queue++] = *b;
    }
    s->n_bads = 0;
}

void bad_log_release(struct bad_log *l)
{
    free(l->seen);
    free(l->queue);
}

uint64_t pipeline_bad_count(const struct pipeline *p)
{
    return p->bad.n_total;
}

const struct bad_sample *pipeline_bad_next(struct pipeline *p)
{
    return p->bad.n_told < p->bad.n_queue ? &p->bad.queue[p->bad.n_told++] : NULL;
}
