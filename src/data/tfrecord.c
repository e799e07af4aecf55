/* The TFRecord source. A data set is one file (NAME.tfrecord, or NAME-00000-of-00128 as ImageNet's
 * are called), a folder of such files and no folders, which would be classes, or a stem: NAME
 * stands for all of NAME-?????-of-?????. Samples are in the order of the files' names, then of the
 * files. Opening walks the heads of all records; the data's checksum is looked at when a sample is
 * read. */
#include "data/tfrecord.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/crc32c.h"
#include "base/err.h"
#include "base/file.h"
#include "data/example.h"
#include "data/file_set.h"
#include "data/shards.h"
#include "data/source.h"

extern const struct source_ops source_tfrecord;

static const char *const ending = ".tfrecord";
static const char *const endings[] = {"", ".tfrecord"}; /* of numbered files */

uint32_t tfrecord_mask(uint32_t crc)
{
    return (crc >> 15 | crc << 17) + UINT32_C(0xA282EAD8);
}

uint32_t tfrecord_sum(const void *bytes, size_t n)
{
    return tfrecord_mask(crc32c(0, bytes, n));
}

static int is_tfrecord(const char *name)
{
    const size_t n = strlen(name), k = strlen(ending);

    return (n > k && strcmp(name + n - k, ending) == 0) || file_set_count(name, "", NULL);
}

static void find_shards(const char *path, struct file_names *out)
{
    *out = (struct file_names){0};
    if (file_is_folder(path))
        shards_in_folder(path, is_tfrecord, out);
    else if (!file_exists(path))
        file_set_find(path, "", out);
    else if (is_tfrecord(path))
        file_names_add(out, xstrdup(path));
}

static int tfrecord_probe(const char *path)
{
    struct file_names shards;
    size_t n;

    find_shards(path, &shards);
    n = shards.n;
    file_names_release(&shards);
    return n > 0;
}

static int bad(const char *path, uint64_t at, const char *what)
{
    return err(E_DATA, "%s, byte offset %llu: %s", path, (unsigned long long)at, what);
}

static int check_head(const uint8_t head[TFRECORD_HEAD_BYTES], const char *path, uint64_t at)
{
    uint32_t sum;

    memcpy(&sum, head + sizeof(uint64_t), sizeof(sum));
    if (sum == tfrecord_sum(head, sizeof(uint64_t)))
        return 0;
    if (at == 0 && head[0] == 0x1F && head[1] == 0x8B)
        return err(E_DATA, "%s is compressed with gzip; unpack it first", path);
    return bad(path, at, "no record is here: the checksum of its length is wrong");
}

/* The record whose head is at `at`: the place of its data and their checksum. */
static int look_at_record(int fd, const char *path, uint64_t at, uint64_t bytes,
                          struct shard_place *out)
{
    uint8_t head[TFRECORD_HEAD_BYTES];
    uint64_t n;

    if (bytes - at < sizeof(head))
        return bad(path, at, "the file ends inside a record's head");
    TRY(file_pread(fd, head, sizeof(head), at, path));
    TRY(check_head(head, path, at));
    memcpy(&n, head, sizeof(n));
    if (bytes - at - sizeof(head) < TFRECORD_TAIL_BYTES ||
        n > bytes - at - sizeof(head) - TFRECORD_TAIL_BYTES)
        return bad(path, at, "the file ends inside this record");
    if (n > SOURCE_MAX_SAMPLE_BYTES - TFRECORD_TAIL_BYTES)
        return err(E_DATA, "%s, byte offset %llu: a record of %llu bytes, more than the %d allowed",
                   path, (unsigned long long)at, (unsigned long long)n, SOURCE_MAX_SAMPLE_BYTES);
    out->offset = at + sizeof(head);
    out->n = (uint32_t)n + TFRECORD_TAIL_BYTES;
    return 0;
}

static int index_records(struct shards *d, uint32_t shard, int fd)
{
    const char *const path = d->files.all[shard];
    struct shard_place p = {.shard = shard};
    struct stat st;

    if (fstat(fd, &st) < 0)
        return err(E_IO, "stat %s: %s", path, strerror(errno));
    for (uint64_t at = 0; at < (uint64_t)st.st_size; at = p.offset + p.n) {
        TRY(look_at_record(fd, path, at, (uint64_t)st.st_size, &p));
        shards_add(d, p);
    }
    return 0;
}

static int tfrecord_open(struct source *s)
{
    struct shards *const d = xcalloc(1, sizeof(*d));

    s->state = d;
    d->head_bytes = TFRECORD_HEAD_BYTES;
    find_shards(s->path, &d->files);
    if (d->files.n != 1 || strcmp(d->files.all[0], s->path) != 0) /* one shard was asked for */
        for (size_t i = 0; i < COUNT_OF(endings); i++)
            TRY(source_damaged(s, file_set_complete(&d->files, endings[i])));
    return shards_walk(s, index_records);
}

static void tfrecord_close(struct source *s)
{
    shards_release(s->state);
    free(s->state);
}

static int tfrecord_unwrap(const struct source *s, uint64_t i, struct raw raw, struct sample *out)
{
    struct example e = {0};
    uint32_t sum;
    int rc;

    (void)s;
    (void)i;
    if (raw.n < sizeof(sum))
        return err(E_DATA, "the record ends inside its checksum");
    raw.n -= sizeof(sum);
    memcpy(&sum, raw.data + raw.n, sizeof(sum));
    if (sum != tfrecord_sum(raw.data, raw.n))
        return err(E_DATA, "the checksum of the record's data is 0x%08x, expected 0x%08x", sum,
                   tfrecord_sum(raw.data, raw.n));
    rc = example_read(raw.data, raw.n, &e);
    out->data = e.picture; /* also when only the label is at fault */
    out->n = e.n;
    out->label = e.label;
    return rc;
}

/* It may stand anywhere in the record. */
static int tfrecord_label(const struct source *s, uint64_t i, int64_t *label)
{
    struct sample whole = {0};
    const int rc = source_read(s, i, &whole);

    *label = whole.label;
    sample_release(&whole);
    return rc;
}

const struct source_ops source_tfrecord = {
    .name = "tfrecord",
    .probe = tfrecord_probe,
    .open = tfrecord_open,
    .extent = shards_extent,
    .unwrap = tfrecord_unwrap,
    .label = tfrecord_label,
    .locate = shards_locate,
    .file = shards_file,
    .close = tfrecord_close,
};
