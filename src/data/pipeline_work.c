/* The worker threads of a pipeline. */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/hostile.h"
#include "base/random.h"
#include "data/pipeline_int.h"

enum { MAX_ATTEMPTS = 64 }; /* so many bad samples in a row mean that the data set is gone */

/* A claimed piece of a batch. */
struct chunk {
    struct slot *slot;
    uint64_t epoch, step;
    size_t first, n;
};

/* Sample number of position i of the batch, or -1 behind the end of the epoch. */
static int64_t sample_at(const struct pipeline *p, const struct chunk *c, size_t i)
{
    const struct pipeline_config *const f = &p->config;
    const struct shard_part part = shard_part(&p->shard, c->step);
    const struct random_key key = {f->seed, RANDOM_SHUFFLE, c->epoch};

    if (i >= part.n_real)
        return -1;
    if (f->mode == PIPELINE_EVAL || f->keep_order)
        return (int64_t)(part.first + i);
    return (int64_t)random_permute(key, p->n_samples, part.first + i);
}

/* The clocks of a worker. The end of one stage is the beginning of the next: the thread's clock
 * takes a system call, which small samples feel. */
struct clocks {
    int64_t wall, cpu;
};

static struct clocks read_clocks(void)
{
    return (struct clocks){clock_ns(), clock_thread_ns()};
}

/* What went by since then was the stage's. */
static void spent_on(struct worker *w, enum stage_id i, struct clocks *since)
{
    const struct clocks now = read_clocks();

    w->counters.stage[i].busy_ns += now.wall - since->wall;
    w->counters.stage[i].cpu_ns += now.cpu - since->cpu;
    *since = now;
}

static int run_stage(struct worker *w, enum stage_id i, struct clocks *since)
{
    const int rc = stage_get(i)->run(&w->work);

    spent_on(w, i, since);
    w->counters.stage[i].samples++;
    return rc;
}

/* Makes what stage last works on from sample w->work.index, with buffers of its own. */
static int hold(struct worker *w, enum stage_id last)
{
    struct held *const h = &w->held[w->n_held];
    int rc = 0;

    for (enum stage_id i = 0; i < last && rc == 0; i++)
        rc = stage_get(i)->run(&w->work);
    if (rc < 0)
        return rc;
    *h = (struct held){{.label = w->work.sample.label}, w->work.view, w->work.image};
    bytes_add(&h->sample.buf, w->work.sample.data, w->work.sample.n); /* they are the reader's */
    h->sample.data = h->sample.buf.data;
    h->sample.n = h->sample.buf.n;
    w->work.image = (struct image){0};
    w->n_held++;
    w->held_bytes += h->sample.buf.cap + h->image.px.cap;
    return 0;
}

/* The stage on a sample that is held already, or on one more while there is room. */
static int run_alone(struct worker *w, enum stage_id stage)
{
    const struct work own = w->work;
    struct clocks since = read_clocks();
    int rc;

    if (stage == 0)
        return run_stage(w, stage, &since);
    if (w->n_held < MAX_HELD && w->held_bytes < MAX_HELD_BYTES)
        return hold(w, stage);
    const struct held *const h = &w->held[w->next_held++ % w->n_held];

    w->work.sample = h->sample;
    if (stage > STAGE_decode) {
        w->work.view = h->view;
        w->work.image = h->image;
    }
    rc = run_stage(w, stage, &since);
    w->work.sample = own.sample;
    if (stage > STAGE_decode)
        w->work.image = own.image;
    return rc;
}

static int run_stages(struct worker *w)
{
    struct clocks since;

    if (w->p->config.alone)
        return run_alone(w, (enum stage_id)(w->p->config.alone - 1));
    since = read_clocks();
    for (enum stage_id i = 0; i < N_STAGES; i++)
        TRY(run_stage(w, i, &since));
    return 0;
}

static int check_label(const struct pipeline_config *f, int64_t label)
{
    if (f->n_classes == 0 || (label >= 0 && label < f->n_classes))
        return 0;
    return err(E_DATA,
               "label %lld is outside 0..%d, with the label offset %d added; see label-offset",
               (long long)label, f->n_classes - 1, f->label_offset);
}

static void count_traits(struct worker *w)
{
    const unsigned traits = decoder_traits(w->work.decoder);

    for (int i = 0; i < N_TRAITS; i++)
        w->counters.n_trait[i] += traits >> i & 1;
}

