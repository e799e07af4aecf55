/* Hard inputs, image bytes: for each kind a generator of variants, decoded on every path that data
 * takes (folder and records, one thread and several), and a line with the outcome. Run by hand, it
 * prints the table: build/tests/test_hard_data_images | grep '^#' */
#include <sys/resource.h>

#include "data/decode.h"
#include "hard_patch.h"

/* Every colour space with four inks, sampling and coding. */
static void test_a1_cmyk(void **state)
{
    static const struct {
        int cmyk, no_adobe;
    } spaces[] = {{0, 0}, {1, 0}, {0, 1}};
    static const int sampling[][2] = {{1, 1}, {2, 1}, {1, 2}, {2, 2}};
    struct variants v = variants_new();
    struct bytes jpeg = {0};
    struct pass got;
    double worst = 0;

    (void)state;
    for (int i = 0; i < 3 * 4 * 8; i++) {
        const struct jpeg_kind k = {.components = 4,
                                    .cmyk = spaces[i % 3].cmyk,
                                    .no_adobe = spaces[i % 3].no_adobe,
                                    .h = sampling[i / 3 % 4][0],
                                    .v = sampling[i / 3 % 4][1],
                                    .progressive = i / 12 & 1,
                                    .restart = i / 24 & 1,
                                    .key = i / 48 & 1};
        uint8_t *const px = smooth_picture(SIZE, SIZE, i);

        make_jpeg(&k, px, SIZE, SIZE, &jpeg);
        variants_add(&v, jpeg.data, jpeg.n);
        free(px);
    }
    got = pass_over(v.dir, (struct pipeline_config){0});
    assert_int_equal(got.n_bad, 0);
    for (int i = 0; i < v.n; i++) {
        uint8_t *const px = smooth_picture(SIZE, SIZE, i);
        const double off = mean_difference(pass_pixels(&got, i), px, SIZE * SIZE * 3);

        if (off > 5.0)
            fail_msg("variant %d is off by %.1f levels", i, off);
        worst = off > worst ? off : worst;
        free(px);
    }
    assert_int_equal(got.counters.n_trait[TRAIT_cmyk], v.n);
    outcome("A1", v.n,
            "CMYK and YCCK JPEGs, Adobe marker or none: RGB within %.1f levels of the original, "
            "%llu counted as cmyk",
            worst, (unsigned long long)got.counters.n_trait[TRAIT_cmyk]);
    pass_free(&got);
    bytes_release(&jpeg);
    remove_dir(v.dir);
}

