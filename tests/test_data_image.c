/* Decoding, resizing and augmentation against plain references computed here or with Pillow. */
#include "test_data_fixture.h"

#include <math.h>

#include "data/augment.h"
#include "data/decode.h"
#include "data/jpeg_encode.h"
#include "data/resize.h"

enum { WIDTH = 171, HEIGHT = 133 };

static const struct jpeg_kind kinds[] = {
    {.name = "grey", .components = 1},
    {.name = "4:2:0", .components = 3, .h = 2, .v = 2},
    {.name = "4:4:4", .components = 3, .h = 1, .v = 1},
    {.name = "4:2:2", .components = 3, .h = 2, .v = 1},
    {.name = "4:4:0", .components = 3, .h = 1, .v = 2},
    {.name = "4:1:1", .components = 3, .h = 4, .v = 1},
    {.name = "progressive", .components = 3, .h = 2, .v = 2, .progressive = 1},
    {.name = "progressive grey", .components = 1, .progressive = 1},
    {.name = "restart", .components = 3, .h = 2, .v = 2, .restart = 1},
    {.name = "arithmetic", .components = 3, .h = 2, .v = 2, .arithmetic = 1},
    {.name = "rgb", .components = 3, .rgb = 1},
    {.name = "ycck", .components = 4},
    {.name = "cmyk without marker", .components = 4, .no_adobe = 1},
};

static const struct rect whole_picture = {0, 0, WIDTH, HEIGHT};

/* libjpeg in the plainest way: all rows, no skipping; grey and colour come as RGB. */
static uint8_t *full_decode(const struct bytes *jpeg)
{
    struct jpeg_decompress_struct d;
    struct jpeg_error_mgr errors;
    uint8_t *px = xmalloc((size_t)WIDTH * HEIGHT * 4);

    d.err = jpeg_std_error(&errors);
    jpeg_create_decompress(&d);
    jpeg_mem_src(&d, jpeg->data, (unsigned long)jpeg->n);
    jpeg_read_header(&d, TRUE);
    d.out_color_space = d.num_components == 4 ? JCS_CMYK : JCS_RGB;
    d.dct_method = JDCT_ISLOW;
    jpeg_start_decompress(&d);
    while (d.output_scanline < d.output_height) {
        uint8_t *row =
            px + (size_t)d.output_scanline * d.output_width * (size_t)d.output_components;
        jpeg_read_scanlines(&d, &row, 1);
    }
    if (d.output_components == 4)
        for (int i = 0; i < WIDTH * HEIGHT; i++)
            for (int c = 0; c < 3; c++)
                px[i * 3 + c] =
                    (uint8_t)lround((double)px[i * 4 + c] * (double)px[i * 4 + 3] / 255.0);
    jpeg_finish_decompress(&d);
    jpeg_destroy_decompress(&d);
    return px;
}

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

