#include "data/pipeline.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/hostile.h"
#include "base/numa.h"
#include "base/random.h"
#include "data/pipeline_int.h"

enum { MAX_THREADS = 1024, MAX_PREFETCH = 1024 };

size_t batch_sample_bytes(const struct batch_tensor *t)
{
    static const size_t element[] = {
        [TENSOR_U8] = 1, [TENSOR_I32] = 4, [TENSOR_F32] = 4, [TENSOR_I64] = 8};
    size_t n = element[t->type];

    for (int i = 1; i < t->n_dims; i++)
        n *= t->dims[i];
    return n;
}

size_t batch_bytes(const struct batch *b)
{
    size_t n = 0;

    for (int i = 0; i < N_BATCH_TENSORS; i++)
        n += batch_sample_bytes(&b->tensor[i]) * b->tensor[i].dims[0];
    return n;
}

static uint64_t n_samples_of(const struct pipeline_config *f)
{
    return f->synthetic ? f->n_synthetic : f->source->n_samples;
}

static struct shard shard_of(const struct pipeline_config *f)
{
    const int keep = f->mode == PIPELINE_EVAL || f->round_up;

    return (struct shard){.n_samples = n_samples_of(f),
                          .batch_size = f->batch_size,
                          .rank = f->rank,
                          .n_ranks = f->n_ranks,
                          .tail = keep ? SHARD_KEEP_TAIL : SHARD_DROP_TAIL};
}

uint64_t pipeline_steps_per_epoch(const struct pipeline_config *f)
{
    const struct shard s = shard_of(f);

    return shard_steps(&s);
}

static int check_config(struct pipeline_config *f)
{
    f->n_threads = f->n_threads ? f->n_threads : 1;
    f->prefetch = f->prefetch ? f->prefetch : HOSTILE ? 1 : 2;
    f->n_ranks = f->n_ranks ? f->n_ranks : 1;
    if (f->batch_size < 1 || f->batch_size > 1 << 20)
        return err(E_USAGE, "batch size %zu is outside 1..%d", f->batch_size, 1 << 20);
    if (f->n_threads < 1 || f->n_threads > MAX_THREADS)
        return err(E_USAGE, "%d loader threads are outside 1..%d", f->n_threads, MAX_THREADS);
    if (f->prefetch < 1 || f->prefetch > MAX_PREFETCH)
        return err(E_USAGE, "prefetch of %d batches is outside 1..%d", f->prefetch, MAX_PREFETCH);
    if (f->reader.depth < 0 || f->reader.depth > READER_MAX_DEPTH)
        return err(E_USAGE, "%d samples on their way are outside 1..%d", f->reader.depth,
                   READER_MAX_DEPTH);
    f->reader.n_readers = f->n_threads;
    f->reader.in_order = f->mode == PIPELINE_EVAL || f->keep_order;
    ASSERT(f->rank >= 0 && f->rank < f->n_ranks);
    ASSERT(f->alone >= 0 && f->alone <= N_STAGES);
    TRY(augment_train_check(&f->train));
    TRY(augment_eval_check(&f->eval));
    if (f->synthetic && (f->n_synthetic < 1 || f->n_classes < 1))
        return err(E_USAGE, "synthetic data needs a number of samples and of classes");
    if (!f->synthetic && f->n_classes && f->source->n_classes + f->label_offset > f->n_classes)
        return err(E_DATA, "%s has %d classes (label offset %d), more than the model's %d",
                   f->source->path, f->source->n_classes, f->label_offset, f->n_classes);
    return f->synthetic ? 0 : reader_check(&f->reader, f->source);
}

int pipeline_check(const struct pipeline_config *config)
{
    struct pipeline_config f = *config;

    return check_config(&f);
}

/* Until workers have filled it again, nobody may read a slot. */
static void slot_poison(const struct pipeline *p, const struct slot *s)
{
    const size_t n = p->config.batch_size;

    hostile_poison(s->batch.tensor[BATCH_IMAGES].data, n * p->sample_bytes);
    hostile_poison(s->batch.tensor[BATCH_LABELS].data, n * sizeof(int32_t));
    hostile_poison(s->batch.tensor[BATCH_WEIGHTS].data, n * sizeof(float));
    hostile_poison(s->batch.tensor[BATCH_INDICES].data, n * sizeof(int64_t));
}

