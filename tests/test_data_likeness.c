/* What is read of JPEG headers against libjpeg's reading, and the table of a set whose numbers are
 * known beforehand. */
#include "generate_fixture.h"

#include "data/likeness.h"
#include "data/recordio_writer.h"
#include "run_fixture.h"

/* libjpeg's word. */
static void check_with_libjpeg(const struct bytes *file, const struct jpeg_facts *f)
{
    struct jpeg_decompress_struct d;
    struct jpeg_error_mgr errors;

    d.err = jpeg_std_error(&errors);
    jpeg_create_decompress(&d);
    jpeg_mem_src(&d, file->data, file->n);
    jpeg_read_header(&d, TRUE);
    assert_int_equal(f->width, d.image_width);
    assert_int_equal(f->height, d.image_height);
    assert_int_equal(f->components, d.num_components);
    assert_int_equal(f->h, d.comp_info[0].h_samp_factor);
    assert_int_equal(f->v, d.comp_info[0].v_samp_factor);
    assert_int_equal(f->progressive, d.progressive_mode);
    jpeg_destroy_decompress(&d);
}

static void test_facts_are_libjpegs(void **state)
{
    static const struct jpeg_kind kinds[] = {
        {.name = "420", .components = 3, .h = 2, .v = 2},
        {.name = "444", .components = 3, .h = 1, .v = 1},
        {.name = "422", .components = 3, .h = 2, .v = 1, .restart = 1},
        {.name = "440", .components = 3, .h = 1, .v = 2},
        {.name = "grey", .components = 1, .h = 1, .v = 1},
        {.name = "progressive", .components = 3, .h = 2, .v = 2, .progressive = 1},
        {.name = "cmyk", .components = 4, .cmyk = 1}};
    uint8_t *const px = picture_new(61, 43, 1);
    struct bytes file = {0};
    struct jpeg_facts f;

    (void)state;
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        make_jpeg(&kinds[i], px, 61, 43, &file);
        assert_int_equal(jpeg_facts(file.data, file.n, &f), 0);
        check_with_libjpeg(&file, &f);
        assert_int_equal(f.quality, 95); /* as the fixture sets it */
    }
    bytes_release(&file);
    free(px);
}

/* The quality of every file is told from its tables, by libjpeg's own rule. */
static void test_quality_is_read_back(void **state)
{
    uint8_t *const px = picture_new(16, 16, 1);

    (void)state;
    for (int q = 40; q <= 98; q++) {
        struct jpeg_compress_struct c;
        struct jpeg_error_mgr errors;
        unsigned char *data = NULL;
        unsigned long n = 0;
        struct jpeg_facts f;
        JSAMPROW row = px;

        c.err = jpeg_std_error(&errors);
        jpeg_create_compress(&c);
        jpeg_mem_dest(&c, &data, &n);
        c.image_width = 16;
        c.image_height = 1;
        c.input_components = 3;
        c.in_color_space = JCS_RGB;
        jpeg_set_defaults(&c);
        jpeg_set_quality(&c, q, TRUE);
        jpeg_start_compress(&c, TRUE);
        jpeg_write_scanlines(&c, &row, 1);
        jpeg_finish_compress(&c);
        jpeg_destroy_compress(&c);
        assert_int_equal(jpeg_facts(data, n, &f), 0);
        assert_in_range(f.quality, q - 1, q + 1);
        free(data);
    }
    free(px);
}

/* Cut anywhere a file is refused or understood, never read beyond its end (a sanitizer's matter).
 */
static void test_cut_headers_are_refused(void **state)
{
    struct bytes file = {0};
    struct jpeg_facts f;
    size_t least = 0;

    (void)state;
    simple_jpeg(50, 30, 1, &file);
    for (size_t n = 0; n <= file.n && n < 2000; n++) {
        uint8_t *const exact = xmalloc(n ? n : 1);

        memcpy(exact, file.data, n);
        if (jpeg_facts(exact, n, &f) == 0 && least == 0)
            least = n;
        if (n < least || least == 0)
            assert_non_null(strstr(err_reason(), "JPEG"));
        else
            assert_int_equal(f.width, 50);
        free(exact);
    }
    assert_in_range(least, 150, 250); /* SOI, JFIF, two tables, the frame header */
    bytes_release(&file);
}

