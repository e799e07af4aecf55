/* Inputs for the data tests, made at run time: pictures from a formula, compressed in every way
 * that matters, damaged on purpose, laid out as data sets in a temporary folder. */
#ifndef STAVE_TEST_DATA_FIXTURE_H
#define STAVE_TEST_DATA_FIXTURE_H

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>
#include <jpeglib.h>
#include <png.h>

#include "base/err.h"
#include "base/file.h"
#include "data/bytes.h"
#include "data/source.h"

#define UNUSED_FUNCTION __attribute__((unused)) static

/* A smooth picture with some texture, different for each seed; JPEG keeps it within a few levels.
 */
UNUSED_FUNCTION uint8_t *picture_new(int width, int height, int seed)
{
    uint8_t *const px = xmalloc((size_t)width * (size_t)height * 3);

    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++) {
            uint8_t *const p = px + ((size_t)y * (size_t)width + (size_t)x) * 3;

            p[0] = (uint8_t)((x * 255 / width + seed * 40) % 256);
            p[1] = (uint8_t)((y * 255 / height + (x / 8 + y / 8) % 2 * 30) % 256);
            p[2] = (uint8_t)(128 + ((x * 3 + y * 5 + seed * 17) % 64));
        }
    return px;
}

struct jpeg_kind {
    const char *name;
    int components, h, v; /* luma sampling */
    int progressive, restart, arithmetic, rgb, no_adobe;
    int cmyk; /* four components: stored as CMYK, not as YCCK */
    int key;  /* four components: grey goes into the key */
};

static const struct jpeg_kind plain_jpeg
    __attribute__((unused)) = {.name = "420", .components = 3, .h = 2, .v = 2};

/* RGB pixels -> one component, three or four (then as inverted CMYK, key full unless asked for). */
UNUSED_FUNCTION void convert_row(const struct jpeg_kind *k, const uint8_t *rgb, uint8_t *dst, int n)
{
    for (int x = 0; x < n; x++, rgb += 3, dst += k->components) {
        if (k->components == 1) {
            dst[0] = rgb[1];
            continue;
        }
        memcpy(dst, rgb, 3);
        if (k->components == 4)
            dst[3] = 255;
        if (k->components == 4 && k->key) {
            const int most = rgb[0] > rgb[1] ? rgb[0] : rgb[1];

            dst[3] = (uint8_t)(most > rgb[2] ? most : rgb[2]);
            for (int c = 0; c < 3 && dst[3]; c++)
                dst[c] = (uint8_t)((rgb[c] * 255 + dst[3] / 2) / dst[3]);
        }
    }
}

UNUSED_FUNCTION void set_kind(struct jpeg_compress_struct *c, const struct jpeg_kind *k)
{
    jpeg_set_defaults(c);
    if (k->components == 4 && !k->no_adobe && !k->cmyk)
        jpeg_set_colorspace(c, JCS_YCCK);
    if (k->rgb)
        jpeg_set_colorspace(c, JCS_RGB);
    jpeg_set_quality(c, 95, TRUE);
    if (k->h) {
        c->comp_info[0].h_samp_factor = k->h;
        c->comp_info[0].v_samp_factor = k->v;
        for (int i = 1; i < c->num_components; i++) /* key is as fine as luma */
            c->comp_info[i].h_samp_factor = i == 3 ? k->h : 1,
            c->comp_info[i].v_samp_factor = i == 3 ? k->v : 1;
    }
    if (k->progressive)
        jpeg_simple_progression(c);
    c->restart_in_rows = k->restart;
    c->arith_code = k->arithmetic ? TRUE : FALSE;
    if (k->no_adobe)
        c->write_Adobe_marker = FALSE;
}

UNUSED_FUNCTION void make_jpeg(const struct jpeg_kind *k, const uint8_t *px, int width, int height,
                               struct bytes *out)
{
    struct jpeg_compress_struct c;
    struct jpeg_error_mgr errors;
    unsigned char *data = NULL;
    unsigned long n = 0;
    uint8_t *row = xmalloc((size_t)width * 4);

    c.err = jpeg_std_error(&errors);
    jpeg_create_compress(&c);
    jpeg_mem_dest(&c, &data, &n);
    c.image_width = (JDIMENSION)width;
    c.image_height = (JDIMENSION)height;
    c.input_components = k->components;
    c.in_color_space = k->components == 1 ? JCS_GRAYSCALE : k->components == 3 ? JCS_RGB : JCS_CMYK;
    set_kind(&c, k);
    jpeg_start_compress(&c, TRUE);
    for (int y = 0; y < height; y++) {
        convert_row(k, px + (size_t)y * (size_t)width * 3, row, width);
        jpeg_write_scanlines(&c, &row, 1);
    }
    jpeg_finish_compress(&c);
    jpeg_destroy_compress(&c);
    free(row);
    out->n = 0;
    bytes_add(out, data, n);
    free(data);
}

