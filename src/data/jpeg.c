/* JPEG through libjpeg-turbo. Only the rows and columns asked for are transformed: entropy decoding
 * can not be skipped, but the inverse DCT and colour conversion are. libjpeg reports errors by a
 * call that may not return, hence setjmp; everything a jump could clobber lives in struct jpeg. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h> /* needs stdio.h in front */

#include <jerror.h> /* needs jpeglib.h in front, or it lacks some codes */
#include <setjmp.h>

#include "base/err.h"
#include "data/decode.h"

extern const struct codec codec_jpeg;

enum {
    CONTEXT = 2,    /* pixels beside a crop that chroma upsampling looks at */
    MAX_SCANS = 500 /* a progressive file of a few kB can ask for hours of work */
};

struct jpeg {
    struct jpeg_decompress_struct lib;
    struct jpeg_error_mgr errors;
    struct jpeg_progress_mgr progress;
    jmp_buf failed;
    const uint8_t *bytes;
    size_t n;
    struct bytes row;
};

/* Where the reader stands, for the message; the input is one block of memory. */
static size_t position(const struct jpeg *j)
{
    const struct jpeg_source_mgr *const src = j->lib.src;
    const size_t left = src ? src->bytes_in_buffer : 0;

    return left <= j->n ? j->n - left : j->n;
}

static void on_error(j_common_ptr lib)
{
    struct jpeg *const j = lib->client_data;

    longjmp(j->failed, 1);
}

/* Level -1 is a warning. Those below mean that pixels are missing or wrong; the others (odd version
 * numbers, stray bytes between segments) leave the picture intact. */
static void on_message(j_common_ptr lib, int level)
{
    const int code = lib->err->msg_code;

    if (level < 0 &&
        (code == JWRN_JPEG_EOF || code == JWRN_HIT_MARKER || code == JWRN_HUFF_BAD_CODE ||
         code == JWRN_MUST_RESYNC || code == JWRN_ARITH_BAD_CODE || code == JWRN_BOGUS_PROGRESSION))
        on_error(lib);
}

static void on_progress(j_common_ptr lib)
{
    struct jpeg *const j = lib->client_data;

    if (j->lib.input_scan_number > MAX_SCANS)
        ERREXIT(lib, JERR_BAD_PROGRESSION);
}

static int failure(struct jpeg *j)
{
    char text[JMSG_LENGTH_MAX];

    j->errors.format_message((j_common_ptr)&j->lib, text);
    const size_t at = position(j);
    const int code = j->errors.msg_code;
    jpeg_abort_decompress(&j->lib);
    if (code == JERR_OUT_OF_MEMORY)
        return err(E_NOMEM, "out of memory while decoding a JPEG");
    return err(E_DATA, "the JPEG is damaged near byte %zu of %zu: %s", at, j->n, text);
}

static void start(struct jpeg *j)
{
    jpeg_create_decompress(&j->lib);
    j->progress.progress_monitor = on_progress;
    j->lib.progress = &j->progress;
}

static void *jpeg_new(void)
{
    struct jpeg *const j = xcalloc(1, sizeof(*j));

    j->lib.err = jpeg_std_error(&j->errors);
    j->errors.error_exit = on_error;
    j->errors.emit_message = on_message;
    j->lib.client_data = j;
    if (setjmp(j->failed)) {
        if (j->errors.msg_code == JERR_OUT_OF_MEMORY)
            out_of_memory(0);
        BUG("libjpeg does not start: this program was built for another version of it");
    }
    start(j);
    return j;
}

static void jpeg_free(void *state)
{
    struct jpeg *const j = state;

    jpeg_destroy_decompress(&j->lib);
    bytes_release(&j->row);
    free(j);
}

/* The crop may end above the damage, so the end mark is looked for whatever is decoded. Bytes after
 * it are harmless; an end mark in front of the picture data is a thumbnail's. */
static int has_end(const struct jpeg *j)
{
    const size_t first = position(j);

    for (size_t i = j->n; i >= first + 2; i--)
        if (j->bytes[i - 2] == 0xFF && j->bytes[i - 1] == 0xD9)
            return 1;
    return 0;
}

/* Huffman codes have at least one bit, and every block of 8 x 8 values has at least one, also in a
 * progressive file. Arithmetic coding knows no such bound. */
static int has_bytes(const struct jpeg *j)
{
    uint64_t n_blocks = 0;

    for (int i = 0; i < j->lib.num_components; i++)
        n_blocks +=
            (uint64_t)j->lib.comp_info[i].width_in_blocks * j->lib.comp_info[i].height_in_blocks;
    return j->lib.arith_code || n_blocks <= (uint64_t)(j->n - position(j)) * 8;
}

