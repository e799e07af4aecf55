#include "train/weights.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bf16.h"
#include "base/err.h"
#include "base/file.h"
#include "base/str.h"

int weights_theirs(const struct name_map *map, const struct safetensors_tensor *ours,
                   char name[WEIGHTS_NAME_BYTES], struct safetensors_tensor *theirs)
{
    *theirs = *ours;
    if (!map)
        return 1;
    if (!map->theirs(ours->name, name, WEIGHTS_NAME_BYTES))
        return 0;
    theirs->name = name;
    for (int d = 0; ours->rank == 4 && d < 4; d++)
        theirs->dims[d] = ours->dims[map->order4[d]];
    return 1;
}

int weights_counter(const struct name_map *map, const char *theirs, char name[WEIGHTS_NAME_BYTES])
{
    const char *const dot = strrchr(theirs, '.');

    if (!map || !map->counter || !dot || strcmp(dot + 1, map->beside) != 0)
        return 0;
    return snprintf(name, WEIGHTS_NAME_BYTES, "%.*s.%s", (int)(dot - theirs), theirs,
                    map->counter) < WEIGHTS_NAME_BYTES;
}

void weights_reorder(const struct name_map *map, const struct safetensors_tensor *ours,
                     enum weights_way way, const float *src, float *dst)
{
    size_t step[4] = {0}, n[4]; /* by their dimension: elements to go in ours, and how many */
    size_t theirs = 0;

    if (!map || ours->rank != 4) {
        memcpy(dst, src, ours->bytes);
        return;
    }
    for (int d = 0; d < 4; d++) {
        n[d] = ours->dims[map->order4[d]];
        step[d] = 1;
        for (int inner = map->order4[d] + 1; inner < 4; inner++)
            step[d] *= ours->dims[inner];
    }
    for (size_t a = 0; a < n[0]; a++)
        for (size_t b = 0; b < n[1]; b++)
            for (size_t c = 0; c < n[2]; c++)
                for (size_t d = 0; d < n[3]; d++, theirs++) {
                    const size_t us = a * step[0] + b * step[1] + c * step[2] + d * step[3];
                    dst[way == WEIGHTS_TO_THEM ? theirs : us] =
                        src[way == WEIGHTS_TO_THEM ? us : theirs];
                }
}

int weights_owner(const char *name, char owner[WEIGHTS_NAME_BYTES])
{
    const char *const dot = strrchr(name, '.');

    return dot && snprintf(owner, WEIGHTS_NAME_BYTES, "%.*s", (int)(dot - name), name) <
                      WEIGHTS_NAME_BYTES;
}

/* ---- opening ---- */

/* torch.save writes a zip archive, and wrote a bare pickle before 1.6; neither start can be the
 * length of a header that we take. */
static int check_not_pickle(const char *path)
{
    static const char starts[][5] = {"PK\3\4", "\x80\x02\x8a\n"};
    const int fd = file_open(path);
    char start[4] = {0};
    ssize_t n;

    TRY(fd);
    n = read(fd, start, sizeof(start));
    close(fd);
    for (size_t i = 0; i < COUNT_OF(starts); i++)
        if (n == sizeof(start) && memcmp(start, starts[i], sizeof(start)) == 0)
            return err(E_DATA,
                       "%s is a pickle of PyTorch's, which only Python reads; convert it: python3 "
                       "-c 'import sys, torch; from safetensors.torch import save_file; "
                       "save_file(torch.load(sys.argv[1], map_location=\"cpu\"), sys.argv[2])' %s "
                       "FILE.safetensors",
                       path, path);
    return 0;
}

static int open_file(struct weights *w, const char *path)
{
    TRY(check_not_pickle(path));
    TRY(safetensors_open(&w->file, path));
    return safetensors_meta(w->file, "data_crc32") ? checkpoint_check_sums(w->file) : 0;
}

int weights_open(struct weights *w, const char *path)
{
    struct checkpoint c;
    int rc;

    *w = (struct weights){0};
    if (file_is_folder(path)) {
        rc = checkpoint_open(&c, path);
        w->file = c.file;
    } else {
        rc = open_file(w, path);
    }
    if (rc < 0)
        weights_close(w);
    return rc;
}

void weights_close(struct weights *w)
{
    safetensors_close(w->file);
    *w = (struct weights){0};
}

/* ---- matching ---- */

static size_t count_named(const struct safetensors *f, const struct name_map *map,
                          const struct safetensors_tensor *wanted, size_t n)
{
    struct safetensors_tensor theirs;
    char name[WEIGHTS_NAME_BYTES];
    size_t found = 0;

    for (size_t i = 0; i < n; i++)
        found += weights_theirs(map, &wanted[i], name, &theirs) &&
                 safetensors_find(f, theirs.name) != NULL;
    return found;
}

static const char *naming(const struct name_map *map)
{
    return map ? map->naming : "Stave";
}

static void add_shape(struct str *out, const struct safetensors_tensor *t)
{
    str_add(out, "[");
    for (int d = 0; d < t->rank; d++)
        str_printf(out, d ? ",%zu" : "%zu", t->dims[d]);
    str_add(out, "]");
}

static int refuse_shape(const struct safetensors *f, const struct safetensors_tensor *is,
                        const struct safetensors_tensor *wanted)
{
    struct str text = STR_INIT;
    int rc;

    add_shape(&text, is);
    str_add(&text, " and the model wants ");
    add_shape(&text, wanted);
    rc = err(E_DATA, "%s: tensor %s has shape %s", f->path, is->name, text.s);
    str_release(&text);
    return rc;
}

