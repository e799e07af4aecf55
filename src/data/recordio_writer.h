/* Writes PREFIX.rec and PREFIX.idx, which MXNet and DALI read (format: recordio.h). Both are
 * written under temporary names and renamed by commit, so a reader sees the old pair or the new
 * one. One thread. After any failed call the writer is spent: abort frees it. */
#ifndef STAVE_DATA_RECORDIO_WRITER_H
#define STAVE_DATA_RECORDIO_WRITER_H

#include <stddef.h>
#include <stdint.h>

struct bytes;
struct recordio_writer;

struct recordio_entry {
    float label;
    const float *labels; /* several labels instead of one: n_labels of them */
    uint32_t n_labels;
    uint64_t id, id2;
    const void *payload;
    size_t n;
};

struct recordio_totals {
    uint64_t n_records, rec_bytes;
    uint64_t rec_checksum; /* FNV-1a of the .rec file */
};

/* Appends the parts of one record to out; scratch is the caller's, for reuse. */
int recordio_encode(struct recordio_entry e, struct bytes *scratch, struct bytes *out);

int recordio_writer_open(const char *prefix, struct recordio_writer **out);
int recordio_writer_add(struct recordio_writer *w, struct recordio_entry e);
/* Frees w whether or not it succeeds. */
int recordio_writer_commit(struct recordio_writer *w, struct recordio_totals *totals);
void recordio_writer_abort(struct recordio_writer *w); /* NULL is fine */

#endif
