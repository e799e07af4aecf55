/* Preparing data sets: IDX files as they should and should not be, Fashion-MNIST and image folders
 * to RecordIO, twice. */
#include "test_data_pipeline.h"

#include <zlib.h>

#include "data/decode.h"
#include "data/idx.h"
#include "data/source.h"

enum { SIDE = 28, N_TRAIN = 7, N_VAL = 3 };

static void write_gz(const char *dir, const char *name, const void *bytes, size_t n)
{
    char *const path = file_join(dir, name);
    const gzFile f = gzopen(path, "wb");

    assert_int_equal(gzwrite(f, bytes, (unsigned)n), n);
    assert_int_equal(gzclose(f), Z_OK);
    free(path);
}

static void put_be32(struct bytes *b, uint32_t v)
{
    const uint8_t four[4] = {(uint8_t)(v >> 24), (uint8_t)(v >> 16), (uint8_t)(v >> 8), (uint8_t)v};

    bytes_add(b, four, 4);
}

static uint8_t pixel(int image, int i)
{
    return (uint8_t)(image * 20 + i / SIDE * 3 + i % SIDE * 2);
}

/* The four files with tiny contents; label of image i is i mod 10. */
static void write_fashion(const char *dir)
{
    static const char *const stems[] = {"train", "t10k"};
    static const int counts[] = {N_TRAIN, N_VAL};

    for (int part = 0; part < 2; part++) {
        struct bytes x = {0}, y = {0};
        char name[64];

        put_be32(&x, 0x803);
        put_be32(&x, (uint32_t)counts[part]);
        put_be32(&x, SIDE);
        put_be32(&x, SIDE);
        put_be32(&y, 0x801);
        put_be32(&y, (uint32_t)counts[part]);
        for (int n = 0; n < counts[part]; n++) {
            const uint8_t label = (uint8_t)(n % 10);

            for (int i = 0; i < SIDE * SIDE; i++) {
                const uint8_t v = pixel(n, i);
                bytes_add(&x, &v, 1);
            }
            bytes_add(&y, &label, 1);
        }
        snprintf(name, sizeof(name), "%s-images-idx3-ubyte.gz", stems[part]);
        write_gz(dir, name, x.data, x.n);
        snprintf(name, sizeof(name), "%s-labels-idx1-ubyte.gz", stems[part]);
        write_gz(dir, name, y.data, y.n);
        bytes_release(&x);
        bytes_release(&y);
    }
}

static void count_calls(void *context, const struct prepare_step *s)
{
    assert_true(s->done <= s->total);
    ++*(int *)context;
}

static void check_split(const char *dir, const char *split, uint64_t n)
{
    struct decoder *const d = decoder_new(0);
    struct source *s;
    struct sample sample = {0};
    struct image got = {0};
    struct rect whole;

    assert_int_equal(source_open_split(dir, split, &s), 0);
    assert_int_equal(s->n_samples, n);
    for (uint64_t i = 0; i < n; i++) {
        assert_int_equal(source_read(s, i, &sample), 0);
        assert_int_equal(sample.label, i % 10);
        assert_int_equal(decoder_begin(d, sample.data, sample.n, &whole), 0);
        assert_int_equal(whole.width, SIDE);
        assert_int_equal(whole.height, SIDE);
        assert_int_equal(decoder_crop(d, whole, &got), 0);
        for (int k = 0; k < SIDE * SIDE; k++)
            assert_in_range(abs(got.px.data[k * 3] - pixel((int)i, k)), 0, 24);
    }
    sample_release(&sample);
    image_release(&got);
    source_close(s);
    decoder_free(d);
}

static void test_fashion_mnist_becomes_records(void **state)
{
    char *const from = temp_dir(), *const to = temp_dir(),
                *const json = file_join(to, "dataset.json");
    int calls = 0;
    struct prepare_fashion p = {.from = from, .to = to, .progress = {count_calls, &calls}};
    struct prepare_result first, again;
    char *text;
    size_t n;

    (void)state;
    write_fashion(from);
    assert_int_equal(prepare_fashion_mnist(p, &first), 0);
    assert_int_equal(first.already, 0);
    assert_int_equal(first.n_train, N_TRAIN);
    assert_int_equal(first.n_val, N_VAL);
    assert_true(calls >= 2);
    check_split(to, "train", N_TRAIN);
    check_split(to, "val", N_VAL);
    assert_int_equal(file_read(json, 100000, &text, &n), 0);
    assert_non_null(strstr(text, "\"Ankle boot\""));
    assert_non_null(strstr(text, "\"samples\": 7"));
    free(text);
    assert_int_equal(prepare_fashion_mnist(p, &again), 0);
    assert_int_equal(again.already, 1);
    assert_int_equal(again.content_checksum, first.content_checksum);
    p.n_train = 5;
    assert_int_equal(prepare_fashion_mnist(p, &again), 0);
    assert_int_equal(again.already, 0);
    assert_int_not_equal(again.content_checksum, first.content_checksum);
    check_split(to, "train", 5);
    free(json);
    remove_dir(from);
    remove_dir(to);
}

