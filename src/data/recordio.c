/* The RecordIO source. Samples are in file order whatever the order of the index. */
#include "data/recordio.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/file.h"
#include "data/source.h"

extern const struct source_ops source_recordio;

struct recordio {
    int fd;
    struct recordio_index index;
};

static int recordio_probe(const char *path)
{
    const size_t n = strlen(path);

    return n > 4 && strcmp(path + n - 4, ".rec") == 0;
}

static int recordio_open(struct source *s)
{
    struct recordio *const r = xcalloc(1, sizeof(*r));
    int rc;

    s->state = r;
    r->fd = file_open(s->path);
    TRY(r->fd);
    rc = recordio_index_load(r->fd, s->path, &r->index);
    if (rc < 0) {
        TRY(source_damaged(s, rc));
        TRY(recordio_index_salvage(r->fd, s->path, &r->index));
    }
    s->n_samples = r->index.n;
    s->n_files = 1; /* the index was read when it was opened */
    return 0;
}

static char *recordio_file(const struct source *s, uint64_t i)
{
    (void)i;
    return xstrdup(s->path);
}

static void recordio_close(struct source *s)
{
    struct recordio *const r = s->state;

    if (r->fd >= 0)
        close(r->fd);
    recordio_index_release(&r->index);
    free(r);
}

static void recordio_locate(const struct source *s, uint64_t i, char *text, size_t n)
{
    const struct recordio *const r = s->state;

    snprintf(text, n, "file %s, record %llu, byte offset %llu", s->path, (unsigned long long)i,
             (unsigned long long)r->index.offset[i]);
}

/* Joins the parts of the record in b in place, putting the magic word back between them, and sets
 * b->n to the record's length. The result starts at b->data + RECORDIO_PART_BYTES. */
static int join_parts(struct raw *b)
{
    size_t at = 0, to = RECORDIO_PART_BYTES;
    unsigned expect_more = 0;

    do {
        uint32_t word[2];
        size_t n;

        if (b->n - at < RECORDIO_PART_BYTES)
            return err(E_DATA, "the record ends inside a part's header");
        memcpy(word, b->data + at, sizeof(word));
        n = word[1] & 0x1FFFFFFF;
        at += RECORDIO_PART_BYTES;
        if (word[0] != RECORDIO_MAGIC)
            return err(E_DATA, "the magic word is 0x%08x, expected 0x%08x", word[0],
                       RECORDIO_MAGIC);
        if (n > b->n - at)
            return err(E_DATA, "a part claims %zu bytes where %zu are left", n, b->n - at);
        if ((word[1] >> 29 == PART_WHOLE || word[1] >> 29 == PART_FIRST) == expect_more ||
            word[1] >> 29 > PART_LAST)
            return err(E_DATA, "part flag %u is out of order", word[1] >> 29);
        if (expect_more) {
            memcpy(b->data + to, &word[0], sizeof(word[0]));
            to += sizeof(word[0]);
        }
        if (to != at) /* most records have one part, which stays where it is */
            memmove(b->data + to, b->data + at, n);
        to += n;
        at += recordio_padded(n);
        at = at < b->n ? at : b->n;
        expect_more = word[1] >> 29 == PART_FIRST || word[1] >> 29 == PART_MIDDLE;
    } while (expect_more);
    if (at != b->n)
        return err(E_DATA,
                   "the record ends after %zu bytes, but the index gives it %zu: an entry is "
                   "missing; stave prepare --index makes the index anew",
                   at, b->n);
    b->n = to;
    return 0;
}

static int label_of(float value, int64_t *label)
{
    if (!isfinite(value) || value != floorf(value) || fabsf(value) > 16777216.0f)
        return err(E_DATA, "the label is %g, expected a whole number", (double)value);
    *label = (int64_t)value;
    return 0;
}

/* Takes the header off: data and n become the image's bytes. */
static int take_header(const uint8_t *record, size_t n, struct sample *out)
{
    uint32_t flag;
    float label;

    if (n < RECORDIO_HEADER_BYTES)
        return err(E_DATA, "the record has %zu bytes, fewer than its header's %d", n,
                   RECORDIO_HEADER_BYTES);
    memcpy(&flag, record, sizeof(flag));
    memcpy(&label, record + 4, sizeof(label));
    record += RECORDIO_HEADER_BYTES;
    n -= RECORDIO_HEADER_BYTES;
    if (flag > n / sizeof(float))
        return err(E_DATA, "the header claims %u labels in %zu bytes", flag, n);
    if (flag > 0)
        memcpy(&label, record, sizeof(label));
    out->data = record + flag * sizeof(float);
    out->n = n - flag * sizeof(float);
    return label_of(label, &out->label);
}

static int recordio_extent(const struct source *s, uint64_t i, struct extent *out)
{
    const struct recordio *const r = s->state;

    out->fd = r->fd;
    out->offset = r->index.offset[i];
    out->n = r->index.offset[i + 1] - out->offset;
    return 0;
}

static int recordio_unwrap(const struct source *s, uint64_t i, struct raw raw, struct sample *out)
{
    (void)s;
    (void)i;
    TRY(join_parts(&raw));
    return take_header(raw.data + RECORDIO_PART_BYTES, raw.n - RECORDIO_PART_BYTES, out);
}

static int recordio_label(const struct source *s, uint64_t i, int64_t *label)
{
    const struct recordio *const r = s->state;
    uint32_t head[4]; /* magic, length, flag, label */
    struct sample whole = {0};
    int rc;

    if (r->index.offset[i + 1] - r->index.offset[i] >= sizeof(head)) {
        float value;

        TRY(file_pread(r->fd, head, sizeof(head), r->index.offset[i], s->path));
        memcpy(&value, &head[3], sizeof(value));
        if (head[0] == RECORDIO_MAGIC && head[1] >> 29 == PART_WHOLE && head[2] == 0)
            return label_of(value, label);
    }
    rc = source_read(s, i, &whole); /* several labels or parts: take the long way */
    *label = whole.label;
    sample_release(&whole);
    return rc;
}

const struct source_ops source_recordio = {
    .name = "recordio",
    .probe = recordio_probe,
    .open = recordio_open,
    .extent = recordio_extent,
    .unwrap = recordio_unwrap,
    .label = recordio_label,
    .locate = recordio_locate,
    .file = recordio_file,
    .close = recordio_close,
};