/* A JPEG of a picture with this seed. */
UNUSED_FUNCTION void simple_jpeg(int width, int height, int seed, struct bytes *out)
{
    uint8_t *const px = picture_new(width, height, seed);

    make_jpeg(&plain_jpeg, px, width, height, out);
    free(px);
}

UNUSED_FUNCTION void append_png(png_structp lib, png_bytep data, size_t n)
{
    bytes_add(png_get_io_ptr(lib), data, n);
}

UNUSED_FUNCTION void no_flush(png_structp lib)
{
    (void)lib;
}

/* rows hold pixels in PNG's own layout for (color, depth); 16 bits big-endian. */
UNUSED_FUNCTION void make_png(int width, int height, int color, int depth, int interlaced,
                              uint8_t *rows, struct bytes *out)
{
    png_structp lib = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, NULL);
    png_infop info = png_create_info_struct(lib);
    png_color palette[256];
    png_byte alpha[256];
    png_bytepp list = xcalloc((size_t)height, sizeof(*list));

    out->n = 0;
    if (setjmp(png_jmpbuf(lib)))
        BUG("libpng does not write");
    png_set_write_fn(lib, out, append_png, no_flush);
    png_set_IHDR(lib, info, (png_uint_32)width, (png_uint_32)height, depth, color,
                 interlaced ? PNG_INTERLACE_ADAM7 : PNG_INTERLACE_NONE, 0, 0);
    for (int i = 0; i < 256; i++) {
        palette[i] = (png_color){(png_byte)i, (png_byte)(255 - i), (png_byte)(i / 2)};
        alpha[i] = (png_byte)(i == 7 ? 0 : 255);
    }
    if (color == PNG_COLOR_TYPE_PALETTE) {
        png_set_PLTE(lib, info, palette, 1 << depth);
        png_set_tRNS(lib, info, alpha, depth == 8 ? 8 : 1, NULL);
    }
    png_write_info(lib, info);
    for (int y = 0; y < height; y++)
        list[y] = rows + (size_t)y * png_get_rowbytes(lib, info);
    png_write_image(lib, list);
    png_write_end(lib, info);
    png_destroy_write_struct(&lib, &info);
    free(list);
}

UNUSED_FUNCTION double mean_difference(const uint8_t *a, const uint8_t *b, size_t n)
{
    double sum = 0.0;

    for (size_t i = 0; i < n; i++)
        sum += abs(a[i] - b[i]);
    return sum / (double)n;
}

/* A temporary folder; its path is heap. */
UNUSED_FUNCTION char *temp_dir(void)
{
    char *const path = xstrdup("/tmp/stave-data-XXXXXX");

    assert_non_null(mkdtemp(path));
    return path;
}

UNUSED_FUNCTION void remove_dir(char *path)
{
    char *const command = xasprintf("rm -rf '%s'", path);

    assert_int_equal(system(command), 0);
    free(command);
    free(path);
}

UNUSED_FUNCTION void write_file(const char *dir, const char *name, const void *bytes, size_t n)
{
    char *const path = file_join(dir, name);

    FILE *const f = fopen(path, "wb"); /* not file_replace: its syncs take most of the time */

    assert_non_null(f);
    assert_int_equal(n ? fwrite(bytes, 1, n, f) : 0, n);
    assert_int_equal(fclose(f), 0);
    free(path);
}

UNUSED_FUNCTION void make_dir(const char *dir, const char *name)
{
    char *const path = file_join(dir, name);

    assert_int_equal(file_mkdirs(path), 0);
    free(path);
}

#define assert_reason_has(text)                                                                    \
    do {                                                                                           \
        if (!strstr(err_reason(), text))                                                           \
            fail_msg("the reason \"%s\" does not say \"%s\"", err_reason(), text);                 \
    } while (0)

/* Sample i holds these bytes and this label. */
UNUSED_FUNCTION void check_sample(const struct source *s, uint64_t i, const char *bytes,
                                  int64_t label)
{
    struct sample got = {0};
    int64_t alone;

    if (source_read(s, i, &got) < 0)
        fail_msg("%s", err_reason());
    assert_int_equal(got.n, strlen(bytes));
    assert_memory_equal(got.data, bytes, got.n);
    assert_int_equal(got.label, label);
    assert_int_equal(source_label(s, i, &alone), 0);
    assert_int_equal(alone, label);
    sample_release(&got);
}

#endif