/* Each under four names (variants_add takes them in turn). */
static void test_a2_content_not_name(void **state)
{
    static const struct {
        const char *bytes;
        size_t n;
        const char *reason;
    } foreign[] = {
        {"GIF87a\1\0\1\0\0\0\0;", 14, "this is a GIF"},
        {"GIF89a\1\0\1\0\0\0\0;", 14, "this is a GIF"},
        {"BM\x3A\0\0\0\0\0\0\0\x36\0\0\0", 14, "this is a BMP"},
        {"II*\0\x08\0\0\0", 8, "this is a TIFF"},
        {"MM\0*\0\0\0\x08", 8, "this is a TIFF"},
        {"RIFF\x24\0\0\0WEBPVP8 ", 16, "this is a WebP"},
        {"\xFF\x0A\0\0", 4, "this is a JPEG XL"},
        {"<svg xmlns='http://www.w3.org/2000/svg'/>", 41, "this is text or SVG"},
        {"<html>404 Not Found</html>", 26, "this is text or SVG"},
        {"\x1F\x8B\x08\0", 4, "this is gzip data"},
        {"version https://git-lfs.github.com/spec/v1", 42, "no known image"},
        {"\0\0\0\0\0\0\0\0", 8, "no known image"},
        {"\x89PNG\r\n\x1A", 7, "no known image"},
        {"\xFF", 1, "no known image: it is only the byte ff"},
        {"x\1z", 3, "no known image: it is only the bytes 78 01 7a"},
        {"12345", 5, "no known image: it starts with the bytes 31 32 33 34"},
    };
    const int n_foreign = COUNT_OF(foreign);
    struct variants v = variants_new();
    uint8_t *const px = smooth_picture(SIZE, SIZE, 1);
    struct bytes b = {0};
    struct pass got;

    (void)state;
    for (int i = 0; i < 4 * n_foreign; i++)
        variants_add(&v, foreign[i / 4].bytes, foreign[i / 4].n);
    for (int i = 0; i < 16; i++) {
        make_png(SIZE, SIZE, PNG_COLOR_TYPE_RGB, 8, i >= 8, px, &b);
        variants_add(&v, b.data, b.n);
    }
    for (int i = 0; i < 4; i++) {
        make_jpeg(&plain_jpeg, px, SIZE, SIZE, &b);
        variants_add(&v, b.data, b.n);
    }
    got = pass_over(v.dir, (struct pipeline_config){0});
    for (int i = 0; i < 4 * n_foreign; i++)
        assert_reason(&got, i, foreign[i / 4].reason);
    assert_int_equal(got.n_bad, 4 * n_foreign);
    for (int i = 4 * n_foreign; i < 4 * n_foreign + 16; i++)
        assert_memory_equal(pass_pixels(&got, i), px, SIZE * SIZE * 3);
    assert_int_equal(got.counters.n_trait[TRAIT_png], 16);
    outcome("A2", v.n,
            "16 PNGs under JPEG and other names decoded exactly and counted, 4 JPEGs likewise; "
            "%d of GIF, BMP, TIFF, WebP, JPEG XL, SVG, HTML, gzip, junk: bad samples, each called "
            "what it is",
            got.n_bad);
    pass_free(&got);
    bytes_release(&b);
    free(px);
    remove_dir(v.dir);
}

/* The place in the upright picture where stored row 0 (column 0) lies, by the words of the EXIF
 * standard: top, bottom, left or right. n rows are stored; counts (x, y) from there. */
static int stored_place(char edge, int n, int x, int y)
{
    const int along = edge == 't' || edge == 'b' ? y : x;

    return edge == 't' || edge == 'l' ? along : n - 1 - along;
}

/* The pixel that the upright picture shows at (x, y), from the stored w x h. */
static const uint8_t *upright_pixel(const uint8_t *px, int w, int h, int orientation, int x, int y)
{
    static const char rows[] = " ttbblrrl", columns[] = " lrrlttbb";
    const int sy = stored_place(rows[orientation], h, x, y);
    const int sx = stored_place(columns[orientation], w, x, y);

    return px + ((size_t)sy * (size_t)w + (size_t)sx) * 3;
}

/* One tagged picture, whole and in random crops, under both policies. */
static void check_turned(struct decoder *d, const struct bytes *b, const struct image *plain,
                         int orientation, uint64_t *seed)
{
    const int shown = orientation >= 1 && orientation <= 8 ? orientation : 1;

    for (int policy = 0; policy < 2; policy++) {
        const int o = policy == EXIF_APPLY ? shown : 1;
        struct image got = {0};
        struct rect whole;

        decoder_set_exif(d, (enum exif_policy)policy);
        for (int round = 0; round < 6; round++) {
            struct rect r;

            assert_int_equal(decoder_begin(d, b->data, b->n, &whole), 0);
            assert_int_equal(whole.width, o >= 5 ? plain->height : plain->width);
            assert_int_equal(whole.height, o >= 5 ? plain->width : plain->height);
            assert_int_equal((decoder_traits(d) & TRAIT_BIT(exif)) != 0, shown != 1);
            r.width = round ? 1 + draw(seed, whole.width) : whole.width;
            r.height = round ? 1 + draw(seed, whole.height) : whole.height;
            r.x = draw(seed, whole.width - r.width + 1);
            r.y = draw(seed, whole.height - r.height + 1);
            assert_int_equal(decoder_crop(d, r, &got), 0);
            for (int i = 0; i < r.width * r.height; i++)
                assert_memory_equal(image_row(&got, i / r.width) + i % r.width * 3,
                                    upright_pixel(plain->px.data, plain->width, plain->height, o,
                                                  r.x + i % r.width, r.y + i / r.width),
                                    3);
        }
        image_release(&got);
    }
}