/* The checksum is a fact about the source's pixels and labels: pinned. */
static void test_content_checksum_is_this(void **state)
{
    char *const from = temp_dir(), *const to = temp_dir();
    struct prepare_result r;
    uint64_t part[2], want = CHECKSUM_INIT;

    (void)state;
    write_fashion(from);
    assert_int_equal(prepare_fashion_mnist((struct prepare_fashion){.from = from, .to = to}, &r),
                     0);
    for (int k = 0; k < 2; k++) {
        part[k] = CHECKSUM_INIT;
        for (int n = 0; n < (k ? N_VAL : N_TRAIN); n++) {
            const uint8_t label = (uint8_t)n;

            for (int i = 0; i < SIDE * SIDE; i++) {
                const uint8_t v = pixel(n, i);
                part[k] = checksum_add(part[k], &v, 1);
            }
            part[k] = checksum_add(part[k], &label, 1);
        }
        want = checksum_add(want, &part[k], sizeof(part[k]));
    }
    assert_int_equal(r.content_checksum, want);
    remove_dir(from);
    remove_dir(to);
}

static void test_changed_records_are_made_again(void **state)
{
    char *const from = temp_dir(), *const to = temp_dir(), *const rec = file_join(to, "train.rec");
    const struct prepare_fashion p = {.from = from, .to = to};
    struct prepare_result r;
    int fd;

    (void)state;
    write_fashion(from);
    assert_int_equal(prepare_fashion_mnist(p, &r), 0);
    fd = open(rec, O_WRONLY);
    assert_int_equal(pwrite(fd, "x", 1, 60), 1);
    close(fd);
    assert_int_equal(prepare_fashion_mnist(p, &r), 0);
    assert_int_equal(r.already, 0);
    write_file(to, "val.idx", "0\t0\n", 4);
    assert_int_equal(prepare_fashion_mnist(p, &r), 0);
    assert_int_equal(r.already, 0);
    assert_int_equal(prepare_fashion_mnist(p, &r), 0);
    assert_int_equal(r.already, 1);
    write_file(to, "dataset.json", "{]", 2);
    assert_int_equal(prepare_fashion_mnist(p, &r), 0);
    assert_int_equal(r.already, 0);
    free(rec);
    remove_dir(from);
    remove_dir(to);
}

static void test_fashion_failures_are_named(void **state)
{
    char *const from = temp_dir(), *const to = temp_dir();
    struct prepare_fashion p = {.from = from, .to = to};
    struct prepare_result r;
    struct bytes y = {0};

    (void)state;
    assert_int_equal(prepare_fashion_mnist(p, &r), E_IO);
    assert_reason_has("dataset-fashion-mnist");
    write_fashion(from);
    p.n_val = N_VAL + 1;
    assert_int_equal(prepare_fashion_mnist(p, &r), E_USAGE);
    assert_reason_has("4 images asked for");
    p.n_val = 0;
    put_be32(&y, 0x801);
    put_be32(&y, 2);
    bytes_add(&y, "\1\2", 2);
    write_gz(from, "train-labels-idx1-ubyte.gz", y.data, y.n);
    assert_int_equal(prepare_fashion_mnist(p, &r), E_DATA);
    assert_reason_has("7 images but 2 labels");
    y.n = 0;
    put_be32(&y, 0x801);
    put_be32(&y, N_TRAIN);
    bytes_add(&y, "\1\2\3\4\12\5\6", N_TRAIN);
    write_gz(from, "train-labels-idx1-ubyte.gz", y.data, y.n);
    assert_int_equal(prepare_fashion_mnist(p, &r), E_DATA);
    assert_reason_has("label 4 of train");
    bytes_release(&y);
    remove_dir(from);
    remove_dir(to);
}

