/* tf.Example with ImageNet's keys, read from and written as protobuf's wire format
 * (tensorflow/core/example/{example,feature}.proto; protobuf.dev, "Encoding"):
 *     Example { Features features = 1 }    Features { map<string, Feature> feature = 1 }
 *     Feature { oneof { BytesList = 1, FloatList = 2, Int64List = 3 } }, each { repeated value = 1
 * } A map is repeated entries { key = 1, value = 2 }, in any order; of a key that comes twice the
 * last one counts. Integers may be packed or not. Fields that are not known are passed over.
 *
 * A reader of its own, because a generated one copies each picture and allocates per sample. */
#ifndef STAVE_DATA_EXAMPLE_H
#define STAVE_DATA_EXAMPLE_H

#include "data/bytes.h"

#define EXAMPLE_PICTURE "image/encoded"
#define EXAMPLE_LABEL "image/class/label"

struct example {
    const uint8_t *picture; /* points into what was read */
    size_t n;
    int64_t label;                   /* as stored; ImageNet's begin at 1 */
    const char *class_name, *format; /* written when not NULL: image/class/synset, image/format */
    int width, height;               /* written when not 0 */
};

/* Sets picture and n, then label. E_DATA: what is missing, not of its type or not one value, or
 * where the bytes are no message. */
int example_read(const uint8_t *bytes, size_t n, struct example *out);
/* Appends. The keys are in bytewise order. */
void example_write(const struct example *e, struct bytes *out);

#endif