static void test_a4_orientation(void **state)
{
    enum { W = 52, H = 37 };
    uint8_t *const px = picture_new(W, H, 3), *const square = picture_new(SIZE, SIZE, 4);
    struct decoder *const d = decoder_new(0);
    struct variants plain = variants_new(), tagged = variants_new();
    struct bytes b = {0};
    struct image want = {0};
    struct pass a, ignored, applied;
    struct rect whole;
    uint64_t seed = 4;
    int differ = 0;

    (void)state;
    for (int i = 0; i < 40; i++) {
        const int carrier = i / 10, orientation = i % 10;

        for (int size = 0; size < 2; size++) {
            if (carrier < 2)
                make_jpeg(&plain_jpeg, size ? square : px, size ? SIZE : W, size ? SIZE : H, &b);
            else
                make_png(size ? SIZE : W, size ? SIZE : H, PNG_COLOR_TYPE_RGB, 8, i & 1,
                         size ? square : px, &b);
            if (size)
                variants_add(&plain, b.data, b.n);
            decoder_set_exif(d, EXIF_APPLY);
            assert_int_equal(decoder_begin(d, b.data, b.n, &whole), 0);
            assert_int_equal(decoder_crop(d, whole, &want), 0);
            add_orientation(&b, carrier, orientation);
            check_turned(d, &b, &want, orientation, &seed);
        }
        variants_add(&tagged, b.data, b.n);
    }
    a = pass_over(plain.dir, (struct pipeline_config){0});
    ignored = pass_over(tagged.dir, (struct pipeline_config){0});
    applied = pass_over(tagged.dir, (struct pipeline_config){.exif = EXIF_APPLY});
    assert_int_equal(a.n_bad + ignored.n_bad + applied.n_bad, 0);
    assert_memory_equal(a.px, ignored.px, (size_t)a.n * SIZE * SIZE * 3);
    for (int i = 0; i < a.n; i++)
        differ += memcmp(pass_pixels(&a, i), pass_pixels(&applied, i), SIZE * SIZE * 3) != 0;
    assert_int_equal(differ, 28); /* 2..8 in four carriers */
    assert_int_equal(ignored.counters.n_trait[TRAIT_exif], 28);
    assert_int_equal(applied.counters.n_trait[TRAIT_exif], 28);
    outcome(
        "A4", 40,
        "EXIF orientations 0-9 in JPEG (both byte orders) and PNG: ignored on every path unless "
        "--exif-orientation apply, which turns them for every crop; 28 tagged ones counted");
    pass_free(&a);
    pass_free(&ignored);
    pass_free(&applied);
    image_release(&want);
    bytes_release(&b);
    decoder_free(d);
    free(px);
    free(square);
    remove_dir(plain.dir);
    remove_dir(tagged.dir);
}

enum { N_CUT_KINDS = 8, CUTS = 40 };

static void make_cut_kind(int k, const uint8_t *px, struct bytes *b)
{
    static const struct jpeg_kind kinds[N_CUT_KINDS - 2] = {
        {.components = 3, .h = 2, .v = 2},
        {.components = 3, .h = 2, .v = 1, .progressive = 1},
        {.components = 1},
        {.components = 4},
        {.components = 3, .h = 1, .v = 1, .restart = 1},
        {.components = 3, .h = 2, .v = 2, .arithmetic = 1},
    };
    uint8_t *const copy = xmalloc(SIZE * SIZE * 3);

    memcpy(copy, px, SIZE * SIZE * 3);
    if (k < N_CUT_KINDS - 2)
        make_jpeg(&kinds[k], px, SIZE, SIZE, b);
    else
        make_png(SIZE, SIZE, PNG_COLOR_TYPE_RGB, 8, k == N_CUT_KINDS - 1, copy, b);
    free(copy);
}

/* Cut at seeded places and the same places with zeros to the old length; always the middle, the
 * last two bytes and the last one. Between them, whole pictures. */
