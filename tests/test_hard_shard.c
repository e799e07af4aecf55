/* Hard inputs of sharding and seeds: uneven divisions, empty batches, tails, streams of random
 * crops. Every kind by a generator of variants. */
#include "base/str.h"
#include "data/shard.h"
#include "eval/metric.h"
#include "hard_outcome.h"
#include "test_data_pipeline.h"

enum { MAX_SAMPLES = 3000 };

struct division {
    uint64_t n;
    size_t batch;
    int ranks;
};

static struct shard shard_for(struct division d, int rank, int keep)
{
    return (struct shard){.n_samples = d.n,
                          .batch_size = d.batch,
                          .rank = rank,
                          .n_ranks = d.ranks,
                          .tail = keep ? SHARD_KEEP_TAIL : SHARD_DROP_TAIL};
}

/* What people met first, then draws. */
static struct division division_of(int i, uint64_t *state)
{
    static const struct division known[] = {
        {26, 6, 4}, {1, 1, 4},   {1, 32, 4}, {100, 32, 3}, {10, 3, 2},   {1, 1, 1},   {5, 5, 1},
        {6, 2, 3},  {7, 64, 16}, {6, 1, 6},  {5, 1, 6},    {2000, 1, 7}, {3000, 7, 1}};

    if (i < (int)COUNT_OF(known))
        return known[i];
    return (struct division){.n = 1 + (uint64_t)draw(state, draw(state, 4) ? 120 : MAX_SAMPLES - 1),
                             .batch = 1 + (size_t)draw(state, 70),
                             .ranks = 1 + draw(state, 17)};
}

/* Walks all ranks and steps; counts each place. Returns the steps; *empty counts batches without a
 * real sample. */
static uint64_t walk(struct division d, int keep, uint8_t *seen, uint64_t *empty)
{
    const struct shard first = shard_for(d, 0, keep);
    const uint64_t steps = shard_steps(&first);

    memset(seen, 0, MAX_SAMPLES);
    for (int rank = 0; rank < d.ranks; rank++) {
        const struct shard s = shard_for(d, rank, keep);

        assert_int_equal(shard_steps(&s), steps); /* nobody waits for a step that never comes */
        for (uint64_t step = 0; step < steps; step++) {
            const struct shard_part part = shard_part(&s, step);

            assert_true(part.n_real <= d.batch && part.first + part.n_real <= d.n);
            *empty += part.n_real == 0;
            for (size_t i = 0; i < part.n_real; i++)
                seen[part.first + i]++;
        }
    }
    return steps;
}

static void evaluation_counts_each_sample_once(void **state)
{
    enum { CASES = 4000 };
    uint64_t draws = 1, empty = 0;
    uint8_t seen[MAX_SAMPLES];

    (void)state;
    for (int i = 0; i < CASES; i++) {
        const struct division d = division_of(i, &draws);
        const uint64_t steps = walk(d, 1, seen, &empty);

        assert_true(steps >= 1 && (steps - 1) * d.batch * (uint64_t)d.ranks < d.n);
        for (uint64_t k = 0; k < d.n; k++)
            assert_int_equal(seen[k], 1);
    }
    assert_true(empty > CASES); /* the kind that this is about occurs */
    outcome("D1", CASES,
            "evaluation: each sample on one rank in one step, %llu batches without a real sample "
            "delivered as padding of weight 0",
            (unsigned long long)empty);
}

static void training_makes_equal_whole_steps(void **state)
{
    enum { CASES = 4000 };
    uint64_t draws = 2, empty = 0;
    uint8_t seen[MAX_SAMPLES];

    (void)state;
    for (int i = 0; i < CASES; i++) {
        const struct division d = division_of(i, &draws);
        const uint64_t steps = walk(d, 0, seen, &empty), global = d.batch * (uint64_t)d.ranks;
        const uint64_t used = d.n < global ? d.n : d.n / global * global;

        assert_int_equal(steps, d.n < global ? 1 : d.n / global);
        for (uint64_t k = 0; k < d.n; k++)
            assert_int_equal(seen[k], k < used);
    }
    outcome("D2", CASES,
            "training: as many steps on every rank, fixed by the sizes alone; steps whole, unless "
            "the data is less than one");
}

