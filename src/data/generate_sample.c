/* One sample: a window of a photograph, shrunk, with grain, encoded at the quality that gives the
 * bytes asked for. */
#include <math.h>

#include "base/err.h"
#include "data/generate_int.h"

enum { N_CLASSES = 1000, FIRST_QUALITY = 96, LEAST_QUALITY = 10, MAX_TRIALS = 6 };

/* Source pixels for each pixel: wallpapers are smooth at their own size and shrunk ones are as
 * sharp as pictures from the web. */
static const double least_scale = 1.5, most_scale = 4.0;
/* Near enough to the bytes that were asked for. */
static const double tolerance = 0.03;

static struct random_key key_of(struct sample_key k, int stream)
{
    return (struct random_key){k.seed, RANDOM_GENERATE, (uint64_t)k.split * 2 + (uint64_t)stream};
}

int64_t generated_label(struct sample_key key)
{
    return (int64_t)(random_hash(key_of(key, 1), key.i) % N_CLASSES);
}

static double between(double a, double b, struct random_stream *r)
{
    return a + (b - a) * random_next_uniform(r);
}

/* A window of the recipe's shape anywhere in the photograph, at any scale between the limits that
 * fits; a photograph that is too small for that is used whole or enlarged. */
static void cut(struct sampler *s, const struct image *photo, const struct recipe *r,
                struct random_stream *draw)
{
    const double fits = fmin((double)photo->width / r->width, (double)photo->height / r->height);
    const double most = fmin(fits, most_scale), least = fmin(fits, least_scale);
    const double scale = least * pow(most / least, random_next_uniform(draw));
    const double x = between(0.0, photo->width - scale * r->width, draw);
    const double y = between(0.0, photo->height - scale * r->height, draw);

    bytes_resize(&s->px, (size_t)r->width * (size_t)r->height * IMAGE_CHANNELS);
    resize(&s->resizer, photo, (struct axis){.first = x, .scale = scale, .n = r->width},
           (struct axis){.first = y, .scale = scale, .n = r->height}, s->px.data);
}

static uint8_t to_byte(int v)
{
    return (uint8_t)(v < 0 ? 0 : v > 255 ? 255 : v);
}

/* The noise of a small camera's sensor: mostly brightness, less colour. A sum of bytes is near
 * enough to normal; four of them have a standard deviation of 148. strength is in levels. */
static void add_grain(uint8_t *px, size_t n_pixels, double strength, uint64_t seed)
{
    const int luma = (int)(strength * 65536.0 / 148.0), chroma = luma / 2;

    for (size_t i = 0; i < n_pixels; i++, px += IMAGE_CHANNELS) {
        const uint64_t h = random_mix(seed + i);
        const int bright = ((int)(h & 255) + (int)(h >> 8 & 255) + (int)(h >> 16 & 255) +
                            (int)(h >> 24 & 255) - 510) *
                           luma;
        const int warm = ((int)(h >> 32 & 255) + (int)(h >> 40 & 255) - 255) * chroma;
        const int cold = ((int)(h >> 48 & 255) + (int)(h >> 56 & 255) - 255) * chroma;

        px[0] = to_byte(px[0] + (bright + warm) / 65536);
        px[1] = to_byte(px[1] + bright / 65536);
        px[2] = to_byte(px[2] + (bright + cold) / 65536);
    }
}

static void make_grey(struct sampler *s)
{
    const size_t n = s->px.n / IMAGE_CHANNELS;

    bytes_resize(&s->grey, n);
    for (size_t i = 0; i < n; i++) {
        const uint8_t *const p = s->px.data + i * IMAGE_CHANNELS;

        s->grey.data[i] = (uint8_t)((p[0] * 77 + p[1] * 150 + p[2] * 29) / 256);
    }
}

/* Bytes fall about with the root of the quantiser's steps, which are 200 - 2 q of 100 at quality q
 * above 50: from one trial, a guess where the bytes wanted are. */
static int guess_quality(int quality, double ratio)
{
    const double steps = (quality < 50 ? 5000.0 / quality : 200.0 - 2.0 * quality) + 1.0;
    const double wanted = steps * pow(ratio, 1.6) - 1.0;

    return (int)lround(wanted > 100.0 ? 5000.0 / wanted : 100.0 - wanted / 2.0);
}

static int clamp(int v, int least, int most)
{
    return v < least ? least : v > most ? most : v;
}

/* Leaves the encoding nearest to the bytes wanted in s->jpeg[0]. */
static int encode(struct sampler *s, struct jpeg_picture picture, double wanted)
{
    int low = LEAST_QUALITY, high = 100, quality = FIRST_QUALITY;
    double best = INFINITY;

    for (int trial = 0; trial < MAX_TRIALS && low <= high; trial++) {
        double off;

        picture.quality = quality;
        TRY(jpeg_encode(picture, &s->jpeg[1]));
        off = log((double)s->jpeg[1].n / wanted);
        if (fabs(off) < best) {
            const struct bytes trial_bytes = s->jpeg[1];

            best = fabs(off);
            s->jpeg[1] = s->jpeg[0];
            s->jpeg[0] = trial_bytes;
        }
        if (best < tolerance)
            break;
        if (off < 0.0)
            low = quality + 1;
        else
            high = quality - 1;
        quality = clamp(guess_quality(quality, exp(off)), low, high < low ? low : high);
    }
    return 0;
}

int sampler_make(struct sampler *s, const struct photos *photos, struct sample_key key,
                 struct bytes *out)
{
    struct random_stream draw = random_stream(key_of(key, 0), key.i);
    const struct recipe r = recipe_draw(key.split, &draw);
    struct jpeg_picture picture = {
        .width = r.width, .height = r.height, .channels = 3, .sampling = r.sampling};

    cut(s, &photos->all[random_next(&draw) % photos->n], &r, &draw);
    add_grain(s->px.data, s->px.n / IMAGE_CHANNELS, between(1.0, 7.0, &draw), random_next(&draw));
    picture.px = s->px.data;
    if (r.grey) {
        make_grey(s);
        picture.px = s->grey.data;
        picture.channels = 1;
    }
    TRY(encode(s, picture, r.bytes));
    out->n = 0;
    bytes_add(out, s->jpeg[0].data, s->jpeg[0].n);
    return 0;
}

void sampler_release(struct sampler *s)
{
    resizer_release(&s->resizer);
    bytes_release(&s->px);
    bytes_release(&s->grey);
    bytes_release(&s->jpeg[0]);
    bytes_release(&s->jpeg[1]);
}
