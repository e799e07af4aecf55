#include "data/shards.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/err.h"
#include "base/hostile.h"

void shards_in_folder(const char *path, int (*is_one)(const char *name), struct file_names *out)
{
    struct file_names names = {0};
    int n_folders = 0;

    file_list(path, &names);
    for (size_t i = 0; i < names.n; i++) {
        char *const inside = names.all[i][0] == '.' ? NULL : file_join(path, names.all[i]);
        const int folder = inside && file_is_folder(inside);

        n_folders += folder;
        if (inside && !folder && is_one(names.all[i]))
            file_names_add(out, inside);
        else
            free(inside);
    }
    file_names_release(&names);
    if (n_folders)
        file_names_release(out);
}

void shards_add(struct shards *d, struct shard_place p)
{
    if (d->n == d->cap) {
        d->cap = d->cap ? 2 * d->cap : HOSTILE ? 1 : 1024;
        d->places = xrealloc(d->places, d->cap * sizeof(*d->places));
    }
    d->places[d->n++] = p;
}

static int walk_one(struct shards *d, uint32_t shard,
                    int (*walk)(struct shards *d, uint32_t shard, int fd))
{
    const int fd = file_open(d->files.all[shard]);
    int rc;

    TRY(fd);
    rc = walk(d, shard, fd);
    close(fd);
    return rc;
}

int shards_walk(struct source *s, int (*walk)(struct shards *d, uint32_t shard, int fd))
{
    struct shards *const d = s->state;

    for (size_t i = 0; i < d->files.n; i++)
        TRY(source_damaged(s, walk_one(d, (uint32_t)i, walk)));
    s->n_files = d->files.n;
    s->n_samples = d->n;
    return 0;
}

void shards_release(struct shards *d)
{
    file_names_release(&d->files);
    free(d->places);
}

int shards_extent(const struct source *s, uint64_t i, struct extent *out)
{
    const struct shards *const d = s->state;
    const struct shard_place *const p = &d->places[i];

    out->path = d->files.all[p->shard];
    out->file = p->shard;
    out->offset = p->offset;
    out->n = p->n;
    return 0;
}

void shards_locate(const struct source *s, uint64_t i, char *text, size_t n)
{
    const struct shards *const d = s->state;
    const struct shard_place *const p = &d->places[i];

    snprintf(text, n, "file %s, byte offset %llu", d->files.all[p->shard],
             (unsigned long long)p->offset - d->head_bytes);
}

char *shards_file(const struct source *s, uint64_t i)
{
    return xstrdup(((const struct shards *)s->state)->files.all[i]);
}
