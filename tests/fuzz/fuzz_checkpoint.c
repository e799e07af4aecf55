/* Checkpoints with their metadata. The first byte says whether the checksum of the data is put
 * right first; without that hardly any change would get past it. */
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

static const char sum_key[] = "\"data_crc32\":\"";

const char *const fuzz_words[] = {"\"data_crc32\":\"00000000\"",
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

static void fix_sum(char *file, size_t n)
{
    uint64_t header;
    char text[9], *at;

    if (n < sizeof(header))
        return;
    memcpy(&header, file, sizeof(header));
    header = le64toh(header);
    if (header > n - sizeof(header))
        return;
    at = memmem(file + 8, header, sum_key, sizeof(sum_key) - 1);
    if (!at || (size_t)(file + 8 + header - at) < sizeof(sum_key) - 1 + 8)
        return;
    snprintf(text, sizeof(text), "%08lx",
             crc32_z(crc32(0, NULL, 0), (const Bytef *)file + 8 + header, n - 8 - header));
    memcpy(at + sizeof(sum_key) - 1, text, 8);
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
        fix_sum(copy, n - 1);
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
        const struct checkpoint_info info = {(long long)k, 1, 7, "0123abcd", &extra, k % 2};

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
