/* Pixels -> JPEG, for preparing data sets. Baseline, integer DCT, standard tables: one
 * libjpeg-turbo version gives one sequence of bytes. */
#ifndef STAVE_DATA_JPEG_ENCODE_H
#define STAVE_DATA_JPEG_ENCODE_H

#include "data/bytes.h"

/* How chroma is kept: halved both ways, across only, or whole. */
enum jpeg_sampling { JPEG_420, JPEG_422, JPEG_444 };

struct jpeg_picture {
    const uint8_t *px;           /* rows without padding */
    int width, height, channels; /* channels: 1 grey, 3 RGB */
    int quality;                 /* 1..100; 0 means 90 */
    enum jpeg_sampling sampling; /* of RGB */
};

int jpeg_encode(struct jpeg_picture p, struct bytes *out);

#endif
