/* PREFIX.tfrecord, or PREFIX-00000-of-00008 and so on, of tf.Example with ImageNet's keys. Labels
 * stay as they are. */
#include <string.h>

#include "base/err.h"
#include "data/example.h"
#include "data/file_set.h"
#include "data/sink.h"
#include "data/tfrecord.h"

extern const struct sink_ops sink_tfrecord;

static const char *format_of(const struct sink_item *item)
{
    static const char *const names[][2] = {{"png", "PNG"}, {"pgm", "PGM"}, {"ppm", "PPM"}};

    for (size_t i = 0; i < COUNT_OF(names); i++)
        if (strcmp(sink_ending(item), names[i][0]) == 0)
            return names[i][1];
    return "JPEG";
}

static int encode(struct sink *k, const struct sink_item *item, struct bytes *out)
{
    const int named =
        k->config.classes && item->label >= 0 && item->label < (int64_t)k->config.n_classes;
    const struct example e = {.picture = item->data,
                              .n = item->n,
                              .label = item->label,
                              .class_name = named ? k->config.classes[item->label] : NULL,
                              .format = format_of(item),
                              .width = item->width,
                              .height = item->height};
    uint64_t n;
    uint32_t sum;

    k->scratch.n = 0;
    example_write(&e, &k->scratch);
    n = k->scratch.n;
    sum = tfrecord_sum(&n, sizeof(n));
    bytes_add(out, &n, sizeof(n));
    bytes_add(out, &sum, sizeof(sum));
    bytes_add(out, k->scratch.data, k->scratch.n);
    sum = tfrecord_sum(k->scratch.data, k->scratch.n);
    bytes_add(out, &sum, sizeof(sum));
    return 0;
}

static char *shard_name(const struct sink *k, uint64_t shard)
{
    return k->config.n_shards > 1 ? file_set_name(sink_stem(k), shard, k->config.n_shards, "")
                                  : xasprintf("%s.tfrecord", sink_stem(k));
}

const struct sink_ops sink_tfrecord = {
    .name = "tfrecord",
    .max_shards = 99999,
    .max_beside = 99999,
    .encode = encode,
    .shard_name = shard_name,
};
