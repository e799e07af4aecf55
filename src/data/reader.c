#include "data/reader.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/err.h"
#include "data/reader_int.h"

#define READER(name, text) extern const struct reader_ops reader_##name;
#include "data/list.h"

static const struct reader_ops *const kinds[N_READERS] = {
#define READER(name, text) [READER_##name] = &reader_##name,
#include "data/list.h"
};

static _Atomic uint64_t asked_bytes;

/* A quarter of the files that the process may have open: it may have a second pipeline, and others
 * open files too. One half of the share for files kept open, one for samples on their way. */
static int fair_files(const struct reader_config *c)
{
    struct rlimit limit;
    rlim_t n;

    if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
        return 1;
    n = limit.rlim_cur / 8 / (rlim_t)(c->n_readers ? c->n_readers : 1);
    return n < 1 ? 1 : n > READER_MAX_DEPTH ? READER_MAX_DEPTH : (int)n;
}

/* In docs/performance.md, "Reading", is what this rests on. */
static enum readahead readahead_of(const struct reader_config *c, const struct source *s)
{
    if (c->readahead != READAHEAD_AUTO)
        return c->readahead;
    return c->in_order && s->n_files < s->n_samples ? READAHEAD_NONE : READAHEAD_SAMPLES;
}

static int n_ahead(const struct reader_config *c, const struct source *s)
{
    const struct reader_ops *const ops = kinds[c->id];
    const int depth = c->depth ? c->depth : READER_DEPTH, files = fair_files(c);

    if (!ops->looks_ahead && !(ops->readahead && readahead_of(c, s) == READAHEAD_SAMPLES))
        return 0;
    return depth < files ? depth : files;
}

int reader_open(const struct reader_config *c, const struct source *s, struct reader **out)
{
    struct reader *const r = xcalloc(1, sizeof(*r));
    const int files = fair_files(c);
    int rc = 0;

    *out = NULL;
    ASSERT(c->id < N_READERS && c->depth >= 0 && c->depth <= READER_MAX_DEPTH);
    r->ops = kinds[c->id];
    r->source = s;
    r->align = READER_ALIGN;
    r->n_flights = n_ahead(c, s) + 1;
    r->files.max = files < OPEN_FILES_MAX ? files : OPEN_FILES_MAX;
    r->flights = xcalloc((size_t)r->n_flights, sizeof(*r->flights));
    if (r->ops->open)
        rc = r->ops->open(r);
    if (rc < 0) {
        free(r->flights);
        free(r);
        return rc;
    }
    *out = r;
    return 0;
}

void reader_close(struct reader *r)
{
    if (!r)
        return;
    if (r->ops->close)
        r->ops->close(r);
    for (int i = 0; i < r->n_flights; i++) {
        if (r->flights[i].state != FLIGHT_FREE)
            flight_end(&r->flights[i]);
        free(r->flights[i].own.bytes);
    }
    open_files_release(&r->files);
    free(r->large.bytes);
    free(r->flights);
    free(r);
}

/* A sample that can not be reached is not refused here, it is a bad sample when its turn comes. */
int reader_check(const struct reader_config *c, const struct source *s)
{
    struct reader *r;
    int rc;

    TRY(reader_open(c, s, &r));
    rc = flight_aim(r, &r->flights[0], 0);
    if (rc == 0 && r->ops->check)
        rc = r->ops->check(&r->flights[0]);
    reader_close(r);
    return rc == E_UNSUPPORTED ? rc : 0;
}

int reader_looks_ahead(const struct reader *r)
{
    return r->n_flights > 1;
}

/* There always is one: as many as may be on their way, and one more. */
static struct flight *free_flight(struct reader *r)
{
    struct flight *f = r->flights;

    while (f->state != FLIGHT_FREE)
        f++;
    return f;
}

static struct flight *on_its_way(struct reader *r, uint64_t sample)
{
    for (int i = 0; i < r->n_flights; i++)
        if (r->flights[i].state == FLIGHT_ON_ITS_WAY && r->flights[i].sample == sample)
            return &r->flights[i];
    return NULL;
}

static int n_on_their_way(const struct reader *r)
{
    int n = 0;

    for (int i = 0; i < r->n_flights; i++)
        n += r->flights[i].state == FLIGHT_ON_ITS_WAY;
    return n;
}

static void begin(struct reader *r, struct flight *f)
{
    if (r->ops->begin)
        r->ops->begin(r, f);
}

/* Whatever is wrong with a sample is found again, and said, when it is asked for. */
static void begin_told(struct reader *r)
{
    for (int n = n_on_their_way(r); n < r->n_flights - 1 && r->told_from != r->told_to;) {
        struct flight *const f = free_flight(r);

        if (flight_aim(r, f, r->told[r->told_from++ % READER_MAX_TOLD]) < 0)
            continue;
        if (f->n_read > READER_AHEAD_BYTES) {
            flight_end(f);
            continue;
        }
        begin(r, f);
        n++;
    }
}

void reader_expect(struct reader *r, const uint64_t *samples, size_t n)
{
    if (!reader_looks_ahead(r))
        return;
    for (size_t i = 0; i < n && r->told_to - r->told_from < READER_MAX_TOLD; i++)
        r->told[r->told_to++ % READER_MAX_TOLD] = samples[i];
    begin_told(r);
    if (r->ops->submit)
        r->ops->submit(r);
}

int reader_read(struct reader *r, uint64_t i, struct sample *out)
{
    struct flight *f;

    if (r->handed_out)
        flight_end(r->handed_out);
    r->handed_out = NULL;
    f = on_its_way(r, i);
    if (!f) {
        f = free_flight(r);
        TRY(flight_aim(r, f, i));
        begin(r, f);
    }
    f->state = FLIGHT_HANDED_OUT;
    r->handed_out = f;
    begin_told(r);
    TRY(r->ops->finish(r, f));
    atomic_fetch_add_explicit(&asked_bytes, f->n, memory_order_relaxed);
    return source_unwrap(r->source, i, (struct raw){f->mem + f->skip, f->n}, out);
}

uint64_t reader_asked_bytes(void)
{
    return atomic_load_explicit(&asked_bytes, memory_order_relaxed);
}
