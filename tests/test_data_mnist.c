/* Pictures that are pixels: MNIST's pairs of files as a source, read in place or unpacked, and PGM
 * and PPM as netpbm describes them. */
#include "test_data_pipeline.h"

#include <zlib.h>

#include "data/decode.h"

enum { N = 5, W = 4, H = 3 };

static void put_be32(struct bytes *b, uint32_t v)
{
    const uint8_t four[4] = {(uint8_t)(v >> 24), (uint8_t)(v >> 16), (uint8_t)(v >> 8), (uint8_t)v};

    bytes_add(b, four, 4);
}

enum packing { PLAIN, GZIPPED };

static void put_file(const char *dir, const char *name, enum packing how, const struct bytes *b)
{
    char *const path = xasprintf("%s/%s%s", dir, name, how == GZIPPED ? ".gz" : "");
    const gzFile f = gzopen(path, how == GZIPPED ? "wb" : "wbT");

    assert_int_equal(gzwrite(f, b->data, (unsigned)b->n), b->n);
    assert_int_equal(gzclose(f), Z_OK);
    free(path);
}

static uint8_t pixel(int picture, int i)
{
    return (uint8_t)(picture * 40 + i * 3);
}

static void put_images(const char *dir, const char *stem, enum packing how, uint32_t n)
{
    char *const name = xasprintf("%s-images-idx3-ubyte", stem);
    struct bytes b = {0};

    put_be32(&b, 0x803);
    put_be32(&b, n);
    put_be32(&b, H);
    put_be32(&b, W);
    for (int k = 0; k < N; k++)
        for (int i = 0; i < W * H; i++)
            bytes_add(&b, &(uint8_t){pixel(k, i)}, 1);
    put_file(dir, name, how, &b);
    bytes_release(&b);
    free(name);
}

static void put_labels(const char *dir, const char *stem, enum packing how, uint32_t n)
{
    char *const name = xasprintf("%s-labels-idx1-ubyte", stem);
    struct bytes b = {0};

    put_be32(&b, 0x801);
    put_be32(&b, n);
    bytes_add(&b, "\3\1\0\2\1", n);
    put_file(dir, name, how, &b);
    bytes_release(&b);
    free(name);
}

static void check_pictures(const struct source *s)
{
    static const int64_t labels_want[N] = {3, 1, 0, 2, 1};
    struct decoder *const d = decoder_new(0);
    struct sample got = {0};
    struct image out = {0};
    struct rect whole;

    assert_string_equal(s->ops->name, "mnist");
    assert_int_equal(s->n_samples, N);
    for (uint64_t k = 0; k < N; k++) {
        int64_t label;

        assert_int_equal(source_read(s, k, &got), 0);
        assert_int_equal(got.label, labels_want[k]);
        assert_int_equal(source_label(s, k, &label), 0);
        assert_int_equal(label, labels_want[k]);
        assert_memory_equal(got.data, "P5 4 3 255\n", 11);
        assert_int_equal(got.n, 11 + W * H);
        assert_int_equal(decoder_begin(d, got.data, got.n, &whole), 0);
        assert_int_equal(whole.width, W);
        assert_int_equal(whole.height, H);
        assert_int_equal(decoder_traits(d), TRAIT_BIT(grey));
        assert_int_equal(decoder_crop(d, whole, &out), 0);
        for (int i = 0; i < W * H * 3; i++)
            assert_int_equal(out.px.data[i], pixel((int)k, i / 3));
    }
    image_release(&out);
    sample_release(&got);
    decoder_free(d);
}

static void test_pairs_of_files(void **state)
{
    (void)state;
    for (int how = 0; how < 4; how++) {
        char *const dir = temp_dir(), *file, where[256];
        struct source *s;

        put_images(dir, "train", how & 1 ? GZIPPED : PLAIN, N);
        put_labels(dir, "train", how & 2 ? GZIPPED : PLAIN, N);
        assert_int_equal(source_open_split(dir, "train", &s), 0);
        check_pictures(s);
        source_locate(s, 1, where, sizeof(where));
        assert_non_null(strstr(where, how & 1 ? "train-images-idx3-ubyte.gz, picture 1, byte"
                                              : "train-images-idx3-ubyte, picture 1, byte"));
        assert_non_null(strstr(where, "byte offset 28"));
        file = source_file(s, 0); /* unpacked pictures are memory, whatever is in the cache */
        assert_ptr_equal(strstr(file, how & 1 ? "/proc/self/fd/" : dir), file);
        free(file);
        source_close(s);
        {
            char *const path = xasprintf("%s/train-images-idx3-ubyte%s", dir, how & 1 ? ".gz" : "");

            s = open_source(path);
            check_pictures(s);
            source_close(s);
            free(path);
        }
        remove_dir(dir);
    }
}

static void test_pairs_that_do_not_fit(void **state)
{
    char *const dir = temp_dir(), *const stem = file_join(dir, "t10k");
    struct source *s;

    (void)state;
    put_images(dir, "t10k", PLAIN, N);
    assert_int_equal(source_open(stem, &s), E_DATA);
    assert_reason_has("t10k-labels-idx1-ubyte is missing");
    put_labels(dir, "t10k", PLAIN, N - 1);
    assert_int_equal(source_open(stem, &s), E_DATA);
    assert_reason_has("has 4 labels for the 5 pictures of");
    put_labels(dir, "t10k", PLAIN, N);
    put_images(dir, "t10k", PLAIN, N + 1);
    assert_int_equal(source_open(stem, &s), E_DATA);
    assert_reason_has("has 76 bytes, but its header says 88");
    put_images(dir, "t10k", PLAIN, N);
    assert_int_equal(source_open_split(dir, "val", &s), 0); /* MNIST calls it so */
    check_pictures(s);
    source_close(s);
    free(stem);
    remove_dir(dir);
}

