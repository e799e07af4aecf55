#include "data/photos.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/file.h"
#include "data/decode.h"
#include "data/resize.h"

enum { MAX_DEPTH = 6, MAX_FILE_BYTES = 1 << 28 };

static const char *const installed[] = {"/usr/share/backgrounds", "/usr/share/wallpapers"};

struct paths {
    char **all;
    size_t n, cap;
};

static int is_jpeg(const char *path)
{
    uint8_t magic[3] = {0};
    const int fd = file_open(path);
    int same = 0;

    if (fd < 0)
        return 0;
    same = read(fd, magic, sizeof(magic)) == sizeof(magic) &&
           memcmp(magic, "\xFF\xD8\xFF", sizeof(magic)) == 0;
    close(fd);
    return same;
}

static void add_path(struct paths *p, char *path)
{
    if (p->n == p->cap) {
        p->cap = p->cap ? 2 * p->cap : 64;
        p->all = xrealloc(p->all, p->cap * sizeof(*p->all));
    }
    p->all[p->n++] = path;
}

/* Folders that link back up end at MAX_DEPTH. */
static int find(const char *dir, int depth, struct paths *out)
{
    struct file_names names;

    TRY(file_list(dir, &names));
    for (size_t i = 0; i < names.n; i++) {
        char *const path = file_join(dir, names.all[i]);

        if (names.all[i][0] != '.' && file_is_folder(path)) {
            if (depth < MAX_DEPTH && find(path, depth + 1, out) < 0)
                warning("%s; it is left out", err_reason());
        } else if (names.all[i][0] != '.' && is_jpeg(path)) {
            add_path(out, path);
            continue;
        }
        free(path);
    }
    file_names_release(&names);
    return 0;
}

static int find_all(const char *dir, struct paths *out)
{
    if (dir)
        TRY(find(dir, 0, out));
    for (size_t i = 0; i < COUNT_OF(installed) && !dir; i++)
        if (file_is_folder(installed[i]))
            TRY(find(installed[i], 0, out));
    if (out->n == 0 && dir)
        return err(E_DATA, "%s and the folders in it hold no JPEG file; expected photographs", dir);
    if (out->n == 0)
        return err(E_IO,
                   "there are no photographs in %s and %s; install a package that brings "
                   "some (apt-get install mate-backgrounds) or name a folder with --photos",
                   installed[0], installed[1]);
    return 0;
}

/* What is much larger than needed only costs memory and time. */
static void shrink(struct image *m)
{
    const double pixels = (double)m->width * m->height;
    const double scale = sqrt(pixels / PHOTO_MAX_PIXELS);
    struct resizer r = {0};
    struct image small = {0};

    if (scale <= 1.0)
        return;
    image_resize(&small, (int)(m->width / scale), (int)(m->height / scale));
    resize(&r, m, (struct axis){.scale = (double)m->width / small.width, .n = small.width},
           (struct axis){.scale = (double)m->height / small.height, .n = small.height},
           small.px.data);
    resizer_release(&r);
    image_release(m);
    *m = small;
}

static int decode_photo(struct decoder *d, const uint8_t *bytes, size_t n, struct image *out)
{
    struct rect whole;

    TRY(decoder_begin(d, bytes, n, &whole));
    if (whole.width < PHOTO_MIN_SIDE || whole.height < PHOTO_MIN_SIDE)
        return err(E_DATA, "the picture has %d x %d pixels, expected %d or more each way",
                   whole.width, whole.height, PHOTO_MIN_SIDE);
    TRY(decoder_crop(d, whole, out));
    shrink(out);
    return 0;
}

/* E_NOMEM ends it; everything else costs the one photograph. */
static int load(struct decoder *d, const char *path, struct photos *p)
{
    struct image m = {0};
    char *bytes = NULL;
    size_t n;
    int rc = file_read(path, MAX_FILE_BYTES, &bytes, &n);

    if (rc == 0)
        rc = decode_photo(d, (const uint8_t *)bytes, n, &m);
    if (rc == 0) {
        p->checksum = checksum_add(p->checksum, bytes, n);
        p->all[p->n++] = m;
    } else {
        image_release(&m);
        if (rc != E_NOMEM)
            warning("%s: %s; it is left out", path, err_reason());
    }
    free(bytes);
    return rc == E_NOMEM ? rc : 0;
}

static int load_all(const struct paths *paths, struct photos *p)
{
    struct decoder *const d = decoder_new(0);
    const size_t n = paths->n < PHOTOS_MAX ? paths->n : PHOTOS_MAX;
    int rc = 0;

    p->all = xcalloc(n, sizeof(*p->all));
    for (size_t i = 0; i < n && rc == 0; i++)
        rc = load(d, paths->all[i * paths->n / n], p);
    decoder_free(d);
    if (rc == 0 && p->n == 0)
        rc = err(E_DATA, "no photograph could be decoded of the %zu tried, the first %s", n,
                 paths->all[0]);
    return rc;
}

int photos_load(const char *dir, struct photos *out)
{
    struct paths paths = {0};
    int rc;

    *out = (struct photos){.checksum = CHECKSUM_INIT};
    rc = find_all(dir, &paths);
    if (rc == 0)
        rc = load_all(&paths, out);
    for (size_t i = 0; i < paths.n; i++)
        free(paths.all[i]);
    free(paths.all);
    if (rc < 0)
        photos_release(out);
    return rc;
}

void photos_release(struct photos *p)
{
    for (size_t i = 0; i < p->n; i++)
        image_release(&p->all[i]);
    free(p->all);
    *p = (struct photos){0};
}
