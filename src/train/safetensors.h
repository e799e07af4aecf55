/* The safetensors file format: 8 bytes little-endian length of the header, a JSON header
 * {"name": {"dtype", "shape", "data_offsets": [begin, end]}, ..., "__metadata__": {string:
 * string}}, then the bytes of all tensors without gaps. (github.com/huggingface/safetensors, format
 * section.)
 *
 * Writing is atomic (file_writer). Tensors are written in the order of falling element size, then
 * name, so that every tensor is aligned to its elements; the header is padded to 8 bytes.
 * Reading trusts nothing: lengths, offsets, shapes, names and nesting are checked before use, and
 * tensors must cover the data exactly, so a truncated file is refused.
 *
 * Ownership: safetensors_open makes an object that safetensors_close frees; names and metadata live
 * as long as it does. Threads: reads of tensors may run at once.
 * Errors: E_IO, E_DATA with the file and what was expected. */
#ifndef STAVE_TRAIN_SAFETENSORS_H
#define STAVE_TRAIN_SAFETENSORS_H

#include <stddef.h>
#include <stdint.h>

enum safetensors_dtype {
#define DTYPE(name, bytes) SAFETENSORS_##name,
#include "train/safetensors_dtypes.h"
#undef DTYPE
    N_SAFETENSORS_DTYPES
};

enum { SAFETENSORS_MAX_RANK = 8, SAFETENSORS_MAX_HEADER_BYTES = 8 << 20 };

struct safetensors_tensor {
    const char *name; /* UTF-8, not empty, not "__metadata__" */
    enum safetensors_dtype dtype;
    int rank;
    size_t dims[SAFETENSORS_MAX_RANK];
    const void *data; /* to write; NULL in what was read */
    size_t bytes;     /* product of dims times the element's */
    uint64_t offset;  /* in the file; set by reading */
};

struct safetensors_meta {
    const char *key, *value;
};

struct safetensors {
    char *path;
    int fd;
    struct safetensors_tensor *tensors; /* by rising name */
    size_t n_tensors;
    struct safetensors_meta *meta;
    size_t n_meta;
    void *json; /* owns the strings */
};

const char *safetensors_dtype_name(enum safetensors_dtype d);
size_t safetensors_dtype_bytes(enum safetensors_dtype d);

/* The caller's tensors in the order of the file: what safetensors_write does first. Sorts in place.
 */
void safetensors_sort(struct safetensors_tensor *tensors, size_t n);

struct safetensors_content {
    struct safetensors_tensor *tensors; /* sorted in place */
    size_t n_tensors;
    const struct safetensors_meta *meta;
    size_t n_meta;
};
int safetensors_write(const char *path, struct safetensors_content c);

int safetensors_open(struct safetensors **f, const char *path);
void safetensors_close(struct safetensors *f);
const struct safetensors_tensor *safetensors_find(const struct safetensors *f, const char *name);
const char *safetensors_meta(const struct safetensors *f, const char *key); /* NULL: absent */
/* Reads all of t->bytes. */
int safetensors_read(const struct safetensors *f, const struct safetensors_tensor *t, void *dst);

#endif
