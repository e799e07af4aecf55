/* The JPEG path: header, crop, resize; and the other reader of headers, which sees the size that
 * the decoder sees. */
#include <stdlib.h>
#include <string.h>

#include "data/bytes.h"
#include "data/decode.h"
#include "data/likeness.h"
#include "fuzz.h"
#include "fuzz_image.h"
#include "test_data_fixture.h"

const char *const fuzz_words[] = {"\xFF\xC0", "\xFF\xC1", "\xFF\xC2", "\xFF\xC4",     "\xFF\xC9",
                                  "\xFF\xCA", "\xFF\xCC", "\xFF\xD8", "\xFF\xD9",     "\xFF\xDA",
                                  "\xFF\xDB", "\xFF\xDD", "\xFF\xD0", "\xFF\xE0",     "\xFF\xEE",
                                  "Adobe",    "JFIF",     "\x11",     "\x22\x11\x21", NULL};

static void read_header(const uint8_t *data, size_t n)
{
    struct decoder *const d = decoder_new(1 << 16);
    uint8_t *const file = xmalloc(n ? n : 1); /* of its exact size, for the sanitizers */
    struct jpeg_facts f;
    struct rect whole;

    memcpy(file, data, n);
    if (jpeg_facts(file, n, &f) == 0 && decoder_begin(d, file, n, &whole) == 0)
        ASSERT(whole.width == f.width && whole.height == f.height);
    free(file);
    decoder_free(d);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    fuzz_image(data, n);
    if (n >= 2)
        read_header(data + 2, n - 2); /* behind the seed that fuzz_image takes */
    return 0;
}

void fuzz_seeds(void)
{
    static const struct jpeg_kind kinds[] = {
        {.name = "420", .components = 3, .h = 2, .v = 2},
        {.name = "444", .components = 3, .h = 1, .v = 1},
        {.name = "422", .components = 3, .h = 2, .v = 1, .restart = 1},
        {.name = "grey", .components = 1, .h = 1, .v = 1},
        {.name = "progressive", .components = 3, .h = 2, .v = 2, .progressive = 1},
        {.name = "arithmetic", .components = 3, .h = 2, .v = 2, .arithmetic = 1},
        {.name = "rgb", .components = 3, .rgb = 1},
        {.name = "cmyk", .components = 4, .cmyk = 1},
        {.name = "cmyk without a marker", .components = 4, .no_adobe = 1},
        {.name = "ycck", .components = 4},
        {.name = "all",
         .components = 3,
         .h = 2,
         .v = 2,
         .progressive = 1,
         .restart = 1,
         .arithmetic = 1}};
    struct bytes file = {0};

    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        uint8_t *const px = picture_new(33, 20, (int)i);

        make_jpeg(&kinds[i], px, 33, 20, &file);
        fuzz_image_seed(file.data, file.n);
        free(px);
    }
    bytes_release(&file);
}
