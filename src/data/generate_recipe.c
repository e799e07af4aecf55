/* The distributions of generate.h, where the sources of all numbers stand. */
#include <math.h>

#include "base/err.h"
#include "data/generate_int.h"
#include "data/generate_sizes.h"

/* Pictures longer than this are the rarer ones of the training set. */
enum { LONG_SIDE = 500 };

/* 1.3 % above 4.64: what can not be reached even at quality 100 falls short by that. */
static const double bits_per_pixel = 4.70, bits_sigma = 0.4, bits_most = 11.0;
static const double share_grey = 0.0182, share_420 = 0.14, share_422 = 0.02;

/* How often a size longer than LONG_SIDE is drawn, measured by how often it is in validation: what
 * brings the mean from 231,326 pixels to the 114,660 bytes of a training picture. */
static double weight_of_long(enum generated_split split)
{
    return split == GENERATED_TRAIN ? 0.24 : 1.0;
}

static double row_weight(enum generated_split split, int longest, int n)
{
    return longest > LONG_SIDE ? n * weight_of_long(split) : (double)n;
}

static double longest_of(const struct size_row *r)
{
    return r->width > r->height ? r->width : r->height;
}

static double total_weight(enum generated_split split)
{
    double sum = 0.0;

    for (size_t i = 0; i < COUNT_OF(common); i++)
        sum += row_weight(split, (int)longest_of(&common[i]), common[i].n);
    for (size_t i = 0; i < COUNT_OF(groups); i++)
        sum += row_weight(split, (int)groups[i].longer[0], groups[i].n);
    return sum;
}

/* Between two quantiles geometrically: the upper tail is long. */
static double quantile(const float *table, double u)
{
    const double x = u * SIZE_POINTS;
    const int i = (int)x;

    return table[i] * pow((double)table[i + 1] / (double)table[i], x - i);
}

static void draw_from_group(const struct size_group *g, struct random_stream *s, struct recipe *r)
{
    const double longer = quantile(g->longer, random_next_uniform(s));
    const double aspect = quantile(g->aspect, random_next_uniform(s));

    r->width = (int)lround(aspect > 1.0 ? longer : longer * aspect);
    r->height = (int)lround(aspect > 1.0 ? longer / aspect : longer);
}

static void draw_size(enum generated_split split, struct random_stream *s, struct recipe *r)
{
    double left = random_next_uniform(s) * total_weight(split);
    size_t g = 0;

    for (size_t i = 0; i < COUNT_OF(common); i++) {
        left -= row_weight(split, (int)longest_of(&common[i]), common[i].n);
        if (left < 0.0) {
            r->width = common[i].width;
            r->height = common[i].height;
            return;
        }
    }
    for (; g + 1 < COUNT_OF(groups); g++) {
        left -= row_weight(split, (int)groups[g].longer[0], groups[g].n);
        if (left < 0.0)
            break;
    }
    draw_from_group(&groups[g], s, r);
}

static double draw_normal(struct random_stream *s)
{
    const double u = 1.0 - random_next_uniform(s); /* (0, 1] */

    return sqrt(-2.0 * log(u)) * cos(2.0 * acos(-1.0) * random_next_uniform(s));
}

struct recipe recipe_draw(enum generated_split split, struct random_stream *s)
{
    struct recipe r = {.sampling = JPEG_444};
    double u, bits;

    draw_size(split, s, &r);
    u = random_next_uniform(s);
    r.grey = u < share_grey;
    if (u > 1.0 - share_422)
        r.sampling = JPEG_422;
    else if (u > 1.0 - share_422 - share_420)
        r.sampling = JPEG_420;
    bits = bits_per_pixel * exp(bits_sigma * draw_normal(s) - bits_sigma * bits_sigma / 2.0);
    r.bytes = fmin(bits, bits_most) * r.width * r.height / 8.0;
    return r;
}