static int draw(unsigned *state, int n)
{
    *state = *state * 1664525u + 1013904223u;
    return (int)((*state >> 8) % (unsigned)n);
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
        uint8_t *full;

        make_jpeg(&kinds[k], px, WIDTH, HEIGHT, &jpeg);
        full = full_decode(&jpeg);
        for (int i = 0; i < 200; i++) {
            struct rect r = {.width = 1 + draw(&seed, WIDTH), .height = 1 + draw(&seed, HEIGHT)};

            r.x = draw(&seed, WIDTH - r.width + 1);
            r.y = draw(&seed, HEIGHT - r.height + 1);
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

static double mean_difference(const uint8_t *a, const uint8_t *b, size_t n)
{
    double sum = 0.0;

    for (size_t i = 0; i < n; i++)
        sum += abs(a[i] - b[i]);
    return sum / (double)n;
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
    const struct jpeg_picture p = {px, WIDTH, HEIGHT, 3, 95};
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
    assert_int_equal(jpeg_encode((struct jpeg_picture){px, 0, 5, 3, 0}, &a), E_DATA);
    assert_reason_has("encode a JPEG");
    image_release(&got);
    bytes_release(&a);
    bytes_release(&b);
    decoder_free(d);
    free(px);
}

static void formula_image(struct image *m, int width, int height)
{
    image_resize(m, width, height);
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++)
            for (int c = 0; c < 3; c++)
                image_row(m, y)[x * 3 + c] =
                    (uint8_t)((x * 37 + y * 91 + c * 53 + x * y * 7) % 256);
}

static void resize_whole(const struct image *src, int width, int height, uint8_t *dst)
{
    struct resizer r = {0};

    resize(&r, src, (struct axis){.scale = (double)src->width / width, .n = width},
           (struct axis){.scale = (double)src->height / height, .n = height}, dst);
    resizer_release(&r);
}

/* Image.resize(..., BILINEAR) of Pillow 13.0 on the same pixels. Ties of the fixed-point sums may
 * fall either way, hence one level. */
static const uint8_t pillow_23x17_to_5x4[] = {
    123, 135, 135, 128, 130, 132, 126, 137, 125, 128, 133, 126, 136, 117, 108,
    127, 131, 129, 133, 129, 124, 132, 120, 135, 133, 131, 134, 139, 124, 123,
    137, 122, 121, 115, 133, 132, 135, 121, 135, 125, 121, 121, 129, 128, 118,
    122, 128, 124, 109, 149, 107, 134, 132, 123, 128, 124, 121, 137, 136, 134};
static const uint8_t pillow_7x5_to_10x4[] = {
    23,  76,  129, 44,  97,  150, 72,  125, 162, 98,  151, 143, 125, 137, 167, 130, 142, 195,
    116, 169, 212, 143, 196, 105, 170, 137, 84,  191, 52,  105, 129, 182, 128, 155, 149, 154,
    161, 134, 150, 119, 167, 78,  147, 103, 104, 127, 83,  136, 63,  116, 164, 96,  149, 122,
    129, 134, 128, 154, 101, 154, 86,  139, 85,  116, 110, 115, 128, 101, 154, 92,  139, 192,
    125, 178, 134, 163, 164, 120, 194, 106, 153, 129, 144, 117, 130, 135, 129, 160, 107, 160,
    85,  138, 191, 120, 173, 121, 165, 170, 79,  209, 79,  123, 128, 114, 125, 105, 136, 147,
    146, 138, 182, 146, 183, 92,  174, 141, 88,  209, 70,  123};

static void test_resize_agrees_with_pillow(void **state)
{
    struct image src = {0};
    uint8_t got[256];

    (void)state;
    formula_image(&src, 23, 17);
    resize_whole(&src, 5, 4, got);
    for (size_t i = 0; i < sizeof(pillow_23x17_to_5x4); i++)
        assert_true(abs(got[i] - pillow_23x17_to_5x4[i]) <= 1);
    assert_true(mean_difference(got, pillow_23x17_to_5x4, sizeof(pillow_23x17_to_5x4)) < 0.1);
    formula_image(&src, 7, 5);
    resize_whole(&src, 10, 4, got);
    for (size_t i = 0; i < sizeof(pillow_7x5_to_10x4); i++)
        assert_true(abs(got[i] - pillow_7x5_to_10x4[i]) <= 1);
    assert_true(mean_difference(got, pillow_7x5_to_10x4, sizeof(pillow_7x5_to_10x4)) < 0.25);
    image_release(&src);
}

static void test_resize_to_the_same_size_is_the_identity(void **state)
{
    struct image src = {0};
    uint8_t *const got = xmalloc(61 * 47 * 3);

    (void)state;
    formula_image(&src, 61, 47);
    resize_whole(&src, 61, 47, got);
    assert_memory_equal(got, src.px.data, 61 * 47 * 3);
    image_release(&src);
    free(got);
}

static void test_resize_of_a_constant_is_that_constant(void **state)
{
    static const int sizes[][4] = {{1, 1, 224, 224}, {1000, 3, 7, 224}, {224, 224, 1, 1}};
    struct image src = {0};

    (void)state;
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        const int *const s = sizes[i];
        const size_t n = (size_t)s[2] * (size_t)s[3] * 3;
        uint8_t *const got = xmalloc(n);

        image_resize(&src, s[0], s[1]);
        memset(src.px.data, 255, src.px.n);
        resize_whole(&src, s[2], s[3], got);
        for (size_t k = 0; k < n; k++)
            assert_int_equal(got[k], 255);
        free(got);
    }
    image_release(&src);
}

