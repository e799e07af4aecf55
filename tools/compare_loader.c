/* Pictures to training batches, as fast as the threads given can: the side of tools/compare-loader
 * that is ours. Prints one line of JSON. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"
#include "base/err.h"
#include "data/pipeline.h"

enum { BATCH = 64 };

static int64_t cpu_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int take(struct pipeline *p, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++) {
        const struct batch *b;

        TRY(pipeline_next(p, &b));
        pipeline_done(p, b);
    }
    return 0;
}

static int measure(const struct source *s, int n_threads, uint64_t n_batches)
{
    struct pipeline_config config = {.source = s,
                                     .seed = 1,
                                     .batch_size = BATCH,
                                     .n_threads = n_threads,
                                     .prefetch = 3,
                                     .train = {.size = 224, .flip = 1}};
    struct pipeline_counters before, after;
    struct pipeline *p;
    int64_t wall, cpu;

    TRY(pipeline_open(&config, &p));
    TRY(take(p, 4));
    pipeline_counters(p, &before);
    wall = clock_ns();
    cpu = cpu_ns();
    TRY(take(p, n_batches));
    wall = clock_ns() - wall;
    cpu = cpu_ns() - cpu;
    pipeline_counters(p, &after);
    printf("{\"samples\": %llu, \"wall_s\": %.6f, \"cpu_s\": %.6f",
           (unsigned long long)(n_batches * BATCH), (double)wall * 1e-9, (double)cpu * 1e-9);
    for (enum stage_id i = 0; i < N_STAGES; i++)
        printf(", \"%s_s\": %.6f", stage_get(i)->name,
               (double)(after.stage[i].busy_ns - before.stage[i].busy_ns) * 1e-9);
    printf("}\n");
    pipeline_close(p);
    return 0;
}

int main(int argc, char **argv)
{
    struct source *s;
    int rc;

    if (argc != 4) {
        fprintf(stderr, "usage: compare_loader DATA THREADS BATCHES\n");
        return 2;
    }
    rc = source_open_split(argv[1], "train", &s);
    if (rc == 0)
        rc = measure(s, atoi(argv[2]), strtoull(argv[3], NULL, 10));
    if (rc != 0)
        fprintf(stderr, "compare_loader: %s\n", err_reason());
    return rc == 0 ? 0 : 3;
}