/* The pipeline delivers what the arithmetic says, in every epoch. */
static void pipelines_keep_to_the_division(void **state)
{
    enum { CASES = 24, EPOCHS = 2 };
    char *const dir = mixed_folder(0);
    struct source *const source = open_source(dir);
    uint64_t draws = 3;
    int passes = 0;

    (void)state;
    for (int i = 0; i < CASES; i++) {
        const struct division d = {N_GOOD, 1 + (size_t)draw(&draws, 13), 1 + draw(&draws, 5)};
        struct pipeline_config f = i % 2 ? train_config(source) : eval_config(source);

        f.batch_size = d.batch;
        f.n_ranks = d.ranks;
        for (f.rank = 0; f.rank < d.ranks; f.rank++) {
            const struct shard s = shard_for(d, f.rank, f.mode == PIPELINE_EVAL);
            const uint64_t steps = shard_steps(&s);
            struct pipeline *const p = open_pipeline(&f);

            assert_int_equal(pipeline_steps_per_epoch(&f), steps);
            for (uint64_t k = 0; k < EPOCHS * steps; k++, passes++) {
                const struct batch *const b = next(p);
                const struct shard_part part = shard_part(&s, k % steps);

                assert_int_equal(b->epoch, k / steps);
                assert_int_equal(b->n_real, part.n_real);
                for (size_t j = 0; j < d.batch; j++)
                    assert_true(weights(b)[j] == (j < part.n_real ? 1.0f : 0.0f));
                for (size_t j = 0; f.mode == PIPELINE_EVAL && j < part.n_real; j++)
                    assert_int_equal(indices(b)[j], part.first + j);
                pipeline_done(p, b);
            }
            pipeline_close(p);
        }
    }
    source_close(source);
    remove_dir(dir);
    outcome("D1", CASES, "pipelines of 1 to 5 ranks: %d batches as the arithmetic says", passes);
}

/* ---- accuracy of the tail ---- */

/* A model that knows some samples by their index: 3 classes. */
static void score(int64_t index, float *row)
{
    const struct random_key key = {4, RANDOM_TEST, 0};

    for (int c = 0; c < 3; c++)
        row[c] = (float)random_uniform(key, (uint64_t)index * 3 + (uint64_t)c);
}

/* Adds one rank's whole pass to the metric; padding gets the scores that would count as right. */
static void add_rank(struct metric *m, struct division d, int rank)
{
    const struct shard s = shard_for(d, rank, 1);
    float *const scores = xcalloc(d.batch * 3, sizeof(*scores));
    float *const weight = xcalloc(d.batch, sizeof(*weight));
    int32_t *const label = xcalloc(d.batch, sizeof(*label));

    for (uint64_t step = 0; step < shard_steps(&s); step++) {
        const struct shard_part part = shard_part(&s, step);

        for (size_t i = 0; i < d.batch; i++) {
            const int64_t index = (int64_t)(part.first + i);

            weight[i] = i < part.n_real ? 1.0F : 0.0F;
            label[i] = i < part.n_real ? (int32_t)(index % 3) : 0;
            memset(scores + 3 * i, 0, 3 * sizeof(*scores));
            if (i < part.n_real)
                score(index, scores + 3 * i);
        }
        assert_int_equal(metric_add(m,
                                    (struct metric_array[]){
                                        {"scores", METRIC_F32, d.batch, 3, scores},
                                        {"labels", METRIC_I32, d.batch, 1, label},
                                        {"weights", METRIC_F32, d.batch, 1, weight},
                                    },
                                    3),
                         0);
    }
    free(scores);
    free(weight);
    free(label);
}

