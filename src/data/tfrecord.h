/* TFRecord, TensorFlow's record file: a row of
 *     length (u64), masked CRC-32C of it (u32), length bytes, masked CRC-32C of them (u32),
 * little-endian (tensorflow/core/lib/io/record_writer.h). A mask is a rotation and a sum, so that
 * checksums of data that holds checksums stay good ones. */
#ifndef STAVE_DATA_TFRECORD_H
#define STAVE_DATA_TFRECORD_H

#include <stddef.h>
#include <stdint.h>

enum { TFRECORD_HEAD_BYTES = 12, TFRECORD_TAIL_BYTES = 4 };

uint32_t tfrecord_mask(uint32_t crc);
/* Of n bytes, masked. */
uint32_t tfrecord_sum(const void *bytes, size_t n);

#endif
