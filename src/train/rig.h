/* A test rig for the stages of training: any of them alone, the loader into nothing, the model on a
 * batch that is already there, or all together, for a window of time long enough to trust. What is
 * measured is what runs in training: the same pipeline, the same steps. The caller says how to open
 * a stream and what to do with a batch, so a rig knows no workload. One thread. */
#ifndef STAVE_TRAIN_RIG_H
#define STAVE_TRAIN_RIG_H

#include "data/pipeline.h"

/* How the stream of batches is made. */
struct rig_loader {
    int threads, prefetch;
    int alone;     /* see pipeline.h */
    int synthetic; /* one batch of noise again and again: no loader works */
    enum pipeline_mode mode;
};

enum rig_work { RIG_DROP, RIG_COPY, RIG_STEP, RIG_EVALUATE };

struct rig {
    void *context;
    int (*open)(void *context, struct rig_loader how, struct pipeline **out);
    /* What becomes of a batch, by enum rig_work; RIG_DROP is not asked for. */
    int (*work)(void *context, enum rig_work what, const struct batch *b);
};

/* One measurement. The window begins behind the first batch (a stage alone: when it has what it
 * works on) and ends with the first batch after both bounds. */
struct rig_request {
    struct rig_loader loader;
    enum rig_work work;
    int64_t window_ns;
    int window_batches; /* at least 1 */
};

struct rig_reading {
    uint64_t samples; /* with weight */
    int64_t wall_ns;
    int64_t cpu_ns;     /* of all threads of this process */
    int64_t starved_ns; /* that they wanted a processor and waited for it; -1: not known */
    int64_t disk_bytes; /* that came from storage, not from memory; -1: not known */
    struct pipeline_counters counters;
};

/* Opens a stream, gives each of its batches to the work, closes it. E_STOPPED on a signal. */
int rig_run(const struct rig *rig, const struct rig_request *q, struct rig_reading *out);
/* Samples per second. What the ring lost in stock during the window is no lasting rate and does not
 * count. */
double rig_rate(const struct rig_reading *r);
/* Share of its time that this many threads lost because they wanted a processor and waited for it;
 * where more wanted one, of those. 0: not known. */
double rig_starved(const struct rig_reading *r, int threads);
/* Appends the reading as members of an object, the counters of the stages that ran among them. */
void rig_add_json(const struct rig_reading *r, struct str *out);
/* Appends "105.3 MB/s, 100 % from storage"; nothing when nothing was read. */
void rig_add_read_text(const struct rig_reading *r, struct str *out);

#endif
