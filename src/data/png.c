/* PNG through libpng: any colour type and depth -> 8-bit RGB. Errors come by longjmp; what a jump
 * could clobber lives in struct png. */
#include <png.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "data/decode.h"

extern const struct codec codec_png;

struct png {
    png_structp lib;
    png_infop info;
    const uint8_t *bytes;
    size_t n, at;
    char reason[160];
    int no_memory;     /* an allocation failed, whatever libpng makes of it */
    struct bytes rows; /* RGBA: one row, or the whole picture when it is interlaced */
    struct bytes list; /* row pointers of an interlaced picture */
};

static void on_error(png_structp lib, png_const_charp text)
{
    struct png *const p = png_get_error_ptr(lib);

    snprintf(p->reason, sizeof(p->reason), "%s", text);
    png_longjmp(lib, 1);
}

static void on_warning(png_structp lib, png_const_charp text)
{
    (void)lib; /* remarks about side information; a bad checksum of pixels is an error */
    (void)text;
}

static void on_read(png_structp lib, png_bytep dst, size_t n)
{
    struct png *const p = png_get_io_ptr(lib);

    if (n > p->n - p->at)
        png_error(lib, "the data ends too early");
    memcpy(dst, p->bytes + p->at, n);
    p->at += n;
}

static png_voidp on_malloc(png_structp lib, png_alloc_size_t n)
{
    struct png *const p = png_get_mem_ptr(lib);
    void *const got = malloc(n);

    p->no_memory |= !got;
    return got;
}

static void on_free(png_structp lib, png_voidp at)
{
    (void)lib;
    free(at);
}

static void *new_png(void)
{
    return xcalloc(1, sizeof(struct png));
}

static void cancel_png(struct png *p)
{
    if (p->lib)
        png_destroy_read_struct(&p->lib, &p->info, NULL);
}

static void free_png(void *state)
{
    struct png *const p = state;

    cancel_png(p);
    bytes_release(&p->rows);
    bytes_release(&p->list);
    free(p);
}

static int failure(struct png *p)
{
    cancel_png(p);
    if (p->no_memory)
        return err(E_NOMEM, "out of memory while decoding a PNG");
    return err(E_DATA, "the PNG is damaged near byte %zu of %zu: %s", p->at, p->n, p->reason);
}

/* See has_end in jpeg.c: a truncated file is bad for every crop. */
static int has_end(const uint8_t *bytes, size_t n)
{
    for (size_t i = n; i >= 8 + 8; i--)
        if (memcmp(bytes + i - 8, "IEND\xAE\x42\x60\x82", 8) == 0)
            return 1;
    return 0;
}

/* libpng takes memory for what a chunk claims to hold before it reads it: 2 GiB for a few bytes. */
static int check_chunks(const uint8_t *bytes, size_t n)
{
    enum { SIGNATURE = 8, AROUND = 12 }; /* length, type, checksum */

    for (size_t at = SIGNATURE; n - at >= AROUND;) {
        const uint32_t length = png_get_uint_32(bytes + at);
        if (length > n - at - AROUND)
            return err(E_DATA,
                       "the PNG is damaged near byte %zu of %zu: a chunk claims %u bytes, %zu are "
                       "left",
                       at, n, length, n - at - AROUND);
        if (memcmp(bytes + at + 4, "IEND", 4) == 0)
            break;
        at += AROUND + length;
    }
    return 0;
}

/* Deflate makes at most 1032 bytes of one. */
static int has_bytes(const struct png *p)
{
    const uint64_t bits = (uint64_t)png_get_channels(p->lib, p->info) *
                          png_get_bit_depth(p->lib, p->info) * png_get_image_width(p->lib, p->info);

    return bits / 8 * png_get_image_height(p->lib, p->info) <= (uint64_t)p->n * 1032;
}

static unsigned traits_png(const void *state)
{
    const struct png *const p = state;
    const int color = png_get_color_type(p->lib, p->info);

    return TRAIT_BIT(png) | (color & PNG_COLOR_MASK_COLOR ? 0 : TRAIT_BIT(grey)) |
           (color & PNG_COLOR_MASK_ALPHA || png_get_valid(p->lib, p->info, PNG_INFO_tRNS)
                ? TRAIT_BIT(alpha)
                : 0) |
           (png_get_bit_depth(p->lib, p->info) == 16 ? TRAIT_BIT(deep) : 0);
}

