/* Opening the splits of a data set as far as they can be, and the threads that look at them. */
#include "data/verify.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/err.h"
#include "base/hostile.h"
#include "data/verify_int.h"

enum { CHUNK = HOSTILE ? 1 : 16, TELL_NS = 200000000 };

/* ---- opening ---- */

static void add_remark(struct verify_split *s, enum verify_outcome outcome, const char *text)
{
    s->remarks = xrealloc(s->remarks, (s->n_remarks + 1) * sizeof(*s->remarks));
    s->remarks[s->n_remarks++] = (struct verify_remark){outcome, xstrdup(text)};
}

static void hear(void *context, enum source_remark kind, const char *text)
{
    add_remark(context, kind == SOURCE_DAMAGE ? VERIFY_DAMAGED : VERIFY_NOTE, text);
}

/* A split of which nothing can be saved is a finding, too. */
static int open_split(struct verify *v, const char *name, const char *path)
{
    struct verify_split *const s = &v->split[v->n_splits++];
    int rc;

    s->name = name;
    rc = source_open_heard(path, (struct source_listener){hear, s}, &s->source);
    if (rc == 0 || rc == E_NOMEM)
        return rc;
    add_remark(s, VERIFY_DAMAGED, err_reason());
    return 0;
}

static int open_splits(struct verify *v)
{
    static const char *const names[VERIFY_SPLITS] = {"train", "val"};

    for (int i = 0; i < VERIFY_SPLITS; i++) {
        char *const path = source_split_path(v->config.dir, names[i]);
        const int rc = path ? open_split(v, names[i], path) : 0;

        free(path);
        TRY(rc);
    }
    if (v->n_splits == 1) {
        const int val = strcmp(v->split[0].name, names[0]) == 0;
        char *const text =
            xasprintf("%s holds no %s split, which a run needs", v->config.dir, names[val]);

        add_remark(&v->split[0], VERIFY_MISSING, text);
        free(text);
    }
    return 0;
}

/* What is no data set at all is the caller's mistake. */
static int open_single(struct verify *v)
{
    struct verify_split *const s = &v->split[v->n_splits++];
    int rc;

    s->name = "data";
    rc = source_open_heard(v->config.dir, (struct source_listener){hear, s}, &s->source);
    if (rc != E_DATA || s->n_remarks == 0)
        return rc;
    add_remark(s, VERIFY_DAMAGED, err_reason());
    return 0;
}

/* ---- looking ---- */

struct scan {
    const struct verify_config *config;
    struct verify_split *split;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    uint64_t next, done; /* (lock) samples */
    int n_running;       /* (lock) */
};

static uint64_t take(struct scan *scan, uint64_t n_looked)
{
    uint64_t first;

    pthread_mutex_lock(&scan->lock);
    scan->done += n_looked;
    first = scan->next;
    scan->next = first + CHUNK;
    pthread_mutex_unlock(&scan->lock);
    return first;
}

static void *look_at_samples(void *arg)
{
    struct scan *const scan = arg;
    const struct source *const s = scan->split->source;
    struct verify_eye eye = {.decoder = decoder_new(scan->config->max_pixels)};
    uint64_t n = 0;

    for (uint64_t first = take(scan, 0); first < s->n_samples; first = take(scan, n)) {
        const uint64_t left = s->n_samples - first;

        n = left < CHUNK ? left : CHUNK;
        for (uint64_t i = first; i < first + n; i++)
            verify_look(&eye, s, i, &scan->split->samples[i]);
        if (HOSTILE)
            hostile_pause();
    }
    decoder_free(eye.decoder);
    sample_release(&eye.sample);
    image_release(&eye.image);
    pthread_mutex_lock(&scan->lock);
    scan->n_running--;
    pthread_cond_signal(&scan->changed);
    pthread_mutex_unlock(&scan->lock);
    return NULL;
}

/* Until the last thread ends; tells how far they are now and then, and at the end. */
static void watch(struct scan *scan)
{
    const struct prepare_progress *const p = &scan->config->progress;
    uint64_t done;
    int running = 1;

    while (running) {
        struct timespec until;

        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += TELL_NS;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        pthread_mutex_lock(&scan->lock);
        while (scan->n_running > 0 &&
               pthread_cond_timedwait(&scan->changed, &scan->lock, &until) != ETIMEDOUT)
            continue;
        running = scan->n_running > 0;
        done = scan->done;
        pthread_mutex_unlock(&scan->lock);
        prepare_tell(p, scan->split->name, done, scan->split->source->n_samples);
    }
}

static int scan_split(const struct verify_config *c, struct verify_split *s)
{
    const int wanted = c->n_threads > 0 ? c->n_threads : 1;
    struct scan scan = {.config = c,
                        .split = s,
                        .lock = PTHREAD_MUTEX_INITIALIZER,
                        .changed = PTHREAD_COND_INITIALIZER,
                        .n_running = wanted};
    pthread_t *const threads = xcalloc((size_t)wanted, sizeof(*threads));
    int n = 0;

    s->samples = xcalloc(s->source->n_samples, sizeof(*s->samples));
    while (n < wanted && pthread_create(&threads[n], NULL, look_at_samples, &scan) == 0)
        n++;
    pthread_mutex_lock(&scan.lock);
    scan.n_running -= wanted - n;
    pthread_mutex_unlock(&scan.lock);
    if (n > 0)
        watch(&scan);
    for (int i = 0; i < n; i++)
        pthread_join(threads[i], NULL);
    free(threads);
    return n > 0 ? 0 : err(E_NOMEM, "the system starts no thread");
}

static void count(void *context, const struct verify_item *item)
{
    struct verify *const v = context;

    v->n[item->outcome]++;
}

int verify_run(const struct verify_config *config, struct verify *out)
{
    int rc;

    *out = (struct verify){.config = *config};
    rc = open_splits(out);
    if (rc == 0 && out->n_splits == 0)
        rc = open_single(out);
    for (int k = 0; k < out->n_splits && rc == 0; k++)
        if (out->split[k].source) {
            rc = scan_split(config, &out->split[k]);
            if (rc == 0)
                verify_measure(config, &out->split[k]);
        }
    if (rc < 0) {
        verify_release(out);
        return rc;
    }
    verify_find_twins(out);
    verify_each(out, count, out);
    return 0;
}

void verify_release(struct verify *v)
{
    for (int k = 0; k < v->n_splits; k++) {
        struct verify_split *const s = &v->split[k];

        for (uint64_t i = 0; s->samples && i < s->source->n_samples; i++)
            free(s->samples[i].reason);
        for (size_t i = 0; i < s->n_remarks; i++)
            free(s->remarks[i].text);
        free(s->samples);
        free(s->remarks);
        free(s->classes.samples);
        source_close(s->source);
    }
    *v = (struct verify){0};
}

uint64_t verify_findings(const struct verify *v)
{
    uint64_t n = 0;

    for (int o = 0; o < N_VERIFY_FINDINGS; o++)
        n += v->n[o];
    return n;
}
