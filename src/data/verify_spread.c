/* Counts and spreads of a split's samples. */
#include <stdlib.h>
#include <sys/stat.h>

#include "base/err.h"
#include "data/verify_int.h"

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return x < y ? -1 : x > y;
}

/* values is sorted; n at least 1. */
static double at_share(const double *values, uint64_t n, unsigned per_cent)
{
    const uint64_t rank = (n * per_cent + 99) / 100;

    return values[rank ? rank - 1 : 0];
}

static double width_of(const struct verify_sample *x)
{
    return x->width;
}

static double height_of(const struct verify_sample *x)
{
    return x->height;
}

static double aspect_of(const struct verify_sample *x)
{
    return (double)x->width / x->height;
}

static double megapixels_of(const struct verify_sample *x)
{
    return (double)x->width * x->height / 1e6;
}

static double bytes_of(const struct verify_sample *x)
{
    return x->n_bytes;
}

static struct verify_spread spread(const struct verify_split *s,
                                   double (*value)(const struct verify_sample *), double *values)
{
    uint64_t n = 0;

    for (uint64_t i = 0; i < s->source->n_samples; i++)
        if (s->samples[i].width)
            values[n++] = value(&s->samples[i]);
    if (n == 0)
        return (struct verify_spread){0};
    qsort(values, n, sizeof(*values), by_value);
    return (struct verify_spread){values[0], at_share(values, n, 5), at_share(values, n, 50),
                                  at_share(values, n, 95), values[n - 1]};
}

static void measure_sizes(struct verify_split *s)
{
    double *const values = xmalloc(s->source->n_samples * sizeof(*values));

    s->width = spread(s, width_of, values);
    s->height = spread(s, height_of, values);
    s->aspect = spread(s, aspect_of, values);
    s->megapixels = spread(s, megapixels_of, values);
    s->bytes = spread(s, bytes_of, values);
    free(values);
}

static int by_count(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return x < y ? -1 : x > y;
}

static void measure_classes(const struct verify_config *c, struct verify_split *s)
{
    struct verify_classes *const k = &s->classes;
    uint64_t *sorted;

    k->min_label = INT64_MAX;
    k->max_label = INT64_MIN;
    k->n = s->source->n_classes > 0 ? s->source->n_classes : c->n_classes;
    k->samples = xcalloc((size_t)k->n + 1, sizeof(*k->samples));
    for (uint64_t i = 0; i < s->source->n_samples; i++) {
        const struct verify_sample *const x = &s->samples[i];
        const int64_t number = x->label + c->label_offset;

        if (!x->has_label)
            continue;
        k->min_label = x->label < k->min_label ? x->label : k->min_label;
        k->max_label = x->label > k->max_label ? x->label : k->max_label;
        if (number >= 0 && number < k->n)
            k->samples[number]++;
    }
    if (k->n == 0)
        return;
    sorted = xmalloc((size_t)k->n * sizeof(*sorted));
    for (int i = 0; i < k->n; i++) {
        sorted[i] = k->samples[i];
        k->n_empty += sorted[i] == 0;
    }
    qsort(sorted, (size_t)k->n, sizeof(*sorted), by_count);
    k->least = sorted[0];
    k->median = sorted[(k->n - 1) / 2];
    k->most = sorted[k->n - 1];
    free(sorted);
}

static void count_sample(const struct verify_config *c, struct verify_split *s, uint64_t i)
{
    const struct verify_sample *const x = &s->samples[i];
    const uint64_t memory = verify_decode_bytes(x);

    s->epoch_bytes += x->n_bytes;
    if (x->width == 0)
        return;
    s->n_decoded++;
    s->n_good += (uint64_t)(x->state == SAMPLE_GOOD && verify_label_fits(c, x));
    for (int t = 0; t < N_TRAITS; t++)
        s->n_trait[t] += x->traits >> t & 1;
    if (memory > s->decode_bytes) {
        s->decode_bytes = memory;
        s->largest = i;
    }
}

/* Files that went away since they were listed count as empty; their samples are broken. */
static uint64_t cached_bytes(const struct source *s)
{
    enum { PAGE = 4096 };
    uint64_t sum = 0;

    for (uint64_t i = 0; i < s->n_files; i++) {
        char *const path = source_file(s, i);
        struct stat st;

        if (stat(path, &st) == 0)
            sum += ((uint64_t)st.st_size + PAGE - 1) / PAGE * PAGE;
        free(path);
    }
    return sum;
}

void verify_measure(const struct verify_config *c, struct verify_split *s)
{
    for (uint64_t i = 0; i < s->source->n_samples; i++)
        count_sample(c, s, i);
    measure_classes(c, s);
    measure_sizes(s);
    s->cache_bytes = cached_bytes(s->source);
}

struct verify_memory verify_memory(const struct verify *v, struct verify_run_shape run)
{
    uint64_t most = 0;

    for (int k = 0; k < v->n_splits; k++)
        most = v->split[k].decode_bytes > most ? v->split[k].decode_bytes : most;
    return (struct verify_memory){
        .ring = run.prefetch * run.batch * run.image_size * run.image_size * IMAGE_CHANNELS,
        .threads = run.n_threads * most,
    };
}
