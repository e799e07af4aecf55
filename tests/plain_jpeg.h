/* Every kind of JPEG that is read, and what libjpeg makes of it when it is used in the plainest
 * way. */
#ifndef STAVE_TESTS_PLAIN_JPEG_H
#define STAVE_TESTS_PLAIN_JPEG_H

#include <math.h>

#include "data/image.h"
#include "test_data_fixture.h"

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

/* libjpeg in the plainest way: all rows at 1 / by, no skipping; grey and colour come as RGB, four
 * inks are made RGB. The pixels are heap. */
UNUSED_FUNCTION uint8_t *full_decode(const struct bytes *jpeg, int by, struct rect *whole)
{
    struct jpeg_decompress_struct d;
    struct jpeg_error_mgr errors;
    uint8_t *px;

    d.err = jpeg_std_error(&errors);
    jpeg_create_decompress(&d);
    jpeg_mem_src(&d, jpeg->data, (unsigned long)jpeg->n);
    jpeg_read_header(&d, TRUE);
    d.out_color_space = d.num_components == 4 ? JCS_CMYK : JCS_RGB;
    d.dct_method = JDCT_ISLOW;
    d.scale_num = 1;
    d.scale_denom = (unsigned)by;
    jpeg_start_decompress(&d);
    *whole = (struct rect){.width = (int)d.output_width, .height = (int)d.output_height};
    px = xmalloc((size_t)d.output_width * d.output_height * (size_t)d.output_components);
    while (d.output_scanline < d.output_height) {
        uint8_t *row =
            px + (size_t)d.output_scanline * d.output_width * (size_t)d.output_components;

        jpeg_read_scanlines(&d, &row, 1);
    }
    for (int i = 0; d.output_components == 4 && i < whole->width * whole->height; i++)
        for (int c = 0; c < 3; c++)
            px[i * 3 + c] = (uint8_t)lround(px[i * 4 + c] * px[i * 4 + 3] / 255.0);
    jpeg_finish_decompress(&d);
    jpeg_destroy_decompress(&d);
    return px;
}

UNUSED_FUNCTION int draw_below(unsigned *state, int n)
{
    *state = *state * 1664525u + 1013904223u;
    return (int)((*state >> 8) % (unsigned)n);
}

#endif
