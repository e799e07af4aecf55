/* Pixels -> JPEG, for preparing data sets. Baseline, integer DCT, standard tables: one
 * libjpeg-turbo version gives one sequence of bytes. */
#ifndef STAVE_DATA_JPEG_ENCODE_H
#define STAVE_DATA_JPEG_ENCODE_H

#include "data/bytes.h"

struct jpeg_picture {
    const uint8_t *px;           /* rows without padding */
    int width, height, channels; /* channels: 1 grey, 3 RGB (chroma halved both ways) */
    int quality;                 /* 1..100; 0 means 90 */
};

int jpeg_encode(struct jpeg_picture p, struct bytes *out);

#endif
