/* The stream of batches: the same for any number of threads, exact in evaluation, unmoved by bad
 * samples. */
#include "test_data_fixture.h"

#include <malloc.h>

#include "base/random.h"
#include "data/pipeline.h"
#include "data/prepare.h"

enum { N_GOOD = 23, N_BAD = 4, N_FILES = N_GOOD + N_BAD, SIZE = 32 };

/* A folder of three classes with pictures of several sizes; file k is bad in way k when k < N_BAD.
 */
static char *mixed_folder(int n_bad)
{
    char *const dir = temp_dir();
    struct bytes jpeg = {0};

    for (int k = 0; k < N_GOOD + n_bad; k++) {
        const int bad = k < n_bad ? k % 4 : -1;
        char name[64];

        snprintf(name, sizeof(name), "c%d", k % 3);
        make_dir(dir, name);
        snprintf(name, sizeof(name), "c%d/%03d.jpg", k % 3, k);
        simple_jpeg(40 + k % 7 * 9, 36 + k % 5 * 11, k, &jpeg);
        if (bad == 0)
            jpeg.n /= 2;
        if (bad == 1)
            jpeg.n = 0;
        if (bad == 2)
            memcpy(jpeg.data, "GIF8", 4);
        if (bad == 3)
            jpeg.n -= 2;
        write_file(dir, name, jpeg.data, jpeg.n);
    }
    bytes_release(&jpeg);
    return dir;
}

static struct source *open_source(const char *path)
{
    struct source *s;

    if (source_open(path, &s) < 0)
        fail_msg("%s", err_reason());
    return s;
}

static struct pipeline_config train_config(const struct source *s)
{
    return (struct pipeline_config){
        .source = s,
        .mode = PIPELINE_TRAIN,
        .seed = 42,
        .batch_size = 5,
        .n_threads = 2,
        .prefetch = 3,
        .train = {.size = SIZE, .flip = 1},
    };
}

static struct pipeline_config eval_config(const struct source *s)
{
    struct pipeline_config f = train_config(s);

    f.mode = PIPELINE_EVAL;
    f.eval = (struct augment_eval){.resize = 36, .crop = SIZE};
    return f;
}

static struct pipeline *open_pipeline(const struct pipeline_config *f)
{
    struct pipeline *p;

    if (pipeline_open(f, &p) < 0)
        fail_msg("%s", err_reason());
    return p;
}

static const struct batch *next(struct pipeline *p)
{
    const struct batch *b;

    if (pipeline_next(p, &b) < 0)
        fail_msg("%s", err_reason());
    return b;
}

static const int32_t *labels(const struct batch *b)
{
    return b->tensor[BATCH_LABELS].data;
}

static const float *weights(const struct batch *b)
{
    return b->tensor[BATCH_WEIGHTS].data;
}

static const int64_t *indices(const struct batch *b)
{
    return b->tensor[BATCH_INDICES].data;
}

static const uint8_t *pixels(const struct batch *b, size_t i)
{
    return (const uint8_t *)b->tensor[BATCH_IMAGES].data + i * SIZE * SIZE * 3;
}

static uint64_t batch_checksum(uint64_t sum, const struct batch *b)
{
    static const size_t width[] = {
        [TENSOR_U8] = 1, [TENSOR_I32] = 4, [TENSOR_F32] = 4, [TENSOR_I64] = 8};
    const uint64_t numbers[3] = {b->epoch, b->step, b->n_real};

    sum = checksum_add(sum, numbers, sizeof(numbers));
    for (size_t t = 0; t < N_BATCH_TENSORS; t++) {
        size_t n = width[b->tensor[t].type];

        for (int d = 0; d < b->tensor[t].n_dims; d++)
            n *= b->tensor[t].dims[d];
        sum = checksum_add(sum, b->tensor[t].data, n);
    }
    return sum;
}

