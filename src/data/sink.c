#include "data/sink.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/file.h"
#include "base/hostile.h"
#include "data/sink_int.h"

#define SINK(name) extern const struct sink_ops sink_##name;
#include "data/list.h"

static const struct sink_ops *const kinds[] = {
#define SINK(name) &sink_##name,
#include "data/list.h"
};

const char *const sink_formats[] = {
#define SINK(name) #name,
#include "data/list.h"
    NULL};

static const uint64_t default_journal_bytes = (uint64_t)64 << 20;
enum { FLUSH_BYTES = HOSTILE ? 1 : 1 << 20 };

/* ---- names ---- */

const char *sink_stem(const struct sink *k)
{
    const char *const slash = strrchr(k->config.prefix, '/');

    return slash ? slash + 1 : k->config.prefix;
}

const char *sink_ending(const struct sink_item *item)
{
    static const struct {
        const char *magic, *ending;
    } known[] = {{"\x89PNG", "png"}, {"P5", "pgm"}, {"P6", "ppm"}};

    for (size_t i = 0; i < COUNT_OF(known); i++) {
        const size_t n = strlen(known[i].magic);

        if (item->n >= n && memcmp(item->data, known[i].magic, n) == 0)
            return known[i].ending;
    }
    return "jpg";
}

uint64_t sink_shard_first(const struct sink *k, uint64_t shard)
{
    const uint64_t n = k->config.n_samples, of = k->config.n_shards;

    return n / of * shard + (shard < n % of ? shard : n % of);
}

static char *in_folder_of(const char *prefix, const char *name)
{
    const char *const slash = strrchr(prefix, '/');

    return xasprintf("%.*s%s", slash ? (int)(slash - prefix + 1) : 0, prefix, name);
}

char *sink_work_path(const struct sink *k, uint64_t shard)
{
    char *const name = k->ops->shard_name(k, shard);
    char *const path = file_join(k->place, name);

    free(name);
    return path;
}

char *sink_file_path(const struct sink *k, uint64_t i)
{
    char *name, *path;

    if (!k->ops->shard_name)
        return NULL;
    name = k->ops->shard_name(k, i);
    path = k->in_folder ? file_join(k->config.prefix, name) : in_folder_of(k->config.prefix, name);
    free(name);
    return path;
}

char *sink_path(const struct sink *k)
{
    return k->in_folder || k->config.n_shards > 1 ? xstrdup(k->config.prefix)
                                                  : sink_file_path(k, 0);
}

/* ---- opening ---- */

static int find_format(struct sink *k)
{
    const char *const name = k->config.format;
    const uint64_t n = k->config.n_shards;

    for (size_t i = 0; i < COUNT_OF(kinds); i++)
        if (strcmp(kinds[i]->name, name) == 0)
            k->ops = kinds[i];
    if (!k->ops)
        return err(E_USAGE, "no format is called %s; recordio, tfrecord, webdataset and folder are",
                   name);
    if (n > k->ops->max_shards)
        return err(E_USAGE, "%s does not come in shards; leave --shards out", name);
    if (n > k->config.n_samples)
        return err(E_USAGE, "%llu shards are more than the %llu samples", (unsigned long long)n,
                   (unsigned long long)k->config.n_samples);
    return 0;
}

