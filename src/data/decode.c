#include "data/decode.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "data/exif.h"

#define CODEC(name) extern const struct codec codec_##name;
#include "data/list.h"

static const struct codec *const codecs[] = {
#define CODEC(name) &codec_##name,
#include "data/list.h"
};

enum { MAX_SHRINK = 8, N_SHOWN = 4 };

struct decoder {
    void *state[COUNT_OF(codecs)];
    size_t current; /* codec of the picture begun */
    int begun;
    int64_t max_pixels;
    struct rect stored; /* as the file has it */
    struct rect whole;  /* as crop sees it */
    unsigned traits;
    enum exif_policy policy;
    int orientation;     /* to be undone by crop */
    struct image turned; /* what is to be turned upright */
};

struct decoder *decoder_new(int64_t max_pixels)
{
    struct decoder *const d = xcalloc(1, sizeof(*d));

    d->max_pixels = max_pixels > 0 ? max_pixels : DECODE_MAX_PIXELS;
    for (size_t i = 0; i < COUNT_OF(codecs); i++)
        d->state[i] = codecs[i]->new ();
    return d;
}

void decoder_free(struct decoder *d)
{
    if (!d)
        return;
    for (size_t i = 0; i < COUNT_OF(codecs); i++)
        codecs[i]->free(d->state[i]);
    image_release(&d->turned);
    free(d);
}

void decoder_set_exif(struct decoder *d, enum exif_policy policy)
{
    d->policy = policy;
}

unsigned decoder_traits(const struct decoder *d)
{
    return d->traits;
}

const char *trait_name(enum trait_id id)
{
    static const char *const names[N_TRAITS] = {
#define TRAIT(name) #name,
#include "data/list.h"
    };

    return names[id];
}

static int starts_with(const uint8_t *bytes, size_t n, const char *magic, size_t n_magic)
{
    return n >= n_magic && memcmp(bytes, magic, n_magic) == 0;
}

/* Names what the bytes are, for the person who has to convert them. */
static int refuse(const uint8_t *bytes, size_t n)
{
    static const struct {
        const char *magic, *name;
    } known[] = {{"GIF8", "a GIF"},    {"BM", "a BMP"},          {"II*", "a TIFF"},
                 {"MM", "a TIFF"},     {"RIFF", "a WebP"},       {"\xFF\x0A", "a JPEG XL"},
                 {"<", "text or SVG"}, {"\x1F\x8B", "gzip data"}};
    char shown[3 * N_SHOWN + 1] = "";

    if (n == 0)
        return err(E_DATA, "the file is empty; expected a JPEG or PNG");
    for (size_t i = 0; i < COUNT_OF(known); i++)
        if (starts_with(bytes, n, known[i].magic, strlen(known[i].magic)))
            return err(E_DATA, "this is %s; JPEG and PNG are read, so convert it", known[i].name);
    for (size_t i = 0; i < n && i < N_SHOWN; i++)
        snprintf(shown + 3 * i, 4, " %02x", bytes[i]);
    return err(E_DATA, "no known image: it %s the byte%s%s",
               n > N_SHOWN ? "starts with" : "is only", n == 1 ? "" : "s", shown);
}

static int check_size(const struct decoder *d, const char *format)
{
    if ((int64_t)d->stored.width * d->stored.height <= d->max_pixels)
        return 0;
    return err(E_DATA, "this %s claims %d x %d pixels, more than the %lld allowed (max-pixels)",
               format, d->stored.width, d->stored.height, (long long)d->max_pixels);
}

/* What the picture is like, and how crop will see it. */
static void look(struct decoder *d, const uint8_t *bytes, size_t n)
{
    const int tag = exif_orientation(bytes, n);

    d->traits = codecs[d->current]->traits(d->state[d->current]);
    if (tag != EXIF_UPRIGHT)
        d->traits |= TRAIT_BIT(exif);
    d->orientation = d->policy == EXIF_APPLY ? tag : EXIF_UPRIGHT;
    d->whole = exif_upright(d->orientation, d->stored);
}

int decoder_begin(struct decoder *d, const uint8_t *bytes, size_t n, struct rect *whole)
{
    size_t i = 0;

    d->begun = 0;
    d->traits = 0;
    while (i < COUNT_OF(codecs) && !starts_with(bytes, n, codecs[i]->magic, codecs[i]->n_magic))
        i++;
    if (i == COUNT_OF(codecs))
        return refuse(bytes, n);
    d->current = i;
    TRY(codecs[i]->begin(d->state[i], bytes, n, &d->stored));
    TRY(check_size(d, codecs[i]->name));
    look(d, bytes, n);
    d->begun = 1;
    *whole = d->whole;
    return 0;
}

static int divide_up(int n, int by)
{
    return (n + by - 1) / by;
}

/* A picture to be turned is left as it is: counted from its right or lower edge, pixels of the
 * smaller one need not stand for whole groups. */
int decoder_shrink(struct decoder *d, int most, struct rect *whole)
{
    int by = 1;

    ASSERT(d->begun);
    if (codecs[d->current]->shrink && d->orientation == EXIF_UPRIGHT)
        while (by * 2 <= most && by < MAX_SHRINK)
            by *= 2;
    if (by > 1) {
        codecs[d->current]->shrink(d->state[d->current], by);
        d->whole.width = divide_up(d->whole.width, by);
        d->whole.height = divide_up(d->whole.height, by);
        d->stored = d->whole;
    }
    *whole = d->whole;
    return by;
}

int decoder_crop(struct decoder *d, struct rect r, struct image *out)
{
    ASSERT(d->begun);
    ASSERT(r.x >= 0 && r.y >= 0 && r.width > 0 && r.height > 0);
    ASSERT(r.width <= d->whole.width - r.x && r.height <= d->whole.height - r.y);
    d->begun = 0;
    if (d->orientation == EXIF_UPRIGHT)
        return codecs[d->current]->crop(d->state[d->current], r, out);
    TRY(codecs[d->current]->crop(d->state[d->current],
                                 exif_stored_rect(d->orientation, d->stored, r), &d->turned));
    exif_turn(d->orientation, &d->turned, out);
    return 0;
}
