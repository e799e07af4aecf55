/* Bad samples: replaced, counted as wrong or fatal as asked, named once, and costing no memory. */
#include <malloc.h>

#include "test_data_pipeline.h"

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
    struct pipeline_config f;
    struct pipeline *p;
    struct source *s;

    (void)state;
    convert_to(dir, prefix, NULL);
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

/* The first bad sample takes long to be found out, the second none: still the first is named first.
 */
static void test_bad_samples_are_named_in_the_order_of_the_stream(void **state)
{
    char *const dir = temp_dir();
    struct bytes jpeg = {0};
    struct pipeline_config f;
    const struct bad_sample *bad;
    struct pipeline *p;
    struct source *s;

    (void)state;
    make_dir(dir, "a");
    simple_jpeg(1500, 1500, 1, &jpeg);
    memcpy(jpeg.data + jpeg.n * 9 / 10, "\xFF\xD9", 2); /* ends in the middle */
    write_file(dir, "a/0", jpeg.data, jpeg.n);
    write_file(dir, "a/1", "", 0);
    bytes_release(&jpeg);
    s = open_source(dir);
    f = eval_config(s);
    f.eval.resize = f.eval.crop;
    f.batch_size = 2;
    p = open_pipeline(&f);
    pipeline_done(p, next(p));
    bad = pipeline_bad_next(p);
    assert_non_null(bad);
    assert_int_equal(bad->index, 0);
    assert_non_null(strstr(bad->reason, "damaged near byte"));
    bad = pipeline_bad_next(p);
    assert_non_null(bad);
    assert_int_equal(bad->index, 1);
    assert_null(pipeline_bad_next(p));
    pipeline_close(p);
    source_close(s);
    remove_dir(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_training_replaces_bad_samples),
        cmocka_unit_test(test_evaluation_counts_bad_samples_as_wrong),
        cmocka_unit_test(test_on_bad_fail_stops_at_the_bad_sample),
        cmocka_unit_test(test_a_set_of_bad_samples_only_is_an_error),
        cmocka_unit_test(test_labels_are_shifted_and_checked),
        cmocka_unit_test(test_bad_samples_leak_nothing),
        cmocka_unit_test(test_a_file_that_shrinks_meanwhile_is_survived),
        cmocka_unit_test(test_bad_samples_are_named_in_the_order_of_the_stream),
    };

    return cmocka_run_group_tests_name("bad samples", tests, NULL, NULL);
}