/* All batches and all bad samples, in order. */
static uint64_t stream_checksum(const struct pipeline_config *f, uint64_t n)
{
    struct pipeline *const p = open_pipeline(f);
    uint64_t sum = CHECKSUM_INIT;

    for (uint64_t i = 0; i < n; i++) {
        const struct batch *const b = next(p);

        sum = batch_checksum(sum, b);
        for (const struct bad_sample *bad; (bad = pipeline_bad_next(p));) {
            sum = checksum_add(sum, bad->location, strlen(bad->location));
            sum = checksum_add(sum, bad->reason, strlen(bad->reason));
        }
        pipeline_done(p, b);
    }
    pipeline_close(p);
    return sum;
}

static void test_threads_and_prefetch_do_not_change_the_stream(void **state)
{
    static const int threads[] = {1, 2, 7};
    char *const dir = mixed_folder(N_BAD);
    struct source *const s = open_source(dir);

    (void)state;
    for (int mode = 0; mode < 2; mode++) {
        struct pipeline_config f = mode ? eval_config(s) : train_config(s);
        const uint64_t n = 2 * pipeline_steps_per_epoch(&f);
        uint64_t want, other;

        f.prefetch = 1;
        f.n_threads = 1;
        want = stream_checksum(&f, n);
        for (size_t i = 0; i < COUNT_OF(threads); i++) {
            f.n_threads = threads[i];
            f.prefetch = 1 + (int)i * 2;
            assert_int_equal(stream_checksum(&f, n), want);
        }
        f.seed++;
        other = stream_checksum(&f, n);
        if (mode == 0)
            assert_int_not_equal(other, want);
        else
            assert_int_equal(other, want);
    }
    source_close(s);
    remove_dir(dir);
}

static void test_records_give_the_same_stream_as_the_folder(void **state)
{
    char *const dir = mixed_folder(0), *const out = temp_dir(), *const prefix = file_join(out, "a");
    char *const rec = file_join(out, "a.rec");
    struct prepare_result made;
    struct source *folder, *records;
    struct pipeline_config f, r;

    (void)state;
    assert_int_equal(prepare_folder_to_recordio(dir, prefix, (struct prepare_progress){0}, &made),
                     0);
    folder = open_source(dir);
    records = open_source(rec);
    f = train_config(folder);
    r = train_config(records);
    assert_int_equal(stream_checksum(&f, 9), stream_checksum(&r, 9));
    source_close(folder);
    source_close(records);
    free(rec);
    free(prefix);
    remove_dir(dir);
    remove_dir(out);
}

static void test_a_resumed_stream_continues(void **state)
{
    char *const dir = mixed_folder(N_BAD);
    struct source *const s = open_source(dir);
    struct pipeline_config f = train_config(s);
    const uint64_t steps = pipeline_steps_per_epoch(&f);
    uint64_t tail[3 * 5];
    struct pipeline *p = open_pipeline(&f);

    (void)state;
    assert_int_equal(steps, 5);
    for (uint64_t i = 0; i < 3 * steps; i++) {
        const struct batch *const b = next(p);

        assert_int_equal(b->epoch, i / steps);
        assert_int_equal(b->step, i % steps);
        tail[i] = batch_checksum(0, b);
        pipeline_done(p, b);
    }
    pipeline_close(p);
    f.first_epoch = 1;
    f.first_step = 3;
    f.n_threads = 3;
    p = open_pipeline(&f);
    for (uint64_t i = steps + 3; i < 3 * steps; i++) {
        const struct batch *const b = next(p);

        assert_int_equal(batch_checksum(0, b), tail[i]);
        pipeline_done(p, b);
    }
    pipeline_close(p);
    source_close(s);
    remove_dir(dir);
}

/* Draws one pass and counts how often each sample came with weight 1. Returns the steps. */
static uint64_t count_pass(const struct pipeline_config *f, int *seen, uint64_t *n_real)
{
    const uint64_t steps = pipeline_steps_per_epoch(f);
    struct pipeline *const p = open_pipeline(f);

    for (uint64_t k = 0; k < steps; k++) {
        const struct batch *const b = next(p);

        *n_real += b->n_real;
        for (size_t i = 0; i < f->batch_size; i++) {
            assert_true(weights(b)[i] == (i < b->n_real ? 1.0f : 0.0f));
            assert_true((indices(b)[i] >= 0) == (i < b->n_real));
            if (i < b->n_real)
                seen[indices(b)[i]]++;
        }
        pipeline_done(p, b);
    }
    pipeline_close(p);
    return steps;
}

