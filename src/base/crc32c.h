/* CRC-32C (Castagnoli; RFC 3720, appendix B.4: reflected polynomial 0x82F63B78, start and end
 * inverted), the checksum of TFRecord. With the processor's own instruction where it has one. Any
 * thread. */
#ifndef STAVE_BASE_CRC32C_H
#define STAVE_BASE_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/* sum is 0, or the result for the bytes before. */
uint32_t crc32c(uint32_t sum, const void *bytes, size_t n);
/* The same by tables alone, for any machine. */
uint32_t crc32c_tables(uint32_t sum, const void *bytes, size_t n);

#endif
