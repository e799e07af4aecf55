/* Tar shards with WebDataset's naming: members that stand one after the other and have the same
 * name up to the first dot of their last part are one sample; KEY.jpg, KEY.jpeg, KEY.png, KEY.pgm
 * or KEY.ppm is its picture, KEY.cls its label as a decimal number.
 * (github.com/webdataset/webdataset, "The WebDataset Format".) Members of other endings are left
 * out, and so are samples without a picture. A data set is one archive, or a folder with archives
 * and no folders, which would be classes; they count in the order of their names, 2 before 10. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/err.h"
#include "base/file.h"
#include "base/hostile.h"
#include "data/file_set.h"
#include "data/shards.h"
#include "data/source.h"
#include "data/tar.h"

extern const struct source_ops source_webdataset;

enum { MAX_LABEL_BYTES = 32 };
enum label_state { LABEL_NONE, LABEL_BAD, LABEL_GOOD };

struct label {
    int32_t value;
    enum label_state state;
};

struct webdataset {
    struct shards shards; /* first: what they share reads it */
    struct label *labels; /* of all places */
    uint64_t cap;
};

/* The sample whose members are being met. */
struct group {
    struct bytes key;
    struct shard_place place; /* offset 0, where no content can be: no picture yet */
    struct label label;
};

static int is_archive(const char *path)
{
    const size_t n = strlen(path);

    return n > 4 && strcmp(path + n - 4, ".tar") == 0;
}

static void find_shards(const char *path, struct file_names *shards)
{
    *shards = (struct file_names){0};
    if (file_is_folder(path))
        shards_in_folder(path, is_archive, shards);
    else if (is_archive(path))
        file_names_add(shards, xstrdup(path));
}

static int webdataset_probe(const char *path)
{
    struct file_names shards;
    size_t n;

    find_shards(path, &shards);
    n = shards.n;
    file_names_release(&shards);
    return n > 0;
}

/* The member is KEY.cls. What is no number is a fault of its sample, not of the archive. */
static int read_label(struct tar_walk *w, const struct tar_member *m, struct label *out)
{
    char text[MAX_LABEL_BYTES + 1] = "", *end;
    long long value;

    out->state = LABEL_BAD;
    if (m->size == 0 || m->size > MAX_LABEL_BYTES)
        return 0;
    TRY(file_pread(w->fd, text, m->size, m->offset, w->path));
    value = strtoll(text, &end, 10);
    if (end == text || strlen(text) != m->size || end[strspn(end, " \t\r\n")] ||
        value != (int32_t)value)
        return 0;
    *out = (struct label){(int32_t)value, LABEL_GOOD};
    return 0;
}

static int is_picture(const char *ending)
{
    static const char *const endings[] = {"jpg", "jpeg", "png", "pgm", "ppm"};

    for (size_t i = 0; i < COUNT_OF(endings); i++)
        if (strcasecmp(ending, endings[i]) == 0)
            return 1;
    return 0;
}

static void end_group(struct webdataset *d, struct group *g)
{
    if (g->place.offset) {
        if (d->shards.n == d->cap) {
            d->cap = d->cap ? 2 * d->cap : HOSTILE ? 1 : 1024;
            d->labels = xrealloc(d->labels, d->cap * sizeof(*d->labels));
        }
        d->labels[d->shards.n] = g->label;
        shards_add(&d->shards, g->place);
    }
    g->place.offset = 0;
    g->label = (struct label){0};
    g->key.n = 0;
}

static int take_member(struct webdataset *d, struct group *g, struct tar_walk *w,
                       const struct tar_member *m)
{
    const char *const slash = strrchr(m->name, '/');
    const char *const dot = strchr(slash ? slash + 1 : m->name, '.');
    const size_t n = dot ? (size_t)(dot - m->name) : 0;

    if (!dot || dot == (slash ? slash + 1 : m->name))
        return 0; /* hidden, or no ending */
    if (g->key.n != n || memcmp(g->key.data, m->name, n) != 0) {
        end_group(d, g);
        bytes_add(&g->key, m->name, n);
    }
    if (strcasecmp(dot + 1, "cls") == 0)
        return read_label(w, m, &g->label);
    if (is_picture(dot + 1) && g->place.offset == 0) {
        if (m->size > SOURCE_MAX_SAMPLE_BYTES)
            return err(E_DATA,
                       "%s, byte offset %llu: a picture of %llu bytes, more than the %d allowed",
                       w->path, (unsigned long long)m->offset, (unsigned long long)m->size,
                       SOURCE_MAX_SAMPLE_BYTES);
        g->place.offset = m->offset;
        g->place.n = (uint32_t)m->size;
    }
    return 0;
}

static int index_shard(struct shards *shards, uint32_t shard, int fd)
{
    struct webdataset *const d = (struct webdataset *)shards;
    struct tar_walk w;
    struct tar_member m;
    struct group g = {.place.shard = shard};
    int rc;

    rc = tar_walk_open(&w, fd, shards->files.all[shard]);
    while (rc == 0 && (rc = tar_walk_next(&w, &m)) > 0)
        rc = take_member(d, &g, &w, &m);
    end_group(d, &g);
    bytes_release(&g.key);
    tar_walk_release(&w);
    return rc;
}

static int webdataset_open(struct source *s)
{
    struct webdataset *const d = xcalloc(1, sizeof(*d));

    s->state = d;
    find_shards(s->path, &d->shards.files);
    TRY(source_damaged(s, file_set_complete(&d->shards.files, ".tar")));
    return shards_walk(s, index_shard);
}

static void webdataset_close(struct source *s)
{
    struct webdataset *const d = s->state;

    shards_release(&d->shards);
    free(d->labels);
    free(d);
}

static int webdataset_label(const struct source *s, uint64_t i, int64_t *label)
{
    const struct label x = ((const struct webdataset *)s->state)->labels[i];

    if (x.state == LABEL_NONE)
        return err(E_DATA, "the picture has no label: no .cls of the same name stands beside it");
    if (x.state == LABEL_BAD)
        return err(E_DATA, "the label in its .cls is no whole number");
    *label = x.value;
    return 0;
}

static int webdataset_unwrap(const struct source *s, uint64_t i, struct raw raw, struct sample *out)
{
    out->data = raw.data;
    out->n = raw.n;
    return webdataset_label(s, i, &out->label);
}

const struct source_ops source_webdataset = {
    .name = "webdataset",
    .probe = webdataset_probe,
    .open = webdataset_open,
    .extent = shards_extent,
    .unwrap = webdataset_unwrap,
    .label = webdataset_label,
    .locate = shards_locate,
    .file = shards_file,
    .close = webdataset_close,
};
