#include "data/stage.h"

#include "base/err.h"

static int stage_read(struct work *w)
{
    return reader_read(w->reader, w->index, &w->sample);
}

static int stage_decode(struct work *w)
{
    struct rect whole;
    int by;

    TRY(decoder_begin(w->decoder, w->sample.data, w->sample.n, &whole));
    w->view = w->train ? augment_train_view(w->train, whole, w->seed, w->epoch, w->index)
                       : augment_eval_view(w->eval, whole);
    by = decoder_shrink(w->decoder, view_shrink(&w->view), &whole);
    if (by > 1)
        w->view = view_of_smaller(&w->view, by);
    return decoder_crop(w->decoder, w->view.rect, &w->image);
}

static int stage_augment(struct work *w)
{
    augment_apply(&w->view, &w->image, &w->resizer, w->dst);
    return 0;
}

static const struct stage stages[N_STAGES] = {
#define STAGE(name) [STAGE_##name] = {#name, stage_##name},
#include "data/list.h"
};

const struct stage *stage_get(enum stage_id id)
{
    ASSERT(id < N_STAGES);
    return &stages[id];
}

void work_init(struct work *w, int64_t max_pixels, enum exif_policy exif)
{
    *w = (struct work){.decoder = decoder_new(max_pixels)};
    decoder_set_exif(w->decoder, exif);
}

void work_release(struct work *w)
{
    reader_close(w->reader);
    sample_release(&w->sample);
    decoder_free(w->decoder);
    image_release(&w->image);
    resizer_release(&w->resizer);
}
