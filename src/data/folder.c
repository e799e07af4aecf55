/* A folder of class folders: ROOT/CLASS/FILE. Classes and files are in bytewise order of their
 * names, a class's index is its place in that order, and an empty class keeps its index. Names are
 * bytes: spaces, newlines, other encodings are all fine, and no ending is asked for, since content
 * decides what a file is. Names that start with a dot are left out (desktop and version-control
 * droppings). */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/file.h"
#include "data/source.h"

extern const struct source_ops source_folder;

struct names {
    const char **s;
    size_t n, cap;
};

struct folder {
    struct arena arena;
    int fd;
    struct names classes, files; /* files are relative to the root: CLASS/FILE */
    int32_t *class_of;           /* per file */
};

static void names_add(struct names *l, const char *s)
{
    if (l->n == l->cap) {
        l->cap = l->cap ? 2 * l->cap : 64;
        l->s = xrealloc(l->s, l->cap * sizeof(*l->s));
    }
    l->s[l->n++] = s;
}

static int by_bytes(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void names_sort(struct names *l, size_t first)
{
    if (l->n > first)
        qsort(l->s + first, l->n - first, sizeof(*l->s), by_bytes);
}

/* The file type, asking the file system only where the listing does not tell. */
static mode_t type_of(DIR *dir, const struct dirent *e)
{
    struct stat st;

    if (e->d_type == DT_REG)
        return S_IFREG;
    if (e->d_type == DT_DIR)
        return S_IFDIR;
    return fstatat(dirfd(dir), e->d_name, &st, 0) == 0 ? st.st_mode & S_IFMT : 0;
}

/* What was passed over in a folder. */
struct others {
    size_t n;
    char first[NAME_MAX + 1];
};

static void pass_over(struct others *o, const char *name)
{
    if (o->n++ == 0 || strcmp(name, o->first) < 0)
        snprintf(o->first, sizeof(o->first), "%s", name);
}

/* Adds the names of one type in the folder rel, below the root, sorted. */
static int list_folder(struct source *s, const char *rel, mode_t type, struct others *others)
{
    struct folder *const f = s->state;
    struct names *const list = type == S_IFDIR ? &f->classes : &f->files;
    const size_t first = list->n;
    const int fd = openat(f->fd, rel, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *const dir = fd >= 0 ? fdopendir(fd) : NULL;
    int rc = 0;

    if (!dir) {
        rc = err(errno == ENOMEM ? E_NOMEM : E_IO, "list the folder %s/%s: %s", s->path, rel,
                 strerror(errno));
        if (fd >= 0)
            close(fd);
        return rc;
    }
    errno = 0;
    for (const struct dirent *e; (e = readdir(dir)); errno = 0) {
        if (e->d_name[0] == '.')
            continue;
        if (type_of(dir, e) != type)
            pass_over(others, e->d_name);
        else if (type == S_IFDIR)
            names_add(list, arena_strdup(&f->arena, e->d_name));
        else
            names_add(list, arena_printf(&f->arena, "%s/%s", rel, e->d_name));
    }
    if (errno)
        rc = err(E_IO, "list the folder %s/%s: %s", s->path, rel, strerror(errno));
    closedir(dir);
    names_sort(list, first);
    return rc;
}

static int list_class(struct source *s, int c)
{
    struct folder *const f = s->state;
    const size_t first = f->files.n;
    struct others others = {0};

    TRY(source_damaged(s, list_folder(s, f->classes.s[c], S_IFREG, &others)));
    if (f->files.n == first)
        source_note(s, "class folder %s/%s is empty; it keeps its class number %d", s->path,
                    f->classes.s[c], c);
    if (others.n)
        source_note(s, "%s/%s holds %zu entries that are no files, the first %s; they are left out",
                    s->path, f->classes.s[c], others.n, others.first);
    f->class_of = xrealloc(f->class_of, f->files.n * sizeof(*f->class_of));
    for (size_t i = first; i < f->files.n; i++)
        f->class_of[i] = c;
    return 0;
}

static int folder_open(struct source *s)
{
    struct folder *const f = xcalloc(1, sizeof(*f));
    struct others others = {0};

    s->state = f;
    f->fd = open(s->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (f->fd < 0)
        return err(E_IO, "open the folder %s: %s", s->path, strerror(errno));
    TRY(list_folder(s, ".", S_IFDIR, &others));
    if (f->classes.n == 0)
        return err(E_DATA, "%s holds no class folders; expected %s/CLASS/IMAGE", s->path, s->path);
    s->n_classes = (int)f->classes.n;
    for (int c = 0; c < s->n_classes; c++)
        TRY(list_class(s, c));
    s->n_samples = s->n_files = f->files.n;
    return 0;
}

static void folder_locate(const struct source *s, uint64_t i, char *text, size_t n)
{
    const struct folder *const f = s->state;

    snprintf(text, n, "file %s/%s", s->path, f->files.s[i]);
}

static char *folder_file(const struct source *s, uint64_t i)
{
    return file_join(s->path, ((const struct folder *)s->state)->files.s[i]);
}

static int folder_label(const struct source *s, uint64_t i, int64_t *label)
{
    *label = ((const struct folder *)s->state)->class_of[i];
    return 0;
}

static int folder_extent(const struct source *s, uint64_t i, struct extent *out)
{
    const struct folder *const f = s->state;

    out->dir = f->fd;
    out->path = f->files.s[i];
    out->file = i;
    out->n = EXTENT_WHOLE;
    return 0;
}

static int folder_unwrap(const struct source *s, uint64_t i, struct raw raw, struct sample *out)
{
    out->data = raw.data;
    out->n = raw.n;
    return folder_label(s, i, &out->label);
}

static const char *folder_class_name(const struct source *s, int c)
{
    return ((const struct folder *)s->state)->classes.s[c];
}

static int folder_probe(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static void folder_close(struct source *s)
{
    struct folder *const f = s->state;

    if (f->fd >= 0)
        close(f->fd);
    free(f->classes.s);
    free(f->files.s);
    free(f->class_of);
    arena_release(&f->arena);
    free(f);
}

const struct source_ops source_folder = {
    .name = "folder",
    .probe = folder_probe,
    .open = folder_open,
    .extent = folder_extent,
    .unwrap = folder_unwrap,
    .label = folder_label,
    .locate = folder_locate,
    .class_name = folder_class_name,
    .file = folder_file,
    .close = folder_close,
};
