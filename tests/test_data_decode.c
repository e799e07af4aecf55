/* Decoding against libjpeg used in the plainest way, and against everything a file can do wrong. */
#include "plain_jpeg.h"

#include "data/decode.h"
#include "data/jpeg_encode.h"

enum { WIDTH = 171, HEIGHT = 133 };

static const struct rect whole_picture = {0, 0, WIDTH, HEIGHT};

static int decode(struct decoder *d, const struct bytes *b, struct rect r, struct image *out)
{
    struct rect whole;

    TRY(decoder_begin(d, b->data, b->n, &whole));
    if (r.width == 0)
        r = whole;
    return decoder_crop(d, r, out);
}

static void check_crop(const char *name, const uint8_t *full, const struct image *got,
                       struct rect r)
{
    assert_int_equal(got->width, r.width);
    assert_int_equal(got->height, r.height);
    for (int y = 0; y < r.height; y++)
        for (int x = 0; x < r.width * 3; x++) {
            const int want = full[((r.y + y) * WIDTH + r.x) * 3 + x];

            if (image_row(got, y)[x] != want)
                fail_msg("%s, crop %d,%d %dx%d: byte %d of row %d is %d, full decode says %d", name,
                         r.x, r.y, r.width, r.height, x, y, image_row(got, y)[x], want);
        }
}

static void test_a_crop_equals_the_full_decode_cropped(void **state)
{
    uint8_t *const px = picture_new(WIDTH, HEIGHT, 1);
    struct decoder *const d = decoder_new(0);
    struct image got = {0};
    struct bytes jpeg = {0};
    unsigned seed = 7;

    (void)state;
    for (size_t k = 0; k < COUNT_OF(kinds); k++) {
        struct rect whole;
        uint8_t *full;

        make_jpeg(&kinds[k], px, WIDTH, HEIGHT, &jpeg);
        full = full_decode(&jpeg, 1, &whole);
        assert_int_equal(whole.width, WIDTH);
        for (int i = 0; i < 200; i++) {
            struct rect r = {.width = 1 + draw_below(&seed, WIDTH),
                             .height = 1 + draw_below(&seed, HEIGHT)};

            r.x = draw_below(&seed, WIDTH - r.width + 1);
            r.y = draw_below(&seed, HEIGHT - r.height + 1);
            if (i == 0)
                r = whole_picture;
            assert_int_equal(decode(d, &jpeg, r, &got), 0);
            check_crop(kinds[k].name, full, &got, r);
        }
        free(full);
    }
    bytes_release(&jpeg);
    image_release(&got);
    decoder_free(d);
    free(px);
}

/* Colours come out as they went in, whatever the file's colour space. */
static void test_every_colour_space_becomes_rgb(void **state)
{
    uint8_t *const px = picture_new(WIDTH, HEIGHT, 1);
    struct decoder *const d = decoder_new(0);
    struct image got = {0};
    struct bytes jpeg = {0};

    (void)state;
    for (size_t k = 0; k < COUNT_OF(kinds); k++) {
        double off;

        make_jpeg(&kinds[k], px, WIDTH, HEIGHT, &jpeg);
        assert_int_equal(decode(d, &jpeg, whole_picture, &got), 0);
        if (kinds[k].components == 1)
            for (int i = 0; i < WIDTH * HEIGHT; i++)
                got.px.data[i * 3] = px[i * 3], got.px.data[i * 3 + 2] = px[i * 3 + 2];
        off = mean_difference(got.px.data, px, (size_t)WIDTH * HEIGHT * 3);
        if (off > 9.0)
            fail_msg("%s is off by %.1f levels on average", kinds[k].name, off);
    }
    make_jpeg(&kinds[0], px, WIDTH, HEIGHT, &jpeg);
    assert_int_equal(decode(d, &jpeg, whole_picture, &got), 0);
    for (int i = 0; i < WIDTH * HEIGHT * 3; i += 3)
        assert_true(got.px.data[i] == got.px.data[i + 1] && got.px.data[i] == got.px.data[i + 2]);
    bytes_release(&jpeg);
    image_release(&got);
    decoder_free(d);
    free(px);
}

