/* PREFIX.tar, or PREFIX/STEM-00000-of-00008.tar and so on: for each sample KEY.jpg (or as its
 * content says) and KEY.cls, the key being its number in the data set. The headers are POSIX ustar
 * with nothing of this machine in them: equal samples make equal archives. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "data/file_set.h"
#include "data/sink.h"
#include "data/tar.h"

extern const struct sink_ops sink_webdataset;

static void put_member(struct bytes *out, const char *name, const void *data, size_t n)
{
    static const uint8_t zeros[TAR_BLOCK];
    struct tar_header h = {.mode = "0000644",
                           .uid = "0000000",
                           .gid = "0000000",
                           .mtime = "00000000000",
                           .type = '0',
                           .magic = "ustar",
                           .version = {'0', '0'}};
    unsigned sum = 0;

    memcpy(h.name, name, strlen(name));
    snprintf(h.size, sizeof(h.size), "%011llo", (unsigned long long)n);
    memset(h.sum, ' ', sizeof(h.sum));
    for (int i = 0; i < TAR_BLOCK; i++)
        sum += ((const uint8_t *)&h)[i];
    snprintf(h.sum, sizeof(h.sum), "%06o", sum);
    bytes_add(out, &h, sizeof(h));
    bytes_add(out, data, n);
    bytes_add(out, zeros, (TAR_BLOCK - n % TAR_BLOCK) % TAR_BLOCK);
}

static int encode(struct sink *k, const struct sink_item *item, struct bytes *out)
{
    char name[64], label[32];

    snprintf(name, sizeof(name), "%08llu.%s", (unsigned long long)k->next, sink_ending(item));
    put_member(out, name, item->data, item->n);
    snprintf(name, sizeof(name), "%08llu.cls", (unsigned long long)k->next);
    snprintf(label, sizeof(label), "%lld", (long long)item->label);
    put_member(out, name, label, strlen(label));
    return 0;
}

static void end(struct bytes *out)
{
    static const uint8_t zeros[2 * TAR_BLOCK];

    bytes_add(out, zeros, sizeof(zeros));
}

static char *shard_name(const struct sink *k, uint64_t shard)
{
    return k->config.n_shards > 1 ? file_set_name(sink_stem(k), shard, k->config.n_shards, ".tar")
                                  : xasprintf("%s.tar", sink_stem(k));
}

const struct sink_ops sink_webdataset = {
    .name = "webdataset",
    .max_shards = 99999,
    .max_beside = 1,
    .encode = encode,
    .end = end,
    .shard_name = shard_name,
};
