/* The JPEG path: header, crop, resize. */
#include "data/bytes.h"
#include "fuzz.h"
#include "fuzz_image.h"
#include "test_data_fixture.h"

const char *const fuzz_words[] = {"\xFF\xC0", "\xFF\xC1", "\xFF\xC2", "\xFF\xC4",     "\xFF\xC9",
                                  "\xFF\xCA", "\xFF\xCC", "\xFF\xD8", "\xFF\xD9",     "\xFF\xDA",
                                  "\xFF\xDB", "\xFF\xDD", "\xFF\xD0", "\xFF\xE0",     "\xFF\xEE",
                                  "Adobe",    "JFIF",     "\x11",     "\x22\x11\x21", NULL};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    fuzz_image(data, n);
    return 0;
}

void fuzz_seeds(void)
{
    static const struct jpeg_kind kinds[] = {
        {"420", 3, 2, 2, 0, 0, 0, 0, 0},         {"444", 3, 1, 1, 0, 0, 0, 0, 0},
        {"422", 3, 2, 1, 0, 1, 0, 0, 0},         {"grey", 1, 1, 1, 0, 0, 0, 0, 0},
        {"progressive", 3, 2, 2, 1, 0, 0, 0, 0}, {"arithmetic", 3, 2, 2, 0, 0, 1, 0, 0},
        {"rgb", 3, 0, 0, 0, 0, 0, 1, 0},         {"cmyk", 4, 0, 0, 0, 0, 0, 0, 1},
        {"ycck", 4, 0, 0, 0, 0, 0, 0, 0},        {"both", 3, 2, 2, 1, 1, 1, 0, 0}};
    struct bytes file = {0};

    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        uint8_t *const px = picture_new(33, 20, (int)i);

        make_jpeg(&kinds[i], px, 33, 20, &file);
        fuzz_image_seed(file.data, file.n);
        free(px);
    }
    bytes_release(&file);
}