static void check_idx_bad(const char *dir, const struct bytes *b, const char *reason)
{
    char *const path = file_join(dir, "x.gz");
    struct idx x;

    write_gz(dir, "x.gz", b->data, b->n);
    assert_int_equal(idx_load(path, 1, &x), E_DATA);
    assert_null(x.bytes);
    assert_reason_has(reason);
    free(path);
}

static void test_idx_files_that_lie_are_refused(void **state)
{
    char *const dir = temp_dir(), *const path = file_join(dir, "x.gz");
    struct bytes b = {0};
    struct idx x;
    char *packed;
    size_t n;

    (void)state;
    check_idx_bad(dir, &b, "ends 4 bytes short");
    put_be32(&b, 0x803);
    check_idx_bad(dir, &b, "expected 00000801");
    b.n = 0;
    put_be32(&b, 0x801);
    put_be32(&b, 0);
    check_idx_bad(dir, &b, "claims the size 0");
    b.n = 4;
    put_be32(&b, UINT32_MAX);
    check_idx_bad(dir, &b, "claims the size 4294967295");
    b.n = 4;
    put_be32(&b, 1000000000); /* a claim that is allowed, but not true, takes no such memory */
    bytes_add(&b, "abc", 3);
    check_idx_bad(dir, &b, "short of what its header says");
    b.n = 4;
    put_be32(&b, 2);
    bytes_add(&b, "abc", 3);
    check_idx_bad(dir, &b, "goes on behind");
    b.n--;
    write_gz(dir, "x.gz", b.data, b.n);
    assert_int_equal(idx_load(path, 1, &x), 0);
    assert_memory_equal(x.bytes, "ab", 2);
    idx_release(&x);
    assert_int_equal(file_read(path, 1000, &packed, &n), 0);
    write_file(dir, "x.gz", packed, n - 9); /* cut before the checksum */
    assert_int_equal(idx_load(path, 1, &x), E_DATA);
    packed[n - 7] ^= 1; /* a wrong checksum */
    write_file(dir, "x.gz", packed, n);
    assert_int_equal(idx_load(path, 1, &x), E_DATA);
    unlink(path);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_int_equal(idx_load(path, 1, &x), E_DATA); /* does not wait for a writer */
    assert_reason_has("is not a regular file");
    free(packed);
    bytes_release(&b);
    free(path);
    remove_dir(dir);
}

static void test_folder_becomes_records(void **state)
{
    char *const dir = temp_dir(), *const prefix = file_join(dir, "out/deep/train");
    char *const rec = xasprintf("%s.rec", prefix);
    struct prepare_result first, again;
    struct source *s;
    struct sample got = {0};

    (void)state;
    write_file(dir, ".keep", "", 0);
    make_dir(dir, "in/b");
    make_dir(dir, "in/a \"quoted\"");
    write_file(dir, "in/b/1", "one", 3);
    write_file(dir, "in/b/0", "zero", 4);
    write_file(dir, "in/a \"quoted\"/x", "ex", 2);
    {
        char *const in = file_join(dir, "in");

        first = convert_to(in, prefix, NULL);
        assert_int_equal(first.already, 0);
        assert_int_equal(first.n_train, 3);
        again = convert_to(in, prefix, NULL);
        assert_int_equal(again.already, 1);
        assert_int_equal(again.content_checksum, first.content_checksum);
        write_file(dir, "in/b/0", "ZERO", 4);
        s = open_source(in); /* what is there is not replaced by something else */
        assert_int_equal(prepare_convert(s, &(struct prepare_to){.prefix = prefix}, &again),
                         E_USAGE);
        source_close(s);
        free(in);
    }
    assert_int_equal(source_open(rec, &s), 0);
    assert_int_equal(source_read(s, 1, &got), 0);
    assert_memory_equal(got.data, "zero", 4);
    assert_int_equal(got.label, 1);
    sample_release(&got);
    source_close(s);
    free(rec);
    free(prefix);
    remove_dir(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fashion_mnist_becomes_records),
        cmocka_unit_test(test_content_checksum_is_this),
        cmocka_unit_test(test_changed_records_are_made_again),
        cmocka_unit_test(test_fashion_failures_are_named),
        cmocka_unit_test(test_idx_files_that_lie_are_refused),
        cmocka_unit_test(test_folder_becomes_records),
    };

    return cmocka_run_group_tests_name("prepare", tests, NULL, NULL);
}
