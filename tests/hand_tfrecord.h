/* TFRecord and tf.Example byte by byte, as their descriptions read, without the project's writer:
 * the checksum is worked out bit by bit. */
#ifndef STAVE_TESTS_HAND_TFRECORD_H
#define STAVE_TESTS_HAND_TFRECORD_H

#include "test_data_fixture.h"

UNUSED_FUNCTION uint32_t hand_masked_crc(const void *bytes, size_t n)
{
    uint32_t crc = 0xFFFFFFFF;

    for (size_t i = 0; i < n; i++) {
        crc ^= ((const uint8_t *)bytes)[i];
        for (int bit = 0; bit < 8; bit++)
            crc = crc & 1 ? crc >> 1 ^ 0x82F63B78 : crc >> 1;
    }
    crc = ~crc;
    return (crc >> 15 | crc << 17) + 0xA282EAD8;
}

UNUSED_FUNCTION void hand_varint(struct bytes *b, uint64_t v)
{
    do {
        const uint8_t byte = (uint8_t)((v & 0x7F) | (v > 0x7F ? 0x80 : 0));

        bytes_add(b, &byte, 1);
        v >>= 7;
    } while (v);
}

/* A field of bytes: strings, messages, packed lists. */
UNUSED_FUNCTION void hand_field(struct bytes *b, unsigned number, const void *data, size_t n)
{
    hand_varint(b, number << 3 | 2);
    hand_varint(b, n);
    bytes_add(b, data, n);
}

UNUSED_FUNCTION void hand_number(struct bytes *b, unsigned number, uint64_t v)
{
    hand_varint(b, number << 3);
    hand_varint(b, v);
}

/* An entry of the map; feature is a whole Feature message. */
UNUSED_FUNCTION void hand_entry(struct bytes *features, const char *key,
                                const struct bytes *feature)
{
    struct bytes entry = {0};

    hand_field(&entry, 1, key, strlen(key));
    hand_field(&entry, 2, feature->data, feature->n);
    hand_field(features, 1, entry.data, entry.n);
    bytes_release(&entry);
}

UNUSED_FUNCTION void hand_text(struct bytes *features, const char *key, const void *data, size_t n)
{
    struct bytes list = {0}, feature = {0};

    hand_field(&list, 1, data, n);
    hand_field(&feature, 1, list.data, list.n);
    hand_entry(features, key, &feature);
    bytes_release(&list);
    bytes_release(&feature);
}

enum hand_packing { HAND_PACKED, HAND_UNPACKED };

UNUSED_FUNCTION void hand_numbers(struct bytes *features, const char *key, enum hand_packing how,
                                  const int64_t *v, size_t n)
{
    struct bytes packed = {0}, list = {0}, feature = {0};

    for (size_t i = 0; i < n; i++) {
        hand_varint(&packed, (uint64_t)v[i]);
        if (how == HAND_UNPACKED)
            hand_number(&list, 1, (uint64_t)v[i]);
    }
    if (how == HAND_PACKED)
        hand_field(&list, 1, packed.data, packed.n);
    hand_field(&feature, 3, list.data, list.n);
    hand_entry(features, key, &feature);
    bytes_release(&packed);
    bytes_release(&list);
    bytes_release(&feature);
}

/* A record whose data is these bytes. */
UNUSED_FUNCTION void hand_record(struct bytes *file, const void *data, size_t n)
{
    const uint64_t length = n;
    uint32_t sum = hand_masked_crc(&length, sizeof(length));

    bytes_add(file, &length, sizeof(length));
    bytes_add(file, &sum, sizeof(sum));
    bytes_add(file, data, n);
    sum = hand_masked_crc(data, n);
    bytes_add(file, &sum, sizeof(sum));
}

/* A record whose Example has these features. */
UNUSED_FUNCTION void hand_example(struct bytes *file, const struct bytes *features)
{
    struct bytes example = {0};

    hand_field(&example, 1, features->data, features->n);
    hand_record(file, example.data, example.n);
    bytes_release(&example);
}

/* The plainest one. */
UNUSED_FUNCTION void hand_sample(struct bytes *file, const char *picture, int64_t label)
{
    struct bytes features = {0};

    hand_text(&features, "image/encoded", picture, strlen(picture));
    hand_numbers(&features, "image/class/label", HAND_PACKED, &label, 1);
    hand_example(file, &features);
    bytes_release(&features);
}

#endif