/* Key (the fourth component) scales the three others, all of them inverted. */
static void test_cmyk_values_are_inverted_ink(void **state)
{
    struct bytes out = {0};
    struct jpeg_compress_struct c;
    struct jpeg_error_mgr errors;
    unsigned char *data = NULL;
    unsigned long n = 0;
    uint8_t line[16 * 4], *row = line;
    struct decoder *const d = decoder_new(0);
    struct image got = {0};

    (void)state;
    for (int x = 0; x < 16; x++)
        memcpy(line + x * 4, (uint8_t[]){200, 100, 50, 128}, 4);
    c.err = jpeg_std_error(&errors);
    jpeg_create_compress(&c);
    jpeg_mem_dest(&c, &data, &n);
    c.image_width = 16;
    c.image_height = 1;
    c.input_components = 4;
    c.in_color_space = JCS_CMYK;
    jpeg_set_defaults(&c);
    jpeg_set_quality(&c, 100, TRUE);
    jpeg_start_compress(&c, TRUE);
    jpeg_write_scanlines(&c, &row, 1);
    jpeg_finish_compress(&c);
    jpeg_destroy_compress(&c);
    bytes_add(&out, data, n);
    free(data);
    assert_int_equal(decode(d, &out, (struct rect){0}, &got), 0);
    assert_in_range(got.px.data[0], 99, 102);
    assert_in_range(got.px.data[1], 49, 52);
    assert_in_range(got.px.data[2], 24, 27);
    bytes_release(&out);
    image_release(&got);
    decoder_free(d);
}

static void check_png(struct decoder *d, const struct bytes *b, const uint8_t *want, int width)
{
    struct image got = {0};

    assert_int_equal(decode(d, b, (struct rect){0}, &got), 0);
    assert_memory_equal(got.px.data, want, (size_t)width * 3);
    image_release(&got);
}

static void test_png_colour_types(void **state)
{
    struct decoder *const d = decoder_new(0);
    struct bytes b = {0};

    (void)state;
    make_png(3, 1, PNG_COLOR_TYPE_RGB, 8, 0, (uint8_t[]){1, 2, 3, 4, 5, 6, 7, 8, 9}, &b);
    check_png(d, &b, (uint8_t[]){1, 2, 3, 4, 5, 6, 7, 8, 9}, 3);
    make_png(2, 1, PNG_COLOR_TYPE_GRAY, 8, 0, (uint8_t[]){9, 200}, &b);
    check_png(d, &b, (uint8_t[]){9, 9, 9, 200, 200, 200}, 2);
    make_png(2, 1, PNG_COLOR_TYPE_GRAY, 1, 0, (uint8_t[]){0x40}, &b);
    check_png(d, &b, (uint8_t[]){0, 0, 0, 255, 255, 255}, 2);
    make_png(2, 1, PNG_COLOR_TYPE_PALETTE, 8, 0, (uint8_t[]){4, 7}, &b); /* 7 is transparent */
    check_png(d, &b, (uint8_t[]){4, 251, 2, 255, 255, 255}, 2);
    make_png(2, 1, PNG_COLOR_TYPE_RGB_ALPHA, 8, 0, (uint8_t[]){10, 20, 30, 0, 0, 100, 200, 128},
             &b);
    check_png(d, &b, (uint8_t[]){255, 255, 255, 127, 177, 227}, 2);
    make_png(2, 1, PNG_COLOR_TYPE_GRAY_ALPHA, 8, 0, (uint8_t[]){10, 255, 10, 0}, &b);
    check_png(d, &b, (uint8_t[]){10, 10, 10, 255, 255, 255}, 2);
    /* 16 bits: v / 257 rounded; 0x80FF is 128.49, 0x8181 is 129.0, 0xFFFF is 255, 0x00FF is 0.99 */
    make_png(4, 1, PNG_COLOR_TYPE_GRAY, 16, 0,
             (uint8_t[]){0x80, 0xFF, 0x81, 0x81, 0xFF, 0xFF, 0x00, 0xFF}, &b);
    check_png(d, &b, (uint8_t[]){128, 128, 128, 129, 129, 129, 255, 255, 255, 1, 1, 1}, 4);
    bytes_release(&b);
    decoder_free(d);
}

