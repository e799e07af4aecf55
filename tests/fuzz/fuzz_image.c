#include "fuzz_image.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "data/augment.h"
#include "data/decode.h"
#include "fuzz.h"

enum { SIZE = 24, MAX_PIXELS = 1 << 16 };

/* One decoder's work on one file. */
struct eye {
    struct decoder *decoder;
    struct resizer resizer;
    struct image crop;
    uint8_t out[SIZE * SIZE * IMAGE_CHANNELS];
};

static int look(struct eye *e, const uint8_t *file, size_t n, int seed)
{
    struct augment_train train = {.size = SIZE, .flip = 1};
    struct augment_eval eval = {.resize = SIZE + 4, .crop = SIZE};
    struct rect whole;
    struct view v;
    int by;

    ASSERT(augment_train_check(&train) == 0 && augment_eval_check(&eval) == 0);
    TRY(decoder_begin(e->decoder, file, n, &whole));
    ASSERT(whole.width > 0 && whole.height > 0);
    v = seed < 0 ? augment_eval_view(&eval, whole)
                 : augment_train_view(&train, whole, 1, 0, (uint64_t)seed);
    by = decoder_shrink(e->decoder, view_shrink(&v), &whole);
    if (by > 1)
        v = view_of_smaller(&v, by);
    TRY(decoder_crop(e->decoder, v.rect, &e->crop));
    ASSERT(e->crop.width == v.rect.width && e->crop.height == v.rect.height);
    augment_apply(&v, &e->crop, &e->resizer, e->out);
    return 0;
}

static void eye_release(struct eye *e)
{
    decoder_free(e->decoder);
    resizer_release(&e->resizer);
    image_release(&e->crop);
}

/* A decoder that has served other files, good and bad, sees what a new one sees. */
static void same_as_new(struct eye *used, const uint8_t *file, size_t n, int seed)
{
    struct eye fresh = {.decoder = decoder_new(MAX_PIXELS)};
    struct rect whole;
    int rc = decoder_begin(used->decoder, file, n, &whole); /* only looked at, then again */

    ASSERT(decoder_begin(fresh.decoder, file, n, &whole) == rc);
    rc = look(used, file, n, seed);
    ASSERT(look(&fresh, file, n, seed) == rc);
    if (rc < 0)
        fuzz_refused(rc);
    else
        ASSERT(memcmp(used->out, fresh.out, sizeof(fresh.out)) == 0);
    eye_release(&fresh);
}

void fuzz_image(const uint8_t *data, size_t n)
{
    struct eye used = {.decoder = decoder_new(MAX_PIXELS)};
    uint8_t *file;

    if (n >= 2) {
        file = xmalloc(n - 2); /* of its exact size, for the sanitizers */
        memcpy(file, data + 2, n - 2);
        same_as_new(&used, file, n - 2, data[0] | data[1] << 8);
        same_as_new(&used, file, n - 2, -1);
        free(file);
    }
    eye_release(&used);
}

void fuzz_image_seed(const uint8_t *bytes, size_t n)
{
    struct bytes all = {0};

    bytes_add(&all, (uint8_t[]){(uint8_t)n, 1}, 2);
    bytes_add(&all, bytes, n);
    fuzz_seed(all.data, all.n);
    bytes_release(&all);
}