static void slot_init(struct pipeline *p, struct slot *s)
{
    const size_t n = p->config.batch_size, side = (size_t)p->size;
    struct batch_tensor *const t = s->batch.tensor;

    t[BATCH_IMAGES] =
        (struct batch_tensor){"images", TENSOR_U8, 4, {n, side, side, IMAGE_CHANNELS}, NULL};
    t[BATCH_LABELS] = (struct batch_tensor){"labels", TENSOR_I32, 1, {n}, NULL};
    t[BATCH_WEIGHTS] = (struct batch_tensor){"weights", TENSOR_F32, 1, {n}, NULL};
    t[BATCH_INDICES] = (struct batch_tensor){"indices", TENSOR_I64, 1, {n}, NULL};
    /* the pages exist before the clock runs */
    t[BATCH_IMAGES].data = memset(xmalloc(n * p->sample_bytes), 0, n * p->sample_bytes);
    t[BATCH_LABELS].data = xcalloc(n, sizeof(int32_t));
    t[BATCH_WEIGHTS].data = xcalloc(n, sizeof(float));
    t[BATCH_INDICES].data = xcalloc(n, sizeof(int64_t));
    s->n_left = n;
    if (HOSTILE)
        slot_poison(p, s);
}

static void slot_release(struct slot *s)
{
    for (size_t i = 0; i < N_BATCH_TENSORS; i++)
        free(s->batch.tensor[i].data);
    free(s->bads);
}

/* The one batch of synthetic mode: uniform noise and uniform labels, a hash of the seed. */
static void fill_synthetic(struct pipeline *p)
{
    const struct random_key pixels = {p->config.seed, RANDOM_SYNTHETIC, 0};
    const struct random_key labels = {p->config.seed, RANDOM_SYNTHETIC, 1};
    struct batch_tensor *const t = p->slots[0].batch.tensor;
    const size_t n = p->config.batch_size, n_bytes = n * p->sample_bytes;

    for (size_t i = 0; i < n_bytes; i += 8) {
        const uint64_t word = random_hash(pixels, i / 8);

        memcpy((uint8_t *)t[BATCH_IMAGES].data + i, &word, n_bytes - i < 8 ? n_bytes - i : 8);
    }
    for (size_t i = 0; i < n; i++) {
        ((int32_t *)t[BATCH_LABELS].data)[i] =
            (int32_t)(random_hash(labels, i) % (uint64_t)p->config.n_classes);
        ((float *)t[BATCH_WEIGHTS].data)[i] = 1.0f;
        ((int64_t *)t[BATCH_INDICES].data)[i] = (int64_t)i;
    }
    p->slots[0].batch.n_real = n;
}

/* Small enough that every thread gets several pieces of a batch, so that they finish together. */
static size_t chunk_size(const struct pipeline_config *f)
{
    const size_t n = f->batch_size / ((size_t)f->n_threads * 4);

    return n < 1 ? 1 : n > MAX_CHUNK ? MAX_CHUNK : n;
}

static void worker_release(struct worker *w)
{
    for (size_t i = 0; i < w->n_held; i++) {
        sample_release(&w->held[i].sample);
        image_release(&w->held[i].image);
    }
    free(w->held);
    work_release(&w->work);
}

/* A worker's memory is taken by the worker, so it lies on the node that it is kept to. */
static void keep_to_node(pthread_attr_t *attr, const struct numa *nodes, int node)
{
    pthread_attr_setaffinity_np(attr, sizeof(nodes->cpus[node]), &nodes->cpus[node]);
}

/* The nodes to keep threads to; none where there is no choice. */
static void find_nodes(const struct pipeline_config *f, struct numa *out)
{
    cpu_set_t allowed;

    out->n = 0;
    if (f->numa == NUMA_SPREAD && sched_getaffinity(0, sizeof(allowed), &allowed) == 0)
        numa_find("", &allowed, out);
}