static void test_png_crops_with_and_without_interlace(void **state)
{
    uint8_t *const px = picture_new(WIDTH, HEIGHT, 3);
    struct decoder *const d = decoder_new(0);
    const struct rect r = {31, 40, 50, 60};
    struct image got = {0};
    struct bytes b = {0};

    (void)state;
    for (int interlaced = 0; interlaced < 2; interlaced++) {
        make_png(WIDTH, HEIGHT, PNG_COLOR_TYPE_RGB, 8, interlaced, px, &b);
        assert_int_equal(decode(d, &b, r, &got), 0);
        check_crop("png", px, &got, r);
    }
    bytes_release(&b);
    image_release(&got);
    decoder_free(d);
    free(px);
}

static void check_bad(struct decoder *d, const void *bytes, size_t n, const char *reason)
{
    const struct bytes b = {.data = (uint8_t *)(uintptr_t)bytes, .n = n};
    struct image got = {0};

    if (decode(d, &b, (struct rect){0, 0, 1, 1}, &got) != E_DATA)
        fail_msg("taken, where \"%s\" was expected", reason);
    assert_reason_has(reason);
    image_release(&got);
}

/* Every one is refused although only the top left pixel is asked for, and the decoder goes on. */
static void test_bad_files_are_refused(void **state)
{
    struct decoder *const d = decoder_new(0);
    struct bytes jpeg = {0}, png = {0}, bad = {0};
    uint8_t *const px = picture_new(WIDTH, HEIGHT, 1);
    struct image got = {0};

    (void)state;
    simple_jpeg(WIDTH, HEIGHT, 1, &jpeg);
    make_png(WIDTH, HEIGHT, PNG_COLOR_TYPE_RGB, 8, 0, px, &png);
    check_bad(d, "", 0, "empty");
    check_bad(d, "\xFF\xD8", 2, "JPEG is damaged");
    check_bad(d, "\xFF\xD8\xFF\xD9", 4, "JPEG is damaged");
    check_bad(d, "\x89PNG\r\n\x1A\n", 8, "PNG is truncated");
    check_bad(d, "GIF89a....", 10, "a GIF");
    check_bad(d, "BM....", 6, "a BMP");
    check_bad(d, "<html>404 not found", 19, "text");
    check_bad(d, "\0\0\0\0\0\0", 6, "00 00 00 00");
    check_bad(d, jpeg.data, jpeg.n / 2, "truncated");
    check_bad(d, jpeg.data, jpeg.n - 2, "truncated");
    check_bad(d, jpeg.data, 20, "JPEG is damaged");
    check_bad(d, png.data, png.n / 2, "PNG is truncated");
    check_bad(d, png.data, png.n - 1, "PNG is truncated");
    bytes_add(&bad, jpeg.data, jpeg.n);
    memset(bad.data + bad.n / 2, 0, bad.n - bad.n / 2);
    check_bad(d, bad.data, bad.n, "truncated");
    bad.n = 0;
    bytes_add(&bad, png.data, png.n);
    bad.data[60] ^= 0x55;
    check_bad(d, bad.data, bad.n, "PNG is damaged near byte");
    assert_int_equal(decode(d, &jpeg, whole_picture, &got), 0);
    assert_int_equal(decode(d, &png, whole_picture, &got), 0);
    check_crop("png", px, &got, whole_picture);
    image_release(&got);
    bytes_release(&jpeg);
    bytes_release(&png);
    bytes_release(&bad);
    decoder_free(d);
    free(px);
}

/* The place of a JPEG marker, or n. */
static size_t find_marker(const struct bytes *b, uint8_t code)
{
    size_t at = 0;

    while (at + 1 < b->n && !(b->data[at] == 0xFF && b->data[at + 1] == code))
        at++;
    return at + 1 < b->n ? at : b->n;
}

