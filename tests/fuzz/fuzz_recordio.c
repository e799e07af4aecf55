/* RecordIO: the reader, its index, records of several parts, and the way back through the writer.
 * The first byte chooses: bit 0, the rest is payload for the writer and must come back as it was;
 * bit 1, an .idx file of data[1..2] bytes stands in front of the .rec file's. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/file.h"
#include "data/recordio.h"
#include "data/recordio_writer.h"
#include "data/source.h"
#include "fuzz.h"

enum { BY_WRITER = 1, WITH_INDEX = 2, MAX_READ = 64, MAX_RECORDS = 8 };

const char *const fuzz_words[] = {
    "\x0A\x23\xD7\xCE", "\x0A\x23\xD7\xCE\x18", "0\t0\n", "1\t40\n", "\x20", "\x40", "\x60", NULL};

static void read_samples(const struct source *s)
{
    struct sample sample = {0};
    char where[64];

    for (uint64_t i = 0; i < s->n_samples && i < MAX_READ; i++) {
        int64_t label = 0;
        const int rc = source_read(s, i, &sample);
        const int rc_label = s->ops->label(s, i, &label);

        source_locate(s, i, where, sizeof(where));
        if (rc < 0) {
            fuzz_refused(rc);
        } else {
            fuzz_touch(sample.data, sample.n);
            ASSERT(rc_label == 0 && label == sample.label);
        }
    }
    sample_release(&sample);
}

/* An index that was accepted must say what walking the file says. */
static void check_index(const char *rec)
{
    const int fd = open(rec, O_RDONLY | O_CLOEXEC);
    struct recordio_index index, walked;

    ASSERT(fd >= 0);
    if (recordio_index_load(fd, rec, &index) == 0) {
        ASSERT(recordio_index_scan(fd, rec, &walked) == 0);
        ASSERT(index.n == walked.n);
        ASSERT(memcmp(index.offset, walked.offset, (index.n + 1) * sizeof(*index.offset)) == 0);
        recordio_index_release(&index);
        recordio_index_release(&walked);
    }
    close(fd);
}

/* Whatever the bytes are: the entries ascend, the first starts at 0, and where walking finds no
 * fault they are its records. */
static void check_salvage(const char *rec, size_t n_rec)
{
    const int fd = open(rec, O_RDONLY | O_CLOEXEC);
    struct recordio_index saved, walked;

    ASSERT(fd >= 0 && recordio_index_salvage(fd, rec, &saved) == 0);
    ASSERT(saved.offset[saved.n] == n_rec && (saved.n == 0 || saved.offset[0] == 0));
    for (uint64_t i = 0; i < saved.n; i++)
        ASSERT(saved.offset[i] < saved.offset[i + 1]);
    if (recordio_index_scan(fd, rec, &walked) == 0) {
        ASSERT(saved.n == walked.n);
        ASSERT(memcmp(saved.offset, walked.offset, (saved.n + 1) * sizeof(*saved.offset)) == 0);
        recordio_index_release(&walked);
    }
    recordio_index_release(&saved);
    close(fd);
}

static void hear(void *context, enum source_remark kind, const char *text)
{
    (void)context;
    ASSERT(kind == SOURCE_DAMAGE && text[0]);
}

static void read_file(const uint8_t *idx, size_t n_idx, const uint8_t *rec, size_t n_rec)
{
    const char *const path = fuzz_put("x.rec", rec, n_rec);
    struct source *s;
    int rc;

    if (idx)
        fuzz_put("x.idx", idx, n_idx);
    rc = source_open(path, &s);
    if (rc < 0) {
        fuzz_refused(rc);
    } else {
        read_samples(s);
        source_close(s);
        check_index(path);
    }
    check_salvage(path, n_rec);
    rc = source_open_heard(path, (struct source_listener){hear, NULL}, &s);
    if (rc < 0) {
        fuzz_refused(rc);
    } else {
        read_samples(s);
        source_close(s);
    }
    fuzz_remove("x.idx");
}

