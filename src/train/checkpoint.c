#include "train/checkpoint.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "base/err.h"
#include "base/file.h"
#include "base/hostile.h"
#include "base/str.h"

enum { CHECK_PIECE_BYTES = HOSTILE ? 4093 : 1 << 20, N_OWN_META = 7 };
static const char header_key[] = "header_crc32", data_key[] = "data_crc32";

/* crc32_z takes size_t; the sum is over the data in the order of the file. */
static uint32_t sum_of(const struct safetensors_tensor *tensors, size_t n)
{
    uLong sum = crc32(0, NULL, 0);

    for (size_t i = 0; i < n; i++)
        if (tensors[i].bytes)
            sum = crc32_z(sum, tensors[i].data, tensors[i].bytes);
    return (uint32_t)sum;
}

static uint32_t sum_of_text(const struct str *s)
{
    return (uint32_t)crc32_z(0, (const unsigned char *)s->s, s->len);
}

/* Over what the header says rather than over its text, so that it can stand in the header itself;
 * a sum of sums, so that the order in memory does not matter. Where the data lie does not go in:
 * tensors tile the data, which have a checksum of their own. So it notices damage, but not somebody
 * who exchanges the names of two tensors of one shape. */
uint32_t checkpoint_header_sum(const struct safetensors_tensor *tensors, size_t n,
                               const struct safetensors_meta *meta, size_t n_meta)
{
    struct str item = STR_INIT;
    uint32_t sum = 0;

    for (size_t i = 0; i < n; i++) {
        str_reset(&item);
        str_printf(&item, "%s %s", tensors[i].name, safetensors_dtype_name(tensors[i].dtype));
        for (int d = 0; d < tensors[i].rank; d++)
            str_printf(&item, " %zu", tensors[i].dims[d]);
        sum += sum_of_text(&item);
    }
    for (size_t i = 0; i < n_meta; i++) {
        if (strcmp(meta[i].key, header_key) == 0)
            continue;
        str_reset(&item);
        str_printf(&item, "%s=%s", meta[i].key, meta[i].value);
        sum += sum_of_text(&item);
    }
    str_release(&item);
    return sum;
}

static int write_next(const char *path, struct safetensors_tensor *tensors, size_t n,
                      struct checkpoint_info info)
{
    struct safetensors_meta *meta = xcalloc(N_OWN_META + info.n_extra, sizeof(*meta));
    char step[24], epoch[24], seed[24], sum[12], header[12];
    size_t n_meta = 0;
    int rc;

    safetensors_sort(tensors, n);
    snprintf(step, sizeof(step), "%lld", info.step);
    snprintf(epoch, sizeof(epoch), "%lld", info.epoch);
    snprintf(seed, sizeof(seed), "%" PRIu64, info.seed);
    snprintf(sum, sizeof(sum), "%08" PRIx32, sum_of(tensors, n));
    meta[n_meta++] = (struct safetensors_meta){"step", step};
    meta[n_meta++] = (struct safetensors_meta){"epoch", epoch};
    meta[n_meta++] = (struct safetensors_meta){"seed", seed};
    meta[n_meta++] = (struct safetensors_meta){"options_digest", info.options_digest};
    if (info.init)
        meta[n_meta++] = (struct safetensors_meta){"init", info.init};
    meta[n_meta++] = (struct safetensors_meta){data_key, sum};
    for (size_t i = 0; i < info.n_extra; i++)
        meta[n_meta++] = info.extra[i];
    snprintf(header, sizeof(header), "%08" PRIx32, checkpoint_header_sum(tensors, n, meta, n_meta));
    meta[n_meta++] = (struct safetensors_meta){header_key, header};
    rc = safetensors_write(path,
                           (struct safetensors_content){
                               .tensors = tensors, .n_tensors = n, .meta = meta, .n_meta = n_meta});
    free(meta);
    return rc;
}

/* The newest gets the previous one's name. A hard link first, so that the newest keeps its own name
 * as well until the next one takes it; file systems without hard links get a plain rename. */
