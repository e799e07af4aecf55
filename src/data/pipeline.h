/* A stream of batches made by worker threads ahead of the consumer.
 *
 * The stream is a pure function of the configuration: the same batches in the same order for any
 * number of threads and any depth of prefetch, and for a run that starts at (first_epoch,
 * first_step). Training shuffles each epoch anew; steps per epoch = samples / global batch, rounded
 * down (the dropped tail differs from epoch to epoch), at least 1. Evaluation delivers every sample
 * exactly once per pass. A batch short of samples is padded: black image, label 0, weight 0, index
 * -1. Passes follow each other without end unless n_batches says otherwise.
 *
 * A bad sample (unreadable, damaged, too large, label out of range) under ON_BAD_SKIP: training
 * takes another sample, chosen by hash, in its place; evaluation keeps a black image with label -1
 * and weight 1, so that it counts as wrong. Under ON_BAD_FAIL pipeline_next returns the error when
 * it reaches that batch. Each bad sample is named once per epoch, in the order of the stream.
 *
 * One consumer thread calls everything here; it may hold up to `prefetch` batches and gives them
 * back in order. After warm-up nothing is allocated per sample, apart from what libjpeg and libpng
 * do. */
#ifndef STAVE_DATA_PIPELINE_H
#define STAVE_DATA_PIPELINE_H

#include "base/str.h"
#include "data/augment.h"
#include "data/reader.h"
#include "data/source.h"
#include "data/stage.h"

enum pipeline_mode { PIPELINE_TRAIN, PIPELINE_EVAL };
enum on_bad { ON_BAD_SKIP, ON_BAD_FAIL };
/* Whether loader threads are kept to one memory node each (base/numa.h), shared out in proportion
 * to the nodes' processors; on one node there is nothing to do. */
enum numa_use { NUMA_SPREAD, NUMA_NONE };

struct pipeline_config {
    const struct source *source; /* borrowed until close; unused when synthetic */
    enum pipeline_mode mode;
    uint64_t seed;
    size_t batch_size; /* of this rank */
    int n_threads;     /* 0 means 1 */
    enum numa_use numa;
    int prefetch;      /* batches in the ring; 0 means 2 */
    int rank, n_ranks; /* 0, 0 means the only one */
    uint64_t first_epoch, first_step;
    uint64_t n_batches; /* end of the stream; 0: endless */
    enum on_bad on_bad;
    int keep_order;     /* training: nonzero leaves the samples in the source's order */
    int round_up;       /* training: nonzero pads the last batch rather than dropping the tail */
    int label_offset;   /* added to every stored label */
    int n_classes;      /* labels must be in 0..n_classes-1; 0: not checked */
    int64_t max_pixels; /* see decode.h */
    enum exif_policy exif;
    struct reader_config reader;
    struct augment_train train;
    struct augment_eval eval;
    /* One fixed batch of random pixels and labels, delivered again and again without work: what the
     * rest of the machine can do. n_synthetic samples make an epoch; n_classes must be given. */
    int synthetic;
    uint64_t n_synthetic;
    /* 1 + enum stage_id: this stage alone, for its capacity. The stages before it run once for the
     * first few samples of each worker, which are kept and serve again and again; those behind it
     * do not run, so the pixels mean nothing. 0: all stages. */
    int alone;
};

enum tensor_id { BATCH_IMAGES, BATCH_LABELS, BATCH_WEIGHTS, BATCH_INDICES, N_BATCH_TENSORS };
enum tensor_type { TENSOR_U8, TENSOR_I32, TENSOR_F32, TENSOR_I64 };

/* images u8 [N, H, W, 3]; labels i32 [N]; weights f32 [N]; indices i64 [N], the sample in the
 * source (after a replacement: the replacing one; -1: padding). */
struct batch_tensor {
    const char *name;
    enum tensor_type type;
    int n_dims;
    size_t dims[4];
    void *data;
};

struct batch {
    struct batch_tensor tensor[N_BATCH_TENSORS];
    uint64_t epoch, step; /* step within the epoch */
    size_t n_real;        /* samples with weight 1; they come first */
};

/* Bytes of one sample in a tensor; of the whole batch. */
size_t batch_sample_bytes(const struct batch_tensor *t);
size_t batch_bytes(const struct batch *b);

struct bad_sample {
    uint64_t epoch, index;
    int code;           /* E_DATA or E_IO */
    char location[512]; /* file, record, byte offset */
    char reason[256];
};

struct pipeline_counters {
    struct {
        uint64_t samples;
        int64_t busy_ns; /* wall clock, summed over workers */
        int64_t cpu_ns;  /* of it on a processor; the rest waited for bytes or for a processor */
    } stage[N_STAGES];
    uint64_t read_bytes, batches;
    /* of the batches delivered, so the same for any number of threads: */
    uint64_t n_replaced;
    uint64_t n_trait[N_TRAITS]; /* pictures used that had it, one count each time */
    int64_t consumer_wait_ns;   /* the consumer had no batch: data is the limit */
    int64_t worker_wait_ns;     /* workers had no free slot: data is not the limit; summed */
};

struct pipeline;

/* Whether pipeline_open would take these settings; reads no sample. */
int pipeline_check(const struct pipeline_config *config);
int pipeline_open(const struct pipeline_config *config, struct pipeline **out);
/* Waits for the next batch. *out is NULL after n_batches. */
int pipeline_next(struct pipeline *p, const struct batch **out);
void pipeline_done(struct pipeline *p, const struct batch *b);
void pipeline_close(struct pipeline *p); /* NULL is fine; batches held become invalid */

uint64_t pipeline_steps_per_epoch(const struct pipeline_config *config);
/* Bad samples met so far in the batches delivered. */
uint64_t pipeline_bad_count(const struct pipeline *p);
/* The next one not yet told, or NULL; holds until the next call of pipeline_next. When the consumer
 * leaves more than 256 untold, the later ones are counted but not kept. */
const struct bad_sample *pipeline_bad_next(struct pipeline *p);
void pipeline_counters(struct pipeline *p, struct pipeline_counters *out);
/* Appends what became of samples: , "replaced_samples": N, "pictures": {"cmyk": N...}. */
void pipeline_counters_add_json(const struct pipeline_counters *c, struct str *out);

#endif
