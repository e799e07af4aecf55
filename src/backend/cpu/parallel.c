#include "backend/cpu/parallel.h"

#include <omp.h>

#include "base/err.h"

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Thread i of n takes one contiguous run of grains. */
static void run_share(const struct cpu_split *s, cpu_parallel_fn *fn, void *arg)
{
    const size_t grains = (s->n + s->grain - 1) / s->grain;
    const size_t i = (size_t)omp_get_thread_num(), n = (size_t)omp_get_num_threads();
    const size_t begin = smaller(grains * i / n * s->grain, s->n);
    const size_t end = smaller(grains * (i + 1) / n * s->grain, s->n);

    if (begin < end)
        fn(arg, begin, end);
}

void cpu_parallel(struct cpu_split split, cpu_parallel_fn *fn, void *arg)
{
    ASSERT(split.threads >= 1 && split.grain >= 1);
    if (split.threads == 1 || split.n <= split.grain) {
        if (split.n > 0)
            fn(arg, 0, split.n);
        return;
    }
#pragma omp parallel num_threads(split.threads)
    run_share(&split, fn, arg);
}
