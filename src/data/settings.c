#include "data/settings.h"

#include "base/err.h"
#include "base/hostile.h"

static const char *const on_bad_names[] = {[ON_BAD_SKIP] = "skip", [ON_BAD_FAIL] = "fail", NULL};

static const char *const exif_names[] = {[EXIF_IGNORE] = "ignore", [EXIF_APPLY] = "apply", NULL};

static const char *const numa_names[] = {[NUMA_SPREAD] = "spread", [NUMA_NONE] = "none", NULL};

static const char *const reader_names[] = {
#define READER(name, text) [READER_##name] = text,
#include "data/list.h"
    NULL};

static const char *const readahead_names[] = {
    [READAHEAD_AUTO] = "auto", [READAHEAD_NONE] = "none", [READAHEAD_SAMPLES] = "samples", NULL};

#define ROW(...) OPT_ROW(data_settings, __VA_ARGS__)

/* clang-format off */
static const struct opt_row rows[] = {
    ROW("data-dir", OPT_STRING, data_dir, .arg = "DIR", .letter = 'd',
        .help = "The prepared data set: DIR/train.rec and DIR/val.rec, or folders DIR/train and DIR/val"),
    ROW("num-threads", OPT_INT, num_threads, .dflt = "1", .min = 1, .max = 1024, .arg = "N", .letter = 'j',
        .help = "Threads that read, decode and augment"),
    ROW("prefetch", OPT_INT, prefetch, .dflt = "3", .min = 1, .max = 1024, .arg = "N",
        .help = "Batches that may be ready ahead of the model"),
    ROW("on-bad", OPT_CHOICE, on_bad, .dflt = "skip", .choices = on_bad_names, .arg = "POLICY",
        .help = "A sample that can not be read: name it and go on with another, or stop the run"),
    ROW("max-pixels", OPT_SIZE, max_pixels, .dflt = "200M", .min = 1, .max = 1e12, .arg = "N",
        .help = "Larger pictures count as bad samples"),
    ROW("exif-orientation", OPT_CHOICE, exif, .dflt = "ignore", .choices = exif_names, .arg = "POLICY",
        .help = "A picture tagged as not upright: take it as it is stored, as the MLPerf reference does, or turn it"),
    ROW("reader", OPT_CHOICE, reader, .dflt = "pread", .choices = reader_names, .arg = "NAME",
        .help = "How samples are read: one after the other, or several on their way at a time (io_uring); through the page cache, past it (O_DIRECT), or leaving nothing in it (dontcache, evict)"),
    ROW("numa", OPT_CHOICE, numa, .dflt = "spread", .choices = numa_names, .arg = "HOW",
        .help = "On a machine of several memory nodes: spread the loader threads over them, each kept to one node's processors, or leave them to the system"),
    ROW("reader-depth", OPT_INT, reader_depth, .dflt = "8", .min = 1, .max = READER_MAX_DEPTH, .arg = "N",
        .help = "Samples on their way for each loader thread, where the reader looks ahead"),
    ROW("readahead", OPT_CHOICE, readahead, .dflt = "auto", .choices = readahead_names, .arg = "WHAT",
        .help = "What the pread reader tells the system ahead: nothing, or the samples to come; auto leaves files that are read in order to the system"),
    ROW("label-offset", OPT_INT, label_offset, .dflt = "0", .min = -1e6, .max = 1e6, .arg = "N",
        .help = "Added to every stored label"),
    ROW("synthetic", OPT_BOOL, synthetic, .dflt = "no",
        .help = "Train on one fixed batch of noise without reading anything: the ceiling of the model"),
    ROW("synthetic-samples", OPT_INT, synthetic_samples, .dflt = "4096", .min = 1, .max = 1e12, .arg = "N",
        .help = "How many samples make an epoch of synthetic data"),
};
/* clang-format on */

const struct opt_table data_options = {"data", rows, COUNT_OF(rows)};

struct pipeline_config data_config(const struct data_settings *s)
{
    return (struct pipeline_config){
        .n_threads = (int)s->num_threads,
        .prefetch = HOSTILE ? 1 : (int)s->prefetch,
        .on_bad = (enum on_bad)s->on_bad,
        .exif = (enum exif_policy)s->exif,
        .reader = {.id = (enum reader_id)s->reader,
                   .depth = (int)s->reader_depth,
                   .readahead = (enum readahead)s->readahead},
        .label_offset = (int)s->label_offset,
        .max_pixels = s->max_pixels,
        .numa = (enum numa_use)s->numa,
        .synthetic = s->synthetic,
        .alone = s->alone,
        .n_synthetic = (uint64_t)s->synthetic_samples,
    };
}
