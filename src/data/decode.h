/* Compressed image -> RGB pixels of the rectangle that is needed. The content, not the name,
 * decides the format: JPEG (grey, YCbCr, RGB, CMYK, YCCK; baseline, progressive, arithmetic), PNG
 * (every colour type; alpha is flattened on white, 16 bits become 8 by dividing by 257 and
 * rounding) and binary PGM and PPM. Other formats are named in the refusal. EXIF orientation is
 * ignored, as the MLPerf reference does, unless the decoder is told to turn pictures upright;
 * either way for every format.
 *
 * Damaged or truncated data is E_DATA with a reason and a byte offset: a picture is whole or bad.
 * A file without its end mark is bad whatever the rectangle, so that random crops agree about it.
 * What no decoder can notice stays unnoticed: changed bits that still read as some picture.
 * A header that claims more pixels than the bytes behind it could hold is refused before memory is
 * taken, so a small file can not ask for much of it.
 * A decoder belongs to one thread and serves any number of images, good or bad; begin, then crop,
 * or only begin.
 */
#ifndef STAVE_DATA_DECODE_H
#define STAVE_DATA_DECODE_H

#include <stddef.h>
#include <stdint.h>

#include "data/image.h"

enum { DECODE_MAX_PIXELS = 200000000 };

/* What was odd about a picture, one bit each. grey: replicated into three channels. cmyk: CMYK or
 * YCCK made RGB. alpha: flattened on white. deep: 16 bits scaled to 8. png: not JPEG. exif: tagged
 * as not upright. progressive: of several scans, which take memory for the whole picture.
 * arithmetic: coded so, which takes several times as long. */
enum trait_id {
#define TRAIT(name) TRAIT_##name,
#include "data/list.h"
    N_TRAITS
};
#define TRAIT_BIT(name) (1u << TRAIT_##name)

enum exif_policy { EXIF_IGNORE, EXIF_APPLY };

struct decoder;

/* max_pixels: larger pictures are refused before memory is taken for them; 0: DECODE_MAX_PIXELS. */
struct decoder *decoder_new(int64_t max_pixels);
void decoder_free(struct decoder *d); /* NULL is fine */
/* EXIF_APPLY turns pictures upright; a new decoder ignores the tag. */
void decoder_set_exif(struct decoder *d, enum exif_policy policy);

/* Reads the header. bytes must stay valid until crop has returned. whole is the size of the picture
 * as crop sees it. */
int decoder_begin(struct decoder *d, const uint8_t *bytes, size_t n, struct rect *whole);
/* Makes the picture smaller before it is decoded where that is cheaper than to decode all of it: by
 * the returned power of two, at most `most`, which may be 1. Pixel x of the smaller picture stands
 * for the pixels from x times that on; its size is rounded up and becomes *whole. Between begin and
 * crop, once. JPEG: an inverse transform of fewer coefficients. */
int decoder_shrink(struct decoder *d, int most, struct rect *whole);
/* Decodes r, which must lie inside the picture, into out. At most once per begin. */
int decoder_crop(struct decoder *d, struct rect r, struct image *out);
/* Bits of enum trait_id, of the picture begun last. */
unsigned decoder_traits(const struct decoder *d);
const char *trait_name(enum trait_id id);

/* One format, a row of list.h. A codec need not check limits or the rectangle: decode.c does. */
struct codec {
    const char *name;
    const char *magic;
    size_t n_magic;
    void *(*new)(void);
    void (*free)(void *state);
    /* Drops whatever an earlier begin left, which may have had no crop. */
    int (*begin)(void *state, const uint8_t *bytes, size_t n, struct rect *whole);
    unsigned (*traits)(const void *state); /* after begin */
    /* To 1 / by of the size, rounded up, by being at most 8; NULL: the format can not. */
    void (*shrink)(void *state, int by);
    int (*crop)(void *state, struct rect r, struct image *out);
};

#endif