static struct augment_train checked_train(int size)
{
    struct augment_train a = {.size = size, .flip = 1};

    assert_int_equal(augment_train_check(&a), 0);
    return a;
}

/* Area, aspect, bounds and the share of mirrored ones over many draws. */
static void test_random_crops_keep_to_their_ranges(void **state)
{
    const struct augment_train a = checked_train(224);
    const struct rect whole = {0, 0, 500, 375};
    double area_sum = 0;
    int flips = 0, edge = 0;

    (void)state;
    for (uint64_t i = 0; i < 4000; i++) {
        const struct view v = augment_train_view(&a, whole, 1, 0, i);
        const double area = (double)v.rect.width * v.rect.height / (500.0 * 375.0);
        const double aspect = (double)v.rect.width / v.rect.height;

        assert_true(v.rect.x >= 0 && v.rect.x + v.rect.width <= 500);
        assert_true(v.rect.y >= 0 && v.rect.y + v.rect.height <= 375);
        assert_true(area > 0.078 && area <= 1.0);
        assert_true(aspect > 0.74 && aspect < 1.35);
        area_sum += area;
        flips += v.flip;
        edge += v.rect.x + v.rect.width == 500;
    }
    assert_true(area_sum / 4000 > 0.40 && area_sum / 4000 < 0.56);
    assert_in_range(flips, 1850, 2150);
    assert_true(edge > 10); /* the last column is reachable */
}

static void test_an_impossible_crop_falls_back_to_the_centre(void **state)
{
    const struct augment_train a = checked_train(224);
    struct augment_train full = {.size = 8, .area_min = 1, .area_max = 1};
    struct view v = augment_train_view(&a, (struct rect){0, 0, 1000, 10}, 1, 0, 5);

    (void)state;
    assert_int_equal(v.rect.height, 10);
    assert_in_range(v.rect.width, 3, 13);
    full.aspect_min = full.aspect_max = 1;
    assert_int_equal(augment_train_check(&full), 0);
    v = augment_train_view(&full, (struct rect){0, 0, 300, 100}, 1, 0, 5);
    assert_int_equal(v.rect.x, 100);
    assert_int_equal(v.rect.width, 100);
    assert_int_equal(v.rect.height, 100);
    v = augment_train_view(&a, (struct rect){0, 0, 1, 1}, 1, 0, 5);
    assert_int_equal(v.rect.width * v.rect.height, 1);
}

static int same_view(struct view a, struct view b)
{
    return a.rect.x == b.rect.x && a.rect.y == b.rect.y && a.rect.width == b.rect.width &&
           a.rect.height == b.rect.height && a.flip == b.flip;
}

static void test_augmentation_depends_on_seed_epoch_and_index_only(void **state)
{
    const struct augment_train a = checked_train(224);
    const struct rect whole = {0, 0, 500, 375};
    int same_epoch = 0, same_seed = 0, same_index = 0;

    (void)state;
    for (uint64_t i = 0; i < 100; i++) {
        const struct view v = augment_train_view(&a, whole, 1, 3, i);

        assert_true(same_view(v, augment_train_view(&a, whole, 1, 3, i)));
        same_epoch += same_view(v, augment_train_view(&a, whole, 1, 4, i));
        same_seed += same_view(v, augment_train_view(&a, whole, 2, 3, i));
        same_index += same_view(v, augment_train_view(&a, whole, 1, 3, i + 1));
    }
    assert_int_equal(same_epoch + same_seed + same_index, 0);
}

