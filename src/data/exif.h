/* The orientation tag of a JPEG (APP1 segment) or PNG (eXIf chunk): how a camera was held. Whether
 * pictures are turned accordingly is the decoder's setting. Orientations are 1..8 as in the EXIF
 * standard: 1 is upright, 5..8 swap width and height. */
#ifndef STAVE_DATA_EXIF_H
#define STAVE_DATA_EXIF_H

#include "data/image.h"

enum { EXIF_UPRIGHT = 1 };

/* The tag of the picture in bytes; EXIF_UPRIGHT when there is none or it makes no sense. */
int exif_orientation(const uint8_t *bytes, size_t n);
/* The size of the upright picture, for one that is stored with this size. */
struct rect exif_upright(int orientation, struct rect stored);
/* Where rectangle r of the upright picture is stored. */
struct rect exif_stored_rect(int orientation, struct rect stored, struct rect r);
/* src, stored pixels of such a rectangle, as the upright picture shows them. */
void exif_turn(int orientation, const struct image *src, struct image *dst);

#endif
