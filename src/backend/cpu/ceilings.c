#include "backend/cpu/ceilings.h"

#include <string.h>

#include "backend/cpu/fma.h"
#include "backend/cpu/native_int.h"
#include "backend/cpu/parallel.h"
#include "backend/host.h"
#include "base/clock.h"
#include "base/err.h"

/* Passes are short, so that on a busy machine some of them are left alone. */
enum { PASSES = 30 };

static const int64_t pass_ns = 5 * 1000 * 1000;

/* One pass on every thread of the team. */
struct work {
    struct cpu_fma fma;
    int64_t rounds;
    float *a, *b, *c;
};

static int64_t timed(const struct work *w, struct cpu_split split, cpu_parallel_fn *fn)
{
    const int64_t start = clock_ns();

    cpu_parallel(split, fn, (void *)w);
    return clock_ns() - start;
}

static int64_t best_of(const struct work *w, struct cpu_split split, cpu_parallel_fn *fn)
{
    int64_t best = timed(w, split, fn);

    for (int i = 1; i < PASSES; i++) {
        const int64_t ns = timed(w, split, fn);
        best = ns < best ? ns : best;
    }
    return best > 0 ? best : 1;
}

static void multiply_add(void *arg, size_t begin, size_t end)
{
    const struct work *const w = arg;

    for (size_t i = begin; i < end; i++)
        w->fma.run(w->rounds);
}

/* Operations per second of the team. */
static double peak(int threads, struct cpu_fma fma)
{
    const struct cpu_split each_one = {threads, (size_t)threads, 1};
    struct work w = {.fma = fma, .rounds = 1 << 16};
    int64_t ns;

    if (!fma.run)
        return 0;
    ns = best_of(&w, each_one, multiply_add);
    w.rounds = w.rounds * pass_ns / ns + 1;
    ns = best_of(&w, each_one, multiply_add);
    return fma.flops * (double)w.rounds * threads / (double)ns * 1e9;
}

static void copy(void *arg, size_t begin, size_t end)
{
    const struct work *const w = arg;

    memcpy(w->a + begin, w->b + begin, (end - begin) * sizeof(float));
}

VECTORISED
static void triad(void *arg, size_t begin, size_t end)
{
    const struct work *const w = arg;
    const float *restrict b = w->b, *restrict c = w->c;
    float *restrict a = w->a;

    for (size_t i = begin; i < end; i++)
        a[i] = b[i] + 0.5F * c[i];
}

static int bandwidth(int threads, struct ceilings *out)
{
    const size_t bytes = (size_t)64 << 20, n = bytes / sizeof(float);
    const struct cpu_split split = {threads, n, MAP_GRAIN};
    struct work w = {0};
    void *all;

    TRY(host_alloc(NULL, 3 * bytes, &all));
    w.a = all;
    w.b = w.a + n;
    w.c = w.b + n;
    out->copy_bytes_per_s = 2.0 * (double)bytes / (double)best_of(&w, split, copy) * 1e9;
    out->triad_bytes_per_s = 3.0 * (double)bytes / (double)best_of(&w, split, triad) * 1e9;
    host_free(NULL, all, 3 * bytes);
    return 0;
}

int cpu_ceilings(int threads, struct ceilings *out)
{
    *out = (struct ceilings){0};
    out->f32_flops_per_s = peak(threads, cpu_fma_f32());
    out->bf16_flops_per_s = peak(threads, cpu_fma_bf16());
    return bandwidth(threads, out);
}
