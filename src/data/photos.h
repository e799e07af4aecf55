/* Photographs on this machine, in memory: JPEG files of a folder and all folders below it, in the
 * order of their paths. JPEG alone, because what packages of wallpapers ship as PNG is drawn.
 * Immutable once loaded; any thread may read. */
#ifndef STAVE_DATA_PHOTOS_H
#define STAVE_DATA_PHOTOS_H

#include <stdint.h>

#include "data/image.h"

/* What keeps the memory below 600 MB: of more photographs, so many evenly spread ones are taken,
 * and larger ones are shrunk. */
enum { PHOTOS_MAX = 48, PHOTO_MAX_PIXELS = 4 << 20, PHOTO_MIN_SIDE = 64 };

struct photos {
    struct image *all;
    size_t n;          /* at least 1 */
    uint64_t checksum; /* of the files that were taken */
};

/* dir NULL: the folders where Debian's and Ubuntu's packages put wallpapers. A file that can not be
 * decoded is named in a warning and left out. E_IO, E_DATA: there is none; nothing to release. */
int photos_load(const char *dir, struct photos *out);
void photos_release(struct photos *p);

#endif
