/* MNIST's pair of IDX files, STEM-images-idx3-ubyte and STEM-labels-idx1-ubyte, either gzipped or
 * not; the data set's path is the stem or the file of the images. The pixels have no header, so a
 * sample becomes a PGM picture: its header takes the place of the bytes in front of the pixels,
 * which are read along. In front of the first picture that is the file's own header of 16 bytes,
 * which is room for any size up to 999 x 999. Gzipped images are unpacked into memory, where they
 * then lie as in a file. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/file.h"
#include "data/idx.h"
#include "data/source.h"

extern const struct source_ops source_mnist;

enum { MAX_HEAD = 16 }; /* of the file */

static const char *const images = "-images-idx3-ubyte", *const labels = "-labels-idx1-ubyte";

struct mnist {
    char *path; /* of the images */
    struct idx_file images;
    struct idx labels;
    char head[64];
    size_t n_head, n_pixels;
};

/* The path of STEM and this ending, gzipped when that is what is there; NULL: neither is. */
static char *find(const char *stem, size_t n, const char *ending)
{
    static const char *const packed[] = {"", ".gz"};

    for (size_t i = 0; i < COUNT_OF(packed); i++) {
        char *const path = xasprintf("%.*s%s%s", (int)n, stem, ending, packed[i]);

        if (file_exists(path) && !file_is_folder(path))
            return path;
        free(path);
    }
    return NULL;
}

/* The length of the stem, when path is the file of the images; otherwise all of it. */
static size_t stem_of(const char *path)
{
    size_t n = strlen(path), k = strlen(images);

    if (n > 3 && strcmp(path + n - 3, ".gz") == 0)
        n -= 3;
    return n > k && strncmp(path + n - k, images, k) == 0 ? n - k : strlen(path);
}

static int mnist_probe(const char *path)
{
    const size_t n = stem_of(path);
    char *const found = n < strlen(path) || !file_exists(path) ? find(path, n, images) : NULL;
    const int is = found != NULL;

    free(found);
    return is;
}

static int open_labels(struct source *s, struct mnist *m)
{
    const size_t n = stem_of(s->path);
    char *const path = find(s->path, n, labels);
    int rc;

    if (!path)
        return err(E_DATA, "%s has no labels beside it: %.*s%s is missing", m->path, (int)n,
                   s->path, labels);
    rc = idx_load(path, 1, &m->labels);
    if (rc == 0 && m->labels.dims[0] != m->images.dims[0])
        rc = err(E_DATA, "%s has %zu labels for the %zu pictures of %s", path, m->labels.dims[0],
                 m->images.dims[0], m->path);
    free(path);
    return rc;
}

static int mnist_open(struct source *s)
{
    struct mnist *const m = xcalloc(1, sizeof(*m));

    s->state = m;
    m->images.fd = -1;
    m->path = find(s->path, stem_of(s->path), images);
    if (!m->path)
        return err(E_IO, "%s%s is gone", s->path, images);
    TRY(idx_open(m->path, 3, &m->images));
    TRY(open_labels(s, m));
    m->n_pixels = m->images.dims[1] * m->images.dims[2];
    m->n_head = (size_t)snprintf(m->head, sizeof(m->head), "P5 %zu %zu 255\n", m->images.dims[2],
                                 m->images.dims[1]);
    if (m->n_head > MAX_HEAD)
        return err(E_UNSUPPORTED, "the pictures in %s have %zu x %zu pixels, more than 999 x 999",
                   m->path, m->images.dims[2], m->images.dims[1]);
    s->n_samples = m->images.dims[0];
    s->n_files = 1;
    return 0;
}

static void mnist_close(struct source *s)
{
    struct mnist *const m = s->state;

    if (m->images.fd >= 0)
        close(m->images.fd);
    idx_release(&m->labels);
    free(m->path);
    free(m);
}

static uint64_t offset_of(const struct mnist *m, uint64_t i)
{
    return m->images.head_bytes + i * m->n_pixels;
}

static void mnist_locate(const struct source *s, uint64_t i, char *text, size_t n)
{
    const struct mnist *const m = s->state;

    snprintf(text, n, "file %s, picture %llu, byte offset %llu", m->path, (unsigned long long)i,
             (unsigned long long)offset_of(m, i));
}

/* What was unpacked is named as what it is, so that it counts as memory and not as a file. */
static char *mnist_file(const struct source *s, uint64_t i)
{
    const struct mnist *const m = s->state;

    (void)i;
    return m->images.in_memory ? xasprintf("/proc/self/fd/%d", m->images.fd) : xstrdup(m->path);
}

static int mnist_label(const struct source *s, uint64_t i, int64_t *label)
{
    *label = ((const struct mnist *)s->state)->labels.bytes[i];
    return 0;
}

static int mnist_extent(const struct source *s, uint64_t i, struct extent *out)
{
    const struct mnist *const m = s->state;

    out->fd = m->images.fd;
    out->path = m->path;
    out->offset = offset_of(m, i) - m->n_head;
    out->n = m->n_head + m->n_pixels;
    return 0;
}

static int mnist_unwrap(const struct source *s, uint64_t i, struct raw raw, struct sample *out)
{
    const struct mnist *const m = s->state;

    if (raw.n < m->n_head)
        return err(E_DATA, "the picture ends before its first pixel");
    memcpy(raw.data, m->head, m->n_head);
    out->data = raw.data;
    out->n = raw.n;
    return mnist_label(s, i, &out->label);
}

const struct source_ops source_mnist = {
    .name = "mnist",
    .probe = mnist_probe,
    .open = mnist_open,
    .extent = mnist_extent,
    .unwrap = mnist_unwrap,
    .label = mnist_label,
    .locate = mnist_locate,
    .file = mnist_file,
    .close = mnist_close,
};
