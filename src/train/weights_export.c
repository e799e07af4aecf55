/* A checkpoint under the names of another program. */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "train/weights.h"

/* What is written, filled tensor by tensor. */
struct content {
    struct safetensors_tensor *tensors;
    char (*names)[WEIGHTS_NAME_BYTES];
    size_t n;
    int64_t batches; /* seen by batch normalisation; the data of every count */
};

static int is_optimiser_state(const struct safetensors *f, const char *name)
{
    char owner[WEIGHTS_NAME_BYTES];

    return weights_owner(name, owner) && safetensors_find(f, owner);
}

static int read_in_their_order(const struct safetensors *f, const struct name_map *map,
                               const struct safetensors_tensor *t, float *dst)
{
    float *const ours = xmalloc(t->bytes);
    const int rc = safetensors_read(f, t, ours);

    if (rc == 0)
        weights_reorder(map, t, WEIGHTS_TO_THEM, ours, dst);
    free(ours);
    return rc;
}

static void add_counter(struct content *c, const struct name_map *map, const char *theirs)
{
    if (weights_counter(map, theirs, c->names[c->n])) {
        c->tensors[c->n] = (struct safetensors_tensor){.name = c->names[c->n],
                                                       .dtype = SAFETENSORS_I64,
                                                       .data = &c->batches,
                                                       .bytes = sizeof(c->batches)};
        c->n++;
    }
}

static int add_tensor(struct content *c, const struct safetensors *f, const struct name_map *map,
                      const struct safetensors_tensor *t)
{
    struct safetensors_tensor *const out = &c->tensors[c->n];
    float *data;

    if (t->dtype != SAFETENSORS_F32)
        return err(E_DATA, "%s: tensor %.200s is %s; a checkpoint's weights are F32", f->path,
                   t->name, safetensors_dtype_name(t->dtype));
    if (!weights_theirs(map, t, c->names[c->n], out))
        return err(E_DATA, "%s: tensor %.200s has no name among %s's", f->path, t->name,
                   map->naming);
    out->data = data = xmalloc(t->bytes);
    c->n++;
    TRY(read_in_their_order(f, map, t, data));
    add_counter(c, map, out->name);
    return 0;
}

/* Of the metadata of a checkpoint what matters to those who use the weights: not its checksums,
 * which are of another file, nor a path of this machine. "format" is what Python's loaders look
 * for. */
static int write_content(struct content *c, const struct safetensors *f, const char *path)
{
    static const char *const own[] = {
        "seed",       "options_digest",       "init", "data_crc32", "header_crc32",
        "loss_scale", "loss_scale_good_steps"};
    struct safetensors_meta *const meta = xcalloc(f->n_meta + 1, sizeof(*meta));
    size_t n = 0;
    int rc;

    meta[n++] = (struct safetensors_meta){"format", "pt"};
    for (size_t i = 0; i < f->n_meta; i++) {
        int skip = 0;
        for (size_t k = 0; k < COUNT_OF(own); k++)
            skip |= strcmp(f->meta[i].key, own[k]) == 0;
        if (!skip)
            meta[n++] = f->meta[i];
    }
    rc = safetensors_write(path, (struct safetensors_content){c->tensors, c->n, meta, n});
    free(meta);
    return rc;
}

/* Batch normalisation sees the parts of an accumulated step one by one. */
static int64_t batches_seen(const struct checkpoint *c)
{
    const char *const parts = safetensors_meta(c->file, "accumulate");
    const long long n = parts ? atoll(parts) : 1;
    int64_t batches;

    return __builtin_mul_overflow(c->info.step, n, &batches) || n < 1 ? c->info.step : batches;
}

int weights_export(const struct checkpoint *c, const struct name_map *map, const char *path)
{
    const struct safetensors *const f = c->file;
    struct content out = {.tensors = xcalloc(2 * f->n_tensors + 1, sizeof(*out.tensors)),
                          .names = xcalloc(2 * f->n_tensors + 1, sizeof(*out.names)),
                          .batches = batches_seen(c)};
    int rc = 0;

    for (size_t i = 0; i < f->n_tensors && rc == 0; i++)
        if (!is_optimiser_state(f, f->tensors[i].name))
            rc = add_tensor(&out, f, map, &f->tensors[i]);
    if (rc == 0)
        rc = write_content(&out, f, path);
    for (size_t i = 0; i < out.n; i++)
        if (out.tensors[i].data != &out.batches)
            free((void *)(uintptr_t)out.tensors[i].data);
    free(out.tensors);
    free(out.names);
    return rc;
}
