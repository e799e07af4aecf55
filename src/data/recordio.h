/* RecordIO, the record file of MXNet and DALI. A .rec file is a row of parts, each
 *     magic 0xCED7230A (4 bytes), cflag << 29 | length (4 bytes), length bytes, padding to 4,
 * little-endian. cflag 0 is a whole record; a record that contains the magic word at a multiple of
 * four bytes is cut there into parts 1, 2..., 3 and the word itself is left out. A record begins
 * with flag (u32), label (f32), id (u64), id2 (u64) and, when flag > 0, flag float labels of which
 * the first counts. The .idx file is text, one "key TAB byte offset" line per record. */
#ifndef STAVE_DATA_RECORDIO_H
#define STAVE_DATA_RECORDIO_H

#include <stddef.h>
#include <stdint.h>

#define RECORDIO_MAGIC UINT32_C(0xCED7230A)
enum { RECORDIO_PART_BYTES = 8, RECORDIO_HEADER_BYTES = 24 };
enum recordio_cflag { PART_WHOLE, PART_FIRST, PART_MIDDLE, PART_LAST };

static inline size_t recordio_padded(size_t n)
{
    return (n + 3) & ~(size_t)3;
}

/* Where the records start, ascending, one entry more than there are records: the last is the end of
 * the file. */
struct recordio_index {
    uint64_t *offset;
    uint64_t n;
};

/* Reads path_idx and compares it with the .rec file; without an .idx file, walks the .rec. */
int recordio_index_load(int fd, const char *path_rec, struct recordio_index *out);
/* Walks the part headers of the whole file. */
int recordio_index_scan(int fd, const char *path_rec, struct recordio_index *out);
/* The same whatever the file holds: where no record starts, the next one is looked for (the magic
 * word stands at no other multiple of four bytes), and what lies between is an entry of its own,
 * which then can not be read. */
int recordio_index_salvage(int fd, const char *path_rec, struct recordio_index *out);
/* What was there before an index was made anew. */
struct recordio_rebuilt {
    uint64_t n_records;
    int had_index;          /* 1: there was one that could be read */
    uint64_t n_superfluous; /* its entries at which no record starts, or that came twice */
    uint64_t n_missing;     /* records it had no entry for */
};
/* Writes FILE.idx anew from FILE.rec and says how the old one differed. */
int recordio_index_rebuild(const char *path_rec, struct recordio_rebuilt *out);
/* Writes the .idx file at path. */
int recordio_index_write(const char *path, const struct recordio_index *x);
void recordio_index_release(struct recordio_index *x);
/* FILE.rec -> FILE.idx, heap. */
char *recordio_index_path(const char *path_rec);

#endif
