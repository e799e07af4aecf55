/* Records the rate of the input pipeline over a grid of threads and prefetch depths, as the table
 * that tests/test_loader_search.c replays: build/loader_grid KIND ROUNDS
 * >tests/golden/loader_KIND.txt (make build/loader_grid) on a machine that does nothing else; 3
 * rounds of paced or latent and 9 of drain take two to two and a half minutes. The pictures are
 * made here, and lie in memory.
 *
 *   drain   nothing consumes: the decoders' own rate
 *   paced   a consumer that takes 24 ms for most batches and 72 ms for each eighth, without a
 *           processor, as a device would
 *   latent  each read takes 8 ms, as on a far disk, and the consumer takes 12 ms */
#include <stdlib.h>
#include <sys/mman.h>

#include "base/clock.h"
#include "base/cpus.h"
#include "data/pipeline.h"
#include "test_data_fixture.h"

enum { PICTURES = 32, BATCH = 16, THREADS = 8, DEPTHS = 5, MAX_ROUNDS = 9, WARM = 4 };

struct kind {
    const char *name;
    int read_ms, step_ms, slow_ms;
};
static const struct kind kinds[] = {
    {"drain", 0, 0, 0}, {"paced", 0, 24, 72}, {"latent", 8, 12, 12}};

/* The pictures one after the other in a file in memory. */
struct memory_source {
    int fd, read_ms;
    uint64_t offset[PICTURES + 1];
};

static void sleep_ms(int ms)
{
    if (ms)
        clock_sleep_ns(ms * INT64_C(1000000));
}

static int find_picture(const struct source *s, uint64_t i, struct extent *out)
{
    const struct memory_source *const m = s->state;
    const uint64_t from = m->offset[i % PICTURES];

    *out = (struct extent){.fd = m->fd, .offset = from, .n = m->offset[i % PICTURES + 1] - from};
    return 0;
}

static int unwrap_picture(const struct source *s, uint64_t i, struct raw raw, struct sample *out)
{
    const struct memory_source *const m = s->state;

    (void)i;
    sleep_ms(m->read_ms);
    out->data = raw.data;
    out->n = raw.n;
    out->label = 0;
    return 0;
}

static void locate_picture(const struct source *s, uint64_t i, char *text, size_t n)
{
    (void)s;
    snprintf(text, n, "picture %llu", (unsigned long long)i);
}

static const struct source_ops memory_ops = {
    .name = "memory", .extent = find_picture, .unwrap = unwrap_picture, .locate = locate_picture};

/* Images a second over a quarter of a second, after the ring has filled once. */
static double measure(const struct kind *k, const struct source *s, int threads, int prefetch)
{
    const struct pipeline_config config = {.source = s,
                                           .batch_size = BATCH,
                                           .n_threads = threads,
                                           .prefetch = prefetch,
                                           .n_classes = 1,
                                           .seed = 1};
    struct pipeline *p;
    int64_t start = 0;
    int n = 0;

    if (pipeline_open(&config, &p) < 0)
        BUG("%s", err_reason());
    for (int i = 0; !start || clock_ns() - start < 250000000 || n % 8; i++) {
        const struct batch *b;

        if (i == prefetch + WARM)
            start = clock_ns(), n = 0;
        if (pipeline_next(p, &b) < 0)
            BUG("%s", err_reason());
        sleep_ms(i % 8 ? k->step_ms : k->slow_ms);
        pipeline_done(p, b);
        n++;
    }
    pipeline_close(p);
    return n * BATCH / ((double)(clock_ns() - start) * 1e-9);
}

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double rates[THREADS][DEPTHS][MAX_ROUNDS];

/* Rounds are interleaved: what disturbs the machine for a while disturbs no single point. What
 * disturbs only slows, so the best round of a point is the nearest to an idle machine's. */
static void record(const struct kind *k, const struct source *s, int n_rounds)
{
    for (int r = 0; r < n_rounds; r++)
        for (int t = 0; t < THREADS; t++)
            for (int d = 0; d < DEPTHS; d++)
                rates[t][d][r] = measure(k, s, t + 1, 1 << d);
}

static void print_table(const struct kind *k, int n_rounds)
{
    struct cpus c;
    double spread = 0;

    if (cpus_find("", &c) < 0)
        BUG("%s", err_reason());
    printf(
        "# %s: images/s, rows threads 1..%d, columns prefetch 1 2 4 8 16; the best of %d rounds\n",
        k->name, THREADS, n_rounds);
    printf("# batches of %d pictures of 400x350, %d processors\n", BATCH, c.count);
    for (int t = 0; t < THREADS; t++)
        for (int d = 0; d < DEPTHS; d++) {
            double *const r = rates[t][d];

            qsort(r, (size_t)n_rounds, sizeof(*r), by_size);
            spread += (r[n_rounds - 1] - r[n_rounds - 2]) / r[n_rounds - 1] / (THREADS * DEPTHS);
            printf("%.1f%c", r[n_rounds - 1], d == DEPTHS - 1 ? '\n' : ' ');
        }
    printf("# from the best round of a point to its second: %.1f %% on average\n", 100 * spread);
}

static void write_pictures(struct memory_source *m)
{
    struct bytes picture = {0};

    m->fd = memfd_create("pictures", 0);
    for (int i = 0; i < PICTURES; i++) {
        simple_jpeg(400, 350, i, &picture);
        if (write(m->fd, picture.data, picture.n) != (ssize_t)picture.n)
            BUG("no room for the pictures in memory");
        m->offset[i + 1] = m->offset[i] + picture.n;
    }
    bytes_release(&picture);
}

int main(int argc, char **argv)
{
    static struct memory_source m;
    struct source s = {
        .ops = &memory_ops, .path = (char[]){"memory"}, .state = &m, .n_samples = 1 << 20};

    const int n_rounds = argc == 3 ? atoi(argv[2]) : 0;

    for (size_t i = 0; i < COUNT_OF(kinds) && n_rounds >= 2 && n_rounds <= MAX_ROUNDS; i++)
        if (!strcmp(argv[1], kinds[i].name)) {
            write_pictures(&m);
            m.read_ms = kinds[i].read_ms;
            record(&kinds[i], &s, n_rounds);
            print_table(&kinds[i], n_rounds);
            return 0;
        }
    fprintf(stderr, "usage: loader_grid drain|paced|latent ROUNDS (2 to %d)\n", MAX_ROUNDS);
    return 2;
}
