/* safetensors: what is accepted can be read, found by name, and written again to the same. */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/file.h"
#include "fuzz.h"
#include "train/safetensors.h"

const char *const fuzz_words[] = {"\"dtype\":",
                                  "\"shape\":",
                                  "\"data_offsets\":",
                                  "\"__metadata__\":",
                                  "\"F32\"",
                                  "\"BF16\"",
                                  "\"F64\"",
                                  "\"I64\"",
                                  "\"U8\"",
                                  "\"BOOL\"",
                                  "[0,0]",
                                  "[]",
                                  "{}",
                                  "9007199254740992",
                                  "1e3",
                                  "-1",
                                  "\\u0000",
                                  "\\ud800",
                                  "[[[[",
                                  NULL};

static void read_all(const struct safetensors *f)
{
    for (size_t i = 0; i < f->n_tensors; i++) {
        struct safetensors_tensor *const t = &f->tensors[i];
        void *const bytes = xmalloc(t->bytes);

        ASSERT(safetensors_find(f, t->name) == t);
        ASSERT(safetensors_read(f, t, bytes) == 0);
        fuzz_touch(bytes, t->bytes);
        t->data = bytes;
    }
    for (size_t i = 0; i < f->n_meta; i++)
        ASSERT(safetensors_meta(f, f->meta[i].key));
}

static void same(const struct safetensors *a, const struct safetensors *b)
{
    ASSERT(a->n_tensors == b->n_tensors && a->n_meta == b->n_meta);
    for (size_t i = 0; i < a->n_meta; i++)
        ASSERT(strcmp(a->meta[i].key, b->meta[i].key) == 0 &&
               strcmp(a->meta[i].value, b->meta[i].value) == 0);
    for (size_t i = 0; i < b->n_tensors; i++) {
        const struct safetensors_tensor *const x = &b->tensors[i];
        const struct safetensors_tensor *const y = safetensors_find(a, x->name);

        ASSERT(y && x->dtype == y->dtype && x->rank == y->rank && x->bytes == y->bytes);
        ASSERT(memcmp(x->dims, y->dims, sizeof(x->dims)) == 0);
        ASSERT(memcmp(x->data, y->data, x->bytes) == 0);
    }
}

static void release(struct safetensors *f)
{
    for (size_t i = 0; i < f->n_tensors; i++)
        free((void *)(uintptr_t)f->tensors[i].data);
    safetensors_close(f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    char *const again = file_join(fuzz_dir(), "again");
    struct safetensors *f, *g;
    const int rc = safetensors_open(&f, fuzz_put("x.safetensors", data, n));

    if (rc < 0) {
        fuzz_refused(rc);
    } else {
        read_all(f);
        ASSERT(safetensors_write(again, (struct safetensors_content){.tensors = f->tensors,
                                                                     .n_tensors = f->n_tensors,
                                                                     .meta = f->meta,
                                                                     .n_meta = f->n_meta}) == 0);
        ASSERT(safetensors_open(&g, again) == 0);
        read_all(g);
        release(f);
        ASSERT(safetensors_open(&f, fuzz_put("x.safetensors", data, n)) == 0);
        read_all(f); /* writing sorted the first one's */
        same(f, g);
        release(f);
        release(g);
    }
    free(again);
    return 0;
}

void fuzz_seeds(void)
{
    static const float x[6] = {1, 2, 3};
    const struct safetensors_meta meta[] = {{"format", "pt"}, {"caf\xC3\xA9 \"\\", "\n"}};
    char *const path = file_join(fuzz_dir(), "seed");
    struct safetensors_tensor t[] = {
        {.name = "layer.weight", SAFETENSORS_F32, 2, {2, 3}, x, 24, 0},
        {.name = "step", SAFETENSORS_I64, 0, {0}, x, 8, 0},
        {.name = "empty", SAFETENSORS_U8, 1, {0}, x, 0, 0},
        {.name = "half", SAFETENSORS_BF16, 3, {1, 2, 2}, x, 8, 0},
    };

    for (size_t n = 0; n <= COUNT_OF(t); n++) {
        ASSERT(safetensors_write(path, (struct safetensors_content){t, n, meta, n % 3}) == 0);
        fuzz_seed_file("seed");
    }
    free(path);
}
