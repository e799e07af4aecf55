#include "cli/profile.h"

#include <math.h>

#include "base/err.h"

/* What a phase opens and does. */
struct phase {
    const char *key, *name;
    enum rig_work work;
    int alone;     /* 1 + stage, 0: all */
    int synthetic; /* no loader */
    int reads;     /* needs stored bytes */
    enum pipeline_mode mode;
};

static const struct phase phases[] = {
    [PHASE_READ] = {"read", "read", RIG_DROP, 1 + STAGE_read, 0, 1, PIPELINE_TRAIN},
    [PHASE_READ_MORE] = {"read_more", "read, twice the threads", RIG_DROP, 1 + STAGE_read, 0, 1,
                         PIPELINE_TRAIN},
    [PHASE_DECODE] = {"decode", "decode", RIG_DROP, 1 + STAGE_decode, 0, 0, PIPELINE_TRAIN},
    [PHASE_AUGMENT] = {"augment", "augment", RIG_DROP, 1 + STAGE_augment, 0, 0, PIPELINE_TRAIN},
    [PHASE_COPY] = {"copy", "copy", RIG_COPY, 0, 1, 0, PIPELINE_TRAIN},
    [PHASE_EVALUATE] = {"evaluate", "evaluate, synthetic data", RIG_EVALUATE, 0, 1, 0,
                        PIPELINE_EVAL},
    [PHASE_LOADER] = {"loader", "loader", RIG_DROP, 0, 0, 1, PIPELINE_TRAIN},
    [PHASE_DEVICE] = {"model", "model, synthetic data", RIG_STEP, 0, 1, 0, PIPELINE_TRAIN},
    [PHASE_RUN] = {"run", "run", RIG_STEP, 0, 0, 1, PIPELINE_TRAIN},
};

const char *phase_key(enum profile_phase p)
{
    return phases[p].key;
}

const char *phase_name(enum profile_phase p)
{
    return phases[p].name;
}

int phase_threads(const struct profile *p, enum profile_phase id)
{
    if (phases[id].work != RIG_DROP)
        return 1;
    return id == PHASE_READ_MORE ? 2 * p->loader.threads : p->loader.threads;
}

static int measure(struct profile *p, const struct rig *rig, enum profile_phase id, int round)
{
    const struct phase *const f = &phases[id];
    struct rig_request q = {.loader = p->loader,
                            .work = f->work,
                            .window_ns = id < PHASE_LOADER ? p->window_ns / 4 : p->window_ns,
                            .window_batches = p->window_batches};

    q.loader.alone = f->alone;
    q.loader.synthetic = f->synthetic;
    q.loader.mode = f->mode;
    if (f->work == RIG_DROP)
        q.loader.threads = phase_threads(p, id);
    if (p->tell)
        p->tell(p->context, round, id);
    if (f->reads && p->before_read)
        TRY(p->before_read(p->context));
    return rig_run(rig, &q, &p->reading[id][round]);
}

/* Relative standard error of the median of a phase's rounds, were they normally distributed: the
 * mean's times the root of half pi. */
static double median_error(const struct profile *p, enum profile_phase id)
{
    const double n = p->rounds;
    double sum = 0, squares = 0;

    for (int i = 0; i < p->rounds; i++) {
        const double rate = rig_rate(&p->reading[id][i]);

        sum += rate;
        squares += rate * rate;
    }
    if (n < 2 || sum <= 0)
        return INFINITY;
    return 1.2533 * sqrt(fmax(0, squares / n - sum / n * sum / n) / (n - 1)) / (sum / n);
}

static int is_known(const struct profile *p)
{
    return median_error(p, PHASE_LOADER) <= p->precision &&
           median_error(p, PHASE_DEVICE) <= p->precision &&
           median_error(p, PHASE_RUN) <= p->precision;
}

int profile_measure(struct profile *p, const struct rig *rig)
{
    ASSERT(p->min_rounds > 0 && p->max_rounds <= PROFILE_MAX_ROUNDS);
    for (p->rounds = 0; p->rounds < p->max_rounds && (p->rounds < p->min_rounds || !is_known(p));
         p->rounds++)
        for (enum profile_phase i = 0; i < N_PHASES; i++)
            TRY(measure(p, rig, i, p->rounds));
    return 0;
}

/* The median of an even number is the lower one of the middle, so that it was really measured. */
struct profile_rate profile_rate(const struct profile *p, enum profile_phase phase)
{
    struct profile_rate r = {0};

    for (int i = 0; i < p->rounds; i++) {
        const double rate = rig_rate(&p->reading[phase][i]);
        int below = 0, same_before = 0;

        for (int k = 0; k < p->rounds; k++) {
            const double other = rig_rate(&p->reading[phase][k]);

            below += other < rate;
            same_before += k < i && other == rate;
        }
        if (below + same_before == (p->rounds - 1) / 2) {
            r.median = rate;
            r.reading = &p->reading[phase][i];
        }
        r.least = i == 0 || rate < r.least ? rate : r.least;
        r.most = rate > r.most ? rate : r.most;
    }
    return r;
}

static double per_sample(const struct rig_reading *r, int64_t ns)
{
    return r->samples ? (double)ns / 1e9 / (double)r->samples : 0;
}

static void add_loader(const struct profile *p, struct staves *s)
{
    const struct profile_rate loader = profile_rate(p, PHASE_LOADER);
    const struct pipeline_counters *const c = &loader.reading->counters;

    s->loader = loader.median;
    s->loader_cpu_s = per_sample(loader.reading, loader.reading->cpu_ns);
    s->loader_starved = rig_starved(loader.reading, phase_threads(p, PHASE_LOADER));
    for (int i = 0; i < N_LOADER_STAVES; i++)
        if (c->stage[i].samples)
            s->busy_s[i] = (double)c->stage[i].busy_ns / 1e9 / (double)c->stage[i].samples;
    if (c->stage[STAGE_read].samples)
        s->sample_bytes = (double)c->read_bytes / (double)c->stage[STAGE_read].samples;
}

static void add_device(const struct profile *p, struct staves *s)
{
    const struct profile_rate device = profile_rate(p, PHASE_DEVICE);
    const double copy = profile_rate(p, PHASE_COPY).median;

    s->device = device.median;
    s->device_cpu_s = per_sample(device.reading, device.reading->cpu_ns);
    s->device_starved = rig_starved(device.reading, phase_threads(p, PHASE_DEVICE));
    s->alone[STAVE_COPY] = copy;
    s->alone[STAVE_COMPUTE] = copy > s->device ? 1 / (1 / s->device - 1 / copy) : s->device;
}

struct staves profile_staves(const struct profile *p)
{
    const struct profile_rate run = profile_rate(p, PHASE_RUN);
    struct staves s = {.unit = p->unit,
                       .threads = p->loader.threads,
                       .cpus = p->cpus,
                       .run = run.median,
                       .run_starved = rig_starved(run.reading, phase_threads(p, PHASE_RUN)),
                       .read_starved =
                           rig_starved(profile_rate(p, PHASE_READ).reading, p->loader.threads),
                       .read_more = profile_rate(p, PHASE_READ_MORE).median,
                       .more_threads = 2 * p->loader.threads};

    s.alone[STAVE_READ] = profile_rate(p, PHASE_READ).median;
    s.alone[STAVE_DECODE] = profile_rate(p, PHASE_DECODE).median;
    s.alone[STAVE_AUGMENT] = profile_rate(p, PHASE_AUGMENT).median;
    add_loader(p, &s);
    add_device(p, &s);
    return s;
}
