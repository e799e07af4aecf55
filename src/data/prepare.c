/* What the preparers share, and image folder -> RecordIO. */
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
#include "data/decode.h"
#include "data/prepare_int.h"
#include "data/source.h"

enum { TELL_EVERY = 100 };

void prepare_tell(const struct prepare_progress *p, const char *what, uint64_t done, uint64_t total)
{
    if (p->tell && (done % TELL_EVERY == 0 || done == total))
        p->tell(p->context, what, done, total);
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

static uint64_t sample_checksum(uint64_t sum, const struct sample *s)
{
    sum = checksum_add(sum, s->data, s->n);
    return checksum_add(sum, &s->label, sizeof(s->label));
}

/* 1 when both sources hold the same samples in the same order; *sum is their checksum. */
static int same_samples(const struct source *a, const struct source *b,
                        const struct prepare_progress *progress, uint64_t *sum)
{
    struct sample x = {0}, y = {0};
    int same = a->n_samples == b->n_samples;

    *sum = CHECKSUM_INIT;
    for (uint64_t i = 0; i < a->n_samples && same; i++) {
        same = source_read(a, i, &x) == 0 && source_read(b, i, &y) == 0 && x.label == y.label &&
               x.n == y.n && memcmp(x.data, y.data, x.n) == 0;
        if (same)
            *sum = sample_checksum(*sum, &x);
        prepare_tell(progress, "compare", i + 1, a->n_samples);
    }
    sample_release(&x);
    sample_release(&y);
    return same;
}

static int already_there(const struct source *s, const char *prefix,
                         const struct prepare_progress *progress, uint64_t *sum)
{
    char *const rec = xasprintf("%s.rec", prefix);
    char *const idx = xasprintf("%s.idx", prefix);
    char *const json = xasprintf("%s.json", prefix);
    struct source *made = NULL;
    const int same = file_exists(json) && file_exists(idx) && source_open(rec, &made) == 0 &&
                     same_samples(s, made, progress, sum);

    source_close(made);
    free(rec);
    free(idx);
    free(json);
    return same;
}

/* Files are kept as they are, also those that no decoder takes; but they are named now, and not
 * only when they have cost a sample of every epoch. */
static int warn_unreadable(struct decoder *d, const struct source *s, uint64_t i,
                           const struct sample *sample, uint64_t *n_bad)
{
    enum { NAMED = 8 };
    char where[512];
    struct rect whole;
    const int rc = decoder_begin(d, sample->data, sample->n, &whole);

    if (rc == E_NOMEM)
        return rc; /* that is not the file's fault */
    if (rc == 0 || ++*n_bad > NAMED)
        return 0;
    source_locate(s, i, where, sizeof(where));
    warning("%s: %s; it is kept and will count as a bad sample", where, err_reason());
    return 0;
}

static int copy_samples(const struct source *s, struct recordio_writer *w, struct split *split,
                        const struct prepare_progress *progress)
{
    struct decoder *const decoder = decoder_new(0);
    struct sample sample = {0};
    uint64_t n_bad = 0;
    int rc = 0;

    split->content_checksum = CHECKSUM_INIT;
    for (uint64_t i = 0; i < s->n_samples && rc == 0; i++) {
        rc = source_read(s, i, &sample);
        if (rc == 0)
            rc = warn_unreadable(decoder, s, i, &sample, &n_bad);
        if (rc < 0)
            break;
        split->content_checksum = sample_checksum(split->content_checksum, &sample);
        rc = recordio_writer_add(
            w, (struct recordio_entry){
                   .label = (float)sample.label, .id = i, .payload = sample.data, .n = sample.n});
        prepare_tell(progress, "write", i + 1, s->n_samples);
    }
    if (n_bad)
        warning("%llu of %llu files in %s can not be read as pictures", (unsigned long long)n_bad,
                (unsigned long long)s->n_samples, s->path);
    decoder_free(decoder);
    sample_release(&sample);
    return rc;
}

static int write_folder_json(const struct source *s, const char *prefix, const struct split *split)
{
    char *const path = xasprintf("%s.json", prefix);
    struct str text = STR_INIT;
    int rc;

    str_add(&text, "{\"format\": \"recordio\", \"classes\": [");
    for (int c = 0; c < s->n_classes; c++) {
        str_add(&text, c ? ", " : "");
        str_add_json(&text, source_class_name(s, c));
    }
    str_printf(&text, "], \"n_classes\": %d,\n ", s->n_classes);
    split_add_json(split, &text);
    str_add(&text, "}\n");
    rc = file_replace(path, text.s, text.len);
    str_release(&text);
    free(path);
    return rc;
}

static int write_folder(const struct source *s, const char *prefix,
                        const struct prepare_progress *progress, struct prepare_result *out)
{
    const char *const slash = strrchr(prefix, '/');
    struct split split = {.name = slash ? slash + 1 : prefix};
    struct recordio_writer *w;
    int rc;

    TRY(recordio_writer_open(prefix, &w));
    rc = copy_samples(s, w, &split, progress);
    if (rc < 0) {
        recordio_writer_abort(w);
        return rc;
    }
    TRY(recordio_writer_commit(w, &split.totals));
    out->content_checksum = split.content_checksum;
    return write_folder_json(s, prefix, &split);
}

static int make_folder_of(const char *prefix)
{
    char *const dir = xstrdup(prefix);
    char *const slash = strrchr(dir, '/');
    int rc = 0;

    if (slash && slash != dir) {
        *slash = '\0';
        rc = file_mkdirs(dir);
    }
    free(dir);
    return rc;
}

int prepare_folder_to_recordio(const char *src_dir, const char *dst_prefix,
                               struct prepare_progress progress, struct prepare_result *out)
{
    struct source *s;
    int rc = 0;

    *out = (struct prepare_result){0};
    TRY(source_open(src_dir, &s));
    out->n_train = s->n_samples;
    out->already = already_there(s, dst_prefix, &progress, &out->content_checksum);
    if (!out->already)
        rc = make_folder_of(dst_prefix);
    if (rc == 0 && !out->already)
        rc = write_folder(s, dst_prefix, &progress, out);
    source_close(s);
    return rc;
}
