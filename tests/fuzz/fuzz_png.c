/* The PNG path: header, crop, resize. Checksums of chunks are put right first, or nearly every
 * change would end there. */
#include <zlib.h>

#include "data/bytes.h"
#include "fuzz.h"
#include "fuzz_image.h"
#include "test_data_fixture.h"

const char *const fuzz_words[] = {"IHDR", "PLTE", "IDAT", "IEND", "tRNS", "gAMA",
                                  "cHRM", "sRGB", "iCCP", "sBIT", "bKGD", "hIST",
                                  "pHYs", "tEXt", "zTXt", "iTXt", NULL};

static void fix_checksums(uint8_t *file, size_t n)
{
    for (size_t at = 8; n - at >= 12 && at < n;) {
        const size_t size = (size_t)file[at] << 24 | (size_t)file[at + 1] << 16 |
                            (size_t)file[at + 2] << 8 | file[at + 3];
        uLong sum;

        if (size > n - at - 12)
            return;
        sum = crc32(crc32(0, NULL, 0), file + at + 4, (uInt)(4 + size));
        for (int i = 0; i < 4; i++)
            file[at + 8 + size + (size_t)i] = (uint8_t)(sum >> (24 - 8 * i));
        at += 12 + size;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    uint8_t *const copy = xmalloc(n);

    memcpy(copy, data, n);
    if (n > 10 && data[0] % 8) /* the rest are taken as they come */
        fix_checksums(copy + 2, n - 2);
    fuzz_image(copy, n);
    free(copy);
    return 0;
}

void fuzz_seeds(void)
{
    static const int kinds[][2] = {{PNG_COLOR_TYPE_GRAY, 1},       {PNG_COLOR_TYPE_GRAY, 8},
                                   {PNG_COLOR_TYPE_GRAY, 16},      {PNG_COLOR_TYPE_RGB, 8},
                                   {PNG_COLOR_TYPE_RGB, 16},       {PNG_COLOR_TYPE_PALETTE, 2},
                                   {PNG_COLOR_TYPE_PALETTE, 8},    {PNG_COLOR_TYPE_GRAY_ALPHA, 8},
                                   {PNG_COLOR_TYPE_RGB_ALPHA, 16}, {PNG_COLOR_TYPE_RGB_ALPHA, 8}};
    uint8_t rows[19 * 13 * 8];
    struct bytes file = {0};

    for (size_t i = 0; i < sizeof(rows); i++)
        rows[i] = (uint8_t)(i * 7);
    for (size_t i = 0; i < COUNT_OF(kinds); i++)
        for (int interlaced = 0; interlaced < 2; interlaced++) {
            make_png(19, 13, kinds[i][0], kinds[i][1], interlaced, rows, &file);
            fuzz_image_seed(file.data, file.n);
        }
    bytes_release(&file);
}