static int keep_previous(const char *newest, const char *previous)
{
    char *spare;
    int failed;

    if (!file_exists(newest))
        return 0;
    spare = xasprintf("%s.tmp", previous);
    unlink(spare); /* of an interrupted save */
    failed = link(newest, spare) == 0 ? rename(spare, previous) : rename(newest, previous);
    failed = failed ? errno : 0;
    unlink(spare); /* rename leaves it when both names were the same file already */
    free(spare);
    return failed ? err(E_IO, "rename %s to %s: %s", newest, previous, strerror(failed)) : 0;
}

static int rotate(const char *next, const char *newest, const char *previous)
{
    TRY(keep_previous(newest, previous));
    if (rename(next, newest) < 0)
        return err(E_IO, "rename %s to %s: %s", next, newest, strerror(errno));
    return 0;
}

int checkpoint_save(const char *dir, struct safetensors_tensor *tensors, size_t n,
                    struct checkpoint_info info)
{
    char *next = file_join(dir, CHECKPOINT_NEXT);
    char *newest = file_join(dir, CHECKPOINT_NAME);
    char *previous = file_join(dir, CHECKPOINT_PREVIOUS);
    int rc = write_next(next, tensors, n, info);

    if (rc == 0)
        rc = rotate(next, newest, previous);
    free(next);
    free(newest);
    free(previous);
    return rc;
}

static int check_sum(const struct safetensors *f, const char *key, const char *of, uint32_t sum)
{
    const char *const wanted = safetensors_meta(f, key);
    char text[12];

    snprintf(text, sizeof(text), "%08" PRIx32, sum);
    if (wanted && strcmp(wanted, text) == 0)
        return 0;
    return err(E_DATA, "%s: the checksum of its %s is %s, not the %.20s it was written with",
               f->path, of, text, wanted ? wanted : "(none)");
}

/* Tensors tile the data, so the data is one range of the file. */
static int check_data(const struct safetensors *f)
{
    unsigned char *piece = xmalloc(CHECK_PIECE_BYTES);
    uint64_t at = UINT64_MAX, end = 0;
    uLong sum = crc32(0, NULL, 0);
    int rc = 0;

    for (size_t i = 0; i < f->n_tensors; i++) {
        at = f->tensors[i].offset < at ? f->tensors[i].offset : at;
        end = f->tensors[i].offset + f->tensors[i].bytes > end
                  ? f->tensors[i].offset + f->tensors[i].bytes
                  : end;
    }
    while (rc == 0 && at < end) {
        const size_t n = end - at < CHECK_PIECE_BYTES ? (size_t)(end - at) : CHECK_PIECE_BYTES;
        rc = file_pread(f->fd, piece, n, at, f->path);
        sum = rc == 0 ? crc32_z(sum, piece, n) : sum;
        at += n;
    }
    free(piece);
    return rc < 0 ? rc : check_sum(f, data_key, "data", (uint32_t)sum);
}

int checkpoint_check_sums(const struct safetensors *f)
{
    TRY(check_sum(f, header_key, "header",
                  checkpoint_header_sum(f->tensors, f->n_tensors, f->meta, f->n_meta)));
    return check_data(f);
}

static int meta_number(const struct safetensors *f, const char *key, uint64_t *out)
{
    const char *text = safetensors_meta(f, key);
    char *end;

    errno = 0;
    *out = text ? strtoull(text, &end, 10) : 0;
    if (!text || errno || end == text || *end || text[0] == '-')
        return err(E_DATA, "%s: its metadata has no number \"%s\"; it is not a checkpoint of a run",
                   f->path, key);
    return 0;
}

static int parse_info(struct checkpoint *c)
{
    uint64_t step, epoch;

    TRY(meta_number(c->file, "step", &step));
    TRY(meta_number(c->file, "epoch", &epoch));
    TRY(meta_number(c->file, "seed", &c->info.seed));
    if (step > INT64_MAX || epoch > INT64_MAX)
        return err(E_DATA, "%s: step or epoch out of range", c->file->path);
    c->info.step = (long long)step;
    c->info.epoch = (long long)epoch;
    c->info.options_digest = safetensors_meta(c->file, "options_digest");
    if (!c->info.options_digest)
        return err(E_DATA, "%s: its metadata has no options_digest", c->file->path);
    c->info.init = safetensors_meta(c->file, "init");
    c->info.extra = c->file->meta;
    c->info.n_extra = c->file->n_meta;
    return checkpoint_check_sums(c->file);
}