static int add_cuts(struct variants *v, const struct bytes *whole, uint64_t *seed)
{
    struct bytes zeros = {0};
    int n = 0;

    for (int i = 0; i < CUTS; i++) {
        const size_t at = i == 0   ? whole->n / 2
                          : i == 1 ? whole->n - 2
                          : i == 2 ? whole->n - 1
                                   : (size_t)draw(seed, (int)whole->n);

        zeros.n = 0;
        bytes_add(&zeros, whole->data, whole->n);
        memset(zeros.data + at, 0, zeros.n - at);
        variants_add(v, whole->data, at);
        variants_add(v, zeros.data, zeros.n);
        n += 2;
    }
    bytes_release(&zeros);
    return n;
}

/* Training with the same files: full batches, good pictures only, every bad one named. */
static void check_training(const char *dir, int n_bad)
{
    struct source *const s = open_source(dir);
    struct pipeline_config f = train_config(s);
    struct pipeline_counters c;
    struct pipeline *p;
    uint64_t n = 0;

    f.batch_size = 17;
    f.round_up = 1;
    p = open_pipeline(&f);
    for (uint64_t i = 0; i < pipeline_steps_per_epoch(&f); i++) {
        const struct batch *const b = next(p);

        n += b->n_real;
        for (size_t k = 0; k < b->n_real; k++)
            assert_true(weights(b)[k] == 1.0f && labels(b)[k] == 0);
        pipeline_done(p, b);
    }
    assert_int_equal(n, s->n_samples);
    assert_int_equal(pipeline_bad_count(p), n_bad);
    pipeline_counters(p, &c);
    assert_true(c.n_replaced >= (uint64_t)n_bad);
    pipeline_close(p);
    source_close(s);
}

static void test_a5_cut_files(void **state)
{
    struct variants v = variants_new();
    uint8_t *const px = smooth_picture(SIZE, SIZE, 5);
    struct bytes whole = {0};
    struct pass got;
    uint64_t seed = 5;
    int n_bad = 0, good[N_CUT_KINDS];

    (void)state;
    for (int k = 0; k < N_CUT_KINDS; k++) {
        make_cut_kind(k, px, &whole);
        n_bad += add_cuts(&v, &whole, &seed);
        good[k] = v.n;
        for (int i = 0; i < 40; i++)
            variants_add(&v, whole.data, whole.n);
    }
    variants_add(&v, "", 0);
    variants_add(&v, "\xFF\xD8", 2);
    variants_add(&v, "\xFF\xD8\xFF\xD9", 4);
    variants_add(&v, "\x89PNG\r\n\x1A\n", 8);
    n_bad += 4;
    got = pass_over(v.dir, (struct pipeline_config){0});
    assert_int_equal(got.n_bad, n_bad);
    for (int k = 0; k < N_CUT_KINDS; k++)
        for (int i = 0; i < 40; i++)
            assert_memory_equal(pass_pixels(&got, good[k] + i), pass_pixels(&got, good[k]),
                                SIZE * SIZE * 3);
    assert_reason(&got, v.n - 4, "the file is empty");
    assert_reason(&got, v.n - 3, "JPEG");
    assert_reason(&got, v.n - 1, "the PNG is truncated: no IEND chunk in its 8 bytes");
    check_training(v.dir, n_bad);
    outcome("A5", v.n,
            "%d cut, zero-filled or empty JPEGs and PNGs: each a bad sample with reason and byte; "
            "evaluation counts it as wrong, training takes another; the %d whole ones between "
            "them are untouched. A picture is whole or bad: none is used in part",
            n_bad, v.n - n_bad);
    pass_free(&got);
    bytes_release(&whole);
    free(px);
    remove_dir(v.dir);
}