/* One record per piece; the first byte of a piece is its length. */
static uint64_t write_pieces(const uint8_t *data, size_t n, struct recordio_entry *entries)
{
    char *const prefix = file_join(fuzz_dir(), "w");
    struct recordio_writer *w;
    uint64_t k = 0;

    ASSERT(recordio_writer_open(prefix, &w) == 0);
    for (size_t at = 0; at < n && k < MAX_RECORDS; k++) {
        const size_t left = n - at - 1, size = data[at] < left ? data[at] : left;

        entries[k] = (struct recordio_entry){
            .label = (float)k, .id = k, .payload = data + at + 1, .n = size};
        ASSERT(recordio_writer_add(w, entries[k]) == 0);
        at += 1 + size;
    }
    ASSERT(recordio_writer_commit(w, NULL) == 0);
    free(prefix);
    return k;
}

static void write_and_read(const uint8_t *data, size_t n)
{
    struct recordio_entry entries[MAX_RECORDS];
    const uint64_t written = write_pieces(data, n, entries);
    char *const path = file_join(fuzz_dir(), "w.rec");
    struct sample sample = {0};
    struct source *s;
    int rc = source_open(path, &s);

    ASSERT(written == 0 ? rc == E_DATA : rc == 0 && s->n_samples == written);
    for (uint64_t i = 0; i < written; i++) {
        ASSERT(source_read(s, i, &sample) == 0);
        ASSERT(sample.label == (int64_t)i && sample.n == entries[i].n);
        ASSERT(sample.n == 0 || memcmp(sample.data, entries[i].payload, sample.n) == 0);
    }
    sample_release(&sample);
    if (rc == 0)
        source_close(s);
    free(path);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    size_t n_idx;

    if (n < 3)
        return 0;
    n_idx = data[1] | (size_t)data[2] << 8;
    n_idx = n_idx < n - 3 ? n_idx : n - 3;
    if (data[0] & BY_WRITER)
        write_and_read(data + 3, n - 3);
    else if (data[0] & WITH_INDEX)
        read_file(data + 3, n_idx, data + 3 + n_idx, n - 3 - n_idx);
    else
        read_file(NULL, 0, data + 3, n - 3);
    return 0;
}

static void seed_files(uint8_t mode)
{
    char *const rec = file_join(fuzz_dir(), "w.rec"), *const idx = file_join(fuzz_dir(), "w.idx");
    char *rec_bytes, *idx_bytes;
    struct bytes all = {0};
    size_t n_rec, n_idx;

    ASSERT(file_read(rec, 1 << 20, &rec_bytes, &n_rec) == 0);
    ASSERT(file_read(idx, 1 << 20, &idx_bytes, &n_idx) == 0);
    bytes_add(&all, (uint8_t[]){mode, (uint8_t)n_idx, (uint8_t)(n_idx >> 8)}, 3);
    if (mode & WITH_INDEX)
        bytes_add(&all, idx_bytes, n_idx);
    bytes_add(&all, rec_bytes, n_rec);
    fuzz_seed(all.data, all.n);
    bytes_release(&all);
    free(rec_bytes);
    free(idx_bytes);
    free(rec);
    free(idx);
}

void fuzz_seeds(void)
{
    static const uint8_t pieces[] = {3,    'a',  'b',  'c',  0, 16,   1,    2,    3,    4,   0x0A,
                                     0x23, 0xD7, 0xCE, 5,    6, 0x0A, 0x23, 0xD7, 0xCE, 7,   8,
                                     0x0A, 0x23, 0xD7, 0xCE, 9, 9,    9,    9,    2,    'y', 'z'};
    struct recordio_entry entries[MAX_RECORDS];
    struct bytes all = {0};

    write_pieces(pieces, sizeof(pieces), entries);
    seed_files(0);
    seed_files(WITH_INDEX);
    write_pieces(pieces, 4, entries);
    seed_files(WITH_INDEX);
    bytes_add(&all, (uint8_t[]){BY_WRITER, 0, 0}, 3);
    bytes_add(&all, pieces, sizeof(pieces));
    fuzz_seed(all.data, all.n);
    bytes_release(&all);
}
