/* The index of a RecordIO file: read and checked, or made by walking the file. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/file.h"
#include "base/hostile.h"
#include "base/str.h"
#include "data/recordio.h"

/* Up to this many records every entry is checked at start; beyond it, this many spread evenly: an
 * index of another file fails on almost every entry, so a sample is enough. */
enum { MAX_CHECKED = 4096 };
static const size_t max_idx_bytes = (size_t)4 << 30;

void recordio_index_release(struct recordio_index *x)
{
    free(x->offset);
    *x = (struct recordio_index){0};
}

char *recordio_index_path(const char *path_rec)
{
    const size_t n = strlen(path_rec);
    const size_t stem = n > 4 && strcmp(path_rec + n - 4, ".rec") == 0 ? n - 4 : n;

    return xasprintf("%.*s.idx", (int)stem, path_rec);
}

static int file_bytes(int fd, const char *path, uint64_t *n)
{
    struct stat st;

    if (fstat(fd, &st) < 0)
        return err(E_IO, "stat %s: %s", path, strerror(errno));
    *n = (uint64_t)st.st_size;
    return 0;
}

static void add_offset(struct recordio_index *x, uint64_t at, uint64_t *cap)
{
    if (x->n == *cap) {
        *cap = *cap ? 2 * *cap : HOSTILE ? 1 : 1024;
        x->offset = xrealloc(x->offset, *cap * sizeof(*x->offset));
    }
    x->offset[x->n++] = at;
}

/* Closes the list: the end of the file is one offset more, not one record more. */
static void add_end(struct recordio_index *x, uint64_t end, uint64_t *cap)
{
    add_offset(x, end, cap);
    x->n--;
}

/* Reads the part header at offset at; *next is where the following part would start. */
static int part_at(int fd, const char *path, uint64_t at, uint32_t *cflag, uint64_t *next)
{
    uint32_t word[2];

    TRY(file_pread(fd, word, sizeof(word), at, path));
    if (word[0] != RECORDIO_MAGIC)
        return err(E_DATA, "%s has no record at byte offset %llu: the magic word is 0x%08x", path,
                   (unsigned long long)at, word[0]);
    *cflag = word[1] >> 29;
    *next = at + RECORDIO_PART_BYTES + recordio_padded(word[1] & 0x1FFFFFFF);
    return 0;
}

/* The end of the record that starts at at. */
static int record_end(int fd, const char *path, uint64_t at, uint64_t *end)
{
    uint32_t cflag;
    uint64_t next;

    TRY(part_at(fd, path, at, &cflag, &next));
    if (cflag != PART_WHOLE && cflag != PART_FIRST)
        return err(E_DATA, "%s: byte offset %llu is inside a record (part flag %u)", path,
                   (unsigned long long)at, cflag);
    while (cflag == PART_FIRST || cflag == PART_MIDDLE) {
        const uint64_t here = next;

        TRY(part_at(fd, path, here, &cflag, &next));
        if (cflag != PART_MIDDLE && cflag != PART_LAST)
            return err(E_DATA,
                       "%s: the record at byte offset %llu is unfinished at %llu (part flag %u)",
                       path, (unsigned long long)at, (unsigned long long)here, cflag);
    }
    *end = next;
    return 0;
}

int recordio_index_scan(int fd, const char *path_rec, struct recordio_index *out)
{
    uint64_t at = 0, bytes = 0, cap = 0;

    *out = (struct recordio_index){0};
    TRY(file_bytes(fd, path_rec, &bytes));
    while (at < bytes) {
        uint64_t end;
        int rc = record_end(fd, path_rec, at, &end);

        if (rc == 0 && end > bytes)
            rc = err(E_DATA, "%s ends inside the record at byte offset %llu", path_rec,
                     (unsigned long long)at);
        if (rc < 0) {
            recordio_index_release(out);
            return rc;
        }
        add_offset(out, at, &cap);
        at = end;
    }
    add_end(out, bytes, &cap);
    return 0;
}

