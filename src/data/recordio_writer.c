#include "data/recordio_writer.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/file.h"
#include "base/hostile.h"
#include "base/str.h"
#include "data/bytes.h"
#include "data/recordio.h"

enum { FLUSH_BYTES = HOSTILE ? 1 : 1 << 20, MAX_PART_BYTES = (1 << 29) - 1 };

struct recordio_writer {
    char *prefix;
    struct file_writer rec;
    struct bytes pending, record;
    struct str index;
    struct recordio_totals totals;
};

int recordio_writer_open(const char *prefix, struct recordio_writer **out)
{
    struct recordio_writer *const w = xcalloc(1, sizeof(*w));
    char *const path = xasprintf("%s.rec", prefix);
    const int rc = file_writer_open(&w->rec, path);

    free(path);
    *out = NULL;
    w->prefix = xstrdup(prefix);
    w->totals.rec_checksum = CHECKSUM_INIT;
    if (rc < 0) {
        recordio_writer_abort(w);
        return rc;
    }
    *out = w;
    return 0;
}

static int flush_pending(struct recordio_writer *w)
{
    const size_t n = w->pending.n;

    w->pending.n = 0;
    w->totals.rec_checksum = checksum_add(w->totals.rec_checksum, w->pending.data, n);
    return file_writer_add(&w->rec, w->pending.data, n);
}

static void add_part(struct bytes *out, enum recordio_cflag cflag, const uint8_t *data, size_t n)
{
    static const uint8_t zeros[4];
    const uint32_t head[2] = {RECORDIO_MAGIC, (uint32_t)cflag << 29 | (uint32_t)n};

    bytes_add(out, head, sizeof(head));
    bytes_add(out, data, n);
    bytes_add(out, zeros, recordio_padded(n) - n);
}

/* Cuts the record wherever it holds the magic word at a multiple of four, so that a reader can find
 * the start of a record from any place in the file. */
static void add_parts(const struct bytes *record, struct bytes *out)
{
    const uint32_t magic = RECORDIO_MAGIC;
    size_t first = 0;

    for (size_t i = 0; i + sizeof(magic) <= record->n; i += sizeof(magic)) {
        if (memcmp(record->data + i, &magic, sizeof(magic)) != 0)
            continue;
        add_part(out, first == 0 ? PART_FIRST : PART_MIDDLE, record->data + first, i - first);
        first = i + sizeof(magic);
    }
    add_part(out, first == 0 ? PART_WHOLE : PART_LAST, record->data + first, record->n - first);
}

int recordio_encode(struct recordio_entry e, struct bytes *scratch, struct bytes *out)
{
    const uint32_t head[2] = {e.n_labels, 0};
    const uint64_t ids[2] = {e.id, e.id2};
    const float label = e.n_labels ? 0.0f : e.label;

    if (e.n > MAX_PART_BYTES - RECORDIO_HEADER_BYTES - e.n_labels * sizeof(float))
        return err(E_DATA, "a record of %zu bytes does not fit RecordIO, whose limit is %d", e.n,
                   MAX_PART_BYTES);
    scratch->n = 0;
    bytes_add(scratch, head, sizeof(head[0]));
    bytes_add(scratch, &label, sizeof(label));
    bytes_add(scratch, ids, sizeof(ids));
    bytes_add(scratch, e.labels, e.n_labels * sizeof(float));
    bytes_add(scratch, e.payload, e.n);
    add_parts(scratch, out);
    return 0;
}

int recordio_writer_add(struct recordio_writer *w, struct recordio_entry e)
{
    const size_t before = w->pending.n;

    TRY(recordio_encode(e, &w->record, &w->pending));
    str_printf(&w->index, "%llu\t%llu\n", (unsigned long long)w->totals.n_records,
               (unsigned long long)w->totals.rec_bytes);
    w->totals.rec_bytes += w->pending.n - before;
    w->totals.n_records++;
    return w->pending.n >= FLUSH_BYTES ? flush_pending(w) : 0;
}

int recordio_writer_commit(struct recordio_writer *w, struct recordio_totals *totals)
{
    char *const path = xasprintf("%s.idx", w->prefix);
    int rc = flush_pending(w);

    if (rc == 0)
        rc = file_writer_commit(&w->rec);
    if (rc == 0)
        rc = file_replace(path, w->index.s ? w->index.s : "", w->index.len);
    free(path);
    if (rc == 0 && totals)
        *totals = w->totals;
    recordio_writer_abort(w);
    return rc;
}

void recordio_writer_abort(struct recordio_writer *w)
{
    if (!w)
        return;
    file_writer_abort(&w->rec);
    bytes_release(&w->pending);
    bytes_release(&w->record);
    str_release(&w->index);
    free(w->prefix);
    free(w);
}
