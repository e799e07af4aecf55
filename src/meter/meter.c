#include "meter/meter.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/str.h"
#include "meter/row.h"

enum { MAX_PROBES = 32, MAX_PHASE_BYTES = 32, COST_LIMIT = 1000 };

struct slot {
    const struct probe_ops *ops;
    void *state;
    size_t first, end;       /* of its columns */
    int64_t last_ns, due_ns; /* of its samples; when it may be asked again */
    int64_t cost_ns[2];      /* processor time of the last two */
};

struct meter {
    struct meter_config config;
    struct meter_columns columns;
    struct slot slots[MAX_PROBES];
    size_t n_slots, first_counter;
    double *values, *raw, *newest; /* of a row; as counted before; last known: one a column */
    char *row, *path;
    int fd;
    off_t size; /* of whole rows */
    const char *phase;
    long long epoch;
    int64_t opened_ns, period_ns;
    struct meter_use use;
    int rc;
    char reason[512];

    pthread_t thread;
    int stop;
    pthread_mutex_t lock; /* of all above but what meter_open sets */
    pthread_cond_t wake;
};

size_t meter_column(struct meter_columns *c, enum meter_kind kind, const char *name)
{
    c->all = xrealloc(c->all, (c->n + 1) * sizeof(*c->all));
    c->all[c->n++] = (struct meter_column){xstrdup(name), kind};
    return c->n - 1 - c->first;
}

void meter_columns_release(struct meter_columns *c)
{
    for (size_t i = 0; i < c->n; i++)
        free(c->all[i].name);
    free(c->all);
    *c = (struct meter_columns){0};
}

/* ---- one row ---- */

/* A large machine's /proc/stat or an accelerator's driver may take long. One costly sample may be
 * chance (a page that was not there), two are not. */
static void note_cost(struct meter *m, struct slot *s, int64_t now, int64_t cost)
{
    const double share = m->config.hz > 10 ? m->config.hz / 10 : 1;

    s->cost_ns[1] = s->cost_ns[0];
    s->cost_ns[0] = cost;
    if (s->cost_ns[1] < cost)
        cost = s->cost_ns[1];
    s->due_ns = now + (int64_t)((double)cost * COST_LIMIT / share);
}

enum whom { WHO_IS_DUE, EVERYBODY };

static void sample_probe(struct meter *m, struct slot *s, int64_t now, enum whom whom)
{
    const double seconds = s->last_ns ? (double)(now - s->last_ns) / 1e9 : 0;
    const int64_t start = clock_thread_ns();

    for (size_t i = s->first; i < s->end; i++)
        m->values[i] = NAN;
    s->ops->sample(s->state, seconds, m->values + s->first);
    if (s->ops->wait && whom == WHO_IS_DUE)
        s->ops->wait(s->state, m->values + s->first);
    s->last_ns = now;
    note_cost(m, s, now, clock_thread_ns() - start);
}

/* What is counted may begin anew; the column goes on. */
static double add_up(double *raw, double newest, double now)
{
    const double more = now > *raw ? now - *raw : 0; /* NAN before: nothing */

    if (isnan(now))
        return NAN;
    *raw = now;
    return (isnan(newest) ? 0 : newest) + more;
}

static void take_values(struct meter *m, int64_t now, enum whom whom)
{
    for (size_t i = 0; i < m->columns.n; i++)
        m->values[i] = NAN;
    for (size_t i = 0; i < m->n_slots; i++)
        if (whom == EVERYBODY || now >= m->slots[i].due_ns)
            sample_probe(m, &m->slots[i], now, whom);
    for (size_t i = 0; i < m->config.n_counters; i++)
        m->values[m->first_counter + i] =
            (double)m->config.counters[i].read(m->config.counters[i].context);
    for (size_t i = 0; i < m->columns.n; i++) {
        if (m->columns.all[i].kind == METER_TOTAL)
            m->values[i] = add_up(&m->raw[i], m->newest[i], m->values[i]);
        if (!isnan(m->values[i]))
            m->newest[i] = m->values[i];
    }
}