static void test_evaluation_sees_every_sample_once_on_any_ranks(void **state)
{
    char *const dir = mixed_folder(0);
    struct source *const s = open_source(dir);

    (void)state;
    for (int ranks = 1; ranks <= 8; ranks++)
        for (size_t batch = 1; batch <= 30; batch += 4) {
            int seen[N_GOOD] = {0};
            uint64_t n_real = 0, steps = 0;

            for (int rank = 0; rank < ranks; rank++) {
                struct pipeline_config f = eval_config(s);
                uint64_t own;

                f.batch_size = batch;
                f.n_ranks = ranks;
                f.rank = rank;
                own = count_pass(&f, seen, &n_real);
                assert_true(rank == 0 || own == steps);
                steps = own;
            }
            assert_int_equal(n_real, N_GOOD);
            for (int i = 0; i < N_GOOD; i++)
                assert_int_equal(seen[i], 1);
        }
    source_close(s);
    remove_dir(dir);
}

static void test_a_tail_is_padded_black_with_weight_zero(void **state)
{
    static const uint8_t black[SIZE * SIZE * 3];
    char *const dir = mixed_folder(0);
    struct source *const s = open_source(dir);
    struct pipeline_config f = eval_config(s);
    const struct batch *b;
    struct pipeline *p;

    (void)state;
    f.batch_size = 10; /* 23 samples: 10, 10, 3 */
    f.n_batches = 3;
    p = open_pipeline(&f);
    for (int i = 0; i < 2; i++)
        pipeline_done(p, next(p));
    b = next(p);
    assert_int_equal(b->n_real, 3);
    assert_memory_not_equal(pixels(b, 2), black, sizeof(black));
    for (size_t i = 3; i < 10; i++) {
        assert_memory_equal(pixels(b, i), black, sizeof(black));
        assert_int_equal(labels(b)[i], 0);
    }
    pipeline_done(p, b);
    assert_null(next(p)); /* the stream ends where it was told to */
    assert_null(next(p));
    pipeline_close(p);
    source_close(s);
    remove_dir(dir);
}

static void test_training_drops_or_pads_the_tail(void **state)
{
    char *const dir = mixed_folder(0);
    struct source *const s = open_source(dir);
    struct pipeline_config f = train_config(s);
    int seen[N_GOOD] = {0}, all[N_GOOD] = {0};
    uint64_t n_real = 0, sum = 0;

    (void)state;
    f.batch_size = 5;
    assert_int_equal(count_pass(&f, seen, &n_real), 4);
    assert_int_equal(n_real, 20);
    for (int i = 0; i < N_GOOD; i++) {
        assert_in_range(seen[i], 0, 1);
        sum += (uint64_t)seen[i];
    }
    assert_int_equal(sum, 20);
    f.round_up = 1;
    n_real = 0;
    assert_int_equal(count_pass(&f, all, &n_real), 5);
    assert_int_equal(n_real, 23);
    f.round_up = 0;
    f.batch_size = 40; /* larger than the data set: one padded step */
    n_real = 0;
    assert_int_equal(count_pass(&f, all, &n_real), 1);
    assert_int_equal(n_real, 23);
    for (int i = 0; i < N_GOOD; i++)
        assert_int_equal(all[i], 2);
    source_close(s);
    remove_dir(dir);
}

