/* A data set of labelled samples that can be read in any order: bytes and label of sample i, and
 * where they lie in words a person can act on. What the bytes mean is the decoder's business.
 * A source is immutable once open: any number of threads may read, each into its own struct sample.
 * Reads go through pread, so a file that shrinks or a mount that fails is an error, not a signal.
 * A failed read concerns one sample only; the source stays usable. */
#ifndef STAVE_DATA_SOURCE_H
#define STAVE_DATA_SOURCE_H

#include <stddef.h>
#include <stdint.h>

#include "data/bytes.h"

enum {
    SOURCE_MAX_SAMPLE_BYTES = 1 << 29, /* RecordIO's own limit for one part */
    SOURCE_MAX_LABEL = INT32_MAX,      /* either way; a label beyond it is E_DATA */
};

/* One worker's reading buffer. data points into buf and holds until the next read. */
struct sample {
    struct bytes buf;
    const uint8_t *data;
    size_t n;
    int64_t label; /* as stored, within SOURCE_MAX_LABEL: no offset applied, no class checked */
};

/* Where the stored bytes of a sample lie, so that whoever reads them can choose how. */
struct extent {
    int fd;           /* open for reading; -1: path has to be opened */
    int dir;          /* path is relative to this folder, AT_FDCWD otherwise */
    const char *path; /* the source's */
    uint64_t file;    /* its number, below n_files */
    uint64_t offset;
    uint64_t n; /* EXTENT_WHOLE: all of the file */
};
#define EXTENT_WHOLE UINT64_MAX

struct raw {
    uint8_t *data;
    size_t n;
};

struct source;
struct source_ops {
    const char *name;
    int (*probe)(const char *path); /* 1: path is of this kind */
    int (*open)(struct source *s);  /* sets state, n_samples, n_classes and n_files */
    int (*extent)(const struct source *s, uint64_t i, struct extent *out);
    /* raw, n bytes of the extent that may be changed: sets data, n and label of *out; data and n
     * also when only the label is at fault. */
    int (*unwrap)(const struct source *s, uint64_t i, struct raw raw, struct sample *out);
    int (*label)(const struct source *s, uint64_t i, int64_t *label);
    void (*locate)(const struct source *s, uint64_t i, char *text, size_t n);
    const char *(*class_name)(const struct source *s, int c); /* NULL: classes have no names */
    char *(*file)(const struct source *s, uint64_t i);        /* path of file i, heap */
    void (*close)(struct source *s);
};

/* What opening has to say beside success and failure. A note: an empty class folder, entries that
 * are no files. Damage refuses the data set, unless somebody listens: then it is opened as far as
 * it can be, a RecordIO file by walking it, an archive up to the damage, without a folder that can
 * not be listed. */
enum source_remark { SOURCE_NOTE, SOURCE_DAMAGE };
struct source_listener {
    void (*hear)(void *context, enum source_remark kind, const char *text); /* may be NULL */
    void *context;
};

struct source {
    const struct source_ops *ops;
    char *path;
    struct source_listener listener; /* while it is being opened */
    void *state;
    uint64_t n_samples; /* at least 1 */
    int n_classes;      /* 0: the format does not say */
    uint64_t n_files;   /* that hold the samples; set by open */
};

/* path is a folder of class folders, a .rec file, a .tfrecord or .tar file or a folder of one of
 * them, or the stem of files: NAME of NAME-00000-of-00128, or of NAME-images-idx3-ubyte. */
int source_open(const char *path, struct source **out);
/* With somebody who listens: E_DATA means that nothing could be saved. */
int source_open_heard(const char *path, struct source_listener listener, struct source **out);
/* The split ("train", "val") of a prepared data set: DIR/train.rec, or else DIR/train.tar, or else
 * DIR/train.tfrecord, or else the folder DIR/train, or else files with the stem DIR/train. val may
 * also be called validation (ImageNet's records) or t10k (MNIST). */
int source_open_split(const char *dir, const char *split, struct source **out);
/* The path that it opens, heap; NULL when there is none of them. */
char *source_split_path(const char *dir, const char *split);
void source_close(struct source *s); /* NULL is fine */

/* extent, pread and unwrap. */
int source_read(const struct source *s, uint64_t i, struct sample *out);
/* For readers of their own: where, opening (the caller closes what is not x.fd), and how many bytes
 * there are in the end, at most SOURCE_MAX_SAMPLE_BYTES. */
int source_extent(const struct source *s, uint64_t i, struct extent *out);
int extent_open(const struct extent *x, int flags);
int extent_bytes(const struct extent *x, int fd, size_t *n);
int source_unwrap(const struct source *s, uint64_t i, struct raw raw, struct sample *out);
/* "file F" or "file F, record N, byte offset O", cut to n bytes. */
void source_locate(const struct source *s, uint64_t i, char *text, size_t n);
/* NULL when the format keeps no names. */
const char *source_class_name(const struct source *s, int c);
/* The path of file i of n_files, heap: what the samples lie in, in no order of theirs. */
char *source_file(const struct source *s, uint64_t i);
/* The stored label; of the sample no more is read than the format asks for. */
int source_label(const struct source *s, uint64_t i, int64_t *label);

void sample_release(struct sample *s);

/* For those who open: a note goes to the listener, or becomes a warning. */
void source_note(const struct source *s, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* The failure rc, whose reason is recorded: 0 when a listener took it. Out of memory stays one. */
int source_damaged(const struct source *s, int rc);

#endif
