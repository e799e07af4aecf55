/* TFRecord and tf.Example: what is read lies inside the record, labels agree however they are asked
 * for, and an example that is written again reads the same. The first byte's lowest bit asks for
 * right checksums in every record, which mutation alone never finds. */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/file.h"
#include "data/example.h"
#include "data/source.h"
#include "data/tfrecord.h"
#include "fuzz.h"

enum { FIX_SUMS = 1, MAX_READ = 64 };

const char *const fuzz_words[] = {"image/encoded",
                                  "image/class/label",
                                  "\x0A\x11image/class/label",
                                  "\x12\x05\x1A\x03\x0A\x01\x05",
                                  "image/format",
                                  NULL};

static void fix_sums(uint8_t *file, size_t n)
{
    for (size_t at = 0; n - at >= TFRECORD_HEAD_BYTES + TFRECORD_TAIL_BYTES;) {
        uint32_t sum = tfrecord_sum(file + at, 8);
        uint64_t length;

        memcpy(&length, file + at, sizeof(length));
        memcpy(file + at + 8, &sum, sizeof(sum));
        at += TFRECORD_HEAD_BYTES;
        if (length > n - at - TFRECORD_TAIL_BYTES)
            return;
        sum = tfrecord_sum(file + at, length);
        memcpy(file + at + length, &sum, sizeof(sum));
        at += length + TFRECORD_TAIL_BYTES;
    }
}

static void write_again(const struct sample *s)
{
    const struct example e = {.picture = s->data, .n = s->n, .label = s->label, .format = "JPEG"};
    struct example got = {0};
    struct bytes b = {0};

    example_write(&e, &b);
    ASSERT(example_read(b.data, b.n, &got) == 0);
    ASSERT(got.label == s->label && got.n == s->n && memcmp(got.picture, s->data, s->n) == 0);
    bytes_release(&b);
}

static void read_all(const struct source *s)
{
    struct sample sample = {0};
    char where[64];

    for (uint64_t i = 0; i < s->n_samples && i < MAX_READ; i++) {
        int64_t label = 0;
        const int rc_label = source_label(s, i, &label);
        const int rc = source_read(s, i, &sample);

        source_locate(s, i, where, sizeof(where));
        ASSERT((rc < 0) == (rc_label < 0) && (rc < 0 || sample.label == label));
        if (rc < 0) {
            fuzz_refused(rc);
            continue;
        }
        fuzz_touch(sample.data, sample.n);
        write_again(&sample);
    }
    sample_release(&sample);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct source *s;
    uint8_t *copy;
    int rc;

    if (n < 1)
        return 0;
    copy = xmalloc(n);
    memcpy(copy, data + 1, n - 1);
    if (data[0] & FIX_SUMS)
        fix_sums(copy, n - 1);
    rc = source_open(fuzz_put("x.tfrecord", copy, n - 1), &s);
    free(copy);
    if (rc < 0) {
        fuzz_refused(rc);
        return 0;
    }
    read_all(s);
    source_close(s);
    return 0;
}

static void add_record(struct bytes *b, const void *data, uint64_t n)
{
    bytes_add(b, &n, sizeof(n));
    bytes_add(b, "\0\0\0\0", 4);
    bytes_add(b, data, n);
    bytes_add(b, "\0\0\0\0", 4);
}

void fuzz_seeds(void)
{
    static const char unpacked[] =
        "\x0A\x3A"
        "\x0A\x1D\x12\x06\x1A\x04\x08\x05\x08\x06\x0A\x11image/class/label"
        "\x00\x00"
        "\x0A\x19\x0A\x0Dimage/encoded\x12\x08\x0A\x06\x0A\x04!!!!";
    const struct example e = {.picture = (const uint8_t *)"picture",
                              .n = 7,
                              .label = -5,
                              .class_name = "n01440764",
                              .format = "JPEG",
                              .width = 500,
                              .height = 375};
    struct bytes b = {0}, one = {0};

    example_write(&e, &one);
    bytes_add(&b, "\1", 1);
    add_record(&b, one.data, one.n);
    add_record(&b, unpacked, sizeof(unpacked) - 1);
    add_record(&b, one.data, one.n / 2);
    fix_sums(b.data + 1, b.n - 1);
    fuzz_seed(b.data, b.n);
    b.data[0] = 0;
    fuzz_seed(b.data, b.n);
    bytes_release(&b);
    bytes_release(&one);
}