/* The first place in [at, bytes) where a record starts; bytes when there is none. */
static int find_record(int fd, const char *path, uint64_t bytes, uint64_t *at)
{
    enum { PIECE = HOSTILE ? 32 : 1 << 20 };
    uint8_t *const piece = xmalloc(PIECE);
    int rc = 0, found = 0;

    while (rc == 0 && !found && bytes - *at >= RECORDIO_PART_BYTES) {
        const size_t n = bytes - *at < PIECE ? (size_t)(bytes - *at) : PIECE;
        size_t i = 0;

        rc = file_pread(fd, piece, n, *at, path);
        for (; rc == 0 && !found && i + RECORDIO_PART_BYTES <= n; i += found ? 0 : 4) {
            uint32_t word[2];

            memcpy(word, piece + i, sizeof(word));
            found = word[0] == RECORDIO_MAGIC && word[1] >> 29 <= PART_FIRST;
        }
        *at += i;
    }
    free(piece);
    if (!found)
        *at = bytes;
    return rc;
}

/* Where the entry that starts at at ends: with the record, if it is one and no other starts inside
 * it; else where the next record starts. */
static int entry_end(int fd, const char *path, uint64_t at, uint64_t bytes, uint64_t *end)
{
    uint32_t cflag;
    uint64_t claimed = 0, next, found = at + 4 < bytes ? at + 4 : bytes;
    const int whole = record_end(fd, path, at, &claimed) == 0 && claimed <= bytes;

    *end = claimed;
    if (whole && (claimed == bytes || part_at(fd, path, claimed, &cflag, &next) == 0))
        return 0;
    TRY(find_record(fd, path, bytes, &found));
    *end = whole && claimed < found ? claimed : found;
    return 0;
}

int recordio_index_salvage(int fd, const char *path_rec, struct recordio_index *out)
{
    uint64_t at = 0, bytes = 0, cap = 0;

    *out = (struct recordio_index){0};
    TRY(file_bytes(fd, path_rec, &bytes));
    while (at < bytes) {
        int rc;

        add_offset(out, at, &cap);
        rc = entry_end(fd, path_rec, at, bytes, &at);
        if (rc < 0) {
            recordio_index_release(out);
            return rc;
        }
    }
    add_end(out, bytes, &cap);
    return 0;
}

/* One line: an optional key, white space, an offset; nothing after it. 0: a blank line. */
static int parse_line(const char *line, size_t n, uint64_t *offset)
{
    char text[64], *end;
    unsigned long long value;
    const char *p = text;

    while (n && strchr(" \t\r", line[n - 1]))
        n--;
    if (n == 0)
        return 0;
    if (n >= sizeof(text) || memchr(line, '\0', n))
        return -1;
    memcpy(text, line, n);
    text[n] = '\0';
    p += strcspn(p, " \t");
    p += strspn(p, " \t");
    if (*p < '0' || *p > '9')
        return -1;
    errno = 0;
    value = strtoull(p, &end, 10);
    *offset = value;
    return *end || errno ? -1 : 1;
}

static int by_offset(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return x < y ? -1 : x > y;
}

static int parse_index(const char *path, const char *text, size_t n, struct recordio_index *out)
{
    uint64_t cap = 0;
    size_t line = 1;

    for (const char *p = text, *const end = text + n; p < end; line++) {
        const char *const stop = memchr(p, '\n', (size_t)(end - p));
        const size_t length = (size_t)((stop ? stop : end) - p);
        uint64_t offset = 0;
        const int got = parse_line(p, length, &offset);

        if (got < 0)
            return err(E_DATA,
                       "%s line %zu is not \"key TAB byte offset\"; stave prepare "
                       "--index makes it anew from the .rec file",
                       path, line);
        if (got > 0)
            add_offset(out, offset, &cap);
        p += length + 1;
    }
    if (out->n)
        qsort(out->offset, out->n, sizeof(*out->offset), by_offset);
    return 0;
}

/* Entry i must start a record that ends where entry i + 1 starts. */
static int entry_fits(int fd, const char *path, const struct recordio_index *x, uint64_t i)
{
    uint64_t end;

    if (x->offset[i] >= x->offset[x->n])
        return err(E_DATA, "it points to byte %llu, behind the end of the file at %llu",
                   (unsigned long long)x->offset[i], (unsigned long long)x->offset[x->n]);
    TRY(record_end(fd, path, x->offset[i], &end));
    if (end != x->offset[i + 1])
        return err(E_DATA,
                   "its record ends at byte %llu, but the next entry or the file's end is %llu",
                   (unsigned long long)end, (unsigned long long)x->offset[i + 1]);
    return 0;
}

