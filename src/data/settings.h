/* What a person may set of the input pipeline, whatever the data: one structure, one table of
 * options. */
#ifndef STAVE_DATA_SETTINGS_H
#define STAVE_DATA_SETTINGS_H

#include "base/opt.h"
#include "data/pipeline.h"

struct data_settings {
    char *data_dir;
    long long num_threads, prefetch, max_pixels, label_offset, synthetic_samples, reader_depth;
    int on_bad, synthetic, exif, reader, readahead, numa;
    int alone; /* no option: see pipeline.h */
};

extern const struct opt_table data_options;

/* The part of a pipeline's configuration that these settings decide. */
struct pipeline_config data_config(const struct data_settings *s);

#endif
