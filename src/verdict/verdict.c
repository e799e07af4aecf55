#include "verdict/verdict.h"

#include <math.h>

/* A process that uses more than this of its processors has them. */
static const double used_share = 0.85;

const char *stave_name(enum stave s)
{
    static const char *const names[] = {
        [STAVE_READ] = "read", [STAVE_DECODE] = "decode",   [STAVE_AUGMENT] = "augment",
        [STAVE_COPY] = "copy", [STAVE_COMPUTE] = "compute", [STAVE_CORES] = "cores"};

    return names[s];
}

/* The level at which every processor is busy with this run. */
static double cores_level(const struct staves *s)
{
    const double cpu_s = s->loader_cpu_s + s->device_cpu_s;

    return cpu_s > 0 && s->cpus > 0 ? s->cpus / cpu_s : INFINITY;
}

static enum stave device_stage(const struct staves *s)
{
    return s->alone[STAVE_COPY] > 0 && s->alone[STAVE_COPY] < s->alone[STAVE_COMPUTE]
               ? STAVE_COPY
               : STAVE_COMPUTE;
}

/* Reading that gives no more alone than the whole loader is at its end, however many threads wait
 * for it, unless they wait for a processor. */
static int is_read_out(const struct staves *s)
{
    return s->alone[STAVE_READ] > 0 && s->read_starved <= VERDICT_STARVED &&
           s->alone[STAVE_READ] <= s->loader * (1 + VERDICT_TOLERANCE);
}

/* Otherwise the stage that takes most of a thread's time. */
static enum stave loader_stage(const struct staves *s)
{
    enum stave most = STAVE_READ;

    for (enum stave i = STAVE_DECODE; i < N_LOADER_STAVES; i++)
        if (s->busy_s[i] > s->busy_s[most])
            most = i;
    return most;
}

/* What the loader would need to reach a level: threads for the time that a sample takes one, and
 * processors for that time and the device's. */
static void add_needs(const struct staves *s, struct verdict *v)
{
    double busy_s = 0;
    double cpus;

    for (int i = 0; i < N_LOADER_STAVES; i++)
        busy_s += s->busy_s[i];
    cpus = v->next * (s->loader_cpu_s + s->device_cpu_s) - s->cpus;
    v->more_threads = fmax(0, ceil(v->next * busy_s - 1e-9) - s->threads);
    v->more_cpus = s->cpus > 0 ? fmax(0, ceil(cpus - 1e-9)) : 0;
}

/* The loader's level when bytes cost nothing. */
static double without_read(const struct staves *s)
{
    const double busy_s = s->busy_s[STAVE_DECODE] + s->busy_s[STAVE_AUGMENT];

    return busy_s > 0 ? s->threads / busy_s : INFINITY;
}

/* One side of the run: its level, processor seconds a sample, and what it lost. */
struct load {
    double level, cpu_s, starved;
};

static void judge_cores(const struct staves *s, struct verdict *v, struct load l)
{
    v->shortest = STAVE_CORES;
    v->others = l.level * l.cpu_s < used_share * s->cpus;
    v->next = fmin(v->next, l.level / (1 - fmin(l.starved, 0.99)));
}

static void judge_loader(const struct staves *s, struct verdict *v)
{
    v->shortest = is_read_out(s) ? STAVE_READ : loader_stage(s);
    v->next = s->device;
    if (!is_read_out(s) && s->loader_starved > VERDICT_STARVED)
        judge_cores(s, v, (struct load){s->loader, s->loader_cpu_s, s->loader_starved});
    else if (v->shortest == STAVE_READ)
        v->next = fmin(s->device, without_read(s));
    else
        add_needs(s, v);
}

static void judge_device(const struct staves *s, struct verdict *v)
{
    v->shortest = device_stage(s);
    v->next = s->loader;
    if (s->device_starved > VERDICT_STARVED)
        judge_cores(s, v, (struct load){s->device, s->device_cpu_s, s->device_starved});
}

struct verdict verdict_find(const struct staves *s)
{
    const double lower = fmin(s->loader, s->device), higher = fmax(s->loader, s->device);
    const double cores = cores_level(s);
    struct verdict v = {.level = fmin(lower, cores)};

    if (s->loader < s->device)
        judge_loader(s, &v);
    else
        judge_device(s, &v);
    if (cores < lower * (1 - VERDICT_TOLERANCE) && v.shortest != STAVE_CORES) {
        v.shortest = STAVE_CORES;
        v.next = lower;
        add_needs(s, &v);
    } else if (v.shortest != STAVE_CORES) {
        v.balanced = higher <= lower * (1 + VERDICT_TOLERANCE);
    }
    return v;
}
