#include "train/safetensors.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/file.h"
#include "base/str.h"

static const struct {
    const char *name;
    size_t bytes;
} dtypes[N_SAFETENSORS_DTYPES] = {
#define DTYPE(name, bytes) [SAFETENSORS_##name] = {#name, bytes},
#include "train/safetensors_dtypes.h"
#undef DTYPE
};

const char *safetensors_dtype_name(enum safetensors_dtype d)
{
    ASSERT(d < N_SAFETENSORS_DTYPES);
    return dtypes[d].name;
}

size_t safetensors_dtype_bytes(enum safetensors_dtype d)
{
    ASSERT(d < N_SAFETENSORS_DTYPES);
    return dtypes[d].bytes;
}

static int by_file_order(const void *a, const void *b)
{
    const struct safetensors_tensor *x = a, *y = b;
    const size_t x_bytes = safetensors_dtype_bytes(x->dtype);
    const size_t y_bytes = safetensors_dtype_bytes(y->dtype);

    if (x_bytes != y_bytes)
        return x_bytes < y_bytes ? 1 : -1;
    return strcmp(x->name, y->name);
}

void safetensors_sort(struct safetensors_tensor *tensors, size_t n)
{
    if (n)
        qsort(tensors, n, sizeof(*tensors), by_file_order);
}

/* What is written comes from our program, so a tensor that contradicts itself is its mistake. */
static void check_tensor(const struct safetensors_tensor *t)
{
    size_t bytes = safetensors_dtype_bytes(t->dtype);

    ASSERT(t->name[0] && strcmp(t->name, "__metadata__") != 0);
    ASSERT(t->rank >= 0 && t->rank <= SAFETENSORS_MAX_RANK);
    for (int i = 0; i < t->rank; i++)
        bytes *= t->dims[i];
    if (bytes != t->bytes)
        BUG("tensor %s has %zu bytes but its shape says %zu", t->name, t->bytes, bytes);
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void check_names(const struct safetensors_tensor *tensors, size_t n)
{
    const char **names = xmalloc(n * sizeof(*names));

    for (size_t i = 0; i < n; i++)
        names[i] = tensors[i].name;
    qsort(names, n, sizeof(*names), by_text);
    for (size_t i = 1; i < n; i++)
        if (strcmp(names[i - 1], names[i]) == 0)
            BUG("two tensors are called %s", names[i]);
    free(names);
}

static void add_metadata(struct str *out, const struct safetensors_meta *meta, size_t n)
{
    str_add(out, "\"__metadata__\":{");
    for (size_t i = 0; i < n; i++) {
        str_add(out, i ? "," : "");
        str_add_json(out, meta[i].key);
        str_add(out, ":");
        str_add_json(out, meta[i].value);
    }
    str_add(out, "}");
}

static void add_tensor(struct str *out, const struct safetensors_tensor *t, uint64_t begin)
{
    str_add_json(out, t->name);
    str_printf(out, ":{\"dtype\":\"%s\",\"shape\":[", safetensors_dtype_name(t->dtype));
    for (int i = 0; i < t->rank; i++)
        str_printf(out, i ? ",%zu" : "%zu", t->dims[i]);
    str_printf(out, "],\"data_offsets\":[%llu,%llu]}", (unsigned long long)begin,
               (unsigned long long)(begin + t->bytes));
}

static int format_header(struct str *out, const char *path, struct safetensors_content c)
{
    uint64_t begin = 0;

    check_names(c.tensors, c.n_tensors);
    str_add(out, "{");
    if (c.n_meta)
        add_metadata(out, c.meta, c.n_meta);
    for (size_t i = 0; i < c.n_tensors; i++) {
        check_tensor(&c.tensors[i]);
        str_add(out, i || c.n_meta ? "," : "");
        add_tensor(out, &c.tensors[i], begin);
        begin += c.tensors[i].bytes;
    }
    str_add(out, "}");
    while (out->len % 8)
        str_add(out, " ");
    if (out->len > SAFETENSORS_MAX_HEADER_BYTES)
        return err(E_UNSUPPORTED, "%s: a header of %zu bytes is more than the %d we read back",
                   path, out->len, SAFETENSORS_MAX_HEADER_BYTES);
    return 0;
}

static int write_file(const char *path, const struct str *header, struct safetensors_content c)
{
    const uint64_t length = htole64(header->len);
    struct file_writer w;

    TRY(file_writer_open(&w, path));
    TRY(file_writer_add(&w, &length, sizeof(length)));
    TRY(file_writer_add(&w, header->s, header->len));
    for (size_t i = 0; i < c.n_tensors; i++)
        TRY(file_writer_add(&w, c.tensors[i].data, c.tensors[i].bytes));
    return file_writer_commit(&w);
}

int safetensors_write(const char *path, struct safetensors_content c)
{
    struct str header = STR_INIT;
    int rc;

    safetensors_sort(c.tensors, c.n_tensors);
    rc = format_header(&header, path, c);
    if (rc == 0)
        rc = write_file(path, &header, c);
    str_release(&header);
    return rc;
}

static int name_of(const void *key, const void *tensor)
{
    return strcmp(key, ((const struct safetensors_tensor *)tensor)->name);
}

const struct safetensors_tensor *safetensors_find(const struct safetensors *f, const char *name)
{
    if (f->n_tensors == 0)
        return NULL;
    return bsearch(name, f->tensors, f->n_tensors, sizeof(*f->tensors), name_of);
}

const char *safetensors_meta(const struct safetensors *f, const char *key)
{
    for (size_t i = 0; i < f->n_meta; i++)
        if (strcmp(f->meta[i].key, key) == 0)
            return f->meta[i].value;
    return NULL;
}

int safetensors_read(const struct safetensors *f, const struct safetensors_tensor *t, void *dst)
{
    return file_pread(f->fd, dst, t->bytes, t->offset, f->path);
}
