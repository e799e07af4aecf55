/* Hard inputs, what bad samples cost: a folder of 50 good and 50 truncated pictures for 20 epochs.
 * Every epoch names each bad one once, delivers as many samples as the last and takes no memory.
 * Run by hand, it prints the memory of every epoch. */
#include <dirent.h>
#include <malloc.h>

#include "hard_data.h"

enum { N_EACH = 50, N_PICTURES = 2 * N_EACH, EPOCHS = 20, WARM = 5 };

/* The sanitizer owns malloc and keeps freed memory; its leak check stands in there. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { MEASURED = 0 };
#else
enum { MEASURED = 1 };
#endif

/* Sizes as they come, every second file cut somewhere. */
static struct variants half_cut(void)
{
    struct variants v = variants_new();
    struct bytes jpeg = {0};
    uint64_t seed = 6;

    for (int i = 0; i < N_PICTURES; i++) {
        simple_jpeg(40 + draw(&seed, 300), 40 + draw(&seed, 300), i, &jpeg);
        variants_add(&v, jpeg.data, i % 2 ? (size_t)draw(&seed, (int)jpeg.n - 1) : jpeg.n);
    }
    bytes_release(&jpeg);
    return v;
}

static long rss_kib(void)
{
    FILE *const f = fopen("/proc/self/statm", "r");
    long pages = 0;

    assert_non_null(f);
    assert_int_equal(fscanf(f, "%*d %ld", &pages), 1);
    fclose(f);
    return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

static size_t heap_bytes(void)
{
    const struct mallinfo2 m = mallinfo2();

    return m.uordblks + m.hblkhd;
}

/* Until the ring is full and the workers sleep: memory in the hands of a decoder is no leak. How
 * many samples that takes is known where none is replaced; elsewhere, until no more are read. */
static void wait_idle(struct pipeline *p, uint64_t n_read)
{
    struct pipeline_counters c;
    uint64_t last = 0;
    int still = 0;

    while (last < n_read || (n_read == 0 && still < 5)) {
        usleep(2000);
        pipeline_counters(p, &c);
        still = c.stage[STAGE_read].samples == last ? still + 1 : 0;
        last = c.stage[STAGE_read].samples;
    }
}

static int n_open_files(void)
{
    DIR *const dir = opendir("/proc/self/fd");
    int n = 0;

    assert_non_null(dir);
    while (readdir(dir))
        n++;
    closedir(dir);
    return n;
}

struct epoch {
    int n_open;
    long rss_kib;
    size_t heap_bytes;
};

static struct epoch run_epoch(struct pipeline *p, const struct pipeline_config *f, uint64_t epoch)
{
    const uint64_t steps = pipeline_steps_per_epoch(f);
    const uint64_t ahead = (epoch + 1) * N_PICTURES + (uint64_t)f->prefetch * f->batch_size;
    int named[N_PICTURES] = {0};
    struct epoch e;
    uint64_t n = 0;

    for (uint64_t i = 0; i < steps; i++) {
        const struct batch *const b = next(p);

        for (const struct bad_sample *bad; (bad = pipeline_bad_next(p));) {
            assert_int_equal(bad->epoch, epoch);
            named[bad->index]++;
        }
        n += b->n_real;
        pipeline_done(p, b);
    }
    assert_int_equal(n, N_PICTURES);
    assert_int_equal(pipeline_bad_count(p), (epoch + 1) * N_EACH);
    for (int i = 0; i < N_PICTURES; i++)
        assert_int_equal(named[i], i % 2);
    wait_idle(p, f->mode == PIPELINE_EVAL ? ahead : 0);
    e = (struct epoch){n_open_files(), rss_kib(), heap_bytes()};
    return e;
}

/* allowed: how much a worker's buffers may still grow after WARM epochs. */
static void check_flat(const char *what, const struct pipeline_config *f, size_t allowed)
{
    struct pipeline *const p = open_pipeline(f);
    struct epoch e[EPOCHS];

    for (uint64_t i = 0; i < EPOCHS; i++) {
        e[i] = run_epoch(p, f, i);
        printf("# A6  %s epoch %2d: %d samples, %d bad ones named once, RSS %ld KiB, heap in use "
               "%zu bytes\n",
               what, (int)i + 1, N_PICTURES, N_EACH, e[i].rss_kib, e[i].heap_bytes);
    }
    pipeline_close(p);
    assert_in_range(e[EPOCHS - 1].n_open, 0, e[WARM].n_open + f->n_threads);
    if (MEASURED && e[EPOCHS - 1].heap_bytes > e[WARM].heap_bytes + allowed)
        fail_msg("%s: the heap grows from %zu to %zu bytes", what, e[WARM].heap_bytes,
                 e[EPOCHS - 1].heap_bytes);
    if (MEASURED && e[EPOCHS - 1].rss_kib > e[WARM].rss_kib + (long)allowed / 1024 + 512)
        fail_msg("%s: the process grows from %ld to %ld KiB", what, e[WARM].rss_kib,
                 e[EPOCHS - 1].rss_kib);
}

/* Random crops of any size make buffers grow for a while; the centre crop does not. */
static void test_a6_memory_is_flat(void **state)
{
    struct variants v = half_cut();
    struct source *const s = open_source(v.dir);
    struct pipeline_config f = train_config(s);

    (void)state;
    f.batch_size = 10;
    check_flat("training", &f, 1 << 20);
    f = eval_config(s);
    f.batch_size = 10;
    f.n_threads = 1;
    check_flat("evaluation", &f, 4096);
    source_close(s);
    outcome("A6", N_PICTURES,
            "50 good and 50 truncated files, 20 epochs of each: the same counts in "
            "every epoch, memory flat");
    remove_dir(v.dir);
}

/* Opened again and again on the same folder: nothing stays behind. The allocator keeps some freed
 * blocks of each size in its thread's cache and calls them used, hence an allowance; 16 bytes lost
 * for each bad sample would be twice that. */
static void test_a6_nothing_stays_behind(void **state)
{
    enum { OPENED = 20, FIRST = 4, ALLOWED = 12288 };
    struct variants v = half_cut();
    size_t after[OPENED];

    (void)state;
    for (int i = 0; i < OPENED; i++) {
        struct source *const s = open_source(v.dir);
        struct pipeline_config f = train_config(s);
        struct pipeline *p;

        f.batch_size = 10;
        p = open_pipeline(&f);
        for (uint64_t k = 0; k < 2; k++)
            run_epoch(p, &f, k);
        pipeline_close(p);
        source_close(s);
        after[i] = heap_bytes();
    }
    if (MEASURED && after[OPENED - 1] > after[FIRST] + ALLOWED)
        fail_msg("%zu bytes in use after %d pipelines, %zu after %d", after[FIRST], FIRST + 1,
                 after[OPENED - 1], OPENED);
    outcome("A6", OPENED,
            "pipelines on that folder, opened and closed: the heap in use is %zu bytes "
            "after %d of them and %zu after all",
            after[FIRST], FIRST + 1, after[OPENED - 1]);
    remove_dir(v.dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a6_memory_is_flat),
        cmocka_unit_test(test_a6_nothing_stays_behind),
    };

    return cmocka_run_group_tests_name("hard inputs: memory", tests, NULL, NULL);
}