/* The folder holds a lock, which ends with the process. */
static int take_work(struct sink *k)
{
    TRY(file_mkdirs(k->work));
    k->lock = open(k->work, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (k->lock < 0)
        return err(E_IO, "open the folder %s: %s", k->work, strerror(errno));
    if (flock(k->lock, LOCK_EX | LOCK_NB) < 0)
        return err(E_USAGE, "another stave prepare is at work in %s", k->work);
    return 0;
}

static int file_checksum_is(int fd, const struct sink_file *f)
{
    enum { PIECE = 1 << 20 };
    uint8_t *const piece = xmalloc(PIECE);
    uint64_t sum = CHECKSUM_INIT, at = 0;
    int same = 1;

    while (same && at < f->n_bytes) {
        const size_t n = f->n_bytes - at < PIECE ? (size_t)(f->n_bytes - at) : PIECE;

        same = file_pread(fd, piece, n, at, "") == 0;
        if (same)
            sum = checksum_add(sum, piece, n);
        at += n;
    }
    free(piece);
    return same && sum == f->checksum;
}

/* The unfinished file, cut to what the journal vouches for. */
static int take_up_file(struct sink *k)
{
    const struct sink_file *const f = &k->files[k->n_files - 1];
    char *const path = sink_work_path(k, k->n_files - 1);
    int ok;

    k->fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    ok = k->fd >= 0 && file_checksum_is(k->fd, f) && ftruncate(k->fd, (off_t)f->n_bytes) == 0 &&
         lseek(k->fd, 0, SEEK_END) == (off_t)f->n_bytes &&
         (!k->ops->resume || k->ops->resume(k, path) == 0);
    free(path);
    return ok;
}

/* Where a finished file is: not moved yet, or moved before a kill. */
static int file_is_there(const struct sink *k, uint64_t i)
{
    char *const made = sink_work_path(k, i), *const moved = sink_file_path(k, i);
    const char *const at = file_exists(made) || k->next < k->config.n_samples ? made : moved;
    struct stat st;
    const int there = stat(at, &st) == 0 && (uint64_t)st.st_size == k->files[i].n_bytes;

    free(made);
    free(moved);
    return there;
}

/* 1: all that the journal vouches for is there. */
static int take_up_files(struct sink *k)
{
    const int all = k->next == k->config.n_samples;
    const int unfinished = k->n_files && k->next < sink_shard_first(k, k->n_files);

    for (uint64_t i = 0; i + (uint64_t)unfinished < k->n_files; i++)
        if (!file_is_there(k, i))
            return 0;
    if (k->in_folder && !file_exists(k->place) && !(all && file_is_folder(k->config.prefix)))
        return 0;
    return !unfinished || take_up_file(k);
}

static void begin_anew(struct sink *k)
{
    if (k->fd >= 0)
        close(k->fd);
    k->fd = -1;
    k->next = k->n_files = k->n_offsets = 0;
    k->content = CHECKSUM_INIT;
}

/* What an earlier process left, as far as it can be trusted. */
static int take_up(struct sink *k)
{
    char *const journal = file_join(k->work, "journal.json");
    int rc = 0;

    if (!sink_journal_read(k) || !take_up_files(k)) {
        begin_anew(k);
        unlink(journal); /* first: it vouches for what goes now */
        if (k->in_folder) {
            file_remove_tree(k->place);
            rc = file_mkdirs(k->place);
        }
    }
    free(journal);
    return rc;
}

int sink_open(const struct sink_config *c, struct sink **out)
{
    struct sink *const k = xcalloc(1, sizeof(*k));
    int rc;

    *out = NULL;
    k->config = *c;
    k->config.n_shards = c->n_shards ? c->n_shards : 1;
    k->config.journal_bytes = c->journal_bytes ? c->journal_bytes : default_journal_bytes;
    k->config.prefix = xstrdup(c->prefix);
    k->config.format = xstrdup(c->format);
    k->lock = k->fd = -1;
    rc = find_format(k);
    if (rc < 0) {
        sink_close(k);
        return rc;
    }
    k->files = xcalloc(k->config.n_shards, sizeof(*k->files));
    k->work = xasprintf("%s.partial", c->prefix);
    k->in_folder = k->config.n_shards > k->ops->max_beside;
    k->place = k->in_folder ? file_join(k->work, "files") : xstrdup(k->work);
    if (k->ops->open)
        k->ops->open(k);
    *out = k;
    return 0;
}

int sink_was_made(struct sink *k)
{
    return sink_journal_read(k) && k->next == k->config.n_samples;
}

int sink_begin(struct sink *k)
{
    TRY(take_work(k));
    return take_up(k);
}

void sink_close(struct sink *k)
{
    if (!k)
        return;
    if (k->fd >= 0)
        close(k->fd);
    if (k->lock >= 0)
        close(k->lock);
    bytes_release(&k->pending);
    bytes_release(&k->scratch);
    free((char *)(uintptr_t)k->config.prefix);
    free((char *)(uintptr_t)k->config.format);
    free(k->offset);
    free(k->files);
    free(k->work);
    free(k->place);
    free(k);
}

void sink_forget(struct sink *k)
{
    file_remove_tree(k->work);
}

/* ---- writing ---- */

void sink_add_offset(struct sink *k, uint64_t offset)
{
    if (k->n_offsets == k->cap_offsets) {
        k->cap_offsets = k->cap_offsets ? 2 * k->cap_offsets : HOSTILE ? 1 : 1024;
        k->offset = xrealloc(k->offset, k->cap_offsets * sizeof(*k->offset));
    }
    k->offset[k->n_offsets++] = offset;
}

static int open_shard(struct sink *k)
{
    char *const path = sink_work_path(k, k->n_files);
    int rc = 0;

    k->fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (k->fd < 0)
        rc = err(E_IO, "create %s: %s", path, strerror(errno));
    else
        k->files[k->n_files++] = (struct sink_file){.checksum = CHECKSUM_INIT};
    k->n_offsets = 0;
    free(path);
    return rc;
}

static int flush(struct sink *k)
{
    struct sink_file *const f = &k->files[k->n_files - 1];
    const size_t n = k->pending.n;

    k->pending.n = 0;
    f->checksum = checksum_add(f->checksum, k->pending.data, n);
    f->n_bytes += n;
    k->since_journal += n;
    return file_write_all(k->fd, k->pending.data, n, k->work);
}

static int sync_made(struct sink *k)
{
    if (k->fd >= 0)
        TRY(flush(k));
    if ((k->fd >= 0 ? fdatasync(k->fd) : syncfs(k->lock)) < 0)
        return err(E_IO, "write %s: %s", k->work, strerror(errno));
    return 0;
}

static int write_journal(struct sink *k)
{
    TRY(sync_made(k));
    k->since_journal = 0;
    return sink_journal_write(k);
}

/* Not for each file: it names them all, and there may be many that are small. */
static int journal_is_due(const struct sink *k)
{
    return k->since_journal + k->pending.n >= k->config.journal_bytes;
}

static int end_shard(struct sink *k)
{
    char *const path = sink_work_path(k, k->n_files - 1);
    int rc;

    if (k->ops->end)
        k->ops->end(&k->pending);
    rc = flush(k);
    if (rc == 0 && k->ops->finish)
        rc = k->ops->finish(k, path);
    if (rc == 0)
        rc = journal_is_due(k) || k->next == k->config.n_samples ? write_journal(k) : sync_made(k);
    close(k->fd);
    k->fd = -1;
    free(path);
    return rc;
}

static int add_to_shard(struct sink *k, const struct sink_item *item)
{
    struct sink_file *f;

    if (k->fd < 0)
        TRY(open_shard(k));
    f = &k->files[k->n_files - 1];
    sink_add_offset(k, f->n_bytes + k->pending.n);
    TRY(k->ops->encode(k, item, &k->pending));
    f->n_samples++;
    k->next++;
    if (k->next == sink_shard_first(k, k->n_files))
        return end_shard(k);
    if (k->pending.n >= FLUSH_BYTES)
        TRY(flush(k));
    return journal_is_due(k) ? write_journal(k) : 0;
}

/* Without a sync of its own, which a file for each sample could not afford. */
static int write_file(const char *path, const struct bytes *b)
{
    const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0666);
    int rc;

    if (fd < 0)
        return err(E_IO, "create %s: %s", path, strerror(errno));
    rc = file_write_all(fd, b->data, b->n, path);
    if (close(fd) < 0 && rc == 0)
        rc = err(E_IO, "write %s: %s", path, strerror(errno));
    return rc;
}

