/* PREFIX.rec and PREFIX.idx. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/file.h"
#include "data/recordio.h"
#include "data/recordio_writer.h"
#include "data/sink.h"

extern const struct sink_ops sink_recordio;

enum { MAX_LABEL = 1 << 24 }; /* whole numbers that a float holds */

static int encode(struct sink *k, const struct sink_item *item, struct bytes *out)
{
    if (item->label < -MAX_LABEL || item->label > MAX_LABEL)
        return err(E_DATA, "the label %lld does not fit RecordIO, which keeps it as a float",
                   (long long)item->label);
    return recordio_encode(
        (struct recordio_entry){
            .label = (float)item->label, .id = k->next, .payload = item->data, .n = item->n},
        &k->scratch, out);
}

static char *shard_name(const struct sink *k, uint64_t shard)
{
    (void)shard;
    return xasprintf("%s.rec", sink_stem(k));
}

static int resume(struct sink *k, const char *path)
{
    struct recordio_index x;
    int rc;

    rc = recordio_index_scan(k->fd, path, &x);
    for (uint64_t i = 0; rc == 0 && i < x.n; i++)
        sink_add_offset(k, x.offset[i]);
    recordio_index_release(&x);
    return rc;
}

static int finish(struct sink *k, const char *path)
{
    const struct recordio_index x = {.offset = k->offset, .n = k->n_offsets};
    char *const idx = recordio_index_path(path);
    const int rc = recordio_index_write(idx, &x);

    free(idx);
    return rc;
}

const struct sink_ops sink_recordio = {
    .name = "recordio",
    .max_shards = 1,
    .max_beside = 1,
    .encode = encode,
    .shard_name = shard_name,
    .resume = resume,
    .finish = finish,
    .companion = recordio_index_path,
};