static size_t write_cells(const struct meter *m, int64_t now)
{
    const int64_t elapsed = now - m->config.start_ns;
    const size_t n_phase = strlen(m->phase);
    char *at = m->row;

    at = row_add_whole(at, (uint64_t)(m->config.start_ms + elapsed / 1000000));
    *at++ = ',';
    at = row_add_seconds(at, elapsed);
    *at++ = ',';
    memcpy(at, m->phase, n_phase);
    at += n_phase;
    *at++ = ',';
    if (m->epoch > 0)
        at = row_add_whole(at, (uint64_t)m->epoch);
    for (size_t i = 0; i < m->columns.n; i++) {
        *at++ = ',';
        at = row_add_number(at, m->values[i]);
    }
    *at++ = '\n';
    return (size_t)(at - m->row);
}

/* A disk that fills up must not leave half a line. */
static int put(struct meter *m, size_t n)
{
    const int rc = file_write_all(m->fd, m->row, n, m->path);

    if (rc == 0) {
        m->size += (off_t)n;
        return 0;
    }
    m->rc = rc;
    strncpy(m->reason, err_reason(), sizeof(m->reason) - 1);
    if (ftruncate(m->fd, m->size) < 0)
        m->size = -1; /* half a line stays: readers know what that is */
    return rc;
}

static void take_row(struct meter *m, enum whom whom)
{
    const int64_t now = clock_ns();

    if (m->rc < 0)
        return;
    take_values(m, now, whom);
    if (put(m, write_cells(m, now)) == 0)
        m->use.n_samples++;
}

/* ---- the sampler ---- */

static struct timespec time_of(int64_t ns)
{
    return (struct timespec){.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000};
}

/* The next multiple of the period since the start, so that delays do not add up. */
static int64_t next_deadline(const struct meter *m)
{
    const int64_t since = clock_ns() - m->opened_ns;

    return m->opened_ns + (since / m->period_ns + 1) * m->period_ns;
}

static void *sampler(void *argument)
{
    struct meter *const m = argument;
    int64_t deadline;

    pthread_mutex_lock(&m->lock);
    deadline = next_deadline(m);
    while (!m->stop && m->rc == 0) {
        const struct timespec until = time_of(deadline);
        const int64_t late = pthread_cond_timedwait(&m->wake, &m->lock, &until) == ETIMEDOUT
                                 ? clock_ns() - deadline
                                 : -1;
        if (m->stop || late < 0)
            continue;
        m->use.n_late += late > m->period_ns / 2;
        take_row(m, WHO_IS_DUE);
        deadline = next_deadline(m);
    }
    m->use.sampler_cpu_ns = clock_thread_ns();
    pthread_mutex_unlock(&m->lock);
    return NULL;
}

static int start_thread(struct meter *m)
{
    pthread_condattr_t attr;
    sigset_t all, saved;
    int rc;

    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&m->wake, &attr);
    pthread_condattr_destroy(&attr);
    pthread_mutex_init(&m->lock, NULL);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &saved); /* signals are the main thread's */
    rc = pthread_create(&m->thread, NULL, sampler, m);
    pthread_sigmask(SIG_SETMASK, &saved, NULL);
    return rc ? err(E_NOMEM, "start the sampler's thread: %s", strerror(rc)) : 0;
}

/* ---- opening and closing ---- */

static void open_probe(struct meter *m, const struct probe_ops *ops)
{
    struct slot s = {.ops = ops, .first = m->columns.n};

    ASSERT(m->n_slots < MAX_PROBES);
    m->columns.first = m->columns.n;
    if (ops->open(&s.state, &m->config.place, &m->columns) < 0)
        return;
    s.end = m->columns.n;
    if (s.end == s.first)
        ops->close(s.state);
    else
        m->slots[m->n_slots++] = s;
}

