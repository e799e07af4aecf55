#include "data/decode.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"

#define CODEC(name) extern const struct codec codec_##name;
#include "data/list.h"

static const struct codec *const codecs[] = {
#define CODEC(name) &codec_##name,
#include "data/list.h"
};

struct decoder {
    void *state[COUNT_OF(codecs)];
    size_t current; /* codec of the picture begun */
    int begun;
    int64_t max_pixels;
    struct rect whole;
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
    free(d);
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

    if (n == 0)
        return err(E_DATA, "the file is empty; expected a JPEG or PNG");
    for (size_t i = 0; i < COUNT_OF(known); i++)
        if (starts_with(bytes, n, known[i].magic, strlen(known[i].magic)))
            return err(E_DATA, "this is %s; JPEG and PNG are read, so convert it", known[i].name);
    return err(E_DATA, "no known image: it starts with the bytes %02x %02x %02x %02x", bytes[0],
               n > 1 ? bytes[1] : 0, n > 2 ? bytes[2] : 0, n > 3 ? bytes[3] : 0);
}

static int check_size(const struct decoder *d, const char *format)
{
    if ((int64_t)d->whole.width * d->whole.height <= d->max_pixels)
        return 0;
    return err(E_DATA, "this %s claims %d x %d pixels, more than the %lld allowed (max-pixels)",
               format, d->whole.width, d->whole.height, (long long)d->max_pixels);
}

int decoder_begin(struct decoder *d, const uint8_t *bytes, size_t n, struct rect *whole)
{
    size_t i = 0;
    int rc;

    if (d->begun) /* the one before was only looked at */
        codecs[d->current]->cancel(d->state[d->current]);
    d->begun = 0;
    while (i < COUNT_OF(codecs) && !starts_with(bytes, n, codecs[i]->magic, codecs[i]->n_magic))
        i++;
    if (i == COUNT_OF(codecs))
        return refuse(bytes, n);
    d->current = i;
    TRY(codecs[i]->begin(d->state[i], bytes, n, &d->whole));
    rc = check_size(d, codecs[i]->name);
    if (rc < 0) {
        codecs[i]->cancel(d->state[i]);
        return rc;
    }
    d->begun = 1;
    *whole = d->whole;
    return 0;
}

int decoder_crop(struct decoder *d, struct rect r, struct image *out)
{
    ASSERT(d->begun);
    ASSERT(r.x >= 0 && r.y >= 0 && r.width > 0 && r.height > 0);
    ASSERT(r.width <= d->whole.width - r.x && r.height <= d->whole.height - r.y);
    d->begun = 0;
    return codecs[d->current]->crop(d->state[d->current], r, out);
}