static int is_float(enum safetensors_dtype d)
{
    return d == SAFETENSORS_F16 || d == SAFETENSORS_BF16 || d == SAFETENSORS_F32 ||
           d == SAFETENSORS_F64;
}

static int check_one(const struct safetensors *f, const struct name_map *map,
                     const struct safetensors_tensor *wanted)
{
    const struct safetensors_tensor *is;
    struct safetensors_tensor theirs;
    char name[WEIGHTS_NAME_BYTES];

    if (!weights_theirs(map, wanted, name, &theirs))
        return err(E_DATA, "%s has no name among %s's", wanted->name, naming(map));
    is = safetensors_find(f, theirs.name);
    if (!is)
        return err(E_DATA, "%s has %s's names but no tensor %s, which the model needs", f->path,
                   naming(map), theirs.name);
    if (is->rank != theirs.rank ||
        memcmp(is->dims, theirs.dims, (size_t)is->rank * sizeof(is->dims[0])) != 0)
        return refuse_shape(f, is, &theirs);
    if (!is_float(is->dtype))
        return err(E_DATA, "%s: tensor %s is %s; weights are F16, BF16, F32 or F64", f->path,
                   is->name, safetensors_dtype_name(is->dtype));
    return 0;
}

/* Whether a tensor of the file is one of the model's or the count beside one. */
static int is_known(const struct name_map *map, const struct safetensors_tensor *t,
                    const struct safetensors_tensor *wanted, size_t n)
{
    char name[WEIGHTS_NAME_BYTES], counter[WEIGHTS_NAME_BYTES];
    struct safetensors_tensor theirs;

    for (size_t i = 0; i < n; i++) {
        if (!weights_theirs(map, &wanted[i], name, &theirs))
            continue;
        if (strcmp(theirs.name, t->name) == 0)
            return 1;
        if (weights_counter(map, theirs.name, counter) && strcmp(counter, t->name) == 0)
            return t->dtype == SAFETENSORS_I64 && t->rank == 0;
    }
    return 0;
}

int weights_match(struct weights *w, const struct name_map *map,
                  const struct safetensors_tensor *wanted, size_t n)
{
    const struct safetensors *const f = w->file;
    const size_t ours = count_named(f, NULL, wanted, n);
    const size_t theirs = map ? count_named(f, map, wanted, n) : 0;

    if (ours == 0 && theirs == 0)
        return err(E_DATA,
                   "%s: none of its %zu tensors has the name of a weight of the model, neither "
                   "Stave's nor %s's; the first is %.200s",
                   f->path, f->n_tensors, map ? map->naming : "another program",
                   f->n_tensors ? f->tensors[0].name : "not there");
    w->map = theirs > ours ? map : NULL;
    for (size_t i = 0; i < n; i++)
        TRY(check_one(f, w->map, &wanted[i]));
    for (size_t i = 0; w->map && i < f->n_tensors; i++)
        if (!is_known(w->map, &f->tensors[i], wanted, n))
            return err(E_DATA, "%s holds tensor %.200s, which the model has no place for", f->path,
                       f->tensors[i].name);
    return 0;
}

/* ---- reading ---- */

/* IEEE binary16: 1 sign, 5 exponent, 10 fraction. */
static float from_half(uint16_t h)
{
    const int exponent = h >> 10 & 31, fraction = h & 1023;
    const double size = exponent == 31  ? fraction ? (double)NAN : (double)INFINITY
                        : exponent == 0 ? ldexp(fraction, -24)
                                        : ldexp(1024 + fraction, exponent - 25);

    return (float)(h >> 15 ? -size : size);
}

static float element(const struct safetensors_tensor *t, const char *raw, size_t i)
{
    uint16_t bits16;
    double wide;
    float x;

    if (t->dtype == SAFETENSORS_F64) {
        memcpy(&wide, raw + i * sizeof(wide), sizeof(wide));
        return (float)wide;
    }
    if (t->dtype == SAFETENSORS_F32) {
        memcpy(&x, raw + i * sizeof(x), sizeof(x));
        return x;
    }
    memcpy(&bits16, raw + i * sizeof(bits16), sizeof(bits16));
    if (t->dtype == SAFETENSORS_F16)
        return from_half(bits16);
    return bf16_to_float(bits16);
}

/* Any of the float types to finite float32, in the file's order. */
static int convert(const struct weights *w, const struct safetensors_tensor *t, const char *raw,
                   float *dst)
{
    const size_t n = t->bytes / safetensors_dtype_bytes(t->dtype);

    for (size_t i = 0; i < n; i++) {
        dst[i] = element(t, raw, i);
        if (!isfinite(dst[i]))
            return err(E_DATA, "%s: tensor %s holds %g as float32 at element %zu", w->file->path,
                       t->name, (double)dst[i], i);
    }
    return 0;
}

int weights_read(const struct weights *w, const struct safetensors_tensor *wanted, float *dst)
{
    const struct safetensors_tensor *t;
    struct safetensors_tensor theirs;
    char name[WEIGHTS_NAME_BYTES];
    float *flat;
    char *raw;
    int rc;

    TRY(check_one(w->file, w->map, wanted));
    weights_theirs(w->map, wanted, name, &theirs);
    t = safetensors_find(w->file, theirs.name);
    raw = xmalloc(t->bytes);
    flat = xmalloc(wanted->bytes);
    rc = safetensors_read(w->file, t, raw);
    if (rc == 0)
        rc = convert(w, t, raw, flat);
    if (rc == 0)
        weights_reorder(w->map, wanted, WEIGHTS_TO_US, flat, dst);
    free(raw);
    free(flat);
    return rc;
}