static void open_columns(struct meter *m)
{
    size_t n;

    for (size_t i = 0; meter_probes[i]; i++)
        open_probe(m, meter_probes[i]);
    m->first_counter = m->columns.n;
    for (size_t i = 0; i < m->config.n_counters; i++)
        meter_column(&m->columns, METER_TOTAL, m->config.counters[i].column);
    n = m->columns.n;
    m->values = xcalloc(n + 1, sizeof(*m->values));
    m->raw = xcalloc(n + 1, sizeof(*m->raw));
    m->newest = xcalloc(n + 1, sizeof(*m->newest));
    m->row = xmalloc((n + 4) * (ROW_NUMBER_BYTES + 1) + MAX_PHASE_BYTES);
    for (size_t i = 0; i < n; i++)
        m->raw[i] = m->newest[i] = NAN;
}

static int write_header(struct meter *m)
{
    struct str line = STR_INIT;
    int rc;

    m->fd = open(m->path, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0666);
    if (m->fd < 0)
        return err(E_IO, "open %s for writing: %s", m->path, strerror(errno));
    str_add(&line, "time_ms,elapsed_s,phase,epoch");
    for (size_t i = 0; i < m->columns.n; i++)
        str_printf(&line, ",%s", m->columns.all[i].name);
    str_add(&line, "\n");
    rc = file_write_all(m->fd, line.s, line.len, m->path);
    m->size = (off_t)line.len;
    str_release(&line);
    return rc;
}

static void release(struct meter *m)
{
    for (size_t i = 0; i < m->n_slots; i++)
        m->slots[i].ops->close(m->slots[i].state);
    meter_columns_release(&m->columns);
    if (m->fd >= 0)
        close(m->fd);
    free(m->values);
    free(m->raw);
    free(m->newest);
    free(m->row);
    free(m->path);
    free(m);
}

int meter_open(const struct meter_config *config, struct meter **out)
{
    struct meter *const m = xcalloc(1, sizeof(*m));
    int rc;

    ASSERT(config->hz > 0);
    *m = (struct meter){.config = *config,
                        .path = xstrdup(config->path),
                        .fd = -1,
                        .phase = "init",
                        .opened_ns = clock_ns(),
                        .period_ns = (int64_t)(1e9 / config->hz)};
    open_columns(m);
    rc = write_header(m);
    if (rc == 0) {
        take_row(m, EVERYBODY);
        rc = m->rc < 0 ? m->rc : start_thread(m);
    }
    *out = m;
    if (rc == 0)
        return 0;
    release(m);
    *out = NULL;
    return rc;
}

void meter_mark(struct meter *m, const char *phase, long long epoch)
{
    ASSERT(strlen(phase) < MAX_PHASE_BYTES);
    pthread_mutex_lock(&m->lock);
    take_row(m, EVERYBODY);
    m->phase = phase;
    m->epoch = epoch;
    pthread_mutex_unlock(&m->lock);
}

double meter_last(struct meter *m, const char *column)
{
    double value = NAN;

    pthread_mutex_lock(&m->lock);
    for (size_t i = 0; i < m->columns.n; i++)
        if (strcmp(m->columns.all[i].name, column) == 0)
            value = m->newest[i];
    pthread_mutex_unlock(&m->lock);
    return value;
}

static void stop_thread(struct meter *m)
{
    pthread_mutex_lock(&m->lock);
    m->stop = 1;
    pthread_cond_signal(&m->wake);
    pthread_mutex_unlock(&m->lock);
    pthread_join(m->thread, NULL);
    pthread_cond_destroy(&m->wake);
    pthread_mutex_destroy(&m->lock);
}

int meter_close(struct meter *m, struct meter_use *use)
{
    int rc;

    *use = (struct meter_use){0};
    if (!m)
        return 0;
    stop_thread(m);
    take_row(m, EVERYBODY);
    *use = m->use;
    rc = m->rc < 0 ? err(m->rc, "%s", m->reason) : 0;
    release(m);
    return rc;
}