/* A picture without quantisation tables is bad, also when the one before it left some. */
static void test_tables_of_one_jpeg_do_not_serve_the_next(void **state)
{
    struct decoder *const d = decoder_new(0);
    struct bytes whole = {0}, part = {0};
    struct image got = {0};

    (void)state;
    simple_jpeg(WIDTH, HEIGHT, 1, &whole);
    for (size_t at; (at = find_marker(&whole, 0xDB)) < whole.n;) { /* each DQT segment goes */
        const size_t end = at + 2 + ((size_t)whole.data[at + 2] << 8 | whole.data[at + 3]);
        part.n = 0;
        bytes_add(&part, whole.data, at);
        bytes_add(&part, whole.data + end, whole.n - end);
        whole.n = 0;
        bytes_add(&whole, part.data, part.n);
    }
    part.n = 0;
    simple_jpeg(WIDTH, HEIGHT, 1, &part);
    check_bad(d, whole.data, whole.n, "JPEG is damaged");
    assert_int_equal(decode(d, &part, whole_picture, &got), 0);
    check_bad(d, whole.data, whole.n, "JPEG is damaged");
    image_release(&got);
    bytes_release(&whole);
    bytes_release(&part);
    decoder_free(d);
}

/* libpng would take what the chunk says it needs before it reads it. */
static void test_a_png_chunk_that_claims_too_much_is_refused(void **state)
{
    uint8_t *const px = picture_new(WIDTH, HEIGHT, 1);
    struct decoder *const d = decoder_new(0);
    struct bytes png = {0}, bad = {0};

    (void)state;
    make_png(WIDTH, HEIGHT, PNG_COLOR_TYPE_RGB, 8, 0, px, &png);
    bytes_add(&bad, png.data, 33); /* signature and IHDR */
    bytes_add(&bad,
              "\x2F\0\0\x01"
              "eXIf",
              8);
    bytes_add(&bad, png.data + 33, png.n - 33);
    check_bad(d, bad.data, bad.n, "a chunk claims 788529153 bytes");
    bytes_release(&png);
    bytes_release(&bad);
    decoder_free(d);
    free(px);
}

/* A header may be all that somebody wants to know; the next picture is none the worse. */
static void test_a_header_can_be_looked_at_alone(void **state)
{
    uint8_t *const px = picture_new(WIDTH, HEIGHT, 1);
    struct decoder *const d = decoder_new(0);
    struct bytes b[2] = {{0}};
    struct image got = {0};
    struct rect whole;

    (void)state;
    make_jpeg(&plain_jpeg, px, WIDTH, HEIGHT, &b[0]);
    make_png(WIDTH, HEIGHT, PNG_COLOR_TYPE_RGB, 8, 0, px, &b[1]);
    for (int i = 0; i < 32; i++) { /* each after each, looked at or decoded */
        const struct bytes *const one = &b[i >> 1 & 1];

        assert_int_equal(decoder_begin(d, one->data, one->n, &whole), 0);
        assert_int_equal(whole.width, WIDTH);
        if (i % 3 == 0)
            assert_int_equal(decoder_crop(d, whole, &got), 0);
    }
    image_release(&got);
    bytes_release(&b[0]);
    bytes_release(&b[1]);
    decoder_free(d);
    free(px);
}

/* Damage in the entropy-coded data, which still ends properly. */
static void test_damage_inside_a_jpeg_is_found(void **state)
{
    const struct jpeg_kind restart = {.components = 3, .h = 2, .v = 2, .restart = 1};
    uint8_t *const px = picture_new(WIDTH, HEIGHT, 1);
    struct decoder *const d = decoder_new(0);
    struct bytes jpeg = {0};
    struct image got = {0};

    (void)state;
    simple_jpeg(WIDTH, HEIGHT, 1, &jpeg);
    memcpy(jpeg.data + jpeg.n * 2 / 3, "\xFF\xD9", 2); /* an end mark in the middle */
    assert_int_equal(decode(d, &jpeg, whole_picture, &got), E_DATA);
    assert_reason_has("damaged near byte");
    make_jpeg(&restart, px, WIDTH, HEIGHT, &jpeg);
    assert_int_equal(decode(d, &jpeg, whole_picture, &got), 0);
    for (size_t i = 0; i + 1 < jpeg.n; i++) /* the second restart mark says it is the sixth */
        if (jpeg.data[i] == 0xFF && jpeg.data[i + 1] == 0xD1)
            jpeg.data[i + 1] = 0xD5;
    assert_int_equal(decode(d, &jpeg, whole_picture, &got), E_DATA);
    assert_reason_has("damaged near byte");
    image_release(&got);
    bytes_release(&jpeg);
    free(px);
    decoder_free(d);
}

