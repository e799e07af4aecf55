/* A pair of IDX files as a source. The first byte is the length of the file of labels, which comes
 * first; the rest is the file of images. Whatever opens gives pictures that decode. */
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "data/bytes.h"
#include "data/decode.h"
#include "data/source.h"
#include "fuzz.h"

enum { MAX_READ = 16 };

const char *const fuzz_words[] = {"\x08\x01", "\x08\x03", "\x1f\x8b\x08", NULL};

static void read_all(const struct source *s)
{
    struct decoder *const d = decoder_new(0);
    struct sample sample = {0};
    struct rect whole;

    for (uint64_t i = 0; i < s->n_samples && i < MAX_READ; i++) {
        ASSERT(source_read(s, i, &sample) == 0);
        ASSERT(sample.label >= 0 && sample.label < 256);
        ASSERT(decoder_begin(d, sample.data, sample.n, &whole) == 0);
    }
    sample_release(&sample);
    decoder_free(d);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    const char *path;
    struct source *s;
    size_t n_labels;
    int rc;

    if (n < 1 || n - 1 < data[0])
        return 0;
    n_labels = data[0];
    fuzz_put("x-labels-idx1-ubyte", data + 1, n_labels);
    path = fuzz_put("x-images-idx3-ubyte", data + 1 + n_labels, n - 1 - n_labels);
    rc = source_open(path, &s);
    if (rc < 0) {
        ASSERT(rc == E_UNSUPPORTED || rc == E_DATA || rc == E_USAGE);
        return 0;
    }
    read_all(s);
    source_close(s);
    return 0;
}

void fuzz_seeds(void)
{
    static const uint8_t plain[] = {10, 0, 0, 8, 1, 0, 0, 0, 2, 7, 9, 0, 0, 8, 3, 0, 0,  0,  2, 0,
                                    0,  0, 2, 0, 0, 0, 3, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};

    fuzz_seed(plain, sizeof(plain));
}
