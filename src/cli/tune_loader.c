/* Threads and prefetch by short runs of the real thing. */
#include <stdio.h>
#include <stdlib.h>

#include "base/err.h"
#include "cli/session_rig.h"
#include "cli/tune.h"
#include "verdict/loader_search.h"

enum { THREADS, PREFETCH };

struct prober {
    struct tune *tune;
    struct session_rig rig;
    struct search_space space;
    uint64_t memory_left; /* bytes that rings may take */
    size_t batch_bytes;
    double ceiling; /* samples per second of the model alone; 0: none */
};

static enum rig_work work_of(const struct prober *p)
{
    return p->tune->own->goal == TUNE_RUN ? RIG_STEP : RIG_DROP;
}

static struct rig_request request_at(const struct prober *p, struct search_point at)
{
    return (struct rig_request){.loader = {.threads = at.v[THREADS], .prefetch = at.v[PREFETCH]},
                                .work = work_of(p),
                                .window_ns = (int64_t)(p->tune->own->seconds * 1e9),
                                .window_batches = 2};
}

/* A stream is opened to see what one place of the ring takes. */
static int look_at_batch(struct prober *p)
{
    struct pipeline *stream;
    const struct batch *b;
    int rc;

    TRY(p->rig.rig.open(&p->rig, (struct rig_loader){.threads = 1, .prefetch = 1}, &stream));
    rc = pipeline_next(stream, &b);
    p->batch_bytes = rc == 0 ? batch_bytes(b) : 0;
    pipeline_close(stream);
    return rc;
}

static int measure_ceiling(struct prober *p)
{
    struct rig_request q = request_at(p, (struct search_point){{1, 1}});
    struct rig_reading m;

    if (p->tune->own->goal != TUNE_RUN)
        return 0;
    q.loader.synthetic = 1;
    TRY(rig_run(&p->rig.rig, &q, &m));
    p->ceiling = rig_rate(&m);
    printf("the model alone, on synthetic data: %.1f %s/s, which no data can exceed\n", p->ceiling,
           p->rig.task.unit);
    return 0;
}

static int probe(struct prober *p, struct search_point at, struct loader_reading *out)
{
    const struct rig_request q = request_at(p, at);
    struct rig_reading m;

    *out = (struct loader_reading){.failed = 1};
    if ((uint64_t)at.v[PREFETCH] * p->batch_bytes > p->memory_left)
        return 0;
    TRY(rig_run(&p->rig.rig, &q, &m));
    *out = (struct loader_reading){
        .rate = rig_rate(&m),
        .has_waits = 1,
        .consumer_waited = (double)m.counters.consumer_wait_ns / (double)m.wall_ns,
        .workers_waited = (double)m.counters.worker_wait_ns / (double)m.wall_ns / at.v[THREADS]};
    return 0;
}

static struct search_point start_of(const struct prober *p)
{
    const struct data_settings *const d = &p->tune->setup->settings.data;

    return (struct search_point){{(int)d->num_threads, (int)d->prefetch}};
}

static long long larger(long long a, long long b)
{
    return a > b ? a : b;
}

/* A thread takes a processor from others, a batch ahead some memory: both may be had for less. */
static int set_space(struct prober *p)
{
    const struct tune_settings *const own = p->tune->own;
    const struct search_point start = start_of(p);
    const int cpus = p->tune->setup->machine.cpus.count;
    const long long threads = own->max_threads ? own->max_threads : 2 * larger(cpus, 1);

    p->space =
        (struct search_space){.dim = {[THREADS] = {.name = "threads",
                                                   .min = 1,
                                                   .max = (int)larger(threads, start.v[THREADS]),
                                                   .scale = SEARCH_LOG,
                                                   .cost = 1},
                                      [PREFETCH] = {.name = "prefetch",
                                                    .min = 1,
                                                    .max = (int)own->max_prefetch,
                                                    .scale = SEARCH_LOG,
                                                    .cost = 0.25,
                                                    .memory = 1}},
                              .n_dims = 2};
    if ((own->max_threads && start.v[THREADS] > own->max_threads) ||
        start.v[PREFETCH] > own->max_prefetch)
        return err(E_USAGE,
                   "the search would start at %d threads and a prefetch of %d, above --max-threads "
                   "%lld or --max-prefetch %lld; lower --num-threads, --prefetch or raise these",
                   start.v[THREADS], start.v[PREFETCH], threads, own->max_prefetch);
    return 0;
}