/* Bytes changed and tails cut at random: a picture or E_DATA, and the next good one is right. What
 * matters most is that the sanitizers stay silent. */
static void test_random_damage_is_survived(void **state)
{
    enum { SIDE = 40, ROUNDS = 150 };
    uint8_t *const px = picture_new(SIDE, SIDE, 1);
    struct decoder *const d = decoder_new(1000000);
    struct bytes good = {0}, bad = {0};
    struct image want = {0}, got = {0};
    unsigned seed = 3;

    (void)state;
    for (size_t k = 0; k <= COUNT_OF(kinds) + 1; k++) {
        if (k < COUNT_OF(kinds))
            make_jpeg(&kinds[k], px, SIDE, SIDE, &good);
        else
            make_png(SIDE, SIDE, PNG_COLOR_TYPE_RGB, 8, k > COUNT_OF(kinds), px, &good);
        assert_int_equal(decode(d, &good, (struct rect){0}, &want), 0);
        for (int round = 0; round < ROUNDS; round++) {
            int rc;

            bad.n = 0;
            bytes_add(&bad, good.data, good.n);
            for (int i = draw_below(&seed, 8); i >= 0; i--)
                bad.data[draw_below(&seed, (int)bad.n)] = (uint8_t)draw_below(&seed, 256);
            if (round % 4 == 0)
                bad.n = (size_t)draw_below(&seed, (int)bad.n);
            rc = decode(d, &bad, (struct rect){0}, &got);
            assert_true(rc == 0 || rc == E_DATA);
        }
        assert_int_equal(decode(d, &good, (struct rect){0}, &got), 0);
        assert_memory_equal(got.px.data, want.px.data, want.px.n);
    }
    image_release(&want);
    image_release(&got);
    bytes_release(&good);
    bytes_release(&bad);
    decoder_free(d);
    free(px);
}

static size_t find_sof(const struct bytes *b)
{
    for (size_t i = 0; i + 1 < b->n; i++)
        if (b->data[i] == 0xFF && (b->data[i + 1] == 0xC0 || b->data[i + 1] == 0xC2))
            return i;
    fail_msg("no frame header");
    return 0;
}

static void test_a_huge_claim_is_refused_before_memory_is_taken(void **state)
{
    struct decoder *d = decoder_new(0);
    struct bytes jpeg = {0};
    struct image got = {0};

    (void)state;
    simple_jpeg(64, 48, 1, &jpeg);
    memcpy(jpeg.data + find_sof(&jpeg) + 5, "\xFF\xDC\xFF\xDC", 4);
    assert_int_equal(decode(d, &jpeg, (struct rect){0, 0, 1, 1}, &got), E_DATA);
    assert_reason_has("65500 x 65500 pixels");
    assert_int_equal(got.px.cap, 0);
    decoder_free(d);
    d = decoder_new(64 * 48 - 1);
    simple_jpeg(64, 48, 1, &jpeg);
    assert_int_equal(decode(d, &jpeg, (struct rect){0, 0, 1, 1}, &got), E_DATA);
    assert_reason_has("max-pixels");
    decoder_free(d);
    d = decoder_new(64 * 48);
    assert_int_equal(decode(d, &jpeg, (struct rect){0, 0, 1, 1}, &got), 0);
    decoder_free(d);
    image_release(&got);
    bytes_release(&jpeg);
}

static void test_bytes_behind_the_end_are_harmless(void **state)
{
    struct decoder *const d = decoder_new(0);
    struct bytes jpeg = {0};
    struct image got = {0};

    (void)state;
    simple_jpeg(WIDTH, HEIGHT, 1, &jpeg);
    bytes_add(&jpeg, "\0\0\0\0trailing", 12);
    assert_int_equal(decode(d, &jpeg, whole_picture, &got), 0);
    image_release(&got);
    bytes_release(&jpeg);
    decoder_free(d);
}

