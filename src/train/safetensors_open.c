/* Reading a header that may say anything. */
#include <endian.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/file.h"
#include "base/json.h"
#include "train/safetensors.h"

/* Integers above this are not exact in JSON's doubles. */
static const double largest_exact = 9007199254740992.0;
/* Well-formed UTF-8 without overlong forms, surrogates or zero bytes. */
static int is_utf8(const unsigned char *s, size_t n)
{
    static const unsigned least[] = {0, 0x80, 0x800, 0x10000};

    for (size_t i = 0; i < n;) {
        const unsigned lead = s[i++];
        const unsigned more = lead < 0x80                   ? 0
                              : lead >= 0xC2 && lead < 0xE0 ? 1
                              : lead >= 0xE0 && lead < 0xF0 ? 2
                              : lead >= 0xF0 && lead < 0xF5 ? 3
                                                            : 9;
        unsigned point = more == 0 ? lead : lead & (0x3Fu >> more);

        if (lead == 0 || more == 9 || n - i < more)
            return 0;
        for (unsigned k = 0; k < more; k++) {
            if ((s[i] & 0xC0) != 0x80)
                return 0;
            point = point << 6 | (s[i++] & 0x3Fu);
        }
        if (point < least[more] || point > 0x10FFFF || (point >= 0xD800 && point < 0xE000))
            return 0;
    }
    return 1;
}

static int as_size(const cJSON *j, uint64_t *out)
{
    if (!cJSON_IsNumber(j) || !(j->valuedouble >= 0) || j->valuedouble > largest_exact ||
        j->valuedouble != floor(j->valuedouble))
        return 0;
    *out = (uint64_t)j->valuedouble;
    return 1;
}

static int parse_dtype(const cJSON *j, enum safetensors_dtype *dtype)
{
    const char *name = cJSON_GetStringValue(j);

    for (int d = 0; name && d < N_SAFETENSORS_DTYPES; d++)
        if (strcmp(name, safetensors_dtype_name((enum safetensors_dtype)d)) == 0) {
            *dtype = (enum safetensors_dtype)d;
            return 1;
        }
    return 0;
}

static int parse_shape(const cJSON *j, struct safetensors_tensor *t)
{
    const cJSON *item;
    uint64_t dim;

    t->bytes = safetensors_dtype_bytes(t->dtype);
    if (!cJSON_IsArray(j))
        return 0;
    cJSON_ArrayForEach(item, j)
    {
        if (t->rank == SAFETENSORS_MAX_RANK || !as_size(item, &dim))
            return 0;
        if (__builtin_mul_overflow(t->bytes, (size_t)dim, &t->bytes))
            return 0;
        t->dims[t->rank++] = (size_t)dim;
    }
    return 1;
}

static int parse_offsets(const cJSON *j, struct safetensors_tensor *t)
{
    uint64_t begin, end;

    if (!cJSON_IsArray(j) || cJSON_GetArraySize(j) != 2 || !as_size(j->child, &begin) ||
        !as_size(j->child->next, &end) || end < begin || end - begin != t->bytes)
        return 0;
    t->offset = begin;
    return 1;
}

static int parse_tensor(const char *path, const cJSON *j, struct safetensors_tensor *t)
{
    *t = (struct safetensors_tensor){.name = j->string};
    if (!j->string[0])
        return err(E_DATA, "%s: a tensor has no name", path);
    if (!cJSON_IsObject(j) || cJSON_GetArraySize(j) != 3)
        return err(E_DATA, "%s: tensor %.200s is not a dtype, a shape and data_offsets", path,
                   t->name);
    if (!parse_dtype(cJSON_GetObjectItemCaseSensitive(j, "dtype"), &t->dtype))
        return err(E_DATA, "%s: tensor %.200s has an unknown dtype", path, t->name);
    if (!parse_shape(cJSON_GetObjectItemCaseSensitive(j, "shape"), t))
        return err(E_DATA, "%s: the shape of tensor %.200s is not up to %d sizes that fit", path,
                   t->name, SAFETENSORS_MAX_RANK);
    if (!parse_offsets(cJSON_GetObjectItemCaseSensitive(j, "data_offsets"), t))
        return err(E_DATA,
                   "%s: data_offsets of tensor %.200s do not span the %zu bytes of its shape", path,
                   t->name, t->bytes);
    return 0;
}

static int parse_metadata(struct safetensors *f, const cJSON *j)
{
    const cJSON *item;

    if (!cJSON_IsObject(j) || f->meta)
        return err(E_DATA, "%s: __metadata__ is not one object", f->path);
    f->meta = xcalloc((size_t)cJSON_GetArraySize(j), sizeof(*f->meta));
    cJSON_ArrayForEach(item, j)
    {
        if (!cJSON_IsString(item))
            return err(E_DATA, "%s: __metadata__ %.200s is not a string", f->path, item->string);
        f->meta[f->n_meta++] = (struct safetensors_meta){item->string, item->valuestring};
    }
    return 0;
}

