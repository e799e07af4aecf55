/* Readers: the same samples and the same refusals from every one of them, whatever was said of the
 * samples to come. The bytes are compared with those the test wrote, the refusals with those of
 * source_read. */
#include "reader_fixture.h"

static void test_every_reader_gives_the_bytes_that_were_written(void **state)
{
    (void)state;
    for (enum layout layout = 0; layout < N_LAYOUTS; layout++) {
        char *const dir = temp_dir();
        struct source *const s = make_source(dir, layout);
        struct reader_config c;

        for (size_t k = 0; config_at(k, &c); k++) {
            struct reader *const r = open_reader(&c, s);

            for (uint64_t pass = 0; pass < 2; pass++)
                read_pass(r, layout, pass);
            reader_close(r);
        }
        source_close(s);
        remove_dir(dir);
    }
}

static void test_every_reader_gives_the_same_batches_and_bad_samples(void **state)
{
    char *const dir = mixed_folder(N_BAD);
    struct source *const s = open_source(dir);

    (void)state;
    for (int mode = 0; mode < 2; mode++) {
        struct pipeline_config f = mode ? eval_config(s) : train_config(s);
        const uint64_t n = 2 * pipeline_steps_per_epoch(&f), want = stream_checksum(&f, n);
        struct reader_config c;

        for (size_t k = 0; config_at(k, &c); k++) {
            f.reader = c;
            f.n_threads = 1 + (int)(k % 3);
            f.prefetch = 1 + (int)(k % 4);
            assert_int_equal(stream_checksum(&f, n), want);
        }
    }
    source_close(s);
    remove_dir(dir);
}

/* A file that shrinks: the records that lie whole in what is left are read, the others are refused
 * in the words of source_read. Cut within a block and at its end. */
static void test_a_file_that_shrank_is_refused_alike(void **state)
{
    static const int cuts[] = {100000, 131072, 131073, 330240, 3, 0};
    char *const dir = temp_dir();
    struct source *const s = make_source(dir, RECORDS);
    char *const path = source_file(s, 0);
    struct reader_config c;

    (void)state;
    for (size_t cut = 0; cut < COUNT_OF(cuts); cut++) {
        int n_bad = 0;

        assert_int_equal(truncate(path, cuts[cut]), 0);
        for (size_t k = 0; config_at(k, &c); k++) {
            struct reader *const r = open_reader(&c, s);

            for (uint64_t i = 0; i < N_RECORDS; i++) {
                const uint64_t next[2] = {i, (i + 1) % N_RECORDS};
                struct sample want = {0}, got = {0};
                const int rc = source_read(s, i, &want);
                char *const reason = xstrdup(err_reason());

                n_bad += rc < 0;
                reader_expect(r, next, 2);
                assert_int_equal(reader_read(r, i, &got), rc);
                if (rc < 0)
                    assert_string_equal(err_reason(), reason);
                else
                    assert_memory_equal(got.data, want.data, want.n);
                free(reason);
                sample_release(&want);
            }
            reader_close(r);
        }
        assert_true(n_bad > 0);
    }
    free(path);
    source_close(s);
    remove_dir(dir);
}

/* What stands in a file's place since the listing: nothing, a folder, a pipe, too much. */
static void test_bad_files_concern_one_sample_and_are_refused_alike(void **state)
{
    char *const dir = temp_dir();
    struct source *const s = make_source(dir, FOLDER);
    char *path[4];
    struct reader_config c;

    (void)state;
    for (int i = 0; i < 4; i++) {
        path[i] = source_file(s, (uint64_t)(20 + 2 * i));
        assert_int_equal(unlink(path[i]), 0);
    }
    assert_int_equal(mkdir(path[1], 0777), 0);
    assert_int_equal(mkfifo(path[2], 0666), 0);
    write_file(dir, "c/026", "", 0);
    assert_int_equal(truncate(path[3], (off_t)SOURCE_MAX_SAMPLE_BYTES + 1), 0);
    for (size_t k = 0; config_at(k, &c); k++) {
        struct reader *const r = open_reader(&c, s);
        const uint64_t all[8] = {20, 21, 22, 23, 24, 25, 26, 27};

        reader_expect(r, all, 8);
        for (uint64_t i = 20; i < 28; i++) {
            struct sample want = {0}, got = {0};

            if (i % 2) {
                assert_sample(r, i, FOLDER);
                continue;
            }
            const int rc = source_read(s, i, &want);
            char *const reason = xstrdup(err_reason());

            assert_true(rc < 0);
            assert_true(reader_read(r, i, &got) < 0);
            assert_string_equal(err_reason(), reason);
            free(reason);
            sample_release(&want);
        }
        reader_close(r);
    }
    for (int i = 0; i < 4; i++)
        free(path[i]);
    source_close(s);
    remove_dir(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_reader_gives_the_bytes_that_were_written),
        cmocka_unit_test(test_every_reader_gives_the_same_batches_and_bad_samples),
        cmocka_unit_test(test_a_file_that_shrank_is_refused_alike),
        cmocka_unit_test(test_bad_files_concern_one_sample_and_are_refused_alike),
    };

    return cmocka_run_group_tests(tests, NULL, release_written);
}
