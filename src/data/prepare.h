/* Other people's formats -> RecordIO. Each writes a JSON file last that says what was made: names,
 * counts, classes, a checksum of the content (source pixels or files, and labels: it does not
 * depend on the libjpeg version) and one of the .rec file. A second run finds that everything is
 * there, checks that it matches and changes nothing. A run that is cut short leaves the old files
 * or none. */
#ifndef STAVE_DATA_PREPARE_H
#define STAVE_DATA_PREPARE_H

#include <stddef.h>
#include <stdint.h>

struct prepare_progress {
    void (*tell)(void *context, const char *what, uint64_t done, uint64_t total); /* may be NULL */
    void *context;
};

struct prepare_result {
    int already; /* 1: it was there and matches; nothing was written */
    uint64_t n_train, n_val;
    uint64_t content_checksum;
};

struct prepare_fashion {
    const char *from;        /* folder with the four IDX files; NULL: where Debian puts them */
    const char *to;          /* gets train.rec, train.idx, val.rec, val.idx, dataset.json */
    uint64_t n_train, n_val; /* the first so many; 0: all */
    struct prepare_progress progress;
};

/* Each 28 x 28 image becomes a grey JPEG of quality 90. */
int prepare_fashion_mnist(struct prepare_fashion p, struct prepare_result *out);

/* SRC/CLASS/IMAGE -> PREFIX.rec, PREFIX.idx and PREFIX.json; the files' bytes are kept as they are,
 * the label is the class folder's place in order. Counts as n_train. */
int prepare_folder_to_recordio(const char *src_dir, const char *dst_prefix,
                               struct prepare_progress progress, struct prepare_result *out);

#endif