static int by_offset(const void *a, const void *b)
{
    const struct safetensors_tensor *x = a, *y = b;

    if (x->offset != y->offset)
        return x->offset < y->offset ? -1 : 1;
    return x->bytes < y->bytes ? -1 : x->bytes > y->bytes;
}

static int by_name(const void *a, const void *b)
{
    const struct safetensors_tensor *x = a, *y = b;

    return strcmp(x->name, y->name);
}

/* Tensors must tile the data: no gap, no overlap, nothing left over. Offsets become the file's. */
static int place_tensors(struct safetensors *f, uint64_t data_start, uint64_t data_bytes)
{
    uint64_t at = 0;

    qsort(f->tensors, f->n_tensors, sizeof(*f->tensors), by_offset);
    for (size_t i = 0; i < f->n_tensors; i++) {
        if (f->tensors[i].offset != at)
            return err(E_DATA, "%s: tensor %.200s begins at byte %llu of the data, not at %llu",
                       f->path, f->tensors[i].name, (unsigned long long)f->tensors[i].offset,
                       (unsigned long long)at);
        at += f->tensors[i].bytes;
        f->tensors[i].offset += data_start;
    }
    if (at != data_bytes)
        return err(E_DATA,
                   "%s has %llu bytes of data where its tensors need %llu; it is cut short "
                   "or damaged",
                   f->path, (unsigned long long)data_bytes, (unsigned long long)at);
    qsort(f->tensors, f->n_tensors, sizeof(*f->tensors), by_name);
    for (size_t i = 1; i < f->n_tensors; i++)
        if (by_name(&f->tensors[i - 1], &f->tensors[i]) == 0)
            return err(E_DATA, "%s: two tensors are called %.200s", f->path, f->tensors[i].name);
    return 0;
}

static int parse_header(struct safetensors *f, const char *text, size_t n)
{
    const char *end = NULL;
    const cJSON *item;

    if (n == 0 || text[0] != '{' || !is_utf8((const unsigned char *)text, n))
        return err(E_DATA, "%s: the header is not a JSON object in UTF-8", f->path);
    /* cJSON refuses nesting beyond CJSON_NESTING_LIMIT, so depth can not exhaust the stack. */
    f->json = json_parse(text, n, &end);
    if (!cJSON_IsObject((const cJSON *)f->json))
        return err(E_DATA, "%s: the header is not JSON", f->path);
    if (end + strspn(end, " \t\r\n") != text + n)
        return err(E_DATA, "%s: the header goes on after its JSON", f->path);
    f->tensors = xcalloc((size_t)cJSON_GetArraySize(f->json), sizeof(*f->tensors));
    cJSON_ArrayForEach(item, (const cJSON *)f->json)
    {
        if (strcmp(item->string, "__metadata__") == 0)
            TRY(parse_metadata(f, item));
        else
            TRY(parse_tensor(f->path, item, &f->tensors[f->n_tensors++]));
    }
    return 0;
}

static int read_header(struct safetensors *f, uint64_t file_bytes)
{
    uint64_t n;
    char *text;
    int rc;

    if (file_bytes < sizeof(n))
        return err(E_DATA, "%s has %llu bytes; a safetensors file starts with an 8-byte length",
                   f->path, (unsigned long long)file_bytes);
    TRY(file_pread(f->fd, &n, sizeof(n), 0, f->path));
    n = le64toh(n);
    if (n > SAFETENSORS_MAX_HEADER_BYTES || n > file_bytes - sizeof(n))
        return err(E_DATA, "%s: a header of %llu bytes; the file has %llu and %d are allowed",
                   f->path, (unsigned long long)n, (unsigned long long)file_bytes,
                   SAFETENSORS_MAX_HEADER_BYTES);
    text = xmalloc(n + 1);
    text[n] = '\0';
    rc = file_pread(f->fd, text, n, sizeof(n), f->path);
    if (rc == 0)
        rc = parse_header(f, text, n);
    if (rc == 0)
        rc = place_tensors(f, sizeof(n) + n, file_bytes - sizeof(n) - n);
    free(text);
    return rc;
}

static int open_file(struct safetensors *f)
{
    struct stat st;

    f->fd = file_open(f->path);
    TRY(f->fd);
    if (fstat(f->fd, &st) < 0)
        return err(E_IO, "stat %s: %s", f->path, strerror(errno));
    return read_header(f, (uint64_t)st.st_size);
}

int safetensors_open(struct safetensors **out, const char *path)
{
    struct safetensors *f = xcalloc(1, sizeof(*f));
    int rc;

    *out = NULL;
    f->path = xstrdup(path);
    rc = open_file(f);
    if (rc < 0) {
        safetensors_close(f);
        return rc;
    }
    *out = f;
    return 0;
}

void safetensors_close(struct safetensors *f)
{
    if (!f)
        return;
    if (f->fd >= 0)
        close(f->fd);
    cJSON_Delete(f->json);
    free(f->tensors);
    free(f->meta);
    free(f->path);
    free(f);
}