static void test_each_epoch_is_shuffled_and_augmented_anew(void **state)
{
    char *const dir = mixed_folder(0);
    struct source *const s = open_source(dir);
    struct pipeline_config f = train_config(s);
    uint8_t *const first = xmalloc((size_t)N_GOOD * SIZE * SIZE * 3);
    int64_t order[N_GOOD];
    int moved = 0, changed = 0;
    struct pipeline *p;

    (void)state;
    f.batch_size = N_GOOD;
    p = open_pipeline(&f);
    for (int epoch = 0; epoch < 2; epoch++) {
        const struct batch *const b = next(p);

        for (size_t i = 0; i < N_GOOD; i++) {
            uint8_t *const kept = first + (size_t)indices(b)[i] * SIZE * SIZE * 3;

            moved += epoch == 1 && order[i] != indices(b)[i];
            changed += epoch == 1 && memcmp(kept, pixels(b, i), SIZE * SIZE * 3) != 0;
            memcpy(kept, pixels(b, i), SIZE * SIZE * 3);
            order[i] = indices(b)[i];
        }
        pipeline_done(p, b);
    }
    pipeline_close(p);
    assert_true(moved > N_GOOD / 2);
    assert_int_equal(changed, N_GOOD);
    f.keep_order = 1;
    p = open_pipeline(&f);
    for (size_t i = 0; i < N_GOOD; i++)
        order[i] = -1;
    {
        const struct batch *const b = next(p);

        for (size_t i = 0; i < N_GOOD; i++)
            assert_int_equal(indices(b)[i], i);
        pipeline_done(p, b);
    }
    pipeline_close(p);
    free(first);
    source_close(s);
    remove_dir(dir);
}

static int is_bad_file(const struct source *s, uint64_t index)
{
    char where[256];
    int k;

    source_locate(s, index, where, sizeof(where));
    k = atoi(strrchr(where, '/') + 1);
    return k < N_BAD;
}

/* The same stand-ins on every run, never a bad one, each with its own label; all bad ones named. */
static void test_training_replaces_bad_samples(void **state)
{
    char *const dir = mixed_folder(N_BAD);
    struct source *const s = open_source(dir);
    struct pipeline_config f = train_config(s);
    struct pipeline_counters c;
    struct pipeline *p;
    int named[N_FILES] = {0};

    (void)state;
    f.batch_size = N_FILES;
    p = open_pipeline(&f);
    for (int epoch = 0; epoch < 3; epoch++) {
        const struct batch *const b = next(p);

        assert_int_equal(b->n_real, N_FILES);
        for (size_t i = 0; i < N_FILES; i++) {
            struct sample sample = {0};

            assert_false(is_bad_file(s, (uint64_t)indices(b)[i]));
            assert_int_equal(source_read(s, (uint64_t)indices(b)[i], &sample), 0);
            assert_int_equal(labels(b)[i], sample.label);
            assert_true(weights(b)[i] == 1.0f);
            sample_release(&sample);
        }
        for (const struct bad_sample *bad; (bad = pipeline_bad_next(p));) {
            assert_int_equal(bad->epoch, epoch);
            assert_int_equal(bad->code, E_DATA);
            assert_true(is_bad_file(s, bad->index));
            assert_non_null(strstr(bad->location, dir));
            assert_true(strlen(bad->reason) > 5);
            named[bad->index]++;
        }
        assert_int_equal(pipeline_bad_count(p), (uint64_t)(epoch + 1) * N_BAD);
        pipeline_done(p, b);
    }
    for (uint64_t i = 0; i < N_FILES; i++)
        assert_int_equal(named[i], is_bad_file(s, i) ? 3 : 0);
    pipeline_counters(p, &c);
    assert_true(c.n_replaced >= 3 * N_BAD);
    pipeline_close(p);
    source_close(s);
    remove_dir(dir);
}

static void test_evaluation_counts_bad_samples_as_wrong(void **state)
{
    static const uint8_t black[SIZE * SIZE * 3];
    char *const dir = mixed_folder(N_BAD);
    struct source *const s = open_source(dir);
    struct pipeline_config f = eval_config(s);
    const struct batch *b;
    struct pipeline *p;

    (void)state;
    f.batch_size = N_FILES;
    p = open_pipeline(&f);
    b = next(p);
    assert_int_equal(b->n_real, N_FILES);
    for (size_t i = 0; i < N_FILES; i++) {
        assert_int_equal(indices(b)[i], i);
        assert_true(weights(b)[i] == 1.0f);
        assert_true((labels(b)[i] == -1) == is_bad_file(s, i));
        assert_true((memcmp(pixels(b, i), black, sizeof(black)) == 0) == is_bad_file(s, i));
    }
    assert_int_equal(pipeline_bad_count(p), N_BAD);
    pipeline_done(p, b);
    pipeline_close(p);
    source_close(s);
    remove_dir(dir);
}