/* The same training batches from the pair and from records made of it. */
static void test_pairs_become_records(void **state)
{
    char *const dir = temp_dir(), *const stem = file_join(dir, "train"), *const to = temp_dir();
    char *const prefix = file_join(to, "train"), *const tar = file_join(to, "train.tar");
    struct source *s, *t;
    struct pipeline_config f;
    uint64_t want;

    (void)state;
    put_images(dir, "train", GZIPPED, N);
    put_labels(dir, "train", PLAIN, N);
    convert_to(stem, prefix, "webdataset");
    s = open_source(stem);
    t = open_source(tar);
    f = train_config(s);
    want = stream_checksum(&f, 6);
    f.source = t;
    assert_int_equal(stream_checksum(&f, 6), want);
    source_close(s);
    source_close(t);
    free(stem);
    free(prefix);
    free(tar);
    remove_dir(dir);
    remove_dir(to);
}

/* ---- PGM and PPM ---- */

/* Decodes the columns 1 and 2 of the second row, of pictures of 3 x 2. */
static void check_pnm(const void *file, size_t n, const uint8_t want[6], unsigned traits)
{
    struct decoder *const d = decoder_new(0);
    struct image out = {0};
    struct rect whole;

    if (decoder_begin(d, file, n, &whole) < 0)
        fail_msg("%s", err_reason());
    assert_int_equal(whole.width, 3);
    assert_int_equal(whole.height, 2);
    assert_int_equal(decoder_traits(d), traits);
    assert_int_equal(decoder_crop(d, (struct rect){1, 1, 2, 1}, &out), 0);
    assert_memory_equal(out.px.data, want, 6);
    image_release(&out);
    decoder_free(d);
}

static void refuse_pnm(const void *file, size_t n, const char *reason)
{
    struct decoder *const d = decoder_new(0);
    uint8_t *const copy = xmalloc(n); /* of its exact size, for the sanitizers */
    struct rect whole;

    memcpy(copy, file, n);
    assert_int_equal(decoder_begin(d, copy, n, &whole), E_DATA);
    assert_reason_has(reason);
    free(copy);
    decoder_free(d);
}

static void test_pgm_and_ppm(void **state)
{
    static const char grey[] = "P5\n# by hand\n3 2\n255\nabcdef", after[] = "P5 3 2 255 abcdefgh";
    static const char rgb[] = "P6\t3\r\n2#x\r255\nabcdefghijklmnopqr";
    static const uint8_t wide[] = {'P', '5', ' ', '3',  ' ',  '2',  ' ', '6', '5',
                                   '5', '3', '5', ' ',  0,    0,    0,   0,   0,
                                   0,   0,   0,   0x12, 0xC0, 0xFF, 0xFF};

    (void)state;
    check_pnm(grey, sizeof(grey) - 1, (const uint8_t *)"eeefff", TRAIT_BIT(grey));
    check_pnm(after, sizeof(after) - 1, (const uint8_t *)"eeefff", TRAIT_BIT(grey));
    check_pnm(rgb, sizeof(rgb) - 1, (const uint8_t *)"mnopqr", 0);
    check_pnm(wide, sizeof(wide), (const uint8_t[]){19, 19, 19, 255, 255, 255},
              TRAIT_BIT(grey) | TRAIT_BIT(deep)); /* 0x12C0 / 257 = 18.7 */
}

static void test_pnm_that_lies(void **state)
{
    static const char *const headers[] = {"P5",
                                          "P5 3",
                                          "P5 3 2",
                                          "P5 3 2 255",
                                          "P5 0 2 255\nabcdef",
                                          "P53 2 255\nabcdef",
                                          "P5 3 -2 255\nabcdef",
                                          "P5 3 2 255abcdef",
                                          "P5 3 2 # 255\nabcdef",
                                          "P5 3.0 2 255\nabcdef"};

    (void)state;
    for (size_t i = 0; i < COUNT_OF(headers); i++)
        refuse_pnm(headers[i], strlen(headers[i]), "the header of the PNM picture is damaged");
    refuse_pnm("P5 3 2 255\nabcde", 16, "the PNM picture is truncated: 3 x 2 pixels in 16 bytes");
    refuse_pnm("P6 3 2 255\nabcdefghijklmnopq", 28, "is truncated");
    refuse_pnm("P5 3 2 65535\nabcdef", 19, "is truncated");
    refuse_pnm("P5 99999999 99999999 255\nabcdef", 31, "is truncated");
    refuse_pnm("P5 3 2 15\nabcdef", 16, "largest value is 15; 255 and 65535 are read");
    refuse_pnm("P4 3 2\nab", 9, "no known image");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pairs_of_files),       cmocka_unit_test(test_pairs_that_do_not_fit),
        cmocka_unit_test(test_pairs_become_records), cmocka_unit_test(test_pgm_and_ppm),
        cmocka_unit_test(test_pnm_that_lies),
    };

    return cmocka_run_group_tests_name("mnist", tests, NULL, NULL);
}
