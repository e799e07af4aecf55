/* Inside the look at a data set: verify.c (opening, threads), verify_sample.c, verify_twins.c,
 * verify_spread.c and verify_items.c (words); nobody else includes it. */
#ifndef STAVE_DATA_VERIFY_INT_H
#define STAVE_DATA_VERIFY_INT_H

#include "data/verify.h"

enum verify_state { SAMPLE_GOOD, SAMPLE_BROKEN, SAMPLE_LABEL_UNREAD };

struct verify_sample {
    char *reason;      /* heap; NULL when good */
    uint64_t checksum; /* of the picture's bytes */
    uint64_t twin;     /* index + 1 of the first sample with the same bytes; 0: none */
    int64_t label;     /* as stored, when has_label */
    uint32_t n_bytes;
    int32_t width, height; /* 0: not decoded */
    uint16_t traits;
    uint8_t state, has_label, twin_split;
};

/* One thread's tools. */
struct verify_eye {
    struct decoder *decoder;
    struct sample sample;
    struct image image;
};

/* Reads and decodes sample i; *out is zeroed. */
void verify_look(struct verify_eye *eye, const struct source *s, uint64_t i,
                 struct verify_sample *out);
/* Whether the label can be read and, when there are classes, is one. */
int verify_label_fits(const struct verify_config *c, const struct verify_sample *x);
/* The most that decoding it whole takes: RGB pixels, the file; of a progressive JPEG also the
 * coefficients, 2 bytes for each of 3 or 4 components; of a PNG, which may be interlaced, RGBA. */
uint64_t verify_decode_bytes(const struct verify_sample *x);
/* Sets twin and twin_split of good samples, looking at the bytes where checksums agree. */
void verify_find_twins(struct verify *v);
/* Counts and spreads of a split. */
void verify_measure(const struct verify_config *c, struct verify_split *s);

#endif