/* Sample w->work.index into position i of the batch. */
static int fill_sample(struct worker *w, const struct batch *b, size_t i)
{
    const struct pipeline_config *const f = &w->p->config;
    int64_t label;
    int rc;

    w->work.dst = (uint8_t *)b->tensor[BATCH_IMAGES].data + i * w->p->sample_bytes;
    rc = run_stages(w);
    TRY(rc);
    if (f->alone > 1)
        return 0; /* it worked on another sample */
    w->counters.read_bytes += w->work.sample.n;
    label = w->work.sample.label + f->label_offset;
    TRY(check_label(f, label));
    ((int32_t *)b->tensor[BATCH_LABELS].data)[i] = (int32_t)label;
    ((int64_t *)b->tensor[BATCH_INDICES].data)[i] = (int64_t)w->work.index;
    if (!f->alone)
        count_traits(w);
    return 0;
}

static void fill_black(const struct pipeline *p, const struct batch *b, size_t i)
{
    memset((uint8_t *)b->tensor[BATCH_IMAGES].data + i * p->sample_bytes, 0, p->sample_bytes);
}

static void fill_padding(const struct pipeline *p, const struct batch *b, size_t i)
{
    fill_black(p, b, i);
    ((int32_t *)b->tensor[BATCH_LABELS].data)[i] = 0;
    ((float *)b->tensor[BATCH_WEIGHTS].data)[i] = 0.0f;
    ((int64_t *)b->tensor[BATCH_INDICES].data)[i] = -1;
}

static struct bad_found describe(const struct worker *w, int code, size_t place)
{
    struct bad_found b = {.place = place};

    b.bad.epoch = w->work.epoch;
    b.bad.index = w->work.index;
    b.bad.code = code;
    snprintf(b.bad.reason, sizeof(b.bad.reason), "%s", err_reason());
    source_locate(w->work.source, w->work.index, b.bad.location, sizeof(b.bad.location));
    return b;
}

/* The stand-in for sample index at the given attempt, the same on every run. */
static uint64_t substitute(const struct pipeline *p, uint64_t epoch, uint64_t index, int attempt)
{
    const struct random_key key = {p->config.seed, RANDOM_REPLACE, epoch};
    struct random_stream s = random_stream(key, index);
    uint64_t draw = 0;

    for (int i = 0; i < attempt; i++)
        draw = random_next(&s);
    return draw % p->n_samples;
}

/* Fills one position whatever the data is like; a failure is left in the slot. */
static void fill_position(struct worker *w, const struct chunk *c, size_t i)
{
    struct pipeline *const p = w->p;
    const struct batch *const b = &c->slot->batch;
    const int64_t index = sample_at(p, c, i);

    if (index < 0) {
        fill_padding(p, b, i);
        return;
    }
    ((float *)b->tensor[BATCH_WEIGHTS].data)[i] = 1.0f;
    w->work.epoch = c->epoch;
    w->work.index = (uint64_t)index;
    for (int attempt = 1;; attempt++) {
        const int rc = fill_sample(w, b, i);
        struct bad_found bad;

        if (rc == 0)
            return;
        if (rc == E_NOMEM)
            out_of_memory(0); /* the sample is not bad, and no other one would do */
        if (attempt == MAX_ATTEMPTS)
            err_prefix(rc, "%d samples in a row could not be used, the last: ", MAX_ATTEMPTS);
        bad = describe(w, rc, i * (MAX_ATTEMPTS + 1) + (size_t)attempt);
        slot_add_bad(p, c->slot, &bad);
        if (p->config.on_bad == ON_BAD_FAIL || attempt == MAX_ATTEMPTS) {
            slot_fail(p, c->slot, &bad);
            return;
        }
        if (p->config.mode == PIPELINE_EVAL)
            break;
        w->counters.n_replaced += attempt == 1;
        w->work.index = substitute(p, c->epoch, (uint64_t)index, attempt);
    }
    fill_black(p, b, i);
    ((int32_t *)b->tensor[BATCH_LABELS].data)[i] = -1;
    ((int64_t *)b->tensor[BATCH_INDICES].data)[i] = index;
}