static int start_thread(struct worker *w, int i, const struct numa *nodes)
{
    const int n_threads = w->p->config.n_threads;
    pthread_attr_t attr;
    int rc = pthread_attr_init(&attr);

    if (rc == 0) {
        if (nodes->n > 1)
            keep_to_node(&attr, nodes, numa_node_of(nodes, i, n_threads));
        rc = pthread_create(&w->thread, &attr, worker_main, w);
        pthread_attr_destroy(&attr);
    }
    return rc ? err(E_IO, "start loader thread %d of %d: %s", i + 1, n_threads, strerror(rc)) : 0;
}

static int start_workers(struct pipeline *p)
{
    const struct pipeline_config *const f = &p->config;
    struct numa nodes;
    sigset_t all, saved;
    int rc = 0;

    find_nodes(f, &nodes);
    p->workers = xcalloc((size_t)f->n_threads, sizeof(*p->workers));
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &saved); /* signals are the main thread's */
    for (int i = 0; i < f->n_threads && rc == 0; i++) {
        struct worker *const w = &p->workers[i];

        w->p = p;
        work_init(&w->work, f->max_pixels, f->exif);
        w->work.source = f->source;
        w->work.train = f->mode == PIPELINE_TRAIN ? &f->train : NULL;
        w->work.eval = f->mode == PIPELINE_EVAL ? &f->eval : NULL;
        w->work.seed = f->seed;
        if (f->alone > 1)
            w->held = xcalloc(MAX_HELD, sizeof(*w->held));
        rc = reader_open(&f->reader, f->source, &w->work.reader);
        if (rc == 0)
            rc = start_thread(w, i, &nodes);
        if (rc == 0)
            p->n_started++;
        else
            worker_release(w);
    }
    pthread_sigmask(SIG_SETMASK, &saved, NULL);
    return rc;
}

/* It works, but is seldom meant. */
static void warn_small(const struct pipeline_config *f)
{
    const uint64_t global = (uint64_t)f->batch_size * (uint64_t)f->n_ranks;

    if (f->mode == PIPELINE_TRAIN && !f->synthetic && f->source->n_samples < global)
        warning("%s holds %llu samples, fewer than the batch of %llu: each step trains on all of "
                "them and pads the rest, which has no weight",
                f->source->path, (unsigned long long)f->source->n_samples,
                (unsigned long long)global);
}

static void pipeline_init(struct pipeline *p)
{
    const struct pipeline_config *const f = &p->config;

    p->n_samples = n_samples_of(f);
    p->shard = shard_of(f);
    p->steps_per_epoch = shard_steps(&p->shard);
    p->first_batch = f->first_epoch * p->steps_per_epoch + f->first_step;
    p->end_batch = f->n_batches ? p->first_batch + f->n_batches : UINT64_MAX;
    p->fill_batch = p->next_batch = p->first_batch;
    p->size = f->mode == PIPELINE_TRAIN ? f->train.size : f->eval.crop;
    p->sample_bytes = (size_t)p->size * (size_t)p->size * IMAGE_CHANNELS;
    p->chunk = chunk_size(f);
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->slot_free, NULL);
    pthread_cond_init(&p->batch_ready, NULL);
    p->slots = xcalloc((size_t)f->prefetch, sizeof(*p->slots));
    for (int i = 0; i < f->prefetch; i++)
        slot_init(p, &p->slots[i]);
}

int pipeline_open(const struct pipeline_config *config, struct pipeline **out)
{
    struct pipeline_config f = *config;
    struct pipeline *p;
    int rc = 0;

    *out = NULL;
    TRY(check_config(&f));
    warn_small(&f);
    f.prefetch = f.synthetic ? 1 : f.prefetch;
    p = xcalloc(1, sizeof(*p));
    p->config = f;
    pipeline_init(p);
    if (f.synthetic)
        fill_synthetic(p);
    else
        rc = start_workers(p);
    if (rc < 0) {
        pipeline_close(p);
        return rc;
    }
    *out = p;
    return 0;
}

