/* A look at a whole data set before a run: every sample is read and decoded, all of it, by several
 * threads; what comes out is the same for any number of them. Kept are a few numbers of each sample
 * (under 64 bytes) and the reasons of the broken ones; what there is to say is put into words when
 * it is asked for. */
#ifndef STAVE_DATA_VERIFY_H
#define STAVE_DATA_VERIFY_H

#include "data/decode.h"
#include "data/prepare.h"
#include "data/source.h"

/* What is said of a sample or of the data set. The first ones are findings: a run would be worse
 * off than its result tells. The others are handled. */
enum verify_outcome {
    VERIFY_BROKEN,  /* can not be read or decoded; counts as a bad sample in a run */
    VERIFY_LABEL,   /* the label is no class of the workload, or can not be read */
    VERIFY_LEAK,    /* a file of a later split that the first split holds as well */
    VERIFY_DAMAGED, /* an index, an archive or a folder is not what it should be */
    VERIFY_CLASSES, /* the splits have different class folders */
    VERIFY_MISSING, /* a split that is not there */
    N_VERIFY_FINDINGS,
    VERIFY_TWICE = N_VERIFY_FINDINGS, /* a file that its own split holds twice */
    VERIFY_ODD,                       /* decoded by a rule of its own (decode.h), or an odd name */
    VERIFY_NOTE,                      /* empty class folders, labels that look shifted */
    N_VERIFY_OUTCOMES
};
const char *verify_outcome_name(enum verify_outcome o);

struct verify_config {
    const char *dir;    /* a data set of splits, see source_open_split, or a single source */
    int n_threads;      /* 0 means 1 */
    int n_classes;      /* labels must be in 0..n_classes-1; 0: not checked */
    int label_offset;   /* added to every stored label */
    int64_t max_pixels; /* see decode.h */
    struct prepare_progress progress; /* called by the thread that calls verify_run */
};

/* Nearest ranks: value number ceil(share * n) in ascending order. */
struct verify_spread {
    double min, low, median, high, max; /* low and high: 5 % and 95 % */
};

struct verify_classes {
    int64_t min_label, max_label; /* as stored, of those that can be read; min above max: none */
    int n;                        /* the class folders, else the workload's; 0: not known */
    uint64_t *samples;            /* of each class, by its number with the offset added */
    int n_empty;
    uint64_t least, median, most; /* samples of a class; empty ones count */
};

struct verify_sample; /* verify_int.h */

struct verify_split {
    const char *name;      /* "train", "val"; "data" for a single source */
    struct source *source; /* NULL: could not be opened at all */
    struct verify_sample *samples;
    uint64_t n_good; /* decoded, with a label that fits */
    uint64_t n_trait[N_TRAITS];
    struct verify_classes classes;
    uint64_t n_decoded; /* the spreads are of these */
    struct verify_spread width, height, aspect, megapixels, bytes;
    uint64_t largest;      /* the sample that takes most memory to decode, when n_decoded > 0 */
    uint64_t decode_bytes; /* that much at most, its file's bytes included */
    uint64_t epoch_bytes;  /* of all samples as they are stored */
    uint64_t cache_bytes;  /* of the files in whole pages: what a page cache must hold */
    struct verify_remark {
        enum verify_outcome outcome;
        char *text;
    } * remarks; /* from opening */
    size_t n_remarks;
};

enum { VERIFY_SPLITS = 2 };
struct verify {
    struct verify_config config;
    struct verify_split split[VERIFY_SPLITS];
    int n_splits;
    uint64_t n[N_VERIFY_OUTCOMES];
};

/* Opens and scans. Whatever is wrong with the data set is a finding; E_USAGE, E_IO when dir is not
 * there or holds nothing of the kind. dir is borrowed. On failure there is nothing to release. */
int verify_run(const struct verify_config *config, struct verify *out);
void verify_release(struct verify *v);
uint64_t verify_findings(const struct verify *v);

/* Room for the words of source_locate, a long path among them. */
enum { VERIFY_WHERE = 5000 };

struct verify_item {
    enum verify_outcome outcome;
    int split;         /* -1: of none */
    int64_t index;     /* -1: of no sample */
    const char *where; /* "file F, record N, byte offset O", or "" */
    const char *what;
};
/* Everything there is to say, split by split, the samples in the order of the source, one item for
 * each sample that has something: the worst outcome, and all the reasons. A trait that more than
 * half of at least VERIFY_USUAL pictures have is no oddity of any of them. */
enum { VERIFY_USUAL = 100 };
typedef void verify_tell(void *context, const struct verify_item *item);
void verify_each(const struct verify *v, verify_tell *tell, void *context);
int verify_is_usual(const struct verify_split *s, enum trait_id trait);

/* What the input of a run takes of memory. */
struct verify_run_shape {
    uint64_t batch, prefetch, image_size, n_threads;
};
struct verify_memory {
    uint64_t ring;    /* batches of 8-bit RGB pixels */
    uint64_t threads; /* each with the largest picture, whole */
};
struct verify_memory verify_memory(const struct verify *v, struct verify_run_shape run);

#endif