/* Tells the reader what the chunk is made of, where all of it will be read. */
static void expect(struct worker *w, const struct chunk *c)
{
    struct clocks since = read_clocks();
    uint64_t samples[MAX_CHUNK];
    size_t n = 0;

    if (w->p->config.alone > 1)
        return;
    for (size_t i = c->first; i < c->first + c->n; i++) {
        const int64_t index = sample_at(w->p, c, i);

        if (index >= 0)
            samples[n++] = (uint64_t)index;
    }
    reader_expect(w->work.reader, samples, n);
    spent_on(w, STAGE_read, &since);
}

/* Under the lock: samples that there is room for and nobody has claimed. */
static uint64_t n_claimable(const struct pipeline *p)
{
    const uint64_t room = p->first_batch + p->n_done + (uint64_t)p->config.prefetch;
    const uint64_t end = room < p->end_batch ? room : p->end_batch;

    return p->fill_batch < end ? (end - p->fill_batch) * p->config.batch_size - p->fill_at : 0;
}

static void take_chunk(struct pipeline *p, struct chunk *c)
{
    c->slot = slot_of(p, p->fill_batch);
    c->epoch = p->fill_batch / p->steps_per_epoch;
    c->step = p->fill_batch % p->steps_per_epoch;
    c->first = p->fill_at;
    c->n = p->config.batch_size - c->first < p->chunk ? p->config.batch_size - c->first : p->chunk;
    p->fill_at += c->n;
    if (p->fill_at == p->config.batch_size) {
        p->fill_at = 0;
        p->fill_batch++;
    }
}

/* Under the lock: waits for work. 0 when the pipeline is closing. */
static int claim(struct worker *w, struct chunk *c)
{
    struct pipeline *const p = w->p;

    if (!p->stop && !n_claimable(p)) {
        const int64_t start = clock_ns();

        while (!p->stop && !n_claimable(p))
            pthread_cond_wait(&p->slot_free, &p->lock);
        if (p->fill_batch < p->end_batch)
            p->counters.worker_wait_ns += clock_ns() - start;
    }
    if (p->stop)
        return 0;
    take_chunk(p, c);
    return 1;
}

/* Under the lock: claims the chunk after the present one too, so that its samples are on their way
 * in time, unless that could leave another worker without any. */
static void claim_early(struct worker *w, struct chunk *c)
{
    struct pipeline *const p = w->p;

    if (!reader_looks_ahead(w->work.reader) || p->stop ||
        n_claimable(p) <= (uint64_t)p->config.n_threads * p->chunk)
        return;
    take_chunk(p, c);
}

static void add_counters(struct pipeline_counters *sum, struct slot *slot,
                         struct pipeline_counters *part)
{
    for (size_t i = 0; i < N_STAGES; i++) {
        sum->stage[i].samples += part->stage[i].samples;
        sum->stage[i].busy_ns += part->stage[i].busy_ns;
        sum->stage[i].cpu_ns += part->stage[i].cpu_ns;
    }
    for (size_t i = 0; i < N_TRAITS; i++)
        slot->n_trait[i] += part->n_trait[i];
    slot->n_replaced += part->n_replaced;
    sum->read_bytes += part->read_bytes;
    *part = (struct pipeline_counters){0};
}

static void fill_chunk(struct worker *w, const struct chunk *c)
{
    struct pipeline *const p = w->p;

    for (size_t i = 0; i < c->n; i++)
        fill_position(w, c, c->first + i);
    if (HOSTILE)
        hostile_pause();
    pthread_mutex_lock(&p->lock);
    add_counters(&p->counters, c->slot, &w->counters);
    c->slot->n_left -= c->n;
    if (c->slot->n_left == 0)
        pthread_cond_signal(&p->batch_ready);
    pthread_mutex_unlock(&p->lock);
}

/* The next chunk: one claimed early is held already and its samples are told. */
static int next_chunk(struct worker *w, struct chunk *c, struct chunk *early)
{
    struct pipeline *const p = w->p;
    const struct chunk held = *early;
    int more;

    pthread_mutex_lock(&p->lock);
    if (held.n)
        *c = held;
    more = held.n ? !p->stop : claim(w, c);
    early->n = 0;
    if (more)
        claim_early(w, early);
    pthread_mutex_unlock(&p->lock);
    if (more && !held.n)
        expect(w, c);
    if (more && early->n)
        expect(w, early);
    return more;
}

void *worker_main(void *worker)
{
    struct worker *const w = worker;
    struct chunk c, early = {0};

    while (next_chunk(w, &c, &early))
        fill_chunk(w, &c);
    return NULL;
}
