/* A small data set, good and bad, and shorthands for reading a stream of batches. */
#ifndef STAVE_TEST_DATA_PIPELINE_H
#define STAVE_TEST_DATA_PIPELINE_H

#include "data/pipeline.h"
#include "data/prepare.h"
#include "test_data_fixture.h"

enum { N_GOOD = 23, N_BAD = 4, N_FILES = N_GOOD + N_BAD, SIZE = 32 };

/* A folder of three classes with pictures of several sizes; file k is bad in way k when k < N_BAD.
 */
UNUSED_FUNCTION char *mixed_folder(int n_bad)
{
    char *const dir = temp_dir();
    struct bytes jpeg = {0};

    for (int k = 0; k < N_GOOD + n_bad; k++) {
        const int bad = k < n_bad ? k % 4 : -1;
        char name[64];

        snprintf(name, sizeof(name), "c%d", k % 3);
        make_dir(dir, name);
        snprintf(name, sizeof(name), "c%d/%03d.jpg", k % 3, k);
        simple_jpeg(40 + k % 7 * 9, 36 + k % 5 * 11, k, &jpeg);
        if (bad == 0)
            jpeg.n /= 2;
        if (bad == 1)
            jpeg.n = 0;
        if (bad == 2)
            memcpy(jpeg.data, "GIF8", 4);
        if (bad == 3)
            jpeg.n -= 2;
        write_file(dir, name, jpeg.data, jpeg.n);
    }
    bytes_release(&jpeg);
    return dir;
}

UNUSED_FUNCTION struct source *open_source(const char *path)
{
    struct source *s;

    if (source_open(path, &s) < 0)
        fail_msg("%s", err_reason());
    return s;
}

/* What the data set at path is in another format (NULL: RecordIO), PREFIX giving the names. */
UNUSED_FUNCTION struct prepare_result convert_to(const char *path, const char *prefix,
                                                 const char *format)
{
    struct source *const s = open_source(path);
    struct prepare_result made;

    if (prepare_convert(s, &(struct prepare_to){.prefix = prefix, .format = format}, &made) < 0)
        fail_msg("%s", err_reason());
    source_close(s);
    return made;
}

UNUSED_FUNCTION struct pipeline_config train_config(const struct source *s)
{
    return (struct pipeline_config){
        .source = s,
        .mode = PIPELINE_TRAIN,
        .seed = 42,
        .batch_size = 5,
        .n_threads = 2,
        .prefetch = 3,
        .train = {.size = SIZE, .flip = 1},
    };
}

UNUSED_FUNCTION struct pipeline_config eval_config(const struct source *s)
{
    struct pipeline_config f = train_config(s);

    f.mode = PIPELINE_EVAL;
    f.eval = (struct augment_eval){.resize = 36, .crop = SIZE};
    return f;
}

UNUSED_FUNCTION struct pipeline *open_pipeline(const struct pipeline_config *f)
{
    struct pipeline *p;

    if (pipeline_open(f, &p) < 0)
        fail_msg("%s", err_reason());
    return p;
}

static const struct batch *next(struct pipeline *p)
{
    const struct batch *b;

    if (pipeline_next(p, &b) < 0)
        fail_msg("%s", err_reason());
    return b;
}

UNUSED_FUNCTION const int32_t *labels(const struct batch *b)
{
    return b->tensor[BATCH_LABELS].data;
}

UNUSED_FUNCTION const float *weights(const struct batch *b)
{
    return b->tensor[BATCH_WEIGHTS].data;
}

UNUSED_FUNCTION const int64_t *indices(const struct batch *b)
{
    return b->tensor[BATCH_INDICES].data;
}

UNUSED_FUNCTION const uint8_t *pixels(const struct batch *b, size_t i)
{
    return (const uint8_t *)b->tensor[BATCH_IMAGES].data + i * SIZE * SIZE * 3;
}

UNUSED_FUNCTION uint64_t batch_checksum(uint64_t sum, const struct batch *b)
{
    const uint64_t numbers[3] = {b->epoch, b->step, b->n_real};

    sum = checksum_add(sum, numbers, sizeof(numbers));
    for (const struct batch_tensor *t = b->tensor; t < b->tensor + N_BATCH_TENSORS; t++)
        sum = checksum_add(sum, t->data, t->dims[0] * batch_sample_bytes(t));
    return sum;
}

/* All batches and all bad samples, in order. */
UNUSED_FUNCTION uint64_t stream_checksum(const struct pipeline_config *f, uint64_t n)
{
    struct pipeline *const p = open_pipeline(f);
    uint64_t sum = CHECKSUM_INIT;

    for (uint64_t i = 0; i < n; i++) {
        const struct batch *const b = next(p);

        sum = batch_checksum(sum, b);
        for (const struct bad_sample *bad; (bad = pipeline_bad_next(p));) {
            sum = checksum_add(sum, bad->location, strlen(bad->location));
            sum = checksum_add(sum, bad->reason, strlen(bad->reason));
        }
        pipeline_done(p, b);
    }
    pipeline_close(p);
    return sum;
}

#endif