int checkpoint_open_file(struct checkpoint *c, const char *path)
{
    int rc;

    *c = (struct checkpoint){0};
    TRY(safetensors_open(&c->file, path));
    rc = parse_info(c);
    if (rc < 0)
        checkpoint_close(c);
    return rc;
}

void checkpoint_close(struct checkpoint *c)
{
    safetensors_close(c->file);
    *c = (struct checkpoint){0};
}

/* By age: a complete next one was about to become the newest. */
static const char *const names[] = {CHECKPOINT_NEXT, CHECKPOINT_NAME, CHECKPOINT_PREVIOUS};

int checkpoint_open(struct checkpoint *c, const char *dir)
{
    int rc = E_OK, found = 0;

    *c = (struct checkpoint){0};
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        char *path = file_join(dir, names[i]);
        const int there = file_exists(path);

        if (there) {
            rc = checkpoint_open_file(c, path);
            found = 1;
            if (rc < 0)
                warning("%s; looking for an older checkpoint", err_reason());
        }
        free(path);
        if (there && rc == 0) {
            c->name = names[i];
            return 0;
        }
    }
    if (found)
        return err_prefix(rc, "no checkpoint in %s can be used; the oldest: ", dir);
    return err(E_IO, "there is no checkpoint in %s", dir);
}

static void drop(const char *dir, const char *name)
{
    char *const path = file_join(dir, name);

    unlink(path);
    free(path);
}

/* When the previous one was taken, what stands in the newest one's place is damaged. */
static int make_newest(const char *dir, const char *name)
{
    char *const from = file_join(dir, name), *const newest = file_join(dir, CHECKPOINT_NAME);
    char *const previous = file_join(dir, CHECKPOINT_PREVIOUS);
    int rc = 0;

    if (strcmp(name, CHECKPOINT_NEXT) == 0)
        rc = rotate(from, newest, previous);
    else if (strcmp(name, CHECKPOINT_PREVIOUS) == 0 && rename(from, newest) < 0)
        rc = err(E_IO, "rename %s to %s: %s", from, newest, strerror(errno));
    free(from);
    free(newest);
    free(previous);
    return rc;
}

int checkpoint_settle(const struct checkpoint *c, const char *dir)
{
    drop(dir, CHECKPOINT_NEXT ".tmp");
    drop(dir, CHECKPOINT_PREVIOUS ".tmp");
    TRY(make_newest(dir, c->name));
    drop(dir, CHECKPOINT_NEXT);
    return 0;
}

int checkpoint_count(const char *dir)
{
    int found = 0;

    for (size_t i = 0; i < COUNT_OF(names); i++) {
        char *path = file_join(dir, names[i]);
        found += file_exists(path);
        free(path);
    }
    return found;
}

int checkpoint_exists(const char *dir)
{
    return checkpoint_count(dir) > 0;
}

int checkpoint_check(const struct checkpoint *c, const struct safetensors_tensor *wanted)
{
    const struct safetensors_tensor *t = safetensors_find(c->file, wanted->name);

    if (!t)
        return err(E_DATA, "%s has no tensor %s; was it written by another model?", c->file->path,
                   wanted->name);
    if (t->dtype != wanted->dtype || t->rank != wanted->rank ||
        memcmp(t->dims, wanted->dims, (size_t)t->rank * sizeof(t->dims[0])) != 0)
        return err(E_DATA, "%s: tensor %s is %s of another shape or type than the model's",
                   c->file->path, wanted->name, safetensors_dtype_name(t->dtype));
    return 0;
}

int checkpoint_read(const struct checkpoint *c, const struct safetensors_tensor *wanted, void *dst)
{
    TRY(checkpoint_check(c, wanted));
    return safetensors_read(c->file, safetensors_find(c->file, wanted->name), dst);
}
