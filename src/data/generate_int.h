/* The parts of the generator: what a sample shall be, where its pixels come from, the sample
 * itself, and many of them in order. */
#ifndef STAVE_DATA_GENERATE_INT_H
#define STAVE_DATA_GENERATE_INT_H

#include "base/random.h"
#include "data/jpeg_encode.h"
#include "data/photos.h"
#include "data/resize.h"

/* The two splits differ in how many pictures are large. */
enum generated_split { GENERATED_TRAIN, GENERATED_VAL };

/* What a sample shall be like, drawn before its pixels exist. */
struct recipe {
    int width, height;
    enum jpeg_sampling sampling;
    int grey;
    double bytes; /* of the file */
};
struct recipe recipe_draw(enum generated_split split, struct random_stream *s);

/* One thread's buffers. Zeroed is ready. */
struct sampler {
    struct resizer resizer;
    struct bytes px, grey;
    struct bytes jpeg[2]; /* the best encoding so far and the trial */
};

/* Sample i of the split, a JPEG file, into *out: a pure function of seed, split, i and the
 * photographs. */
struct sample_key {
    uint64_t seed;
    enum generated_split split;
    uint64_t i;
};
int sampler_make(struct sampler *s, const struct photos *photos, struct sample_key key,
                 struct bytes *out);
void sampler_release(struct sampler *s);
int64_t generated_label(struct sample_key key);

/* Makes samples 0 to n - 1 in n_threads threads and hands them over in order, in the caller's
 * thread. The first failure of take or of a sample ends it. */
struct generated_order {
    const struct photos *photos;
    uint64_t seed;
    enum generated_split split;
    uint64_t n;
    int n_threads;
    int (*take)(void *context, struct sample_key key, const struct bytes *jpeg);
    void *context;
};
int generate_in_order(const struct generated_order *order);

#endif
