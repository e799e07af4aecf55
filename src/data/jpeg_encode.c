#include "data/jpeg_encode.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>

#include <jpeglib.h> /* needs stdio.h in front */

#include "base/err.h"

struct encoder {
    struct jpeg_compress_struct lib;
    struct jpeg_error_mgr errors;
    jmp_buf failed;
    unsigned char *bytes;
    unsigned long n;
};

static void on_error(j_common_ptr lib)
{
    struct encoder *const e = lib->client_data;

    longjmp(e->failed, 1);
}

static void compress(struct encoder *e, const struct jpeg_picture *p)
{
    const size_t stride = (size_t)p->width * (size_t)p->channels;

    e->lib.image_width = (JDIMENSION)p->width;
    e->lib.image_height = (JDIMENSION)p->height;
    e->lib.input_components = p->channels;
    e->lib.in_color_space = p->channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
    jpeg_set_defaults(&e->lib);
    e->lib.dct_method = JDCT_ISLOW;
    jpeg_set_quality(&e->lib, p->quality ? p->quality : 90, TRUE);
    if (p->channels == 3) {
        e->lib.comp_info[0].h_samp_factor = p->sampling == JPEG_444 ? 1 : 2;
        e->lib.comp_info[0].v_samp_factor = p->sampling == JPEG_420 ? 2 : 1;
    }
    jpeg_start_compress(&e->lib, TRUE);
    while (e->lib.next_scanline < e->lib.image_height) {
        /* libjpeg's type lacks const; it only reads */
        JSAMPROW row = (JSAMPROW)(uintptr_t)(p->px + e->lib.next_scanline * stride);

        jpeg_write_scanlines(&e->lib, &row, 1);
    }
    jpeg_finish_compress(&e->lib);
}

int jpeg_encode(struct jpeg_picture p, struct bytes *out)
{
    struct encoder *const e = xcalloc(1, sizeof(*e));
    volatile int rc = 0;

    e->lib.err = jpeg_std_error(&e->errors);
    e->errors.error_exit = on_error;
    e->lib.client_data = e;
    if (setjmp(e->failed)) {
        char text[JMSG_LENGTH_MAX];

        e->errors.format_message((j_common_ptr)&e->lib, text);
        rc = err(E_DATA, "encode a JPEG of %d x %d pixels: %s", p.width, p.height, text);
    } else {
        jpeg_create_compress(&e->lib);
        jpeg_mem_dest(&e->lib, &e->bytes, &e->n);
        compress(e, &p);
        out->n = 0;
        bytes_add(out, e->bytes, e->n);
    }
    jpeg_destroy_compress(&e->lib);
    free(e->bytes);
    free(e);
    return rc;
}
