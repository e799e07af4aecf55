/* The decoder as training and evaluation use it, for the targets of each format. An input is two
 * bytes that choose the crop, then the file. */
#ifndef STAVE_TESTS_FUZZ_IMAGE_H
#define STAVE_TESTS_FUZZ_IMAGE_H

#include <stddef.h>
#include <stdint.h>

void fuzz_image(const uint8_t *data, size_t n);
/* A picture as a seed; bytes is the file. */
void fuzz_image_seed(const uint8_t *bytes, size_t n);

#endif