static int search(struct prober *p, struct loader_search *s)
{
    struct search_point at;
    const char *why;

    while (loader_search_ask(s, &at, &why)) {
        struct loader_reading m;
        struct str words = STR_INIT;

        search_point_add_text(&p->space, at, &words);
        fprintf(stderr, "%s: %s\n", words.s, why);
        str_release(&words);
        TRY(probe(p, at, &m));
        if (m.failed)
            fprintf(stderr, "  no room in memory\n");
        else
            fprintf(stderr, "  %.1f %s/s\n", m.rate, p->rig.task.unit);
        loader_search_tell(s, &m);
    }
    return 0;
}

/* ---- every setting, beside it ---- */

enum { GRID_SIDE = 16 };

/* Powers of two and the bound. */
static int grid_values(const struct search_dim *d, int out[GRID_SIDE])
{
    int n = 0;

    for (int v = d->min; v < d->max && n < GRID_SIDE - 1; v *= 2)
        out[n++] = v;
    out[n++] = d->max;
    return n;
}

/* The best of many noisy figures is too good to be true: it is measured again, in turn with the
 * choice. */
static int compare(struct prober *p, struct search_point found, struct search_point best)
{
    enum { TURNS = 5 };
    struct loader_reading m;
    struct str words = STR_INIT;
    double sum_found = 0, sum_best = 0;

    if (search_point_same(&p->space, found, best)) {
        printf("the best of these is the choice\n");
        return 0;
    }
    for (int i = 0; i < TURNS; i++) {
        TRY(probe(p, found, &m));
        sum_found += m.rate;
        TRY(probe(p, best, &m));
        sum_best += m.rate;
    }
    search_point_add_text(&p->space, best, &words);
    printf("again, %d times in turn: the choice %.1f, the best of these (%s) %.1f: %+.1f %%\n",
           TURNS, sum_found / TURNS, words.s, sum_best / TURNS, 100 * (sum_found / sum_best - 1));
    str_release(&words);
    return 0;
}

static int measure_grid(struct prober *p, struct search_point found)
{
    int threads[GRID_SIDE], prefetch[GRID_SIDE];
    const int n_threads = grid_values(&p->space.dim[THREADS], threads);
    const int n_prefetch = grid_values(&p->space.dim[PREFETCH], prefetch);
    struct search_point best = {{0}};
    struct loader_reading m;
    double most = 0;

    printf("\nevery setting in powers of two, %s/s:\n%10s", p->rig.task.unit, "threads");
    for (int j = 0; j < n_prefetch; j++)
        printf("  prefetch %-3d", prefetch[j]);
    for (int i = 0; i < n_threads; i++) {
        printf("\n%10d", threads[i]);
        for (int j = 0; j < n_prefetch; j++) {
            const struct search_point at = {{threads[i], prefetch[j]}};

            TRY(probe(p, at, &m));
            if (m.failed)
                printf("  %12s", "no room");
            else
                printf("  %12.1f", m.rate);
            fflush(stdout);
            if (m.rate > most) {
                most = m.rate;
                best = at;
            }
        }
    }
    printf("\n");
    return compare(p, found, best);
}

/* ---- together ---- */

static void print_table(const struct loader_search *s)
{
    struct str table = STR_INIT;

    loader_search_add_table(s, &table);
    printf("%s", table.s);
    str_release(&table);
}

static int report(struct prober *p, struct loader_search *s)
{
    struct data_settings *const d = &p->tune->setup->settings.data;
    struct loader_result r;

    TRY(loader_search_result(s, &r));
    print_table(s);
    printf("%s\nnum-threads %d, prefetch %d: %.1f +- %.1f %s/s after %d probes\n", r.end,
           r.point.v[THREADS], r.point.v[PREFETCH], r.rate, r.sd, p->rig.task.unit, r.n_probes);
    d->num_threads = r.point.v[THREADS];
    d->prefetch = r.point.v[PREFETCH];
    return p->tune->own->grid ? measure_grid(p, r.point) : 0;
}

static int run_search(struct prober *p)
{
    struct loader_settings settings = {.start = start_of(p),
                                       .max_probes = (int)p->tune->own->probes};
    struct loader_search *s;
    int rc;

    TRY(set_space(p));
    TRY(look_at_batch(p));
    TRY(measure_ceiling(p));
    p->memory_left = memlimit_left(&p->tune->setup->machine.memory);
    settings.ceiling = p->ceiling;
    TRY(loader_search_new(&p->space, &settings, &s));
    rc = search(p, s);
    if (rc == E_STOPPED)
        print_table(s);
    if (rc == 0)
        rc = report(p, s);
    loader_search_free(s);
    return rc;
}

int tune_loader(struct tune *t)
{
    struct prober p = {.tune = t};
    int rc;

    TRY(session_rig_open(&p.rig, t->setup));
    rc = t->own->goal == TUNE_RUN ? session_rig_add_model(&p.rig) : 0;
    if (rc == 0)
        rc = run_search(&p);
    session_rig_close(&p.rig);
    return rc;
}