static void write_set(const char *dir, const char *split, int n)
{
    char *const prefix = file_join(dir, split);
    struct recordio_writer *w;
    struct bytes file = {0};
    static const struct jpeg_kind grey = {.name = "grey", .components = 1, .h = 1, .v = 1};
    uint8_t *const px = picture_new(500, 375, 1);

    assert_int_equal(recordio_writer_open(prefix, &w), 0);
    for (int i = 0; i < n; i++) {
        make_jpeg(i % 4 == 0 ? &grey : &plain_jpeg, px, i % 2 ? 375 : 500, i % 2 ? 500 : 375,
                  &file);
        bytes_resize(&file, 18750); /* what follows the header is not looked at */
        if (i == n - 1)
            memcpy(file.data, "PNG?", 4);
        assert_int_equal(
            recordio_writer_add(
                w, (struct recordio_entry){.id = (uint64_t)i, .payload = file.data, .n = file.n}),
            0);
    }
    assert_int_equal(recordio_writer_commit(w, NULL), 0);
    bytes_release(&file);
    free(px);
    free(prefix);
}

static void test_the_table_of_a_known_set(void **state)
{
    char *const dir = temp_dir();
    struct str text = STR_INIT;

    (void)state;
    assert_int_not_equal(likeness_of(dir, &text), 0);
    write_set(dir, "train", 17);
    write_set(dir, "val", 9);
    assert_int_equal(likeness_of(dir, &text), 0);
    /* 16 and 8 pictures of 18,750 bytes and 187,500 pixels, half of them upright, a quarter grey */
    assert_says(text.s, "here, 16 pictures");
    assert_says(text.s, "here, 8 pictures");
    assert_says(text.s, "| bytes, mean | 114660 | 18750 | 134130 | 18750 |");
    assert_says(text.s, "all pixels | no source | 0.80 | 4.64 | 0.80 |");
    assert_says(text.s, "| width, mean | 469 | 437.5 | 490.4 | 437.5 |");
    assert_says(text.s, "| 500 x 375 | no source | 50.0 % | 31.0 % | 50.0 % |");
    assert_says(text.s, "| long side 500 | no source | 100.0 % | 84.7 % | 100.0 % |");
    assert_says(text.s, "| 4:2:0 | no source | 75.0 % |");
    assert_says(text.s, "| grey | 1.8 % | 25.0 % |");
    assert_says(text.s, "| quality, median | 96 (most frequent) | 95 |");
    assert_says(text.s, "2 files are no JPEG files");
    str_release(&text);
    remove_dir(dir);
}

static void test_the_command(void **state)
{
    char *const photos = photo_dir(), *const to = temp_dir();
    char *text = program_run(
        to, 0, "prepare resnet50 --like imagenet --samples 30 --photos %s --to %s", photos, to);

    (void)state;
    assert_says(text, "resnet50: 30 training and 2 validation samples");
    assert_says(text, "| bytes, mean | 114660 |");
    free(text);
    text = program_run(to, 0, "prepare resnet50 --like imagenet --samples 30 --photos %s --to %s",
                       photos, to);
    assert_says(text, "(already there, verified)");
    free(text);
    text = program_run(to, 2, "prepare resnet50 --like imagenet --from %s --to %s", photos, to);
    assert_says(text, "--like converts nothing");
    free(text);
    text = program_run(to, 2, "prepare resnet50 --like coco --to %s", to);
    assert_says(text, "nothing is known of a data set called coco");
    free(text);
    remove_dir(photos);
    remove_dir(to);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_facts_are_libjpegs),
        cmocka_unit_test(test_quality_is_read_back),
        cmocka_unit_test(test_cut_headers_are_refused),
        cmocka_unit_test(test_the_table_of_a_known_set),
        cmocka_unit_test(test_the_command),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