/* Decoding only what the centre window needs equals resizing the whole picture and cutting. */
static void test_evaluation_window_equals_resize_then_centre_crop(void **state)
{
    static const int shapes[][4] = {{171, 133, 64, 56}, {133, 171, 64, 56}, {40, 60, 64, 56},
                                    {64, 64, 64, 64},   {64, 80, 64, 56},   {400, 301, 33, 32}};
    struct resizer r = {0};
    struct image src = {0}, part = {0};

    (void)state;
    for (size_t i = 0; i < COUNT_OF(shapes); i++) {
        const int w = shapes[i][0], h = shapes[i][1], side = shapes[i][2], crop = shapes[i][3];
        const int shorter = w < h ? w : h, rw = w * side / shorter, rh = h * side / shorter;
        struct augment_eval a = {.resize = side, .crop = crop};
        uint8_t *const full = xmalloc((size_t)rw * (size_t)rh * 3);
        uint8_t *const got = xmalloc((size_t)crop * (size_t)crop * 3);
        struct view v;

        assert_int_equal(augment_eval_check(&a), 0);
        formula_image(&src, w, h);
        resize_whole(&src, rw, rh, full);
        v = augment_eval_view(&a, (struct rect){0, 0, w, h});
        image_resize(&part, v.rect.width, v.rect.height);
        for (int y = 0; y < v.rect.height; y++)
            memcpy(image_row(&part, y), image_row(&src, v.rect.y + y) + v.rect.x * 3,
                   (size_t)v.rect.width * 3);
        augment_apply(&v, &part, &r, got);
        for (int y = 0; y < crop; y++)
            for (int x = 0; x < crop * 3; x++) {
                const int at = ((rh - crop) / 2 + y) * rw * 3 + (rw - crop) / 2 * 3 + x;

                assert_true(abs(got[y * crop * 3 + x] - full[at]) <= 1);
            }
        free(full);
        free(got);
    }
    resizer_release(&r);
    image_release(&src);
    image_release(&part);
}

static void test_flip_mirrors_rows(void **state)
{
    struct image src = {0};
    struct resizer r = {0};
    struct view v = {.rect = {0, 0, 5, 4}, .x = {0, 1, 5}, .y = {0, 1, 4}, .flip = 1};
    uint8_t got[5 * 4 * 3];

    (void)state;
    formula_image(&src, 5, 4);
    augment_apply(&v, &src, &r, got);
    for (int y = 0; y < 4; y++)
        for (int x = 0; x < 5; x++)
            assert_memory_equal(got + (y * 5 + x) * 3, image_row(&src, y) + (4 - x) * 3, 3);
    image_release(&src);
    resizer_release(&r);
}

static void test_nonsense_settings_are_refused(void **state)
{
    struct augment_train a = {.size = -1};
    struct augment_train b = {.area_min = 0.5, .area_max = 0.1};
    struct augment_train c = {.aspect_min = -1, .aspect_max = 1};
    struct augment_eval d = {.resize = 100, .crop = 101};

    (void)state;
    assert_int_equal(augment_train_check(&a), E_USAGE);
    assert_int_equal(augment_train_check(&b), E_USAGE);
    assert_int_equal(augment_train_check(&c), E_USAGE);
    assert_int_equal(augment_eval_check(&d), E_USAGE);
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
        cmocka_unit_test(test_damage_inside_a_jpeg_is_found),
        cmocka_unit_test(test_a_huge_claim_is_refused_before_memory_is_taken),
        cmocka_unit_test(test_bytes_behind_the_end_are_harmless),
        cmocka_unit_test(test_exif_orientation_is_ignored),
        cmocka_unit_test(test_the_encoder_is_reproducible_and_close),
        cmocka_unit_test(test_resize_agrees_with_pillow),
        cmocka_unit_test(test_resize_to_the_same_size_is_the_identity),
        cmocka_unit_test(test_resize_of_a_constant_is_that_constant),
        cmocka_unit_test(test_random_crops_keep_to_their_ranges),
        cmocka_unit_test(test_an_impossible_crop_falls_back_to_the_centre),
        cmocka_unit_test(test_augmentation_depends_on_seed_epoch_and_index_only),
        cmocka_unit_test(test_evaluation_window_equals_resize_then_centre_crop),
        cmocka_unit_test(test_flip_mirrors_rows),
        cmocka_unit_test(test_nonsense_settings_are_refused),
    };

    return cmocka_run_group_tests_name("images", tests, NULL, NULL);
}