static int begin_png(void *state, const uint8_t *bytes, size_t n, struct rect *whole)
{
    struct png *const p = state;

    cancel_png(p);
    p->bytes = bytes;
    p->n = n;
    p->at = 0;
    p->no_memory = 0;
    if (!has_end(bytes, n))
        return err(E_DATA, "the PNG is truncated: no IEND chunk in its %zu bytes", n);
    TRY(check_chunks(bytes, n));
    p->lib = png_create_read_struct_2(PNG_LIBPNG_VER_STRING, p, on_error, on_warning, p, on_malloc,
                                      on_free);
    if (!p->lib)
        return err(E_NOMEM, "out of memory while starting libpng");
    if (setjmp(png_jmpbuf(p->lib)))
        return failure(p);
    p->info = png_create_info_struct(p->lib);
    if (!p->info)
        return failure(p);
    png_set_read_fn(p->lib, p, on_read);
    png_read_info(p->lib, p->info);
    if (!has_bytes(p))
        png_error(p->lib, "it claims more pixels than its bytes can hold");
    *whole = (struct rect){.width = (int)png_get_image_width(p->lib, p->info),
                           .height = (int)png_get_image_height(p->lib, p->info)};
    return 0;
}

/* Asks libpng for RGBA in 8 bits whatever the file holds. */
static void ask_rgba(struct png *p)
{
    png_set_expand(p->lib);   /* palette and small greys to 8 bits, transparency to alpha */
    png_set_scale_16(p->lib); /* round(v / 257), where png_set_strip_16 would truncate */
    png_set_gray_to_rgb(p->lib);
    png_set_add_alpha(p->lib, 255, PNG_FILLER_AFTER);
}

static void flatten_on_white(const uint8_t *src, uint8_t *dst, int width)
{
    for (int x = 0; x < width; x++, src += 4, dst += 3)
        for (int c = 0; c < 3; c++)
            dst[c] = (uint8_t)((src[c] * src[3] + 255 * (255 - src[3]) + 127) / 255);
}

static void read_interlaced(struct png *p, struct rect r, struct image *out)
{
    const size_t stride = png_get_rowbytes(p->lib, p->info);
    const size_t height = png_get_image_height(p->lib, p->info);
    png_bytep *rows;

    bytes_resize(&p->rows, stride * height);
    bytes_resize(&p->list, height * sizeof(*rows));
    rows = (png_bytep *)(void *)p->list.data;
    for (size_t y = 0; y < height; y++)
        rows[y] = p->rows.data + y * stride;
    png_read_image(p->lib, rows);
    for (int y = 0; y < r.height; y++)
        flatten_on_white(rows[r.y + y] + (size_t)r.x * 4, image_row(out, y), r.width);
}

static void read_rows(struct png *p, struct rect r, struct image *out)
{
    bytes_resize(&p->rows, png_get_rowbytes(p->lib, p->info));
    for (int y = 0; y < r.y + r.height; y++) {
        png_read_row(p->lib, p->rows.data, NULL);
        if (y >= r.y)
            flatten_on_white(p->rows.data + (size_t)r.x * 4, image_row(out, y - r.y), r.width);
    }
}

static int crop_png(void *state, struct rect r, struct image *out)
{
    struct png *const p = state;
    int passes;

    if (setjmp(png_jmpbuf(p->lib)))
        return failure(p);
    ask_rgba(p);
    passes = png_set_interlace_handling(p->lib);
    png_read_update_info(p->lib, p->info);
    image_resize(out, r.width, r.height);
    if (passes > 1)
        read_interlaced(p, r, out);
    else
        read_rows(p, r, out);
    cancel_png(p);
    return 0;
}

const struct codec codec_png = {
    .name = "PNG",
    .magic = "\x89PNG\r\n\x1A\n",
    .n_magic = 8,
    .new = new_png,
    .free = free_png,
    .begin = begin_png,
    .traits = traits_png,
    .crop = crop_png,
};
