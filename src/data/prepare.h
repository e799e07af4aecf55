/* Data sets from one format to another. Each writes a JSON file last that says what was made:
 * format, counts, classes, a checksum of the content (pictures' bytes, or source pixels, and
 * labels: it does not depend on the format, nor on the libjpeg version) and one of each file. A
 * second run finds that everything is there, checks that it matches and changes nothing. A run that
 * is cut short leaves the old files or none under their names. */
#ifndef STAVE_DATA_PREPARE_H
#define STAVE_DATA_PREPARE_H

#include <stddef.h>
#include <stdint.h>

struct source;

/* How far it is. */
struct prepare_step {
    const char *what;
    uint64_t done, total;
    uint64_t bytes; /* of those done by this process; 0: nobody counts them */
    uint64_t found; /* were there when this process began */
};

struct prepare_progress {
    void (*tell)(void *context, const struct prepare_step *s); /* may be NULL */
    void *context;
};

void prepare_tell(const struct prepare_progress *p, const char *what, uint64_t done,
                  uint64_t total);

struct prepare_result {
    int already; /* 1: it was there and matches; nothing was written */
    uint64_t n_train, n_val;
    uint64_t n_found; /* samples that an interrupted run had left, which were not written again */
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

struct prepare_to {
    const char *prefix;     /* "DIR/train": see data/sink.h for the files, and PREFIX.json */
    const char *format;     /* one of sink_formats; NULL: recordio */
    uint64_t n_shards;      /* 0: one file */
    uint64_t journal_bytes; /* so often is it written down how far it is; 0: 64 MiB */
    struct prepare_progress progress;
};

/* The bytes of the pictures are kept as they are, and so are the labels and, but for a folder, the
 * order. Goes on where an interrupted run of the same conversion was. Counts as n_train. E_USAGE
 * when something else is there under that name. */
int prepare_convert(const struct source *s, const struct prepare_to *to,
                    struct prepare_result *out);

#endif