/* correct and total over all ranks, which send each other their counts. */
static void count_all(struct division d, double *correct, double *total)
{
    struct metric_value values[METRIC_MAX_VALUES];
    struct metric *const all = metric_new(metric_find("top1"));

    for (int rank = 0; rank < d.ranks; rank++) {
        struct metric *const own = metric_new(metric_find("top1"));
        struct str bytes = STR_INIT;

        add_rank(own, d, rank);
        metric_save(own, &bytes);
        assert_int_equal(metric_merge(all, bytes.s, bytes.len), 0);
        str_release(&bytes);
        metric_free(own);
    }
    assert_int_equal(metric_values(all, values), 3);
    assert_string_equal(values[1].name, "correct");
    *correct = values[1].value;
    *total = values[2].value;
    metric_free(all);
}

static void accuracy_is_of_all_samples_once(void **state)
{
    static const int ranks[] = {1, 2, 3, 8};
    static const size_t batches[] = {1, 3, 7, 32, 256};
    static const uint64_t sizes[] = {1, 10, 1000, 50000};
    int variants = 0;

    (void)state;
    for (size_t n = 0; n < COUNT_OF(sizes); n++) {
        double correct = 0;

        for (uint64_t i = 0; i < sizes[n]; i++) {
            float row[3];

            score((int64_t)i, row);
            correct += row[i % 3] > row[(i + 1) % 3] && row[i % 3] > row[(i + 2) % 3];
        }
        for (size_t r = 0; r < COUNT_OF(ranks); r++)
            for (size_t b = 0; b < COUNT_OF(batches); b++, variants++) {
                double got, total;

                count_all((struct division){sizes[n], batches[b], ranks[r]}, &got, &total);
                assert_true(got == correct);
                assert_true(total == (double)sizes[n]);
            }
    }
    outcome("D3", variants,
            "correct and total are the same whole numbers for 1, 2, 3, 8 ranks and batches of 1 to "
            "256; 50,000 samples counted once");
}

/* ---- seeds ---- */

/* A crop as four numbers and the mirror. */
struct crop {
    int x, y, w, h, flip;
};

static struct crop crop_of(uint64_t seed, uint64_t epoch, uint64_t index)
{
    struct augment_train a = {.size = SIZE, .flip = 1};
    struct view v;

    assert_int_equal(augment_train_check(&a), 0);
    v = augment_train_view(&a, (struct rect){0, 0, 500, 375}, seed, epoch, index);
    return (struct crop){v.rect.x, v.rect.y, v.rect.width, v.rect.height, v.flip};
}

/* How many of 32 crops two streams share. */
static int shared_crops(uint64_t seed_a, uint64_t epoch_a, uint64_t seed_b, uint64_t epoch_b)
{
    int n = 0;

    for (uint64_t i = 0; i < 32; i++) {
        const struct crop a = crop_of(seed_a, epoch_a, i), b = crop_of(seed_b, epoch_b, i);

        n += memcmp(&a, &b, sizeof(a)) == 0;
    }
    return n;
}

static void streams_of_crops_are_apart(void **state)
{
    int variants = 0;

    (void)state;
    for (uint64_t seed = 100; seed < 130; seed++)
        for (uint64_t epoch = 0; epoch < 10; epoch++, variants++) {
            assert_int_equal(shared_crops(seed, epoch, seed, epoch), 32); /* reproduces */
            assert_true(shared_crops(seed, epoch, seed, epoch + 1) <= 1);
            assert_true(shared_crops(seed, epoch, seed + 1, epoch) <= 1); /* seeds in a row */
            assert_true(shared_crops(seed, epoch + 1, seed + 1, epoch) <= 1);
        }
    outcome("D5", variants,
            "32 crops for each seed and epoch: equal seeds repeat them, the next epoch and the "
            "next seed share at most one");
}

/* The sum over one epoch of what each sample became, by index: which rank or thread made it, and
 * beside which others, does not matter. */
