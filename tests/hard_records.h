/* Record files as their description reads, written without the project's own writer. */
#ifndef STAVE_TESTS_HARD_RECORDS_H
#define STAVE_TESTS_HARD_RECORDS_H

#include "data/recordio.h"
#include "hard_data.h"

/* The format as its description reads: cut at every aligned magic word, which is left out. Returns
 * the number of parts. */
UNUSED_FUNCTION int put_record(struct bytes *file, const struct bytes *record)
{
    const uint32_t magic = RECORDIO_MAGIC;
    size_t first = 0;
    int parts = 0;

    for (size_t i = 0; i <= record->n; i += 4) {
        const int end = i + 4 > record->n;
        const size_t stop = end ? record->n : i;
        uint32_t head[2] = {magic, (uint32_t)(stop - first)};

        if (!end && memcmp(record->data + i, &magic, 4) != 0)
            continue;
        head[1] |= (end ? parts ? 3u : 0u : parts ? 2u : 1u) << 29;
        bytes_add(file, head, 8);
        bytes_add(file, record->data + first, stop - first);
        bytes_add(file, "\0\0\0", (4 - (stop - first) % 4) % 4);
        first = i + 4;
        parts++;
        if (end)
            break;
    }
    return parts;
}

/* flag is what the header says; n_labels floats really follow it. */
UNUSED_FUNCTION void make_record(struct bytes *r, uint32_t flag, float label, const float *labels,
                                 size_t n_labels, uint64_t id, const struct bytes *payload)
{
    const uint64_t ids[2] = {id, 0};

    r->n = 0;
    bytes_add(r, &flag, 4);
    bytes_add(r, &label, 4);
    bytes_add(r, ids, 16);
    bytes_add(r, labels, n_labels * sizeof(float));
    bytes_add(r, payload->data, payload->n);
}

UNUSED_FUNCTION struct source *open_rec(const char *dir)
{
    char *const path = file_join(dir, "a.rec");
    struct source *const s = open_source(path);

    free(path);
    return s;
}

#endif
