/* One sample, looked at. */
#include <stdlib.h>

#include "base/err.h"
#include "data/verify_int.h"

static void decode(struct verify_eye *eye, struct verify_sample *out)
{
    struct rect whole;
    int rc = decoder_begin(eye->decoder, eye->sample.data, eye->sample.n, &whole);

    if (rc == 0)
        rc = decoder_crop(eye->decoder, whole, &eye->image);
    if (rc == E_NOMEM)
        out_of_memory(0); /* that is not the file's fault */
    if (rc < 0) {
        free(out->reason);
        out->reason = xstrdup(err_reason());
        out->state = SAMPLE_BROKEN;
        return;
    }
    out->width = whole.width;
    out->height = whole.height;
    out->traits = (uint16_t)decoder_traits(eye->decoder);
}

void verify_look(struct verify_eye *eye, const struct source *s, uint64_t i,
                 struct verify_sample *out)
{
    int rc;

    eye->sample.data = NULL;
    rc = source_read(s, i, &eye->sample);
    if (rc == E_NOMEM)
        out_of_memory(0);
    if (rc < 0) {
        out->reason = xstrdup(err_reason());
        out->state = eye->sample.data ? SAMPLE_LABEL_UNREAD : SAMPLE_BROKEN;
    } else {
        out->label = eye->sample.label;
        out->has_label = 1;
    }
    if (!eye->sample.data)
        return;
    out->n_bytes = (uint32_t)eye->sample.n;
    out->checksum = checksum_add(CHECKSUM_INIT, eye->sample.data, eye->sample.n);
    decode(eye, out);
}

int verify_label_fits(const struct verify_config *c, const struct verify_sample *x)
{
    const int64_t label = x->label + c->label_offset;

    return x->has_label && (c->n_classes == 0 || (label >= 0 && label < c->n_classes));
}

uint64_t verify_decode_bytes(const struct verify_sample *x)
{
    const uint64_t pixels = (uint64_t)x->width * (uint64_t)x->height;
    uint64_t each = IMAGE_CHANNELS;

    if (x->traits & TRAIT_BIT(png))
        each += 4;
    else if (x->traits & TRAIT_BIT(progressive))
        each += x->traits & TRAIT_BIT(cmyk) ? 8 : 6;
    return pixels * each + x->n_bytes;
}