/* The good batches in front are delivered; then the first bad sample of the stream, each time. */
static void test_on_bad_fail_stops_at_the_bad_sample(void **state)
{
    static const int threads[] = {1, 7};
    char *const dir = mixed_folder(0), *const broken = file_join(dir, "c1/007.jpg");
    struct source *const s = open_source(dir);
    struct pipeline_config f = train_config(s);

    (void)state;
    write_file(dir, "c1/004.jpg", "", 0);
    write_file(dir, "c1/007.jpg", "GIF89a", 6);
    f.on_bad = ON_BAD_FAIL;
    f.keep_order = 1;
    f.batch_size = 4; /* class c0 has 8 files, so batch 2 starts with c1/001, c1/004 */
    for (size_t i = 0; i < COUNT_OF(threads); i++) {
        const struct batch *b;
        struct pipeline *p;

        f.n_threads = threads[i];
        p = open_pipeline(&f);
        for (int k = 0; k < 2; k++)
            pipeline_done(p, next(p));
        for (int k = 0; k < 2; k++) {
            assert_int_equal(pipeline_next(p, &b), E_DATA);
            assert_null(b);
            assert_reason_has("c1/004.jpg: the file is empty");
        }
        pipeline_close(p);
    }
    free(broken);
    source_close(s);
    remove_dir(dir);
}

static void test_a_set_of_bad_samples_only_is_an_error(void **state)
{
    char *const dir = temp_dir();
    struct source *s;
    struct pipeline_config f;
    struct pipeline *p;
    const struct batch *b;

    (void)state;
    make_dir(dir, "a");
    for (int i = 0; i < 5; i++)
        write_file(dir, (const char *[]){"a/0", "a/1", "a/2", "a/3", "a/4"}[i], "junk", 4);
    s = open_source(dir);
    f = train_config(s);
    p = open_pipeline(&f);
    assert_int_equal(pipeline_next(p, &b), E_DATA);
    assert_reason_has("samples in a row could not be used");
    pipeline_close(p);
    source_close(s);
    remove_dir(dir);
}

static void test_labels_are_shifted_and_checked(void **state)
{
    char *const dir = mixed_folder(0);
    struct source *const s = open_source(dir);
    struct pipeline_config f = eval_config(s);
    const struct batch *b;
    struct pipeline *p;
    size_t wrong = 0;

    (void)state;
    f.batch_size = N_GOOD;
    f.label_offset = 1;
    f.n_classes = 3;
    assert_int_equal(pipeline_open(&f, &p), E_DATA);
    assert_reason_has("has 3 classes (label offset 1)");
    f.n_classes = 4;
    p = open_pipeline(&f);
    b = next(p);
    assert_int_equal(labels(b)[0], 1);
    assert_int_equal(labels(b)[N_GOOD - 1], 3);
    pipeline_close(p);
    f.label_offset = -1;
    p = open_pipeline(&f);
    b = next(p);
    for (size_t i = 0; i < N_GOOD; i++)
        wrong += labels(b)[i] == -1;
    assert_int_equal(wrong, 8); /* class 0 */
    assert_int_equal(pipeline_bad_count(p), 8);
    assert_non_null(strstr(pipeline_bad_next(p)->reason, "label -1 is outside 0..3"));
    pipeline_close(p);
    source_close(s);
    remove_dir(dir);
}