/* Every sampling that fits ten blocks, times coding, against libjpeg in the plainest way. */
static void test_a7_codings(void **state)
{
    static const int sampling[][2] = {{1, 1}, {2, 1}, {1, 2}, {2, 2}, {3, 1},
                                      {1, 3}, {4, 1}, {1, 4}, {4, 2}, {2, 4}};
    struct variants v = variants_new();
    struct bytes jpeg[120] = {{0}};
    uint8_t *const px = picture_new(SIZE, SIZE, 7), *const want = xmalloc(SIZE * SIZE * 3);
    struct pass got;

    (void)state;
    for (int i = 0; i < 120; i++) {
        const struct jpeg_kind k = {.components = i / 80 ? 1 + i % 2 * 2 : 3,
                                    .h = i / 80 ? 0 : sampling[i % 10][0],
                                    .v = i / 80 ? 0 : sampling[i % 10][1],
                                    .rgb = i / 80 && i % 2,
                                    .progressive = i / 10 & 1,
                                    .arithmetic = i / 20 & 1,
                                    .restart = i / 40 & 1};

        make_jpeg(&k, px, SIZE, SIZE, &jpeg[i]);
        variants_add(&v, jpeg[i].data, jpeg[i].n);
    }
    got = pass_over(v.dir, (struct pipeline_config){0});
    for (int i = 0; i < v.n; i++) {
        assert_reason(&got, i, "");
        plain_decode(&jpeg[i], want);
        assert_memory_equal(pass_pixels(&got, i), want, SIZE * SIZE * 3);
        bytes_release(&jpeg[i]);
    }
    assert_int_equal(got.n_bad, 0);
    outcome(
        "A7", v.n,
        "10 chroma samplings, RGB-stored and grey JPEGs, baseline, progressive, arithmetic, with "
        "restart marks: the bytes that libjpeg gives for the whole picture");
    pass_free(&got);
    free(px);
    free(want);
    remove_dir(v.dir);
}

static void test_a8_depths_and_alpha(void **state)
{
    struct variants v = variants_new();
    struct png_kind kinds[2 * N_PNG_KINDS];
    struct pass got;
    int n_deep = 0, n_alpha = 0, n_grey = 0;

    (void)state;
    for (int i = 0; i < 2 * N_PNG_KINDS; i++) {
        kinds[i] = png_kinds[i % N_PNG_KINDS];
        kinds[i].interlaced = i / N_PNG_KINDS;
        kinds[i].seed = (uint64_t)i;
        png_kind_add(&v, &kinds[i]);
        n_deep += kinds[i].depth == 16;
        n_alpha += kinds[i].trns || kinds[i].color & PNG_COLOR_MASK_ALPHA;
        n_grey += (kinds[i].color & PNG_COLOR_MASK_COLOR) == 0;
    }
    got = pass_over(v.dir, (struct pipeline_config){0});
    assert_int_equal(got.n_bad, 0);
    for (int i = 0; i < v.n; i++)
        png_kind_check(&kinds[i], pass_pixels(&got, i));
    assert_int_equal(got.counters.n_trait[TRAIT_deep], n_deep);
    assert_int_equal(got.counters.n_trait[TRAIT_alpha], n_alpha);
    assert_int_equal(got.counters.n_trait[TRAIT_grey], n_grey);
    outcome("A8", v.n,
            "PNGs grey, RGB, palette, LA, RGBA of 1-16 bits, with transparent colours, interlaced: "
            "grey replicated, alpha flattened on white, 16 bits rounded to v/257; %d grey, %d with "
            "alpha, %d deep counted",
            n_grey, n_alpha, n_deep);
    pass_free(&got);
    remove_dir(v.dir);
}

/* Every value of 16 bits. */
static void test_a8_sixteen_bits_are_scaled(void **state)
{
    struct decoder *const d = decoder_new(0);
    uint8_t *const rows = xmalloc(256 * 256 * 2);
    struct bytes b = {0};
    struct image got = {0};
    struct rect whole;

    (void)state;
    for (int i = 0; i < 65536; i++) {
        rows[2 * i] = (uint8_t)(i >> 8);
        rows[2 * i + 1] = (uint8_t)i;
    }
    make_png(256, 256, PNG_COLOR_TYPE_GRAY, 16, 0, rows, &b);
    assert_int_equal(decoder_begin(d, b.data, b.n, &whole), 0);
    assert_int_equal(decoder_crop(d, whole, &got), 0);
    for (int i = 0; i < 65536; i++)
        assert_int_equal(got.px.data[i * 3], (i + 128) / 257);
    outcome("A8", 65536, "all 16-bit greys: round(v / 257)");
    image_release(&got);
    bytes_release(&b);
    free(rows);
    decoder_free(d);
}

