/* What the preparers share. */
#include "data/prepare.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/file.h"
#include "base/json.h"
#include "data/bytes.h"
#include "data/prepare_int.h"
#include "data/source.h"

void prepare_tell(const struct prepare_progress *p, const char *what, uint64_t done, uint64_t total)
{
    if (p->tell)
        p->tell(p->context, &(struct prepare_step){.what = what, .done = done, .total = total});
}

void split_add_json(const struct split *s, struct str *out)
{
    str_add_json(out, s->name);
    str_printf(out,
               ": {\"samples\": %" PRIu64 ", \"content_checksum\": \"fnv1a64:%016" PRIx64
               "\", \"rec_bytes\": %" PRIu64 ", \"rec_checksum\": \"fnv1a64:%016" PRIx64 "\"}",
               s->totals.n_records, s->content_checksum, s->totals.rec_bytes,
               s->totals.rec_checksum);
}

static int file_checksum(const char *path, uint64_t *sum)
{
    enum { PIECE = 1 << 20 };
    const int fd = file_open(path);
    uint8_t *piece;
    ssize_t got;

    *sum = CHECKSUM_INIT;
    TRY(fd);
    piece = xmalloc(PIECE);
    while ((got = read(fd, piece, PIECE)) > 0)
        *sum = checksum_add(*sum, piece, (size_t)got);
    free(piece);
    close(fd);
    return got == 0 ? 0 : err(E_IO, "read %s: %s", path, strerror(errno));
}

static int has_checksum(const cJSON *object, const char *key, uint64_t want)
{
    const char *const text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, key));
    char expected[40];

    snprintf(expected, sizeof(expected), "fnv1a64:%016" PRIx64, want);
    return text && strcmp(text, expected) == 0;
}

static int split_matches(const cJSON *json, const char *dir, struct split *s)
{
    const cJSON *const own = cJSON_GetObjectItemCaseSensitive(json, s->name);
    const cJSON *const n = cJSON_GetObjectItemCaseSensitive(own, "samples");
    char *const rec = xasprintf("%s/%s.rec", dir, s->name);
    char *const idx = xasprintf("%s/%s.idx", dir, s->name);
    struct source *source = NULL;
    uint64_t sum;
    int same = cJSON_IsNumber(n) && n->valuedouble == (double)s->totals.n_records &&
               has_checksum(own, "content_checksum", s->content_checksum) && file_exists(idx) &&
               file_checksum(rec, &sum) == 0 && has_checksum(own, "rec_checksum", sum);

    if (same) /* opening compares the index with the records */
        same = source_open(rec, &source) == 0 && source->n_samples == s->totals.n_records;
    if (same) {
        s->totals.rec_bytes =
            (uint64_t)cJSON_GetNumberValue(cJSON_GetObjectItemCaseSensitive(own, "rec_bytes"));
        s->totals.rec_checksum = sum;
    }
    source_close(source);
    free(rec);
    free(idx);
    return same;
}

int splits_match(const char *json_path, const char *dir, struct split *splits, size_t n)
{
    char *text;
    size_t n_text;
    cJSON *json;
    int same;

    if (file_read(json_path, (size_t)1 << 26, &text, &n_text) < 0)
        return 0;
    json = json_parse(text, n_text, NULL);
    same = json != NULL;
    for (size_t i = 0; i < n && same; i++)
        same = split_matches(json, dir, &splits[i]);
    cJSON_Delete(json);
    free(text);
    return same;
}
