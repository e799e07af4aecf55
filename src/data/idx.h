/* IDX, the format of MNIST and its relatives, plain or gzipped: big-endian magic 0x0000 08 DIMS,
 * one 32-bit size per dimension, then bytes. Loaded whole, or opened; the owner releases it. */
#ifndef STAVE_DATA_IDX_H
#define STAVE_DATA_IDX_H

#include <stddef.h>
#include <stdint.h>

enum { IDX_MAX_DIMS = 3 };

struct idx {
    size_t dims[IDX_MAX_DIMS]; /* unused ones are 1 */
    uint8_t *bytes;
};

/* Refuses another number of dimensions, a length that does not agree, and more than 2 GiB. */
int idx_load(const char *path, int n_dims, struct idx *out);
void idx_release(struct idx *x);

/* A file that holds the plain format: the one at path, or, of a gzipped one, its content in memory
 * without a name. The owner closes fd. */
struct idx_file {
    int fd, in_memory;
    size_t dims[IDX_MAX_DIMS], head_bytes;
};
/* Refuses what idx_load refuses. */
int idx_open(const char *path, int n_dims, struct idx_file *out);

#endif
