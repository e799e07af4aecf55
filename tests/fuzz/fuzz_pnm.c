/* The PGM and PPM path: header, crop, resize. */
#include <string.h>

#include "fuzz.h"
#include "fuzz_image.h"

const char *const fuzz_words[] = {"P5 ", "P6\n", " 255\n", " 65535\n", "# x\n", "9999", NULL};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    fuzz_image(data, n);
    return 0;
}

void fuzz_seeds(void)
{
    static const char *const heads[] = {"P5 7 5 255\n", "P6\n7 5\n255\n", "P5\n# wide\n7 5 65535\n",
                                        "P6 7\t5 65535 "};
    uint8_t file[64 + 7 * 5 * 6];

    for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++) {
        const size_t n = strlen(heads[i]);

        for (size_t k = 0; k < sizeof(file); k++)
            file[k] = (uint8_t)(k * 7);
        memcpy(file, heads[i], n);
        fuzz_image_seed(file, n + 7 * 5 * 6);
    }
}
