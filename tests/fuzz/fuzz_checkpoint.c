/* Checkpoints with their metadata. The first byte says whether the checksums are put right
 * first; without that hardly any change would get past them. */
#include <endian.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "base/err.h"
#include "base/file.h"
#include "fuzz.h"
#include "train/checkpoint.h"

static const char sum_key[] = "\"data_crc32\":\"", header_key[] = "\"header_crc32\":\"";

const char *const fuzz_words[] = {"\"data_crc32\":\"00000000\"",
                                  "\"header_crc32\":\"00000000\"",
                                  "\"init\":\"",
                                  "\"step\":\"",
                                  "\"epoch\":\"",
                                  "\"seed\":\"",
                                  "\"options_digest\":\"",
                                  "\"__metadata__\":{",
                                  "18446744073709551615",
                                  "9223372036854775808",
                                  "\"-1\"",
                                  "\"dtype\":\"F32\"",
                                  "\"shape\":[",
                                  "\"data_offsets\":[",
                                  NULL};

/* Puts eight digits behind a key of the header, where they fit. */
static void put_sum(char *header, size_t n, const char *key, uint32_t sum)
{
    char text[9], *const at = memmem(header, n, key, strlen(key));

    if (!at || (size_t)(header + n - at) < strlen(key) + 8)
        return;
    snprintf(text, sizeof(text), "%08x", sum);
    memcpy(at + strlen(key), text, 8);
}

static void fix_sums(char *file, size_t n)
{
    struct safetensors *f;
    uint64_t header;

    if (n < sizeof(header))
        return;
    memcpy(&header, file, sizeof(header));
    header = le64toh(header);
    if (header > n - sizeof(header))
        return;
    put_sum(file + 8, header, sum_key,
            (uint32_t)crc32_z(0, (const Bytef *)file + 8 + header, n - 8 - header));
    if (safetensors_open(&f, fuzz_put("x.safetensors", file, n)) < 0)
        return;
    put_sum(file + 8, header, header_key,
            checkpoint_header_sum(f->tensors, f->n_tensors, f->meta, f->n_meta));
    safetensors_close(f);
}

static void check(const struct checkpoint *c)
{
    const struct safetensors_tensor absent = {.name = "\x01", .dtype = SAFETENSORS_F32};

    ASSERT(c->info.step >= 0 && c->info.epoch >= 0 && c->info.options_digest);
    for (size_t i = 0; i < c->info.n_extra; i++)
        fuzz_touch(c->info.extra[i].value, strlen(c->info.extra[i].value) + 1);
    for (size_t i = 0; i < c->file->n_tensors; i++) {
        struct safetensors_tensor t = c->file->tensors[i];
        void *const bytes = xmalloc(t.bytes);

        ASSERT(checkpoint_read(c, &t, bytes) == 0);
        free(bytes);
        t.rank ^= 1;
        ASSERT(checkpoint_check(c, &t) == E_DATA);
    }
    if (!safetensors_find(c->file, absent.name))
        ASSERT(checkpoint_check(c, &absent) == E_DATA);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct checkpoint c;
    char *copy;
    int rc;

    if (n < 1)
        return 0;
    copy = xmalloc(n);
    memcpy(copy, data + 1, n - 1);
    if (data[0] % 8)
        fix_sums(copy, n - 1);
    rc = checkpoint_open_file(&c, fuzz_put("x.safetensors", copy, n - 1));
    free(copy);
    if (rc < 0) {
        fuzz_refused(rc);
        ASSERT(!c.file);
        return 0;
    }
    check(&c);
    checkpoint_close(&c);
    return 0;
}

void fuzz_seeds(void)
{
    static const float x[8] = {1, -2};
    const struct safetensors_meta extra = {"workload", "resnet50"};
    char *const path = file_join(fuzz_dir(), CHECKPOINT_NAME);
    struct safetensors_tensor t[] = {{.name = "fc.weight", SAFETENSORS_F32, 2, {2, 3}, x, 24, 0},
                                     {.name = "fc.bias", SAFETENSORS_F32, 1, {2}, x, 8, 0}};
    char *bytes;
    size_t n;

    for (size_t k = 0; k <= COUNT_OF(t); k++) {
        const struct checkpoint_info info = {.step = (long long)k,
                                             .epoch = 1,
                                             .seed = 7,
                                             .options_digest = "0123abcd",
                                             .extra = &extra,
                                             .n_extra = k % 2};

        ASSERT(checkpoint_save(fuzz_dir(), t, k, info) == 0);
        ASSERT(file_read(path, 1 << 20, &bytes, &n) == 0);
        bytes = xrealloc(bytes, n + 1);
        memmove(bytes + 1, bytes, n);
        bytes[0] = (char)k;
        fuzz_seed(bytes, n + 1);
        free(bytes);
    }
    free(path);
}