static long peak_kib(void)
{
    struct rusage u;

    getrusage(RUSAGE_SELF, &u);
    return u.ru_maxrss;
}

/* Headers that claim more than there is: refused, or read as damaged, in little memory. Arithmetic
 * coding has no least size, so there only max-pixels protects: not among the kinds. */
static void test_a10_lying_sizes(void **state)
{
    static const uint32_t sizes[][2] = {
        {65500, 65500}, {65535, 65535}, {14000, 14000}, {20000, 9999}, {65535, 3000}, {3000, 65535},
        {6430, 5980},   {0, 0},         {0, 32},        {32, 0},       {9000, 32},    {32, 9000}};
    struct variants v = variants_new();
    uint8_t *const px = smooth_picture(SIZE, SIZE, 10);
    struct bytes b = {0};
    struct pass got;
    long before;
    int n_bytes = 0;

    (void)state;
    for (int k = 0; k < N_CUT_KINDS; k++)
        for (size_t i = 0; k != 5 && i < COUNT_OF(sizes); i++) {
            make_cut_kind(k, px, &b);
            patch_size(&b, sizes[i][0], sizes[i][1]);
            variants_add(&v, b.data, b.n);
        }
    before = peak_kib();
    got = pass_over(v.dir, (struct pipeline_config){0});
    assert_int_equal(got.n_bad, v.n);
    for (int i = 0; i < v.n; i++) {
        const uint32_t *const size = sizes[(size_t)i % COUNT_OF(sizes)];

        n_bytes += strstr(got.reason[i], "can not hold") || strstr(got.reason[i], "can hold");
        if ((uint64_t)size[0] * size[1] > 20000000 && !strstr(got.reason[i], "claims") &&
            !strstr(got.reason[i], "image dimension"))
            fail_msg("%u x %u: %s", size[0], size[1], got.reason[i]);
    }
    if (peak_kib() - before > 50000)
        fail_msg("%ld KiB for small files with large claims", peak_kib() - before);
    outcome(
        "A10", v.n,
        "headers that claim 0 to 65535 pixels a side: all bad samples, %d of them claim more than "
        "their bytes can hold, the others are damaged; the process grew by under 50 MB",
        n_bytes);
    pass_free(&got);
    bytes_release(&b);
    free(px);
    remove_dir(v.dir);
}

/* The limit is exact and the same for every format. */
static void test_a10_max_pixels(void **state)
{
    struct variants v = variants_new();
    uint8_t *const px = smooth_picture(SIZE, SIZE, 10);
    struct bytes b = {0};

    (void)state;
    for (int k = 0; k < N_CUT_KINDS; k++) {
        make_cut_kind(k, px, &b);
        variants_add(&v, b.data, b.n);
    }
    for (int over = 0; over < 2; over++) {
        struct pass got =
            pass_over(v.dir, (struct pipeline_config){.max_pixels = SIZE * SIZE - over});

        assert_int_equal(got.n_bad, over ? v.n : 0);
        for (int i = 0; i < v.n; i++)
            assert_reason(&got, i, over ? "more than the 1023 allowed (max-pixels)" : "");
        pass_free(&got);
    }
    outcome("A10", 2 * v.n, "--max-pixels at and below the size: taken, refused by name");
    bytes_release(&b);
    free(px);
    remove_dir(v.dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a1_cmyk),
        cmocka_unit_test(test_a2_content_not_name),
        cmocka_unit_test(test_a4_orientation),
        cmocka_unit_test(test_a5_cut_files),
        cmocka_unit_test(test_a7_codings),
        cmocka_unit_test(test_a8_depths_and_alpha),
        cmocka_unit_test(test_a8_sixteen_bits_are_scaled),
        cmocka_unit_test(test_a10_lying_sizes),
        cmocka_unit_test(test_a10_max_pixels),
    };

    return cmocka_run_group_tests_name("hard image bytes", tests, NULL, NULL);
}