static void test_a_picture_may_only_be_looked_at(void **state)
{
    struct decoder *const d = decoder_new(0);
    struct bytes jpeg = {0};
    struct rect whole;

    (void)state;
    simple_jpeg(WIDTH, HEIGHT, 1, &jpeg);
    for (int i = 0; i < 3; i++)
        assert_int_equal(decoder_begin(d, jpeg.data, jpeg.n, &whole), 0);
    bytes_release(&jpeg);
    decoder_free(d);
}

/* The orientation tag asks for a quarter turn; the picture keeps its 64 x 48. */
static void test_exif_orientation_is_ignored(void **state)
{
    static const uint8_t exif[] = {0xFF, 0xE1, 0, 34, 'E', 'x', 'i', 'f', 0, 0,  'M', 'M',
                                   0,    42,   0, 0,  0,   8,   0,   1,   1, 18, 0,   3,
                                   0,    0,    0, 1,  0,   6,   0,   0,   0, 0,  0,   0};
    struct decoder *const d = decoder_new(0);
    struct bytes plain = {0}, turned = {0};
    struct image a = {0}, b = {0};

    (void)state;
    simple_jpeg(64, 48, 1, &plain);
    bytes_add(&turned, plain.data, 2);
    bytes_add(&turned, exif, sizeof(exif));
    bytes_add(&turned, plain.data + 2, plain.n - 2);
    assert_int_equal(decode(d, &plain, (struct rect){0}, &a), 0);
    assert_int_equal(decode(d, &turned, (struct rect){0}, &b), 0);
    assert_int_equal(b.width, 64);
    assert_memory_equal(a.px.data, b.px.data, a.px.n);
    image_release(&a);
    image_release(&b);
    bytes_release(&plain);
    bytes_release(&turned);
    decoder_free(d);
}

static void test_the_encoder_is_reproducible_and_close(void **state)
{
    uint8_t *const px = picture_new(WIDTH, HEIGHT, 1);
    const struct jpeg_picture p = {px, WIDTH, HEIGHT, 3, 95, JPEG_420};
    struct decoder *const d = decoder_new(0);
    struct bytes a = {0}, b = {0};
    struct image got = {0};

    (void)state;
    assert_int_equal(jpeg_encode(p, &a), 0);
    assert_int_equal(jpeg_encode(p, &b), 0);
    assert_int_equal(a.n, b.n);
    assert_memory_equal(a.data, b.data, a.n);
    assert_int_equal(decode(d, &a, whole_picture, &got), 0);
    assert_true(mean_difference(got.px.data, px, (size_t)WIDTH * HEIGHT * 3) < 9.0);
    assert_int_equal(jpeg_encode((struct jpeg_picture){px, 0, 5, 3, 0, JPEG_420}, &a), E_DATA);
    assert_reason_has("encode a JPEG");
    image_release(&got);
    bytes_release(&a);
    bytes_release(&b);
    decoder_free(d);
    free(px);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_crop_equals_the_full_decode_cropped),
        cmocka_unit_test(test_every_colour_space_becomes_rgb),
        cmocka_unit_test(test_cmyk_values_are_inverted_ink),
        cmocka_unit_test(test_png_colour_types),
        cmocka_unit_test(test_png_crops_with_and_without_interlace),
        cmocka_unit_test(test_bad_files_are_refused),
        cmocka_unit_test(test_tables_of_one_jpeg_do_not_serve_the_next),
        cmocka_unit_test(test_a_png_chunk_that_claims_too_much_is_refused),
        cmocka_unit_test(test_a_header_can_be_looked_at_alone),
        cmocka_unit_test(test_damage_inside_a_jpeg_is_found),
        cmocka_unit_test(test_random_damage_is_survived),
        cmocka_unit_test(test_a_huge_claim_is_refused_before_memory_is_taken),
        cmocka_unit_test(test_bytes_behind_the_end_are_harmless),
        cmocka_unit_test(test_a_picture_may_only_be_looked_at),
        cmocka_unit_test(test_exif_orientation_is_ignored),
        cmocka_unit_test(test_the_encoder_is_reproducible_and_close),
    };

    return cmocka_run_group_tests_name("decoding", tests, NULL, NULL);
}