static int check_index(int fd, const char *path_rec, const char *path,
                       const struct recordio_index *x)
{
    const uint64_t checked = x->n < MAX_CHECKED ? x->n : MAX_CHECKED;
    uint64_t n_bad = 0;
    char first[512] = "";

    if (x->n == 0 || x->offset[0] != 0)
        return err(E_DATA,
                   "the index %s does not match %s: it has no entry for the record at byte 0; "
                   "stave prepare --index makes it anew from the .rec file",
                   path, path_rec);
    for (uint64_t k = 0; k < checked; k++) {
        const uint64_t i = checked == 1 ? 0 : k * (x->n - 1) / (checked - 1);

        if (entry_fits(fd, path_rec, x, i) == 0)
            continue;
        if (n_bad++ == 0)
            snprintf(first, sizeof(first), "entry %llu in file order: %s", (unsigned long long)i,
                     err_reason());
    }
    if (n_bad == 0)
        return 0;
    return err(E_DATA,
               "the index %s does not match %s: %llu of %llu entries checked (of %llu) are wrong, "
               "first %s; stave prepare --index makes it anew from the .rec file",
               path, path_rec, (unsigned long long)n_bad, (unsigned long long)checked,
               (unsigned long long)x->n, first);
}

static int load_index(int fd, const char *path_rec, const char *path, struct recordio_index *out)
{
    uint64_t bytes = 0;
    size_t n = 0;
    char *text = NULL;
    int rc;

    TRY(file_bytes(fd, path_rec, &bytes));
    TRY(file_read(path, max_idx_bytes, &text, &n));
    rc = parse_index(path, text, n, out);
    free(text);
    if (rc == 0) {
        uint64_t cap = out->n;

        add_end(out, bytes, &cap);
        rc = check_index(fd, path_rec, path, out);
    }
    if (rc < 0)
        recordio_index_release(out);
    return rc;
}

int recordio_index_load(int fd, const char *path_rec, struct recordio_index *out)
{
    char *const path = recordio_index_path(path_rec);
    int rc;

    *out = (struct recordio_index){0};
    rc = file_exists(path) ? load_index(fd, path_rec, path, out)
                           : recordio_index_scan(fd, path_rec, out);
    free(path);
    return rc;
}

/* Both lists ascend. */
static void compare(const struct recordio_index *old, const struct recordio_index *made,
                    struct recordio_rebuilt *out)
{
    uint64_t i = 0, k = 0;

    while (i < old->n || k < made->n) {
        if (k == made->n || (i < old->n && old->offset[i] < made->offset[k])) {
            out->n_superfluous++;
            i++;
        } else if (i == old->n || old->offset[i] > made->offset[k]) {
            out->n_missing++;
            k++;
        } else {
            i++;
            k++;
        }
    }
}

int recordio_index_write(const char *path, const struct recordio_index *x)
{
    struct str text = STR_INIT;
    int rc;

    for (uint64_t i = 0; i < x->n; i++)
        str_printf(&text, "%llu\t%llu\n", (unsigned long long)i, (unsigned long long)x->offset[i]);
    rc = file_replace(path, text.s ? text.s : "", text.len);
    str_release(&text);
    return rc;
}

static void look_at_old(const char *path, const struct recordio_index *made,
                        struct recordio_rebuilt *out)
{
    struct recordio_index old = {0};
    char *text = NULL;
    size_t n;

    if (file_read(path, max_idx_bytes, &text, &n) == 0 && parse_index(path, text, n, &old) == 0) {
        out->had_index = 1;
        compare(&old, made, out);
    }
    free(text);
    recordio_index_release(&old);
}

int recordio_index_rebuild(const char *path_rec, struct recordio_rebuilt *out)
{
    const int fd = file_open(path_rec);
    struct recordio_index x;
    char *path;
    int rc;

    *out = (struct recordio_rebuilt){0};
    TRY(fd);
    rc = recordio_index_scan(fd, path_rec, &x);
    close(fd);
    TRY(rc);
    path = recordio_index_path(path_rec);
    out->n_records = x.n;
    look_at_old(path, &x, out);
    rc = recordio_index_write(path, &x);
    free(path);
    recordio_index_release(&x);
    return rc;
}
