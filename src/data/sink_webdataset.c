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

/* Where the fields stand that are not zero (POSIX.1-2017, "ustar Interchange Format"). */
enum {
    MODE_AT = 100,
    UID_AT = 108,
    GID_AT = 116,
    SIZE_AT = 124,
    TIME_AT = 136,
    SUM_AT = 148,
    TYPE_AT = 156,
    MAGIC_AT = 257
};

static void put_text(uint8_t *at, const char *text)
{
    memcpy(at, text, strlen(text));
}

static void put_member(struct bytes *out, const char *name, const void *data, size_t n)
{
    static const uint8_t zeros[TAR_BLOCK];
    uint8_t h[TAR_BLOCK] = {0};
    char number[16];
    unsigned sum = 0;

    put_text(h, name);
    put_text(h + MODE_AT, "0000644");
    put_text(h + UID_AT, "0000000");
    put_text(h + GID_AT, "0000000");
    snprintf(number, sizeof(number), "%011llo", (unsigned long long)n);
    put_text(h + SIZE_AT, number);
    put_text(h + TIME_AT, "00000000000");
    h[TYPE_AT] = '0';
    memcpy(h + MAGIC_AT,
           "ustar\0"
           "00",
           8);
    memset(h + SUM_AT, ' ', 8);
    for (int i = 0; i < TAR_BLOCK; i++)
        sum += h[i];
    snprintf((char *)h + SUM_AT, 8, "%06o", sum);
    bytes_add(out, h, sizeof(h));
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

static int in_folder(const struct sink *k)
{
    return k->config.n_shards > 1;
}

const struct sink_ops sink_webdataset = {
    .name = "webdataset",
    .max_shards = 99999,
    .encode = encode,
    .end = end,
    .shard_name = shard_name,
    .in_folder = in_folder,
};
