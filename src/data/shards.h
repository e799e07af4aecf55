/* What sources have in common whose samples are pieces of files that are walked when the data set
 * is opened: the files, and where each sample lies. A struct shards is, or begins, the state of
 * such a source. */
#ifndef STAVE_DATA_SHARDS_H
#define STAVE_DATA_SHARDS_H

#include "base/file.h"
#include "data/source.h"

struct shard_place {
    uint64_t offset;
    uint32_t n, shard;
};

struct shards {
    struct file_names files; /* paths, in order */
    struct shard_place *places;
    uint64_t n, cap;
    uint32_t head_bytes; /* of a record, in front of its place; messages name where it begins */
};

/* The paths of the files in the folder path that is_one takes by name, hidden ones aside; none when
 * it holds folders, which would be classes. */
void shards_in_folder(const char *path, int (*is_one)(const char *name), struct file_names *out);
void shards_add(struct shards *d, struct shard_place p);
/* The end of a source's open: walk adds the places of a file; fd is its, and is closed for it. */
int shards_walk(struct source *s, int (*walk)(struct shards *d, uint32_t shard, int fd));
void shards_release(struct shards *d);

/* For struct source_ops. The file is to be opened for each sample: a data set may have more of them
 * than a process may keep open. */
int shards_extent(const struct source *s, uint64_t i, struct extent *out);
void shards_locate(const struct source *s, uint64_t i, char *text, size_t n);
char *shards_file(const struct source *s, uint64_t i);

#endif