/* 50 good and 50 truncated pictures for many epochs: the counts repeat, memory does not grow. */
static void test_bad_samples_leak_nothing(void **state)
{
    char *const dir = temp_dir();
    struct bytes jpeg = {0};
    struct source *s;
    struct pipeline_config f;
    struct pipeline *p;
    size_t before, warm = 0, last = 0;

    (void)state;
    make_dir(dir, "a");
    for (int k = 0; k < 100; k++) {
        char name[32];

        snprintf(name, sizeof(name), "a/%03d.jpg", k);
        simple_jpeg(64, 64, k, &jpeg);
        write_file(dir, name, jpeg.data, k % 2 ? jpeg.n / 2 : jpeg.n);
    }
    bytes_release(&jpeg);
    before = mallinfo2().uordblks;
    s = open_source(dir);
    f = train_config(s);
    f.batch_size = 10;
    p = open_pipeline(&f);
    for (uint64_t epoch = 0; epoch < 20; epoch++) {
        for (int step = 0; step < 10; step++)
            pipeline_done(p, next(p));
        assert_int_equal(pipeline_bad_count(p), (epoch + 1) * 50);
        last = mallinfo2().uordblks;
        warm = epoch == 3 ? last : warm;
    }
    assert_true(last < warm + 1000000); /* a picture in flight holds some 100 kB */
    pipeline_close(p);
    source_close(s);
    last = mallinfo2().uordblks;
    assert_true(last < before + 65536);
    remove_dir(dir);
}

static void test_a_file_that_shrinks_meanwhile_is_survived(void **state)
{
    char *const dir = mixed_folder(0), *const out = temp_dir(), *const prefix = file_join(out, "a");
    char *const rec = file_join(out, "a.rec");
    struct prepare_result made;
    struct pipeline_config f;
    struct pipeline *p;
    struct source *s;

    (void)state;
    assert_int_equal(prepare_folder_to_recordio(dir, prefix, (struct prepare_progress){0}, &made),
                     0);
    s = open_source(rec);
    f = train_config(s);
    p = open_pipeline(&f);
    pipeline_done(p, next(p));
    assert_int_equal(truncate(rec, 20000), 0);
    for (int i = 0; i < 20; i++)
        pipeline_done(p, next(p));
    assert_true(pipeline_bad_count(p) > 0);
    assert_non_null(strstr(pipeline_bad_next(p)->location, "byte offset"));
    pipeline_close(p);
    source_close(s);
    free(rec);
    free(prefix);
    remove_dir(dir);
    remove_dir(out);
}

static void test_synthetic_batches_are_one_fixed_batch(void **state)
{
    struct pipeline_config f = {.synthetic = 1,
                                .n_synthetic = 12,
                                .n_classes = 7,
                                .batch_size = 4,
                                .seed = 3,
                                .train = {.size = SIZE}};
    struct pipeline *const p = open_pipeline(&f);
    uint8_t *const kept = xmalloc((size_t)4 * SIZE * SIZE * 3);
    int32_t kept_labels[4];

    (void)state;
    for (uint64_t i = 0; i < 7; i++) {
        const struct batch *const b = next(p);

        assert_int_equal(b->epoch, i / 3);
        assert_int_equal(b->step, i % 3);
        assert_int_equal(b->n_real, 4);
        if (i == 0) {
            memcpy(kept, pixels(b, 0), (size_t)4 * SIZE * SIZE * 3);
            memcpy(kept_labels, labels(b), sizeof(kept_labels));
        }
        assert_memory_equal(pixels(b, 0), kept, (size_t)4 * SIZE * SIZE * 3);
        assert_memory_equal(labels(b), kept_labels, sizeof(kept_labels));
        for (int k = 0; k < 4; k++) {
            assert_in_range(labels(b)[k], 0, 6);
            assert_true(weights(b)[k] == 1.0f);
        }
        pipeline_done(p, b);
    }
    assert_memory_not_equal(kept, kept + SIZE * SIZE * 3, SIZE * SIZE * 3);
    pipeline_close(p);
    free(kept);
}

static void test_counters_count_every_stage(void **state)
{
    char *const dir = mixed_folder(0);
    struct source *const s = open_source(dir);
    struct pipeline_config f = eval_config(s);
    struct pipeline_counters c;
    struct pipeline *p;
    uint64_t bytes = 0;

    (void)state;
    f.n_batches = 2 * pipeline_steps_per_epoch(&f);
    p = open_pipeline(&f);
    for (const struct batch *b; (b = next(p));) {
        usleep(1000); /* the workers run into the full ring */
        pipeline_done(p, b);
    }
    pipeline_counters(p, &c);
    for (uint64_t i = 0; i < s->n_samples; i++) {
        struct sample sample = {0};

        assert_int_equal(source_read(s, i, &sample), 0);
        bytes += sample.n;
        sample_release(&sample);
    }
    for (enum stage_id i = 0; i < N_STAGES; i++) {
        assert_int_equal(c.stage[i].samples, 2 * N_GOOD);
        assert_true(c.stage[i].busy_ns > 0);
    }
    assert_int_equal(c.read_bytes, 2 * bytes);
    assert_int_equal(c.batches, f.n_batches);
    assert_int_equal(c.n_replaced, 0);
    assert_true(c.worker_wait_ns > 0);
    assert_true(c.consumer_wait_ns > 0);
    pipeline_close(p);
    source_close(s);
    remove_dir(dir);
}

