/* The steps that turn sample i of a source into pixels of a batch: the rows STAGE of list.h, run
 * one after the other by one worker for one sample. All memory is the worker's and only grows. */
#ifndef STAVE_DATA_STAGE_H
#define STAVE_DATA_STAGE_H

#include "data/augment.h"
#include "data/decode.h"
#include "data/reader.h"
#include "data/source.h"

enum stage_id {
#define STAGE(name) STAGE_##name,
#include "data/list.h"
    N_STAGES
};

/* One worker's tools, and the sample in its hands. */
struct work {
    /* what to do */
    const struct source *source;
    struct reader *reader;             /* of the source; the worker's */
    const struct augment_train *train; /* NULL when evaluating */
    const struct augment_eval *eval;   /* NULL when training */
    uint64_t seed, epoch, index;
    uint8_t *dst; /* where the pixels go */
    /* in passing */
    struct sample sample;
    struct decoder *decoder;
    struct view view;
    struct image image;
    struct resizer resizer;
};

struct stage {
    const char *name;
    int (*run)(struct work *w);
};

const struct stage *stage_get(enum stage_id id);

void work_init(struct work *w, int64_t max_pixels, enum exif_policy exif);
void work_release(struct work *w);

#endif
