/* Which part of a picture becomes the network's input. Training: a random rectangle, resized,
 * perhaps mirrored. Evaluation: the shorter side resized, then the centre. The choice is a pure
 * function of (seed, epoch, sample index) and the picture's size. */
#ifndef STAVE_DATA_AUGMENT_H
#define STAVE_DATA_AUGMENT_H

#include <stdint.h>

#include "data/resize.h"

/* Training. Zero means the default in brackets; the default pair of areas and aspects is the usual
 * ImageNet recipe. */
struct augment_train {
    int size;                      /* output is size x size [224] */
    double area_min, area_max;     /* share of the picture's area [0.08, 1] */
    double aspect_min, aspect_max; /* width / height [3/4, 4/3] */
    int flip;                      /* nonzero: mirror half of the samples */
};

struct augment_eval {
    int resize; /* the shorter side becomes this [256] */
    int crop;   /* output is crop x crop, at most resize [224] */
};

/* What to decode and how to resize it. */
struct view {
    struct rect rect; /* part of the picture to decode */
    struct axis x, y; /* relative to rect */
    int flip;
};

/* Fills in defaults and checks ranges (E_USAGE). */
int augment_train_check(struct augment_train *a);
int augment_eval_check(struct augment_eval *a);

/* The checked settings are expected below. */
struct view augment_train_view(const struct augment_train *a, struct rect whole, uint64_t seed,
                               uint64_t epoch, uint64_t index);
struct view augment_eval_view(const struct augment_eval *a, struct rect whole);

/* The power of two by which a decoder may make the picture smaller before the view is cut from it:
 * so that the resize still halves what is left, or more. The pixels then differ by less than a
 * level on average; a decoder's smaller picture alone would be sharper than the filter's. */
int view_shrink(const struct view *v);
/* The same view of a picture that was made smaller by this power of two. */
struct view view_of_smaller(const struct view *v, int by);

/* src is view->rect decoded; dst holds the output's pixels. */
void augment_apply(const struct view *v, const struct image *src, struct resizer *r, uint8_t *dst);

#endif
