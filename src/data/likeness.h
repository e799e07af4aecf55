/* How close the JPEG files of a data set come to what is known of ImageNet, whose sources
 * generate.h names. The files' headers are read for it, not what wrote them. */
#ifndef STAVE_DATA_LIKENESS_H
#define STAVE_DATA_LIKENESS_H

#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

/* What a JPEG file's header says. */
struct jpeg_facts {
    int width, height, components;
    int h, v; /* luma's sampling; chroma's is 1 x 1 */
    int progressive;
    int quality; /* of libjpeg, told from the last entry of the first quantisation table */
};
/* E_DATA: no JPEG file, or one without a frame header. */
int jpeg_facts(const uint8_t *bytes, size_t n, struct jpeg_facts *out);

/* Appends a Markdown table: what is known of ImageNet's training and validation pictures, and the
 * same of the splits train and val in dir. At most 10,000 pictures of each are looked at, evenly
 * spread; what is no JPEG is counted. */
int likeness_of(const char *dir, struct str *out);

#endif