/* Closing with workers waiting, with batches held, and before anything was drawn. */
static void test_closing_early_is_fine(void **state)
{
    char *const dir = mixed_folder(0);
    struct source *const s = open_source(dir);
    const struct pipeline_config f = train_config(s);

    (void)state;
    for (int drawn = 0; drawn < 4; drawn++) {
        struct pipeline *const p = open_pipeline(&f);

        for (int i = 0; i < drawn; i++)
            assert_non_null(next(p)); /* up to prefetch may be held */
        pipeline_close(p);
    }
    source_close(s);
    remove_dir(dir);
}

static void test_nonsense_configurations_are_refused(void **state)
{
    char *const dir = mixed_folder(0);
    struct source *const s = open_source(dir);
    struct pipeline_config f = train_config(s);
    struct pipeline *p;

    (void)state;
    f.batch_size = 0;
    assert_int_equal(pipeline_open(&f, &p), E_USAGE);
    f = train_config(s);
    f.n_threads = -1;
    assert_int_equal(pipeline_open(&f, &p), E_USAGE);
    f = train_config(s);
    f.prefetch = -1;
    assert_int_equal(pipeline_open(&f, &p), E_USAGE);
    f = (struct pipeline_config){.synthetic = 1, .batch_size = 1};
    assert_int_equal(pipeline_open(&f, &p), E_USAGE);
    source_close(s);
    remove_dir(dir);
}

static void test_permute_is_a_permutation(void **state)
{
    (void)state;
    for (uint64_t n = 1; n <= 200; n++)
        for (uint64_t epoch = 0; epoch < 3; epoch++) {
            const struct random_key key = {1, RANDOM_SHUFFLE, epoch};
            uint8_t seen[200] = {0};

            for (uint64_t i = 0; i < n; i++) {
                const uint64_t k = random_permute(key, n, i);

                assert_true(k < n);
                assert_int_equal(seen[k], 0);
                seen[k] = 1;
            }
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_threads_and_prefetch_do_not_change_the_stream),
        cmocka_unit_test(test_records_give_the_same_stream_as_the_folder),
        cmocka_unit_test(test_a_resumed_stream_continues),
        cmocka_unit_test(test_evaluation_sees_every_sample_once_on_any_ranks),
        cmocka_unit_test(test_a_tail_is_padded_black_with_weight_zero),
        cmocka_unit_test(test_training_drops_or_pads_the_tail),
        cmocka_unit_test(test_each_epoch_is_shuffled_and_augmented_anew),
        cmocka_unit_test(test_training_replaces_bad_samples),
        cmocka_unit_test(test_evaluation_counts_bad_samples_as_wrong),
        cmocka_unit_test(test_on_bad_fail_stops_at_the_bad_sample),
        cmocka_unit_test(test_a_set_of_bad_samples_only_is_an_error),
        cmocka_unit_test(test_labels_are_shifted_and_checked),
        cmocka_unit_test(test_bad_samples_leak_nothing),
        cmocka_unit_test(test_a_file_that_shrinks_meanwhile_is_survived),
        cmocka_unit_test(test_synthetic_batches_are_one_fixed_batch),
        cmocka_unit_test(test_counters_count_every_stage),
        cmocka_unit_test(test_closing_early_is_fine),
        cmocka_unit_test(test_nonsense_configurations_are_refused),
        cmocka_unit_test(test_permute_is_a_permutation),
    };

    return cmocka_run_group_tests_name("pipeline", tests, NULL, NULL);
}
