/* Samples made by several threads and handed over in order: a ring of slots, sample i in slot i
 * modulo its size. */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "data/generate_int.h"

enum { SLOTS_PER_THREAD = 8 };

struct slot {
    struct bytes jpeg;
    int done, rc;
    char *reason; /* of a failure */
};

struct order {
    const struct generated_order *o;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct slot *slots;
    size_t n_slots;
    uint64_t next, taken; /* samples that were begun; that were handed over */
    int stop;
};

static struct slot *slot_of(struct order *p, uint64_t i)
{
    return &p->slots[i % p->n_slots];
}

static struct sample_key key_of(const struct order *p, uint64_t i)
{
    return (struct sample_key){p->o->seed, p->o->split, i};
}

/* The next sample to make in *i; 0 when there is none. Held: the lock. */
static int begin_sample(struct order *p, uint64_t *i)
{
    while (!p->stop && p->next < p->o->n && p->next - p->taken >= p->n_slots)
        pthread_cond_wait(&p->changed, &p->lock);
    if (p->stop || p->next == p->o->n)
        return 0;
    *i = p->next++;
    return 1;
}

static void make_sample(struct order *p, struct sampler *s, uint64_t i)
{
    struct slot *const slot = slot_of(p, i);
    int rc;

    pthread_mutex_unlock(&p->lock);
    rc = sampler_make(s, p->o->photos, key_of(p, i), &slot->jpeg);
    pthread_mutex_lock(&p->lock);
    slot->rc = rc;
    if (rc < 0)
        slot->reason = xstrdup(err_reason());
    slot->done = 1;
    pthread_cond_broadcast(&p->changed);
}

static void *worker(void *context)
{
    struct order *const p = context;
    struct sampler sampler = {0};
    uint64_t i;

    pthread_mutex_lock(&p->lock);
    while (begin_sample(p, &i))
        make_sample(p, &sampler, i);
    pthread_mutex_unlock(&p->lock);
    sampler_release(&sampler);
    return NULL;
}

static int take_sample(struct order *p, uint64_t i)
{
    struct slot *const slot = slot_of(p, i);

    pthread_mutex_lock(&p->lock);
    while (!slot->done)
        pthread_cond_wait(&p->changed, &p->lock);
    pthread_mutex_unlock(&p->lock);
    if (slot->rc < 0)
        return err(slot->rc, "%s", slot->reason);
    TRY(p->o->take(p->o->context, key_of(p, i), &slot->jpeg));
    pthread_mutex_lock(&p->lock);
    slot->done = 0;
    p->taken++;
    pthread_cond_broadcast(&p->changed);
    pthread_mutex_unlock(&p->lock);
    return 0;
}

static int start(struct order *p, pthread_t *threads, int *n_started)
{
    sigset_t all, saved;
    int rc = 0;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &saved); /* signals are the main thread's */
    while (*n_started < p->o->n_threads && rc == 0) {
        rc = pthread_create(&threads[*n_started], NULL, worker, p);
        if (rc == 0)
            ++*n_started;
    }
    pthread_sigmask(SIG_SETMASK, &saved, NULL);
    return rc ? err(E_IO, "start thread %d of %d: %s", *n_started + 1, p->o->n_threads,
                    strerror(rc))
              : 0;
}

static void finish(struct order *p, pthread_t *threads, int n_started)
{
    pthread_mutex_lock(&p->lock);
    p->stop = 1;
    pthread_cond_broadcast(&p->changed);
    pthread_mutex_unlock(&p->lock);
    for (int i = 0; i < n_started; i++)
        pthread_join(threads[i], NULL);
    for (size_t i = 0; i < p->n_slots; i++) {
        bytes_release(&p->slots[i].jpeg);
        free(p->slots[i].reason);
    }
    pthread_cond_destroy(&p->changed);
    pthread_mutex_destroy(&p->lock);
    free(p->slots);
    free(threads);
}

int generate_in_order(const struct generated_order *o)
{
    struct order p = {.o = o, .n_slots = (size_t)o->n_threads * SLOTS_PER_THREAD};
    pthread_t *const threads = xcalloc((size_t)o->n_threads, sizeof(*threads));
    int n_started = 0, rc;

    p.slots = xcalloc(p.n_slots, sizeof(*p.slots));
    pthread_mutex_init(&p.lock, NULL);
    pthread_cond_init(&p.changed, NULL);
    rc = start(&p, threads, &n_started);
    for (uint64_t i = 0; i < o->n && rc == 0; i++)
        rc = take_sample(&p, i);
    finish(&p, threads, n_started);
    return rc;
}
