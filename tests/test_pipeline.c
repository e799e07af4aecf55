/* The stream of batches: the same for any number of threads, exact in evaluation. */
#include "base/random.h"
#include "test_data_pipeline.h"

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
    struct source *folder, *records;
    struct pipeline_config f, r;

    (void)state;
    convert_to(dir, prefix, NULL);
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
    f.n_batches = 8 * pipeline_steps_per_epoch(&f);
    p = open_pipeline(&f);
    for (const struct batch *b; (b = next(p));)
        pipeline_done(p, b);
    pipeline_counters(p, &c);
    for (uint64_t i = 0; i < s->n_samples; i++) {
        struct sample sample = {0};

        assert_int_equal(source_read(s, i, &sample), 0);
        bytes += sample.n;
        sample_release(&sample);
    }
    for (enum stage_id i = 0; i < N_STAGES; i++) {
        assert_int_equal(c.stage[i].samples, 8 * N_GOOD);
        assert_true(c.stage[i].busy_ns > 0);
    }
    assert_int_equal(c.read_bytes, 8 * bytes);
    assert_int_equal(c.batches, f.n_batches);
    assert_int_equal(c.n_replaced, 0);
    assert_true(c.consumer_wait_ns > 0); /* it did nothing but wait */
    pipeline_close(p);
    source_close(s);
    remove_dir(dir);
}

/* The ring fills and stays full while the consumer holds back; the counter tells for how long. */
static void test_workers_count_the_time_they_are_held_up(void **state)
{
    char *const dir = mixed_folder(0);
    struct source *const s = open_source(dir);
    struct pipeline_config f = eval_config(s);
    struct pipeline_counters c;
    struct pipeline *p;

    (void)state;
    f.n_threads = 1;
    f.prefetch = 2;
    p = open_pipeline(&f);
    do {
        usleep(1000);
        pipeline_counters(p, &c);
    } while (c.stage[STAGE_augment].samples < 2 * f.batch_size);
    usleep(20000);
    pipeline_counters(p, &c);
    assert_int_equal(c.stage[STAGE_augment].samples, 2 * f.batch_size); /* and no further */
    for (int i = 0; i < 4; i++)
        pipeline_done(p, next(p));
    pipeline_counters(p, &c);
    assert_true(c.worker_wait_ns > 10000000);
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

/* Each stage works on every sample asked for, the ones before it on no more than are held, and
 * those behind it not at all. */
static void test_a_stage_runs_alone(void **state)
{
    enum { BATCHES = 40 };
    char *const dir = mixed_folder(0);
    struct source *const s = open_source(dir);

    (void)state;
    for (int stage = 0; stage < N_STAGES; stage++) {
        struct pipeline_config f = train_config(s);
        struct pipeline_counters c;
        struct pipeline *p;

        f.n_threads = 2;
        f.alone = 1 + stage;
        p = open_pipeline(&f);
        for (int i = 0; i < BATCHES; i++)
            pipeline_done(p, next(p));
        pipeline_counters(p, &c);
        pipeline_close(p);
        for (int i = 0; i < N_STAGES; i++)
            if (i == stage)
                assert_true(c.stage[i].samples + (i > 0 ? 2 * 64 : 0) >= BATCHES * f.batch_size);
            else
                assert_int_equal(c.stage[i].samples, 0);
        assert_true(c.stage[stage].busy_ns + 1000000 >= c.stage[stage].cpu_ns);
        assert_true(c.stage[stage].cpu_ns > 0);
        assert_int_equal(c.n_replaced, 0);
        assert_int_equal(c.read_bytes > 0, stage == STAGE_read);
    }
    source_close(s);
    remove_dir(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_stage_runs_alone),
        cmocka_unit_test(test_threads_and_prefetch_do_not_change_the_stream),
        cmocka_unit_test(test_records_give_the_same_stream_as_the_folder),
        cmocka_unit_test(test_a_resumed_stream_continues),
        cmocka_unit_test(test_evaluation_sees_every_sample_once_on_any_ranks),
        cmocka_unit_test(test_a_tail_is_padded_black_with_weight_zero),
        cmocka_unit_test(test_training_drops_or_pads_the_tail),
        cmocka_unit_test(test_each_epoch_is_shuffled_and_augmented_anew),
        cmocka_unit_test(test_synthetic_batches_are_one_fixed_batch),
        cmocka_unit_test(test_counters_count_every_stage),
        cmocka_unit_test(test_workers_count_the_time_they_are_held_up),
        cmocka_unit_test(test_closing_early_is_fine),
        cmocka_unit_test(test_nonsense_configurations_are_refused),
        cmocka_unit_test(test_permute_is_a_permutation),
    };

    return cmocka_run_group_tests_name("pipeline", tests, NULL, NULL);
}