static int jpeg_begin(void *state, const uint8_t *bytes, size_t n, struct rect *whole)
{
    struct jpeg *const j = state;
    int ended;

    j->bytes = bytes;
    j->n = n;
    if (setjmp(j->failed))
        return failure(j);
    /* The library keeps quantisation and Huffman tables from file to file, for video: a picture
     * that lacks its own would be decoded with those of whatever came before it. */
    jpeg_destroy_decompress(&j->lib);
    start(j);
    jpeg_mem_src(&j->lib, bytes, (unsigned long)n);
    jpeg_read_header(&j->lib, TRUE);
    *whole = (struct rect){.width = (int)j->lib.image_width, .height = (int)j->lib.image_height};
    ended = has_end(j);
    if (ended && has_bytes(j))
        return 0;
    jpeg_abort_decompress(&j->lib);
    if (!ended)
        return err(E_DATA, "the JPEG is truncated: no end-of-image mark in its %zu bytes", n);
    return err(E_DATA, "the JPEG claims %d x %d pixels, which its %zu bytes can not hold",
               whole->width, whole->height, n);
}

static unsigned jpeg_traits(const void *state)
{
    const struct jpeg *const j = state;

    return (j->lib.num_components == 1 ? TRAIT_BIT(grey) : 0) |
           (j->lib.num_components == 4 ? TRAIT_BIT(cmyk) : 0) |
           (j->lib.progressive_mode ? TRAIT_BIT(progressive) : 0) |
           (j->lib.arith_code ? TRAIT_BIT(arithmetic) : 0);
}

static void jpeg_shrink(void *state, int by)
{
    struct jpeg *const j = state;

    j->lib.scale_num = 1;
    j->lib.scale_denom = (unsigned)by;
}

/* Programs that write CMYK write it inverted (255 is no ink), with or without Adobe's marker. */
static void cmyk_to_rgb(const uint8_t *src, uint8_t *dst, int width)
{
    for (int x = 0; x < width; x++, src += 4, dst += 3)
        for (int c = 0; c < 3; c++)
            dst[c] = (uint8_t)((src[c] * src[3] + 127) / 255);
}

/* Restricts decoding to the columns around r and returns the column at which rows now start. */
static int crop_columns(struct jpeg *j, struct rect r)
{
    const int width = (int)j->lib.output_width;
    const int left = r.x > CONTEXT ? r.x - CONTEXT : 0;
    const int end = r.x + r.width + CONTEXT < width ? r.x + r.width + CONTEXT : width;
    JDIMENSION x = (JDIMENSION)left, n = (JDIMENSION)(end - left);

    if (left == 0 && end == width)
        return 0;
    jpeg_crop_scanline(&j->lib, &x, &n); /* moves x down to a block boundary */
    return (int)x;
}

/* Rows straight into the image; the library hands out a few at a time. */
static void read_rgb(struct jpeg *j, struct image *out)
{
    enum { AT_ONCE = 16 };
    JSAMPROW row[AT_ONCE];

    for (int y = 0, got; y < out->height; y += got) {
        const int n = out->height - y < AT_ONCE ? out->height - y : AT_ONCE;

        for (int i = 0; i < n; i++)
            row[i] = out->px.data + (size_t)(y + i) * out->stride;
        got = (int)jpeg_read_scanlines(&j->lib, row, (JDIMENSION)n);
        ASSERT(got > 0);
    }
}

static void read_cmyk(struct jpeg *j, int first, struct image *out)
{
    uint8_t *row;

    bytes_resize(&j->row, (size_t)j->lib.output_width * 4);
    row = j->row.data;
    for (int y = 0; y < out->height; y++) {
        jpeg_read_scanlines(&j->lib, &row, 1);
        cmyk_to_rgb(row + (size_t)first * 4, image_row(out, y), out->width);
    }
}

static int jpeg_crop(void *state, struct rect r, struct image *out)
{
    struct jpeg *const j = state;
    const int cmyk = j->lib.num_components == 4;
    int left;

    if (setjmp(j->failed))
        return failure(j);
    j->lib.out_color_space = cmyk ? JCS_CMYK : JCS_RGB;
    j->lib.dct_method = JDCT_ISLOW; /* the same bits with and without SIMD */
    jpeg_start_decompress(&j->lib);
    left = crop_columns(j, r);
    if (r.y > 0)
        jpeg_skip_scanlines(&j->lib, (JDIMENSION)r.y);
    r.x -= left;
    if (cmyk) {
        image_resize(out, r.width, r.height);
        read_cmyk(j, r.x, out);
    } else {
        image_resize_within(out, r, (int)j->lib.output_width);
        read_rgb(j, out);
    }
    jpeg_abort_decompress(&j->lib); /* rows below are not wanted */
    return 0;
}

const struct codec codec_jpeg = {
    .name = "JPEG",
    .magic = "\xFF\xD8",
    .n_magic = 2,
    .new = jpeg_new,
    .free = jpeg_free,
    .begin = jpeg_begin,
    .traits = jpeg_traits,
    .shrink = jpeg_shrink,
    .crop = jpeg_crop,
};
