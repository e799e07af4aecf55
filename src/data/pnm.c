/* PGM and PPM, the plain pictures of netpbm (pgm(5), ppm(5)), in their binary forms:
 *     P5 or P6, white space, width, white space, height, white space, largest value,
 * one byte of white space, then rows of grey or RGB values, from the top. A comment runs from # to
 * the end of its line. The largest value is 255, or 65535 for two bytes a value, the higher first:
 * of others it would have to be said what a larger value means. What follows the pixels is left
 * out. */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "data/decode.h"

extern const struct codec codec_pgm;
extern const struct codec codec_ppm;

struct pnm {
    int channels; /* in the file */
    int wide;     /* two bytes a value */
    int width;
    const uint8_t *px;
};

struct text {
    const uint8_t *p, *end;
};

static int is_space(uint8_t c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/* White space and comments; 0 when there are none. */
static int skip_space(struct text *t)
{
    const uint8_t *const first = t->p;

    while (t->p < t->end && (is_space(*t->p) || *t->p == '#')) {
        if (*t->p == '#')
            while (t->p < t->end && *t->p != '\n' && *t->p != '\r')
                t->p++;
        else
            t->p++;
    }
    return t->p > first;
}

/* At least 1; 0 when there is no such number. */
static int take_number(struct text *t)
{
    enum { MOST = 100000000 };
    int v = 0;

    if (!skip_space(t))
        return 0;
    while (t->p < t->end && *t->p >= '0' && *t->p <= '9' && v < MOST)
        v = 10 * v + (*t->p++ - '0');
    return v;
}

static void *new_pnm(void)
{
    return xcalloc(1, sizeof(struct pnm));
}

static int begin_pnm(void *state, const uint8_t *bytes, size_t n, struct rect *whole)
{
    struct pnm *const p = state;
    struct text t = {bytes + 2, bytes + n};
    const int width = take_number(&t), height = take_number(&t), most = take_number(&t);
    size_t row;

    if (!width || !height || !most || t.p == t.end || !is_space(*t.p))
        return err(E_DATA, "the header of the PNM picture is damaged near byte %zu of %zu",
                   (size_t)(t.p - bytes), n);
    if (most != 255 && most != 65535)
        return err(E_DATA, "the PNM picture's largest value is %d; 255 and 65535 are read", most);
    p->channels = bytes[1] == '6' ? 3 : 1;
    p->wide = most > 255;
    p->width = width;
    p->px = t.p + 1;
    row = (size_t)width * (size_t)p->channels * (p->wide ? 2 : 1);
    if ((size_t)height > (size_t)(t.end - p->px) / row)
        return err(E_DATA, "the PNM picture is truncated: %d x %d pixels in %zu bytes", width,
                   height, n);
    *whole = (struct rect){.width = width, .height = height};
    return 0;
}

static unsigned traits_pnm(const void *state)
{
    const struct pnm *const p = state;

    return (p->channels == 1 ? TRAIT_BIT(grey) : 0) | (p->wide ? TRAIT_BIT(deep) : 0);
}

/* As for PNG: round(v / 257). */
static uint8_t value_at(const struct pnm *p, size_t i)
{
    const uint8_t *const at = p->px + 2 * i;

    if (!p->wide)
        return p->px[i];
    return (uint8_t)((((unsigned)at[0] << 8 | at[1]) + 128) / 257);
}

static int crop_pnm(void *state, struct rect r, struct image *out)
{
    const struct pnm *const p = state;
    const size_t channels = (size_t)p->channels, per_row = (size_t)p->width * channels;

    image_resize(out, r.width, r.height);
    for (int y = 0; y < r.height; y++) {
        const size_t first = (size_t)(r.y + y) * per_row + (size_t)r.x * channels;
        uint8_t *const to = image_row(out, y);

        for (size_t x = 0; x < (size_t)r.width; x++)
            for (size_t c = 0; c < IMAGE_CHANNELS; c++)
                to[IMAGE_CHANNELS * x + c] =
                    value_at(p, first + x * channels + (channels == 1 ? 0 : c));
    }
    return 0;
}

#define PNM(name_, magic_)                                                                         \
    {                                                                                              \
        .name = name_, .magic = magic_, .n_magic = 2, .new = new_pnm, .free = free,                \
        .begin = begin_pnm, .traits = traits_pnm, .crop = crop_pnm                                 \
    }

const struct codec codec_pgm = PNM("PGM", "P5");
const struct codec codec_ppm = PNM("PPM", "P6");