static void collect(const struct pipeline_config *f, uint64_t *sums)
{
    const uint64_t steps = pipeline_steps_per_epoch(f);
    struct pipeline *const p = open_pipeline(f);

    for (uint64_t k = 0; k < steps; k++) {
        const struct batch *const b = next(p);

        for (size_t i = 0; i < b->n_real; i++)
            sums[indices(b)[i]] = checksum_add(CHECKSUM_INIT, pixels(b, i), SIZE * SIZE * 3);
        pipeline_done(p, b);
    }
    pipeline_close(p);
}

static void a_sample_looks_the_same_on_any_rank_and_thread(void **state)
{
    char *const dir = mixed_folder(0);
    struct source *const source = open_source(dir);
    int variants = 0;

    (void)state;
    for (uint64_t epoch = 0; epoch < 3; epoch++) {
        uint64_t want[N_GOOD] = {0};

        for (int ranks = 1; ranks <= 4; ranks++)
            for (int threads = 1; threads <= 5; threads += 2, variants++) {
                struct pipeline_config f = train_config(source);
                uint64_t got[N_GOOD] = {0};

                f.n_ranks = ranks;
                f.n_threads = threads;
                f.first_epoch = epoch;
                f.round_up = 1; /* all of them */
                for (f.rank = 0; f.rank < ranks; f.rank++)
                    collect(&f, got);
                if (ranks == 1 && threads == 1)
                    memcpy(want, got, sizeof(want));
                assert_memory_equal(got, want, sizeof(want));
            }
    }
    source_close(source);
    remove_dir(dir);
    outcome("D5", variants, "pixels of each sample equal on 1 to 4 ranks and 1 to 5 threads");
}

/* Labels and pixels stay as they are, whoever asks and however often. */
static void synthetic_batches_are_fixed(void **state)
{
    enum { CASES = 40 };
    uint64_t draws = 6;

    (void)state;
    for (int i = 0; i < CASES; i++) {
        const struct pipeline_config f = {.mode = i % 2 ? PIPELINE_EVAL : PIPELINE_TRAIN,
                                          .seed = (uint64_t)draw(&draws, 1000),
                                          .batch_size = 1 + (size_t)draw(&draws, 9),
                                          .n_threads = 1 + draw(&draws, 4),
                                          .synthetic = 1,
                                          .n_synthetic = 1 + (uint64_t)draw(&draws, 50),
                                          .n_classes = 1 + draw(&draws, 1000),
                                          .train = {.size = SIZE},
                                          .eval = {.resize = SIZE, .crop = SIZE}};
        struct pipeline *const p = open_pipeline(&f);
        uint64_t want = 0;

        for (int k = 0; k < 20; k++) {
            const struct batch *const b = next(p);
            uint64_t sum = checksum_add(CHECKSUM_INIT, labels(b), f.batch_size * sizeof(int32_t));

            for (size_t j = 0; j < f.batch_size; j++) {
                assert_in_range(labels(b)[j], 0, f.n_classes - 1);
                sum = checksum_add(sum, pixels(b, j), SIZE * SIZE * 3);
            }
            want = k == 0 ? sum : want;
            assert_int_equal(sum, want);
            pipeline_done(p, b);
        }
        pipeline_close(p);
    }
    outcome("D6", CASES, "synthetic pixels and labels: one fixed batch, 20 times the same bytes");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(evaluation_counts_each_sample_once),
        cmocka_unit_test(training_makes_equal_whole_steps),
        cmocka_unit_test(pipelines_keep_to_the_division),
        cmocka_unit_test(accuracy_is_of_all_samples_once),
        cmocka_unit_test(streams_of_crops_are_apart),
        cmocka_unit_test(a_sample_looks_the_same_on_any_rank_and_thread),
        cmocka_unit_test(synthetic_batches_are_fixed),
    };

    return cmocka_run_group_tests_name("hard shard", tests, NULL, NULL);
}
