/* Walks the members of an uncompressed tar archive: POSIX ustar and pax (path, size), GNU long
 * names and sizes (formats: POSIX.1-2017 "pax", ustar interchange format; GNU tar manual, "Basic
 * Tar Format"). Only headers are read. The archive ends at two blocks of zeros or with the file. */
#ifndef STAVE_DATA_TAR_H
#define STAVE_DATA_TAR_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "data/bytes.h"

enum { TAR_BLOCK = 512, TAR_MAX_EXTRA = 1 << 20 /* bytes of a long name or of a pax header */ };

/* The block in front of a member. */
struct tar_header {
    char name[100], mode[8], uid[8], gid[8], size[12], mtime[12], sum[8];
    char type, link[100];
    char magic[6], version[2]; /* "ustar", "00" */
    char user[32], group[32], major[8], minor[8], prefix[155], unused[12];
};
static_assert(sizeof(struct tar_header) == TAR_BLOCK, "a header is one block");

struct tar_walk {
    int fd;
    const char *path;   /* for messages */
    uint64_t at, bytes; /* next header; size of the file */
    struct bytes name, extra;
};

struct tar_member {
    const char *name; /* until the next call; with folders, as the archive has it */
    uint64_t offset, size;
};

/* fd stays the caller's. E_IO. */
int tar_walk_open(struct tar_walk *w, int fd, const char *path);
/* The next regular file: 1, and at the end 0. E_DATA names the archive and the byte offset. */
int tar_walk_next(struct tar_walk *w, struct tar_member *m);
void tar_walk_release(struct tar_walk *w);

#endif
