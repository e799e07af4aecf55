/* A data set that is being written: samples in order -> files of one format (a row SINK of list.h).
 *
 * PREFIX ("DIR/train") gives the names: the format decides whether they are PREFIX.rec, a set
 * PREFIX-00000-of-00008, or files in the folder PREFIX. All is made in the folder PREFIX.partial
 * and moved when it is whole, so under the final names there is never a file that is not. A journal
 * beside the files says how far they have come; it is written when what it speaks of has reached
 * the disk. Whoever opens the same sink again, after a crash or a kill, goes on from there, and the
 * bytes will be those of an undisturbed run. One process at a time (flock), one thread. */
#ifndef STAVE_DATA_SINK_H
#define STAVE_DATA_SINK_H

#include <stddef.h>
#include <stdint.h>

#include "data/bytes.h"

struct sink_item {
    const uint8_t *data; /* the picture as it is stored, whatever it is */
    size_t n;
    int64_t label;
    int width, height; /* 0: not known */
};

/* A file that was made, or so much of it as there is. */
struct sink_file {
    uint64_t n_samples, n_bytes, checksum; /* FNV-1a */
};

struct sink_config {
    const char *prefix, *format;
    uint64_t n_samples, n_shards; /* shards: at most as many as samples; 0 means 1 */
    int n_classes;
    const char *const *classes; /* names, or NULL; must outlive the sink */
    uint64_t origin;            /* tells what is converted: a journal of something else is void */
    uint64_t journal_bytes;     /* at least so often is it written; 0: 64 MiB */
};

struct sink {
    struct sink_config config;
    const struct sink_ops *ops;
    int in_folder;    /* 1: the files come to lie in the folder PREFIX */
    int named;        /* of folders: they have the classes' names */
    uint64_t next;    /* the sample that comes; not 0 when something was there to go on with */
    uint64_t content; /* the caller's, kept by the journal; CHECKSUM_INIT at first */
    struct sink_file *files; /* n_files of them: the last one may be unfinished */
    uint64_t n_files;

    char *work, *place; /* PREFIX.partial; the folder in it that the files are made in */
    int lock, fd;       /* fd: the file that is being written, or -1 */
    struct bytes pending, scratch;
    uint64_t since_journal;                   /* bytes */
    uint64_t *offset, n_offsets, cap_offsets; /* of the samples in the current file */
};

struct sink_ops {
    const char *name;
    uint64_t max_shards;
    uint64_t max_beside; /* so many files lie where PREFIX is; more, in the folder PREFIX */
    void (*open)(struct sink *k); /* may be NULL */
    /* Appends the sample as the files hold it. */
    int (*encode)(struct sink *k, const struct sink_item *item, struct bytes *out);
    void (*end)(struct bytes *out); /* what ends a file, or NULL */
    /* What the file of a shard is called, heap; of a format that has a file for each sample, the
     * file of this one, with its folder. */
    char *(*shard_name)(const struct sink *k, uint64_t shard);
    char *(*item_name)(const struct sink *k, const struct sink_item *item);
    /* Of a half-written file that is gone on with: sets offset. NULL: not needed. */
    int (*resume)(struct sink *k, const char *path);
    int (*finish)(struct sink *k, const char *path); /* path is whole; for a folder, the folder */
    char *(*companion)(const char *path); /* a second file that goes with each, or NULL */
};

/* The formats, their names: ends with NULL. */
extern const char *const sink_formats[];

/* Touches nothing. E_USAGE when the format is not known or takes no such number of shards. */
int sink_open(const struct sink_config *c, struct sink **out);
/* 1: an earlier process had written all of it and was to move it, or did. Before sink_begin. */
int sink_was_made(struct sink *k);
/* Makes the work folder, or takes up what is in it. E_USAGE when another process is at work there.
 */
int sink_begin(struct sink *k);
int sink_add(struct sink *k, const struct sink_item *item);
/* After the last sample: ends the files and moves them to their names. May be called again after a
 * kill in its middle. */
int sink_commit(struct sink *k);
/* What the data set is opened as, heap. */
char *sink_path(const struct sink *k);
/* The final path of file i of n_files, heap; NULL for a format without shards. */
char *sink_file_path(const struct sink *k, uint64_t i);
/* Removes the work folder: there is nothing to go on with any more. */
void sink_forget(struct sink *k);
void sink_close(struct sink *k); /* NULL is fine; what was made stays for the next time */

/* For the formats. "jpg", "png", "pgm" or "ppm" by the first bytes; "jpg" when nobody knows. */
const char *sink_ending(const struct sink_item *item);
/* The last part of PREFIX. */
const char *sink_stem(const struct sink *k);
void sink_add_offset(struct sink *k, uint64_t offset);

#endif