static int make_folder_of(char *path)
{
    char *const slash = strrchr(path, '/');
    int rc;

    *slash = '\0';
    rc = file_exists(path) ? 0 : file_mkdirs(path);
    *slash = '/';
    return rc;
}

static int add_as_file(struct sink *k, const struct sink_item *item)
{
    char *name, *path;
    int rc;

    k->pending.n = 0;
    TRY(k->ops->encode(k, item, &k->pending));
    name = k->ops->item_name(k, item);
    path = file_join(k->place, name);
    rc = make_folder_of(path);
    if (rc == 0)
        rc = write_file(path, &k->pending);
    free(name);
    free(path);
    TRY(rc);
    k->next++;
    k->since_journal += k->pending.n;
    return k->since_journal >= k->config.journal_bytes ? write_journal(k) : 0;
}

int sink_add(struct sink *k, const struct sink_item *item)
{
    ASSERT(k->next < k->config.n_samples);
    return k->ops->item_name ? add_as_file(k, item) : add_to_shard(k, item);
}

/* ---- the end ---- */

/* From the work folder; a file that has gone was moved before a kill. */
static int move(const char *from, const char *to)
{
    if (file_exists(from) && rename(from, to) < 0)
        return err(E_IO, "rename %s to %s: %s", from, to, strerror(errno));
    return file_exists(to) ? 0 : err(E_IO, "%s is gone", from);
}

static int move_shard(const struct sink *k, uint64_t i)
{
    char *const from = sink_work_path(k, i), *const to = sink_file_path(k, i);
    char *const from2 = k->ops->companion ? k->ops->companion(from) : NULL;
    char *const to2 = k->ops->companion ? k->ops->companion(to) : NULL;
    int rc = 0;

    if (to2 && file_exists(from))
        unlink(to2); /* of another file: better none than a wrong one */
    rc = move(from, to);
    if (rc == 0 && to2)
        rc = move(from2, to2);
    free(from);
    free(to);
    free(from2);
    free(to2);
    return rc;
}

/* All samples have come: the rest of the folder's files, and the journal that says so. */
static int seal_folder(struct sink *k)
{
    if (!file_exists(k->place)) /* moved before a kill */
        return 0;
    if (k->ops->finish)
        TRY(k->ops->finish(k, k->place));
    return write_journal(k);
}

int sink_commit(struct sink *k)
{
    ASSERT(k->next == k->config.n_samples);
    if (k->ops->item_name)
        TRY(seal_folder(k));
    if (k->in_folder)
        TRY(move(k->place, k->config.prefix));
    for (uint64_t i = 0; i < k->n_files && !k->in_folder; i++)
        TRY(move_shard(k, i));
    file_sync_folder_of(k->config.prefix);
    return 0;
}