void pipeline_close(struct pipeline *p)
{
    if (!p)
        return;
    pthread_mutex_lock(&p->lock);
    p->stop = 1;
    pthread_cond_broadcast(&p->slot_free);
    pthread_mutex_unlock(&p->lock);
    for (int i = 0; i < p->n_started; i++) {
        pthread_join(p->workers[i].thread, NULL);
        worker_release(&p->workers[i]);
    }
    for (int i = 0; i < p->config.prefetch; i++)
        slot_release(&p->slots[i]);
    pthread_cond_destroy(&p->slot_free);
    pthread_cond_destroy(&p->batch_ready);
    pthread_mutex_destroy(&p->lock);
    bad_log_release(&p->bad);
    free(p->slots);
    free(p->workers);
    free(p);
}

/* Under the lock: workers are ahead, so what became of samples counts when it is handed over. */
static void count_delivered(struct pipeline *p, struct slot *s)
{
    p->counters.n_replaced += s->n_replaced;
    s->n_replaced = 0;
    for (int i = 0; i < N_TRAITS; i++) {
        p->counters.n_trait[i] += s->n_trait[i];
        s->n_trait[i] = 0;
    }
}

static void wait_ready(struct pipeline *p, struct slot *s)
{
    int64_t start;

    if (p->config.synthetic)
        return;
    pthread_mutex_lock(&p->lock);
    ASSERT(p->next_batch - p->first_batch < p->n_done + (uint64_t)p->config.prefetch);
    if (s->n_left > 0) {
        start = clock_ns();
        while (s->n_left > 0)
            pthread_cond_wait(&p->batch_ready, &p->lock);
        p->counters.consumer_wait_ns += clock_ns() - start;
    }
    count_delivered(p, s);
    pthread_mutex_unlock(&p->lock);
}

int pipeline_next(struct pipeline *p, const struct batch **out)
{
    struct slot *const s = slot_of(p, p->next_batch);

    *out = NULL;
    if (HOSTILE)
        hostile_pause();
    if (p->code < 0)
        return err(p->code, "%s", p->reason);
    if (p->next_batch == p->end_batch)
        return 0;
    wait_ready(p, s);
    bad_log_take(&p->bad, s);
    if (s->code < 0) {
        p->code = s->code;
        memcpy(p->reason, s->reason, sizeof(p->reason));
        return err(p->code, "%s", p->reason);
    }
    s->batch.epoch = p->next_batch / p->steps_per_epoch;
    s->batch.step = p->next_batch % p->steps_per_epoch;
    if (!p->config.synthetic)
        s->batch.n_real = shard_part(&p->shard, s->batch.step).n_real;
    p->next_batch++;
    *out = &s->batch;
    return 0;
}

void pipeline_done(struct pipeline *p, const struct batch *b)
{
    struct slot *const s = slot_of(p, p->first_batch + p->n_done);

    ASSERT(b == &s->batch);
    if (HOSTILE && !p->config.synthetic)
        slot_poison(p, s);
    pthread_mutex_lock(&p->lock);
    ASSERT(p->first_batch + p->n_done < p->next_batch);
    s->n_left = p->config.batch_size;
    p->n_done++;
    p->counters.batches++;
    pthread_cond_broadcast(&p->slot_free);
    pthread_mutex_unlock(&p->lock);
}

void pipeline_counters(struct pipeline *p, struct pipeline_counters *out)
{
    pthread_mutex_lock(&p->lock);
    *out = p->counters;
    pthread_mutex_unlock(&p->lock);
}

void pipeline_counters_add_json(const struct pipeline_counters *c, struct str *out)
{
    str_printf(out, ",\n  \"replaced_samples\": %llu,\n  \"pictures\": {",
               (unsigned long long)c->n_replaced);
    for (int i = 0; i < N_TRAITS; i++)
        str_printf(out, "%s\"%s\": %llu", i ? ", " : "", trait_name((enum trait_id)i),
                   (unsigned long long)c->n_trait[i]);
    str_add(out, "}");
}
