/* The few files that one reader keeps open: those of a data set of shards, by their number. The one
 * that was used longest ago makes room, unless reads from it are under way.
 *
 * One thread. */
#ifndef STAVE_DATA_OPEN_FILES_H
#define STAVE_DATA_OPEN_FILES_H

#include <stddef.h>
#include <stdint.h>

enum { OPEN_FILES_MAX = 16 };

struct open_file {
    uint64_t file; /* its number in the source */
    int fd;
    size_t block; /* the keeper's, 0 when kept */
    int n_users;
    uint64_t used; /* when, in takings */
};

struct open_files {
    struct open_file all[OPEN_FILES_MAX];
    int n, max; /* max at most OPEN_FILES_MAX */
    uint64_t clock;
};

/* The open file, taken, or NULL. */
struct open_file *open_files_take(struct open_files *v, uint64_t file);
/* Keeps fd, which belongs to v from then on, taken. NULL: no room, fd stays the caller's. */
struct open_file *open_files_keep(struct open_files *v, uint64_t file, int fd);
void open_files_give(struct open_file *f);
void open_files_release(struct open_files *v);

#endif
