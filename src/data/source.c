#include "data/source.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/file.h"

#define SOURCE(name) extern const struct source_ops source_##name;
#include "data/list.h"

static const struct source_ops *const kinds[] = {
#define SOURCE(name) &source_##name,
#include "data/list.h"
};

static const struct source_ops *kind_of(const char *path)
{
    for (size_t i = 0; i < COUNT_OF(kinds); i++)
        if (kinds[i]->probe(path))
            return kinds[i];
    return NULL;
}

int source_open_heard(const char *path, struct source_listener listener, struct source **out)
{
    const struct source_ops *const ops = kind_of(path);
    struct source *s;
    struct stat st;
    int rc;

    *out = NULL;
    if (!ops && stat(path, &st) < 0)
        return err(E_IO, "open the data set %s: %s", path, strerror(errno));
    if (!ops)
        return err(E_USAGE,
                   "%s is no folder of class folders, no .rec file, no .tfrecord or .tar file or "
                   "folder of them, and no IDX pictures",
                   path);
    s = xcalloc(1, sizeof(*s));
    s->ops = ops;
    s->path = xstrdup(path);
    s->listener = listener;
    rc = s->ops->open(s);
    s->listener = (struct source_listener){0};
    if (rc == 0 && s->n_samples == 0)
        rc = err(E_DATA, "the data set %s holds no samples", path);
    if (rc < 0) {
        source_close(s);
        return rc;
    }
    *out = s;
    return 0;
}

int source_open(const char *path, struct source **out)
{
    return source_open_heard(path, (struct source_listener){0}, out);
}

/* What is there under this name. */
static char *split_path(const char *dir, const char *name)
{
    static const char *const endings[] = {".rec", ".tar", ".tfrecord", ""};

    for (size_t i = 0; i < COUNT_OF(endings); i++) {
        char *const path = xasprintf("%s/%s%s", dir, name, endings[i]);

        /* of some kinds the path is only a stem */
        if (file_exists(path) || (!*endings[i] && kind_of(path)))
            return path;
        free(path);
    }
    return NULL;
}

char *source_split_path(const char *dir, const char *split)
{
    /* As they are called here, and in ImageNet's records, and in MNIST. */
    static const char *const other[] = {"validation", "t10k"};
    char *path = split_path(dir, split);

    for (size_t i = 0; !path && strcmp(split, "val") == 0 && i < COUNT_OF(other); i++)
        path = split_path(dir, other[i]);
    return path;
}

int source_open_split(const char *dir, const char *split, struct source **out)
{
    char *const path = source_split_path(dir, split);
    int rc;

    *out = NULL;
    if (path)
        rc = source_open(path, out);
    else
        rc = err(E_DATA,
                 "%s holds neither %s.rec nor %s.tar nor %s.tfrecord nor files %s-00000-of-... nor "
                 "a folder %s; `stave prepare` makes such a data set",
                 dir, split, split, split, split, split);
    free(path);
    return rc;
}

void source_note(const struct source *s, const char *fmt, ...)
{
    char text[1024];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    if (s->listener.hear)
        s->listener.hear(s->listener.context, SOURCE_NOTE, text);
    else
        warning("%s", text);
}

int source_damaged(const struct source *s, int rc)
{
    if (rc == 0 || rc == E_NOMEM || !s->listener.hear)
        return rc;
    s->listener.hear(s->listener.context, SOURCE_DAMAGE, err_reason());
    return 0;
}

void source_close(struct source *s)
{
    if (!s)
        return;
    if (s->state)
        s->ops->close(s);
    free(s->path);
    free(s);
}

int source_extent(const struct source *s, uint64_t i, struct extent *out)
{
    ASSERT(i < s->n_samples);
    *out = (struct extent){.fd = -1, .dir = AT_FDCWD, .path = s->path};
    return s->ops->extent(s, i, out);
}

int extent_open(const struct extent *x, int flags)
{
    /* O_NONBLOCK: a pipe that took a file's place since the listing must not hang the worker. */
    const int fd = openat(x->dir, x->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | flags);

    return fd < 0 ? err(E_IO, "open %s: %s", x->path, strerror(errno)) : fd;
}

int extent_bytes(const struct extent *x, int fd, size_t *n)
{
    struct stat st;

    *n = (size_t)x->n;
    if (x->n == EXTENT_WHOLE) {
        if (fstat(fd, &st) < 0)
            return err(E_IO, "stat %s: %s", x->path, strerror(errno));
        if (!S_ISREG(st.st_mode))
            return err(E_DATA, "%s is no regular file", x->path);
        *n = (size_t)st.st_size;
    }
    if (*n > SOURCE_MAX_SAMPLE_BYTES)
        return err(E_DATA, "the sample has %zu bytes, more than the %d allowed", *n,
                   SOURCE_MAX_SAMPLE_BYTES);
    return 0;
}

/* Here, so that nothing that adds to a label or compares two can overflow. */
static int check_label(int64_t label)
{
    if (label >= -SOURCE_MAX_LABEL && label <= SOURCE_MAX_LABEL)
        return 0;
    return err(E_DATA,
               "the label is %" PRId64 ", which no data set has; expected a whole number within "
               "+-%d",
               label, SOURCE_MAX_LABEL);
}

int source_unwrap(const struct source *s, uint64_t i, struct raw raw, struct sample *out)
{
    TRY(s->ops->unwrap(s, i, raw, out));
    return check_label(out->label);
}

static int read_extent(const struct extent *x, int fd, struct bytes *buf)
{
    size_t n;

    TRY(extent_bytes(x, fd, &n));
    bytes_resize(buf, n);
    return file_pread(fd, buf->data, n, x->offset, x->path);
}

int source_read(const struct source *s, uint64_t i, struct sample *out)
{
    struct extent x;
    int fd, rc;

    TRY(source_extent(s, i, &x));
    fd = x.fd >= 0 ? x.fd : extent_open(&x, 0);
    TRY(fd);
    rc = read_extent(&x, fd, &out->buf);
    if (fd != x.fd)
        close(fd);
    TRY(rc);
    return source_unwrap(s, i, (struct raw){out->buf.data, out->buf.n}, out);
}

void source_locate(const struct source *s, uint64_t i, char *text, size_t n)
{
    ASSERT(i < s->n_samples);
    s->ops->locate(s, i, text, n);
}

const char *source_class_name(const struct source *s, int c)
{
    return s->ops->class_name ? s->ops->class_name(s, c) : NULL;
}

char *source_file(const struct source *s, uint64_t i)
{
    ASSERT(i < s->n_files);
    return s->ops->file(s, i);
}

int source_label(const struct source *s, uint64_t i, int64_t *label)
{
    ASSERT(i < s->n_samples);
    TRY(s->ops->label(s, i, label));
    return check_label(*label);
}

void sample_release(struct sample *s)
{
    bytes_release(&s->buf);
    *s = (struct sample){0};
}
