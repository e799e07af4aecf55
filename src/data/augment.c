#include "data/augment.h"

#include <math.h>

#include "base/err.h"
#include "base/random.h"

enum {
    ATTEMPTS = 10,
    SHRINK_LEFT = 2 /* what a decoder that shrinks must leave for the resize to shrink */
};

int augment_train_check(struct augment_train *a)
{
    if (a->size == 0)
        a->size = 224;
    if (a->area_min == 0.0 && a->area_max == 0.0) {
        a->area_min = 0.08;
        a->area_max = 1.0;
    }
    if (a->aspect_min == 0.0 && a->aspect_max == 0.0) {
        a->aspect_min = 3.0 / 4.0;
        a->aspect_max = 4.0 / 3.0;
    }
    if (a->size < 1 || a->size > 16384)
        return err(E_USAGE, "image size %d is outside 1..16384", a->size);
    if (!(a->area_min > 0.0 && a->area_min <= a->area_max && a->area_max <= 1.0))
        return err(E_USAGE, "crop area %g..%g is no range within 0..1", a->area_min, a->area_max);
    if (!(a->aspect_min > 0.0 && a->aspect_min <= a->aspect_max && a->aspect_max <= 1e3))
        return err(E_USAGE, "crop aspect %g..%g is no range of positive numbers up to 1000",
                   a->aspect_min, a->aspect_max);
    return 0;
}

int augment_eval_check(struct augment_eval *a)
{
    if (a->crop == 0)
        a->crop = 224;
    if (a->resize == 0)
        a->resize = a->crop == 224 ? 256 : a->crop;
    if (a->crop < 1 || a->crop > a->resize || a->resize > 16384)
        return err(E_USAGE, "evaluation crop %d does not fit into the shorter side %d (at most %d)",
                   a->crop, a->resize, 16384);
    return 0;
}

/* Rectangle with the aspect ratio nearest to the range, as large as fits, in the middle. */
static struct rect centre_rect(const struct augment_train *a, struct rect whole)
{
    const double aspect = (double)whole.width / whole.height;
    struct rect r = whole;

    if (aspect < a->aspect_min)
        r.height = (int)lround(whole.width / a->aspect_min);
    else if (aspect > a->aspect_max)
        r.width = (int)lround(whole.height * a->aspect_max);
    r.width = r.width < 1 ? 1 : r.width;
    r.height = r.height < 1 ? 1 : r.height;
    r.x = (whole.width - r.width) / 2;
    r.y = (whole.height - r.height) / 2;
    return r;
}

/* 0..n, each equally likely. */
static int draw_int(struct random_stream *s, int n)
{
    return (int)(random_next_uniform(s) * (n + 1.0));
}

static double draw_between(struct random_stream *s, double low, double high)
{
    return low + (high - low) * random_next_uniform(s);
}

static struct rect random_rect(const struct augment_train *a, struct rect whole,
                               struct random_stream *s)
{
    const double area = (double)whole.width * whole.height;
    const double log_min = log(a->aspect_min), log_max = log(a->aspect_max);

    for (int i = 0; i < ATTEMPTS; i++) {
        const double target = area * draw_between(s, a->area_min, a->area_max);
        const double aspect = exp(draw_between(s, log_min, log_max));
        const double width = round(sqrt(target * aspect)), height = round(sqrt(target / aspect));
        struct rect r;

        if (width < 1.0 || height < 1.0 || width > whole.width || height > whole.height)
            continue;
        r.width = (int)width;
        r.height = (int)height;
        r.x = draw_int(s, whole.width - r.width);
        r.y = draw_int(s, whole.height - r.height);
        return r;
    }
    return centre_rect(a, whole);
}

struct view augment_train_view(const struct augment_train *a, struct rect whole, uint64_t seed,
                               uint64_t epoch, uint64_t index)
{
    const struct random_key key = {.seed = seed, .purpose = RANDOM_AUGMENT, .epoch = epoch};
    struct random_stream s = random_stream(key, index);
    const int heads = random_next_uniform(&s) < 0.5; /* drawn first: the attempts vary in number */
    struct view v = {.flip = a->flip && heads};

    v.rect = random_rect(a, whole, &s);
    v.x = (struct axis){.scale = (double)v.rect.width / a->size, .n = a->size};
    v.y = (struct axis){.scale = (double)v.rect.height / a->size, .n = a->size};
    return v;
}

/* Cuts one direction down to the source pixels that the window's filter reaches. n_resized is the
 * length of the whole picture after the resize. */
static struct axis window(int n_src, int n_resized, int n_out, int *from, int *n_from)
{
    struct axis a = {.scale = (double)n_src / n_resized, .n = n_out};
    int end;

    a.first = (n_resized - n_out) / 2 * a.scale;
    axis_reach(a, n_src, from, &end);
    *n_from = end - *from;
    a.first -= *from;
    return a;
}

struct view augment_eval_view(const struct augment_eval *a, struct rect whole)
{
    const int shorter = whole.width < whole.height ? whole.width : whole.height;
    const int width = (int)((int64_t)whole.width * a->resize / shorter);
    const int height = (int)((int64_t)whole.height * a->resize / shorter);
    struct view v = {0};

    v.x = window(whole.width, width, a->crop, &v.rect.x, &v.rect.width);
    v.y = window(whole.height, height, a->crop, &v.rect.y, &v.rect.height);
    return v;
}

int view_shrink(const struct view *v)
{
    const double scale = v->x.scale < v->y.scale ? v->x.scale : v->y.scale;
    int by = 1;

    while (by < 8 && by * 2 * SHRINK_LEFT <= scale)
        by *= 2;
    return by;
}

/* One direction; from and n are the rectangle's. */
static struct axis smaller(struct axis a, int by, int *from, int *n)
{
    const int end = (*from + *n + by - 1) / by, new_from = *from / by;

    a.first = (a.first + *from) / by - new_from;
    a.scale /= by;
    *from = new_from;
    *n = end - new_from;
    return a;
}

struct view view_of_smaller(const struct view *v, int by)
{
    struct view w = *v;

    w.x = smaller(v->x, by, &w.rect.x, &w.rect.width);
    w.y = smaller(v->y, by, &w.rect.y, &w.rect.height);
    return w;
}

void augment_apply(const struct view *v, const struct image *src, struct resizer *r, uint8_t *dst)
{
    struct axis x = v->x;

    x.mirrored = v->flip;
    resize(r, src, x, v->y, dst);
}
